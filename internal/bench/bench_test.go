// Package bench measures the program beside a peer in the same run. Absolute
// times on shared machines are noise; ratios are not. It runs with `make bench`.
package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func wanted(t *testing.T) string {
	t.Helper()
	if os.Getenv("REPRISE_BENCH") == "" {
		t.Skip("measurements run with `make bench`")
	}
	bin, err := filepath.Abs("../../bin/reprise")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(bin); err != nil {
		t.Fatalf("%v: run `make build`", err)
	}
	return bin
}

// timed runs commands in turns and returns the median time of each.
func timed(t *testing.T, rounds int, cmds ...func() *exec.Cmd) []time.Duration {
	t.Helper()
	times := make([][]time.Duration, len(cmds))
	for range rounds {
		for i, make := range cmds {
			cmd := make()
			cmd.Stdout = nil
			start := time.Now()
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v: %v", cmd.Args, err)
			}
			times[i] = append(times[i], time.Since(start))
		}
	}
	out := make([]time.Duration, len(cmds))
	for i := range times {
		slices.Sort(times[i])
		out[i] = times[i][len(times[i])/2]
	}
	return out
}

// figure says what was measured beside what, for docs/benchmarks.md too.
func figure(t *testing.T, what string, ours time.Duration, peer string, theirs time.Duration, want string) {
	t.Helper()
	t.Logf("figure: %s | %v | %s %v | %.3g × | %s", what, ours.Round(10*time.Microsecond), peer, theirs.Round(10*time.Microsecond), float64(ours)/float64(theirs), want)
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestBenchStatusBesideGitStatus: in a small project `reprise status` takes at most
// 1.2 times what `git status` takes, and twice as long where it has to ask git about
// stories.
func TestBenchStatusBesideGitStatus(t *testing.T) {
	bin := wanted(t)
	for name, limit := range map[string]float64{"autoclaude": 1.2, "longrun": 1.2, "orchestrate": 2, "eventrun": 1.2, "specloop": 1.2} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS("../../examples/"+name)); err != nil {
			t.Fatal(err)
		}
		commitWith300Files(t, dir)
		got := timed(t, 60,
			func() *exec.Cmd { return exec.Command(bin, "status", dir) },
			func() *exec.Cmd { return exec.Command("git", "-C", dir, "status") })
		ratio := float64(got[0]) / float64(got[1])
		figure(t, "`status`, 300 files, "+name, got[0], "`git status`", got[1], fmt.Sprintf("at most %.1f", limit))
		if ratio > limit {
			t.Errorf("%s: %.2f times git", name, ratio)
		}
	}
}

// commitWith300Files makes a folder a repository of a usual size.
func commitWith300Files(t *testing.T, dir string) {
	t.Helper()
	for i := range 300 {
		write(t, filepath.Join(dir, "src", fmt.Sprintf("p%d", i/10), fmt.Sprintf("f%d.go", i%10)), "package src\n")
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "x"}} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
}

// TestBenchManyRuns: a million events are read at no less than eight times the speed
// of jq, and with them runs of all other layouts in a time linear in their size, in
// under 150 MB.
func TestBenchManyRuns(t *testing.T) {
	bin := wanted(t)
	small, large, events := t.TempDir(), t.TempDir(), t.TempDir()
	smallBytes, largeBytes := eventRuns(t, small, 100, 250_000), eventRuns(t, large, 400, 1_000_000)
	otherRuns(t, small, 100)
	otherRuns(t, large, 400)
	eventRuns(t, events, 400, 1_000_000)
	var peak int64
	measure := func(dir string) time.Duration {
		var best time.Duration
		for range 3 {
			cmd := exec.Command(bin, "status", "--json", dir)
			var out bytes.Buffer
			cmd.Stdout = &out
			start := time.Now()
			if err := cmd.Run(); err != nil {
				t.Fatal(err)
			}
			took := time.Since(start)
			if best == 0 || took < best {
				best = took
			}
			if ru, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
				peak = max(peak, ru.Maxrss/1024)
			}
			var doc struct{ Runs []json.RawMessage }
			if err := json.Unmarshal(out.Bytes(), &doc); err != nil || len(doc.Runs) < 100 {
				t.Fatalf("%d runs, %v", len(doc.Runs), err)
			}
		}
		return best
	}
	a, b, logs := measure(small), measure(large), measure(events)
	grow := float64(b) / float64(a) / (float64(largeBytes) / float64(smallBytes))
	files, err := filepath.Glob(filepath.Join(large, ".agent-memory/runs/*/events/*/*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatal(err, len(files))
	}
	start := time.Now()
	jq := exec.Command("xargs", "-0", "jq", "-c", ".event_type")
	jq.Stdin = strings.NewReader(strings.Join(files, "\x00"))
	if err := jq.Run(); err != nil {
		t.Fatal(err)
	}
	peer := time.Since(start)
	figure(t, fmt.Sprintf("`status` over %d MB of event logs", largeBytes>>20), logs, "`jq` on the same events", peer, "at most 0.125")
	figure(t, "`status` over these and 1,600 other runs", b, "`jq` on the same events", peer, "-")
	t.Logf("large: %v for %d MB, %.0f MB/s; small: %v for %d MB; growth %.2f of linear", b, largeBytes>>20, float64(largeBytes)/b.Seconds()/(1<<20), a, smallBytes>>20, grow)
	t.Logf("jq on the same events: %v, %.1f times ours (wanted 8); peak memory %d MB (wanted under 150)", peer, float64(peer)/float64(logs), peak)
	if peer < 8*logs {
		t.Errorf("%.1f times the speed of jq", float64(peer)/float64(logs))
	}
	if peak >= 150 {
		t.Errorf("peak memory %d MB", peak)
	}
}

