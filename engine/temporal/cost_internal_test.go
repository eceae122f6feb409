package temporal

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// carried carries out steps one after the other, as the workflow does.
func (b *bench) carried(a *Activities, steps int) {
	b.Helper()
	d := b.decided(a)
	for range steps {
		in := b.tried(a, d.Starts[0])
		in.Decide = true
		l, err := a.land(b.Context(), b.next(), in)
		if err != nil || l.Accepted == nil || l.Next == nil {
			b.Fatalf("%+v, %v", l, err)
		}
		d = l.Next
	}
	b.open = d.Starts
}

func chain(n int) string {
	flow := strings.Builder{}
	flow.WriteString("name: r\nsteps:\n  - {id: s0, command: [\"true\"]}\n")
	for i := 1; i < n; i++ {
		fmt.Fprintf(&flow, "  - {id: s%d, needs: [s%d], command: [\"true\"]}\n", i, i-1)
	}
	return flow.String()
}

// maxGit is how many git processes a step may take: an attempt, and a landing that decides
// what comes next.
const maxGit = 30

// A step takes few git processes, however many came before it. REPRISE_FLEET_COST says how
// many steps the run has and how many of them are measured first, for the CPU time of each;
// docs/how-to/fleet.md has the figures. (issue 19)
func TestCost_of_a_step(t *testing.T) {
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	bin, all, steps := t.TempDir(), 12, 5
	fmt.Sscan(os.Getenv("REPRISE_FLEET_COST"), &all, &steps)
	log := filepath.Join(bin, "log")
	if err := os.WriteFile(filepath.Join(bin, "git"), fmt.Appendf(nil, "#!/bin/sh\necho \"$*\" >> '%s'\nexec '%s' \"$@\"\n", log, real), 0o755); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, chain(all))
	a := b.worker("one")
	b.carried(a, 2)
	began, before := time.Now(), used(t)
	b.carried(a, steps)
	t.Logf("%d of %d steps: %s and %s of CPU a step", steps, all, (time.Since(began) / time.Duration(steps)).Round(time.Millisecond), ((used(t) - before) / time.Duration(steps)).Round(time.Millisecond))
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	b.carried(a, 2)
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "\n") / 2; n > maxGit || n == 0 {
		t.Errorf("%d git processes a step, with %d as the bound:\n%s", n, maxGit, text)
	} else {
		t.Logf("%d git processes a step", n)
	}
}

// used is the CPU time of this process and those it waited for.
func used(t *testing.T) (sum time.Duration) {
	t.Helper()
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			t.Fatal(err)
		}
		sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return sum
}
