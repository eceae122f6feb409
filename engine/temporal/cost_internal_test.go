package temporal

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"reprise"
	"reprise/convention"
	"reprise/internal/durable"
	"reprise/journal"
)

// carried carries out steps one after the other, as the workflow does.
func (b *bench) carried(a *Activities, steps int) {
	b.Helper()
	d := b.decided(a)
	last := used(b.T)
	for i := range steps {
		if i > 0 && i%100 == 0 {
			b.Logf("%d steps: the last 100 took %s of CPU each", i, ((used(b.T) - last) / 100).Round(time.Millisecond))
			last = used(b.T)
		}
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

// advance puts it on record that the first steps of a chain were done.
func (b *bench) advance(steps int) {
	b.Helper()
	m := &Mirror{Remote: b.remote, Dir: filepath.Join(b.dir, "advance")}
	branch := "refs/heads/" + Branch("r")
	found, err := m.Fetch(b.Context(), branch)
	if err != nil {
		b.Fatal(err)
	}
	c, err := m.Checkout(b.Context(), found[branch], Branch("r"))
	if err != nil {
		b.Fatal(err)
	}
	store, err := durable.Open(c.Dir, durable.Options{Now: time.Now, Adopt: true})
	if err == nil {
		_, err = store.Take(b.Context())
	}
	if err != nil {
		b.Fatal(err)
	}
	layout := convention.Find(b.run.Ref.Layout)
	j, _, run, err := journal.OpenRun(b.Context(), store, layout, b.run.Ref)
	if err != nil {
		b.Fatal(err)
	}
	track := layout.(reprise.Tracker).Track(store, run)
	for i := range steps {
		step := fmt.Sprintf("s%d", i)
		for _, kind := range []reprise.EventKind{reprise.StepStarted, reprise.StepFinished} {
			ev := reprise.Event{Kind: kind, At: time.Now(), Step: step, Attempt: 1, Key: "r/" + step + "#1@0"}
			if ok, err := j.Defer(b.Context(), track, ev); err != nil || !ok {
				b.Fatalf("%s: %t, %v", step, ok, err)
			}
		}
	}
	if err := errors.Join(j.Project(b.Context()), store.Release()); err != nil {
		b.Fatal(err)
	}
	message, err := withNote("advance", turned{Turn: "advance"}) // what others push is not on record
	if err != nil {
		b.Fatal(err)
	}
	made, _, err := c.Commit(b.Context(), message, CommitOptions{Parents: []string{c.Base}, Journal: true, Ignored: true})
	if err == nil {
		err = c.Push(b.Context(), made, branch, c.Base)
	}
	if err != nil {
		b.Fatal(err)
	}
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
const maxGit = 29 // one of them only where a journal has files beside it; three ask whether runs of others are gone

// A step takes few git processes, however many came before it. REPRISE_FLEET_COST says how
// many steps the run has, how many of them are measured, and how many were done before, for
// the CPU time of each; docs/how-to/fleet.md has the figures. (issue 19)
func TestCost_of_a_step(t *testing.T) {
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	bin, all, steps, done := t.TempDir(), 12, 5, 0
	fmt.Sscan(os.Getenv("REPRISE_FLEET_COST"), &all, &steps, &done)
	log := filepath.Join(bin, "log")
	if err := os.WriteFile(filepath.Join(bin, "git"), fmt.Appendf(nil, "#!/bin/sh\necho \"$*\" >> '%s'\nexec '%s' \"$@\"\n", log, real), 0o755); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, chain(all))
	if done > 0 {
		b.advance(done)
	}
	a := b.worker("one")
	b.carried(a, 2)
	began, before := time.Now(), used(t)
	b.carried(a, steps)
	t.Logf("%d of %d steps after %d: %s and %s of CPU a step", steps, all, done, (time.Since(began) / time.Duration(steps)).Round(time.Millisecond), ((used(t) - before) / time.Duration(steps)).Round(time.Millisecond))
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
