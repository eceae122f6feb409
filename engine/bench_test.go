package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"reprise"
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

// TestBench_cost_of_steps measures the engine beside the limits of
// the machine, in one run: a step that needs no one beside two raw appends with fsync.
func TestBench_cost_of_steps(t *testing.T) {
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

// apart is how a journal names a record that is kept in a file of its own.
var apart = regexp.MustCompile(`(?m) @([0-9a-f]{64}):[0-9]+$`)
