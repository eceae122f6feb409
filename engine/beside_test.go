package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/engine"
)

// TestO4_an_index_that_is_locked_costs_no_attempt: the work of an attempt is whole
// and another git has the index. That is waited for; where a person stops first, the
// attempt is accepted by whoever continues. The agent is started once.
func TestO4_an_index_that_is_locked_costs_no_attempt(t *testing.T) {
	t.Parallel()
	for _, stopped := range []bool{false, true} {
		t.Run(map[bool]string{false: "for a moment", true: "until a person stops"}[stopped], func(t *testing.T) {
			t.Parallel()
			e := newEngine(repository(t))
			a := e.Settings.Agents["actor"]
			a.Command = []string{"sh", "-c", `echo b > b.txt; echo '{"outcome":"done"}' > "$REPRISE_RESULT"; touch .git/index.lock .git/here`}
			e.Settings.Agents["actor"] = a
			ref := start(t, e, "name: f\nsteps:\n  - {id: a, role: worker, prompt: Make it., outputs: [b.txt]}\n")
			lock := filepath.Join(e.Dir, ".git/index.lock")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				for ctx.Err() == nil {
					if _, err := os.Stat(filepath.Join(e.Dir, ".git/here")); err == nil {
						time.Sleep(700 * time.Millisecond)
						if stopped {
							cancel()
						} else {
							os.Remove(lock)
						}
						return
					}
					time.Sleep(10 * time.Millisecond)
				}
			}()
			sum, err := e.Resume(ctx, ref, engine.Choice{})
			if err != nil {
				t.Fatal(err)
			}
			if stopped {
				if err := os.Remove(lock); err != nil {
					t.Fatal(err)
				}
				if sum, err = e.Resume(t.Context(), ref, engine.Choice{}); err != nil {
					t.Fatal(err)
				}
			}
			all := events(t, e.Dir, ref)
			if sum.State != reprise.Complete || count(all, reprise.StepStarted, "a") != 1 || count(all, reprise.StepFailed, "a") != 0 {
				t.Fatalf("%v, started %d, failed %d", sum.State, count(all, reprise.StepStarted, "a"), count(all, reprise.StepFailed, "a"))
			}
			if held := git(t, e.Dir, "show", "--name-only", "--format=", "HEAD"); !strings.Contains(held, "b.txt") {
				t.Errorf("the commit holds %q", held)
			}
		})
	}
}

// TestO4_no_step_borrows_from_one_beside_it: what a step beside an attempt commits or
// leaves is no work of it, also where it ended long before.
func TestO4_no_step_borrows_from_one_beside_it(t *testing.T) {
	t.Parallel()
	e := newEngine(repository(t))
	e.Parallel = 3
	a := e.Settings.Agents["actor"]
	a.Command = []string{"sh", "-c", `case $REPRISE_STEP in
note) echo n > n.md; echo x > stray.txt;;
late) sleep 2; echo l > l.md;;
esac`}
	e.Settings.Agents["actor"] = a
	ref := start(t, e, `name: f
steps:
  - {id: cmd, command: [sleep, "2"]}
  - {id: note, role: worker, prompt: Make it., outputs: [n.md]}
  - {id: late, role: worker, prompt: Make it., outputs: [l.md]}
`)
	git(t, e.Dir, "add", "-A")
	git(t, e.Dir, "commit", "-q", "-m", "state")
	sum, err := e.Resume(t.Context(), ref, engine.Choice{})
	if err != nil || sum.State != reprise.Complete {
		t.Fatalf("%+v, %v", sum, err)
	}
	held := map[string]string{}
	for _, ev := range events(t, e.Dir, ref) {
		if ev.Kind != reprise.StepFinished {
			continue
		}
		if ev.Commit != "" {
			held[ev.Step] = git(t, e.Dir, "show", "--name-only", "--format=", ev.Commit)
		}
	}
	if held["cmd"] != "" || held["note"] != "n.md" || held["late"] != "l.md" {
		t.Errorf("%q", held)
	}
}
