package temporal_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"reprise/engine/temporal"
)

// TestScale measures runs of ten steps that do nothing; docs/how-to/fleet.md has the figures.
// REPRISE_FLEET_SCALE says how many runs, REPRISE_FLEET_STEPS how many steps each has.
func TestScale(t *testing.T) {
	runs, steps := number("REPRISE_FLEET_SCALE", 0), number("REPRISE_FLEET_STEPS", 10)
	if runs == 0 {
		t.Skip("REPRISE_FLEET_SCALE says how many runs to measure")
	}
	flow := "name: scale\nsteps:\n"
	for i := range steps {
		needs := ""
		if i > 0 {
			needs = fmt.Sprintf("needs: [s%d], ", i-1)
		}
		flow += fmt.Sprintf("  - {id: s%d, %scommand: [\"true\"]}\n", i, needs)
	}
	s := newSite(t, map[string]string{"flow.yaml": flow, "reprise.yaml": "backoff: 1s\n"})
	for i := range number("REPRISE_FLEET_WORKERS", 4) {
		s.worker(fmt.Sprintf("w%d", i))
	}
	for i := range runs {
		if r := s.fleet("run", "flow.yaml", "--id", fmt.Sprintf("r%d", i), "--detach"); r.code != 0 {
			t.Fatal(r)
		}
	}
	began, cpu := time.Now(), ticks(shared.server.Process.Pid)
	landed := func() (n int) {
		out := s.must(exec.Command("git", "--git-dir", s.remote, "for-each-ref", "--format=%(refname)", "refs/reprise/"))
		return len(strings.Fields(out))
	}
	before := landed()
	for landed() < runs*steps && time.Since(began) < time.Duration(number("REPRISE_FLEET_SECONDS", 300))*time.Second {
		time.Sleep(time.Second)
	}
	took, done := time.Since(began), landed()
	t.Logf("%d runs of %d steps: %d steps in %s, %.1f steps a second; the server used %.2f s of CPU a step-hundred",
		runs, steps, done-before, took.Round(time.Second), float64(done-before)/took.Seconds(), (ticks(shared.server.Process.Pid)-cpu)/float64(done-before)*100)
	var cycles []time.Duration
	var events, bytes, landings int
	for i := range min(runs, 20) {
		e, b, c := s.history(fmt.Sprintf("r%d", i))
		events, bytes, landings, cycles = events+e, bytes+b, landings+len(c)+1, append(cycles, c...)
	}
	slices.Sort(cycles)
	if len(cycles) == 0 {
		t.Fatal("nothing was landed twice")
	}
	t.Logf("from one landing to the next: p50 %s, p99 %s of %d; history: %.1f events and %d bytes a step",
		cycles[len(cycles)/2].Round(time.Millisecond), cycles[len(cycles)*99/100].Round(time.Millisecond), len(cycles), float64(events)/float64(landings), bytes/landings)
}

// ticks is the CPU time that a process used, in seconds.
func ticks(pid int) float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / 100
}

// history is how long and how large the history of a run is, and the times between its
// landings.
func (s *site) history(run string) (events, bytes int, cycles []time.Duration) {
	s.Helper()
	at := []string{"-w", temporal.Identity(s.remote) + ":" + run, "--output", "json", "--address", fmt.Sprintf("127.0.0.1:%d", shared.port)}
	var told struct {
		WorkflowExecutionInfo struct{ HistoryLength, HistorySizeBytes string }
	}
	if err := json.Unmarshal([]byte(s.must(exec.Command(os.Getenv("REPRISE_TEMPORAL"), append([]string{"workflow", "describe"}, at...)...))), &told); err != nil {
		s.Fatal(err)
	}
	events, _ = strconv.Atoi(told.WorkflowExecutionInfo.HistoryLength)
	bytes, _ = strconv.Atoi(told.WorkflowExecutionInfo.HistorySizeBytes)
	var shown struct {
		Events []struct {
			EventID, EventType                   string
			EventTime                            time.Time
			ActivityTaskScheduledEventAttributes struct {
				ActivityType struct{ Name string }
			}
			ActivityTaskCompletedEventAttributes struct{ ScheduledEventID string }
		}
	}
	if err := json.Unmarshal([]byte(s.must(exec.Command(os.Getenv("REPRISE_TEMPORAL"), append([]string{"workflow", "show"}, at...)...))), &shown); err != nil {
		s.Fatal(err)
	}
	lands, last := map[string]bool{}, time.Time{}
	for _, e := range shown.Events {
		if e.ActivityTaskScheduledEventAttributes.ActivityType.Name == temporal.LandActivity {
			lands[e.EventID] = true
		}
		if !lands[e.ActivityTaskCompletedEventAttributes.ScheduledEventID] {
			continue
		}
		if !last.IsZero() {
			cycles = append(cycles, e.EventTime.Sub(last))
		}
		last = e.EventTime
	}
	return events, bytes, cycles
}
