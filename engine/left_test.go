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
	for how, end := range map[string]string{"failed": "exit 7", "stopped": stop} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			e := newEngine(repository(t))
			a := e.Settings.Agents["actor"]
			a.Command = []string{"sh", "-c", `if [ "$REPRISE_ATTEMPT" = 1 ]; then mkdir -p src; echo half > src/a.txt; ` + end + `; fi; echo rest > b.txt`}
			e.Settings.Agents["actor"] = a
			ref := start(t, e, "name: f\nsteps:\n  - {id: a, role: worker, prompt: Make it., outputs: [b.txt]}\n")
			git(t, e.Dir, "add", "-A")
			git(t, e.Dir, "commit", "-q", "-m", "state")
			put(t, e.Dir, "mine.txt", "not committed\n")
			if how == "stopped" {
				if _, err := e.Resume(stopAt(t, filepath.Join(e.Dir, ".git/here")), ref, engine.Choice{}); err != nil {
					t.Fatal(err)
				}
			}
			sum, err := e.Resume(t.Context(), ref, engine.Choice{})
			if err != nil || sum.State != reprise.Complete {
				t.Fatalf("%+v, %v", sum, err)
			}
			held := strings.Fields(git(t, e.Dir, "show", "--name-only", "--format=", "HEAD"))
			if !slices.Contains(held, "src/a.txt") || !slices.Contains(held, "b.txt") || slices.Contains(held, "mine.txt") {
				t.Errorf("the commit holds %q", held)
			}
		})
	}
}
