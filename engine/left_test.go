package engine_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"reprise"
	"reprise/engine"
	"reprise/internal/sample"
)

// TestO4_a_commit_holds_what_earlier_attempts_changed: an attempt that is not
// accepted leaves changed files in the project; the one that is accepted commits
// them with its own, and nothing that was a person's before. What an attempt left
// whose end no one saw cannot be told from a person's: that is said, not committed.
func TestO4_a_commit_holds_what_earlier_attempts_changed(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	const stop = "touch .git/here; sleep 30"
	for how, c := range map[string]struct {
		end       string // of the first attempt
		committed bool
	}{
		"failed":                            {"exit 7", true},
		"stopped":                           {stop, true},
		"stopped, emptied by a person":      {stop, false},
		"stopped, changed by a person":      {stop, false},
		"stopped, changed and failed again": {stop, false},
		"cut off":                           {"exit 0", false},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			e := newEngine(repository(t))
			a := e.Settings.Agents["actor"]
			a.Command = []string{"sh", "-c", `if [ "$REPRISE_ATTEMPT" = 1 ]; then mkdir -p src; echo half > src/a.txt; ` + c.end + `; fi; [ "$REPRISE_ATTEMPT" = 2 ] && [ -e .git/fails ] && exit 8; echo rest > b.txt`}
			e.Settings.Agents["actor"] = a
			ref := start(t, e, "name: f\nsteps:\n  - {id: a, role: worker, prompt: Make it., outputs: [b.txt]}\n")
			git(t, e.Dir, "add", "-A")
			git(t, e.Dir, "commit", "-q", "-m", "state")
			put(t, e.Dir, "mine.txt", "not committed\n")
			switch how {
			case "stopped", "stopped, emptied by a person", "stopped, changed by a person", "stopped, changed and failed again":
				if _, err := e.Resume(stopAt(t, filepath.Join(e.Dir, ".git/here")), ref, engine.Choice{}); err != nil {
					t.Fatal(err)
				}
			case "cut off":
				happens(t, e.Dir, &reprise.Run{Ref: ref}, false, reprise.Event{Kind: reprise.StepStarted, Step: "a", Attempt: 1, Policy: reprise.Rerun})
				put(t, e.Dir, "src/a.txt", "half\n")
			}
			switch how {
			case "stopped, emptied by a person":
				put(t, e.Dir, "src/a.txt", "")
			case "stopped, changed and failed again":
				put(t, e.Dir, ".git/fails", "")
				fallthrough
			case "stopped, changed by a person":
				put(t, e.Dir, "src/a.txt", "half\nmy own notes\n")
			}
			sum, err := e.Resume(t.Context(), ref, engine.Choice{})
			if err != nil || sum.State != reprise.Complete {
				t.Fatalf("%+v, %v", sum, err)
			}
			held := strings.Fields(git(t, e.Dir, "show", "--name-only", "--format=", "HEAD"))
			if slices.Contains(held, "src/a.txt") != c.committed || !slices.Contains(held, "b.txt") || slices.Contains(held, "mine.txt") {
				t.Errorf("the commit holds %q", held)
			}
			said := slices.ContainsFunc(sum.Findings, func(f reprise.Finding) bool {
				return f.Code == reprise.CodeUncommitted && strings.Contains(f.Message, "src/a.txt")
			})
			if said == c.committed {
				t.Errorf("said that it is left: %v; %+v", said, sum.Findings)
			}
		})
	}
}

// TestO4_what_is_left_uncommitted_is_looked_at_at_the_end: of two attempts that were cut
// off, the first to land sees the other's file; that one is committed a moment later.
func TestO4_what_is_left_uncommitted_is_looked_at_at_the_end(t *testing.T) {
	t.Parallel()
	e := newEngine(repository(t))
	e.Parallel = 1
	a := e.Settings.Agents["actor"]
	a.Command = []string{"sh", "-c", "echo whole > $REPRISE_STEP.txt"}
	e.Settings.Agents["actor"] = a
	ref := start(t, e, "name: f\nsteps:\n  - {id: a, role: worker, prompt: Make it., outputs: [a.txt]}\n  - {id: b, role: worker, prompt: Make it., outputs: [b.txt]}\n")
	git(t, e.Dir, "add", "-A")
	git(t, e.Dir, "commit", "-q", "-m", "state")
	for _, step := range []string{"a", "b"} {
		happens(t, e.Dir, &reprise.Run{Ref: ref}, false, reprise.Event{Kind: reprise.StepStarted, Step: step, Attempt: 1, Policy: reprise.Rerun})
		put(t, e.Dir, step+".txt", "half\n")
	}
	put(t, e.Dir, "other.txt", "nobody's\n")
	sum, err := e.Resume(t.Context(), ref, engine.Choice{})
	if err != nil || sum.State != reprise.Complete {
		t.Fatalf("%+v, %v", sum, err)
	}
	var said []string
	for _, f := range sum.Findings {
		if f.Code == reprise.CodeUncommitted {
			said = append(said, f.Message)
		}
	}
	if len(said) != 1 || !strings.Contains(said[0], "other.txt is left uncommitted") || strings.Contains(said[0], "b.txt") {
		t.Errorf("said %q", said)
	}
}
