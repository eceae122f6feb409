package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/engine"
	"reprise/flow"
)

// chain is a workflow of n milestones and one command behind all but the last
// hundred of them.
func chain(n int) string {
	var b strings.Builder
	b.WriteString("name: chain\nsteps:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - {id: s%d", i)
		if i > 0 {
			fmt.Fprintf(&b, ", needs: [s%d]", i-1)
		}
		if i == n-100 {
			b.WriteString(", command: [sh, stop.sh], on_crash: rerun")
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// TestBench_cost_of_steps_and_restart measures the engine beside the limits of
// the machine, in one run: a step that needs no one beside two raw appends with
// fsync, and the time to the next step of a killed run beside reading its files.
func TestBench_cost_of_steps_and_restart(t *testing.T) {
	if os.Getenv("REPRISE_BENCH") == "" {
		t.Skip("measures time: set REPRISE_BENCH=1, or `make bench`")
	}
	per := map[int]float64{}
	for _, n := range []int{200, 10_000} {
		dir := t.TempDir()
		put(t, dir, "flow.yaml", chain(n))
		put(t, dir, "stop.sh", "exit 0\n")
		raw := rawAppends(t, dir, 1000)
		began := time.Now()
		sum := begin(t, newEngine(dir), "chain", "flow.yaml")
		if sum.State != reprise.Complete {
			t.Fatalf("%+v", sum)
		}
		step := time.Since(began) / time.Duration(n)
		// Before and after: the machine has other things to do.
		raw = (raw + rawAppends(t, dir, 1000)) / 2
		per[n] = float64(step) / float64(raw)
		t.Logf("%d steps: %v a step, %.2f raw appends (%v each)", n, step, per[n], raw)
	}
	if per[10_000] > 6 {
		t.Errorf("a step of 10,000 costs %.2f raw appends, more than 6", per[10_000])
	}

	start, raw, piped := restart(t, 10_000)
	least, _, _ := restart(t, 101)
	t.Logf("restart: %v to the next step; reading the files takes cat %v where nobody takes what it prints: %.1f times, and %v where somebody does: %.1f times",
		start, raw, float64(start)/float64(raw), piped, float64(start)/float64(piped))
	t.Logf("restart of a run with next to nothing to read: %v, %.1f times the former", least, float64(least)/float64(raw))
	if start > time.Second {
		t.Errorf("the next step starts after %v, more than a second", start)
	}
}

// restart gives how long a killed run of n steps takes to its next step, and what cat
// takes for its files, the least of many.
func restart(t *testing.T, n int) (start, raw, piped time.Duration) {
	t.Helper()
	dir := t.TempDir()
	put(t, dir, "flow.yaml", chain(n))
	put(t, dir, "stop.sh", "sleep 30\n")
	e := newEngine(dir)
	w, hash, err := readFlow(filepath.Join(dir, "flow.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.BeginFlow(t.Context(), w, "flow.yaml", hash, reprise.Goal{ID: "chain"}, engine.Choice{}); err != nil {
		t.Fatal(err)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // as the program does
	var starts, raws, pipes []time.Duration
	for i := range 20 {
		if i > 0 {
			// As a kill leaves it: an attempt that was started and has no end.
			happens(t, dir, &reprise.Run{Ref: refOf("chain")}, false, reprise.Event{Kind: reprise.StepStarted, Step: fmt.Sprintf("s%d", n-100), Attempt: 2 * i, Policy: reprise.Rerun})
			time.Sleep(150 * time.Millisecond)
		}
		ctx, cancel := context.WithCancel(t.Context())
		e := newEngine(dir)
		e.Settings.Attempts = 100
		e.Workflow = func(file string) (*flow.Workflow, reprise.Hash, error) {
			return engine.ReadFlow(filepath.Join(dir, file))
		}
		began, first := time.Now(), time.Duration(0)
		e.Tell = func(p engine.Progress) {
			if p.Kind == engine.Began && first == 0 {
				first = time.Since(began)
				cancel()
			}
		}
		if _, err := e.Resume(ctx, refOf("chain"), engine.Choice{}); err != nil {
			t.Fatal(err)
		}
		cancel()
		starts = append(starts, first)
		raws, pipes = append(raws, cat(t, dir, false)), append(pipes, cat(t, dir, true))
	}
	return slices.Min(starts[1:]), slices.Min(raws), slices.Min(pipes)
}

// rawAppends is what one append with fsync takes.
func rawAppends(t *testing.T, dir string, n int) time.Duration {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "raw"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	line := []byte(strings.Repeat("x", 250) + "\n")
	began := time.Now()
	for range n {
		if _, err := f.Write(line); err != nil {
			t.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	return time.Since(began) / time.Duration(n)
}

// cat reads all files of the run with the system's cat: those of its layout, its
// journal with what that keeps in files of their own, and its workflow file. Its
// output is read through a pipe, or goes nowhere.
func cat(t *testing.T, dir string, piped bool) time.Duration {
	t.Helper()
	names := []string{filepath.Join(dir, "flow.yaml")}
	for _, root := range []string{".agent-memory", ".reprise/journal"} {
		err := filepath.WalkDir(filepath.Join(dir, root), func(p string, d os.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			names = append(names, p)
			text, err := os.ReadFile(p)
			for _, m := range apart.FindAllStringSubmatch(string(text), -1) {
				names = append(names, filepath.Join(dir, ".reprise/objects", m[1][:2], m[1][2:]))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	cmd := exec.Command("cat", names...)
	if piped {
		cmd.Stdout = &bytes.Buffer{}
	}
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return time.Since(began)
}

// apart is how a journal names a record that is kept in a file of its own.
var apart = regexp.MustCompile(`(?m) @([0-9a-f]{64}):[0-9]+$`)
