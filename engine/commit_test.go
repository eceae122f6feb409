package engine_test

import (
	"strings"
	"testing"

	"reprise"
	"reprise/settings"
)

const sideBySide = `name: side-by-side
parallel: 2
steps:
  - {id: a, role: worker, prompt: make it, outputs: [out/a.txt]}
  - {id: b, role: worker, prompt: make it, outputs: [out/b.txt]}
  - {id: c, needs: [a, b], role: unlucky, prompt: make it, outputs: [out/c.txt], attempts: 2}
`

// unlucky gets half of its work done at first.
const unlucky = `mkdir -p out; if [ "$REPRISE_ATTEMPT" = 1 ]; then echo half > out/c.txt; exit 1; fi; echo whole > out/c.txt`

// TestO4_commits_hold_what_their_step_was_to_leave also where others work in the
// same folder, and where an earlier attempt left half of it.
func TestO4_commits_hold_what_their_step_was_to_leave(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	put(t, dir, "flow.yaml", sideBySide)
	put(t, dir, "out/mine.txt", "a person's own work, not committed\n")
	e := newEngine(dir)
	e.Settings.Agents["unlucky"] = settings.Agent{Name: "unlucky", Preset: "command", Command: []string{"sh", "-c", unlucky}}
	e.Settings.Roles["unlucky"] = "unlucky"
	delete(e.Settings.Agents["actor"].Env, "DEMO_LAUNCHES") // a log in the project would be a change, too
	sum := begin(t, e, "side", "flow.yaml")
	if sum.State != reprise.Complete {
		t.Fatalf("%s %q %+v", sum.State, sum.Reasons, sum.Failed)
	}
	if len(sum.Finished) != 3 {
		t.Fatalf("finished %+v", sum.Finished)
	}
	for _, s := range sum.Finished {
		if s.Commit == "" {
			t.Errorf("%s has no commit", s.ID)
			continue
		}
		if got := strings.Fields(git(t, dir, "show", "--name-only", "--format=", s.Commit)); len(got) != 1 || got[0] != "out/"+s.ID+".txt" {
			t.Errorf("the commit of %s holds %q", s.ID, got)
		}
	}
	if got := git(t, dir, "show", "HEAD:out/c.txt"); got != "whole" {
		t.Errorf("c is %q", got)
	}
	if got := git(t, dir, "ls-files", "out/mine.txt"); got != "" {
		t.Errorf("a person's file was committed: %q", got)
	}
}