// otherRuns makes so many runs of each layout but event logs.
func otherRuns(t *testing.T, dir string, each int) {
	t.Helper()
	for i := range each {
		id := fmt.Sprintf("%04d-thing", i)
		base := filepath.Join(dir, ".auto-claude/specs", id)
		write(t, filepath.Join(base, "spec.md"), "# Thing\n")
		write(t, filepath.Join(base, "implementation_plan.json"), `{"feature":"Thing","updated_at":"2026-02-01T10:00:00Z","phases":[{"id":"p1","name":"One","subtasks":[{"id":"s1","status":"completed"},{"id":"s2","status":"pending"}]}]}`)
		write(t, filepath.Join(dir, "pkg", id, ".long-run/STATE.md"), "# Long-Run Implementation State\n\n## Current Position\n\nPlan: 2 of 3\nStatus: Executing\n")
		write(t, filepath.Join(dir, "pkg", id, ".long-run/plans/02-PLAN.md"), "---\nplan: \"02\"\n---\n")
		write(t, filepath.Join(dir, "docs/stories", fmt.Sprintf("%d.%d.story.md", i/20+1, i%20+1)), "# Story\n\n## Status\n\nReady for Review\n\n## Acceptance Criteria\n\n- [x] one\n- [ ] two\n\n## Change Log\n\n| Date | Who |\n|---|---|\n| 2026-02-01 | @dev |\n")
		write(t, filepath.Join(dir, "specs", id, ".workflow/index.md"), "# Feature Index\n\n## Priority Loop State\n\n| Field | Value |\n|---|---|\n| **Loop Status** | validating |\n| **Current Iteration** | 1 / 10 |\n")
	}
}

// eventRuns makes so many runs with event logs, and returns the size of these.
func eventRuns(t *testing.T, dir string, runs, events int) (size int64) {
	t.Helper()
	per := events / runs
	for i := range runs {
		base := filepath.Join(dir, ".agent-memory/runs", fmt.Sprintf("20260201-%04d-thing-ab12", i))
		write(t, filepath.Join(base, "prd.md"), "# Thing\n")
		write(t, filepath.Join(base, "plan.md"), "# Plan\n")
		write(t, filepath.Join(base, "constitution.md"), "# Constitution\n")
		write(t, filepath.Join(base, "task-graph.json"), `{"tasks":[{"id":"T001","title":"a","dependencies":[]},{"id":"T002","title":"b","dependencies":["T001"]},{"id":"T003","title":"c","dependencies":["T002"]}]}`)
		var b bytes.Buffer
		at := time.Date(2026, 2, 1, 10, 0, 0, 0, time.UTC)
		for e := range per {
			kind := [...]string{"task-claimed", "task-started", "task-implemented", "checkpoint-created"}[e%4]
			fmt.Fprintf(&b, `{"event_type":"%s","task_id":"T%03d","timestamp":"%s","actor":"executor-1","details":{"note":"step %d of the task, files touched and tests run, nothing unusual to say","files":["a.go","b.go"]}}`+"\n",
				kind, e%2+1, at.Add(time.Duration(e)*time.Second).Format(time.RFC3339), e)
		}
		size += int64(b.Len())
		write(t, filepath.Join(base, "events/executor-1/20260201-1000.jsonl"), b.String())
	}
	return size
}
