package temporal_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"reprise"
	"reprise/engine/temporal"
)

// TestScale measures runs of steps that do nothing; docs/how-to/fleet.md has the figures.
// REPRISE_FLEET_SCALE says how many runs, REPRISE_FLEET_STEPS how many steps each has,
// REPRISE_FLEET_WORKERS and REPRISE_FLEET_SLOTS how many workers there are and how many
// steps each has at work at once, REPRISE_FLEET_SECONDS when to stop.
func TestScale(t *testing.T) {
	runs, steps := number("REPRISE_FLEET_SCALE", 0), number("REPRISE_FLEET_STEPS", 10)
	if runs == 0 {
		t.Skip("REPRISE_FLEET_SCALE says how many runs to measure")
	}
	s := newSite(t, map[string]string{"flow.yaml": scaleFlow(steps), "reprise.yaml": "backoff: 1s\n"})
	s.begin(runs)
	began, cpu := time.Now(), ticks(shared.server.Process.Pid)
	var workers []int
	for i := range number("REPRISE_FLEET_WORKERS", 4) {
		workers = append(workers, s.worker(fmt.Sprintf("w%d", i)).Process.Pid)
	}
	report := func() {
		took, done, used := time.Since(began), s.done(), 0.0
		for _, pid := range workers {
			used += ticks(pid)
		}
		load, _ := os.ReadFile("/proc/loadavg")
		t.Logf("load %s: %d of %d steps and %d of %d runs in %s, %.2f steps a second; CPU a step: server %.0f ms, workers %.0f ms", strings.Join(strings.Fields(string(load))[:3], " "),
			done, runs*steps, s.over(), runs, took.Round(time.Second), float64(done)/took.Seconds(), (ticks(shared.server.Process.Pid)-cpu)/float64(done)*1000, used/float64(done)*1000)
	}
	for i := 1; s.over() < runs && time.Since(began) < time.Duration(number("REPRISE_FLEET_SECONDS", 300))*time.Second; i++ {
		time.Sleep(5 * time.Second)
		if i%24 == 0 {
			report()
		}
	}
	report()
	if n := s.over(); n < runs {
		t.Errorf("%d of %d runs came to their end", n, runs)
	}
	s.histories(runs)
}

// over counts the runs that have come to their end.
func (s *site) over() int {
	out := s.must(exec.Command("git", "--git-dir", s.remote, "for-each-ref", "--format=%(subject)", "refs/heads/reprise/"))
	return strings.Count(out, " is over\n")
}

// done counts the attempts that were landed.
func (s *site) done() int {
	n, _ := strconv.Atoi(strings.TrimSpace(s.must(exec.Command("git", "--git-dir", s.remote, "rev-list", "--count", "--merges", "--glob=refs/heads/reprise"))))
	return n
}

// histories tells what the histories of some runs tell.
func (s *site) histories(runs int) {
	s.Helper()
	var cycles, busy []time.Duration
	var events, bytes, landings int
	for i := 0; i < runs; i += max(1, runs/20) {
		e, b, c, w := s.history(fmt.Sprintf("r%d", i))
		if len(c) > 0 {
			events, bytes, landings, cycles, busy = events+e, bytes+b, landings+len(c)+1, append(cycles, c...), append(busy, w...)
		}
	}
	if len(cycles) == 0 {
		s.Fatal("nothing was landed twice")
	}
	slices.Sort(cycles)
	slices.Sort(busy)
	at := func(all []time.Duration, percent int) time.Duration {
		return all[len(all)*percent/100].Round(time.Millisecond)
	}
	s.Logf("%d steps of %d: from one landing to the next p50 %s, p99 %s; of that at work p50 %s, p99 %s; history: %.1f events and %d bytes a step",
		len(cycles), runs, at(cycles, 50), at(cycles, 99), at(busy, 50), at(busy, 99), float64(events)/float64(landings), bytes/landings)
}

// scaleFlow is a chain of steps that do nothing.
func scaleFlow(steps int) string {
	flow := "name: scale\nsteps:\n"
	for i := range steps {
		needs := ""
		if i > 0 {
			needs = fmt.Sprintf("needs: [s%d], ", i-1)
		}
		flow += fmt.Sprintf("  - {id: s%d, %scommand: [\"true\"], on_crash: rerun}\n", i, needs)
	}
	return flow
}

// begin puts runs on the server before there is a worker.
func (s *site) begin(runs int) {
	s.Helper()
	s.Setenv("TEMPORAL_ADDRESS", fmt.Sprintf("127.0.0.1:%d", shared.port))
	c, err := temporal.Dial("scale")
	if err != nil {
		s.Fatal(err)
	}
	defer c.Close()
	f, err := temporal.Open(s.Context(), c, s.clone)
	if err != nil {
		s.Fatal(err)
	}
	began := time.Now()
	next := make(chan int)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range next {
				run, err := f.Begin(s.Context(), "flow.yaml", reprise.Goal{ID: fmt.Sprintf("r%d", i)})
				if err == nil {
					_, err = f.Start(s.Context(), temporal.Run{Ref: run.Ref})
				}
				if err != nil {
					s.Error(err)
				}
			}
		})
	}
	for i := range runs {
		next <- i
	}
	close(next)
	all.Wait()
	// A remote that serves many has its refs packed, as the document on the fleet says.
	s.must(exec.Command("git", "--git-dir", s.remote, "gc", "-q"))
	s.Logf("%d runs were begun in %s", runs, time.Since(began).Round(time.Second))
}

// ticks is the CPU time that a process used with the children it waited for, in seconds.
func ticks(pid int) (seconds float64) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	for i := 11; i < 15 && i < len(fields); i++ {
		n, _ := strconv.ParseFloat(fields[i], 64)
		seconds += n / 100
	}
	return seconds
}

// history is how long and how large the history of a run is, the times between its
// landings, and how long workers were at work in each.
func (s *site) history(run string) (events, bytes int, cycles, busy []time.Duration) {
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
			ActivityTaskStartedEventAttributes   struct{ ScheduledEventID string }
			ActivityTaskCompletedEventAttributes struct{ ScheduledEventID string }
		}
	}
	if err := json.Unmarshal([]byte(s.must(exec.Command(os.Getenv("REPRISE_TEMPORAL"), append([]string{"workflow", "show"}, at...)...))), &shown); err != nil {
		s.Fatal(err)
	}
	lands, started, last, worked := map[string]bool{}, map[string]time.Time{}, time.Time{}, time.Duration(0)
	for _, e := range shown.Events {
		if e.ActivityTaskScheduledEventAttributes.ActivityType.Name == temporal.LandActivity {
			lands[e.EventID] = true
		}
		if of := e.ActivityTaskStartedEventAttributes.ScheduledEventID; of != "" {
			started[of] = e.EventTime
		}
		of := e.ActivityTaskCompletedEventAttributes.ScheduledEventID
		if of != "" {
			worked += e.EventTime.Sub(started[of])
		}
		if !lands[of] {
			continue
		}
		if !last.IsZero() {
			cycles, busy = append(cycles, e.EventTime.Sub(last)), append(busy, worked)
		}
		last, worked = e.EventTime, 0
	}
	return events, bytes, cycles, busy
}
