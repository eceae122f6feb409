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
// them with its own, and nothing that was a person's before.
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
