package engine_test

import (
	"path/filepath"
	"strings"
	"testing"

	"reprise"
	"reprise/engine"
	"reprise/settings"
)

// A project that is a folder of its repository is built in the same folder of
// the run's own checkout, with the spec beside it.
func TestAC9_checkout_of_a_project_below_the_top_of_its_repository(t *testing.T) {
	t.Parallel()
	const sub, at = "apps/größe x", ".auto-claude/specs/001-dark"
	top := repository(t)
	dir := filepath.Join(top, sub)
	put(t, dir, "src/main.txt", "x\n")
	put(t, top, ".gitignore", ".auto-claude/\n.reprise/\n")
	git(t, top, "add", "-A")
	git(t, top, "commit", "-q", "-m", "sub")
	put(t, dir, at+"/implementation_plan.json", `{"feature": "Dark mode", "workflow_type": "feature", "status": "in_progress", "phases": [{"id": "p", "name": "P", "subtasks": [
  {"id": "1.2", "description": "two", "status": "pending", "files_to_create": ["src/new.txt"]}]}]}
`)
	put(t, dir, at+"/spec.md", "# Dark\n")
	put(t, dir, at+"/requirements.json", `{"task_description":"x"}`)
	e := newEngine(dir)
	log := filepath.Join(t.TempDir(), "log")
	e.Settings.Agents["actor"] = settings.Agent{Name: "actor", Preset: "command", Command: []string{"sh", "-c",
		`pwd >> ` + log + `; cat ` + at + `/spec.md >> ` + log + `; echo n > src/new.txt; echo '{"outcome":"done","verdict":"approved"}' > "$REPRISE_RESULT"`}}
	ref := reprise.Ref{Layout: "autoclaude", ID: "001-dark", Path: at, Kind: reprise.KindBuild}
	sum, err := e.Resume(t.Context(), ref, engine.Choice{})
	if err != nil || len(sum.Failed) > 0 || sum.State != reprise.Waiting {
		t.Fatalf("%v %v %v", sum, sum.Failed, err)
	}
	lines := strings.Split(get(t, log, ""), "\n")
	if want := filepath.Join(dir, ".auto-claude/worktrees/tasks/001-dark", sub); lines[0] != want || lines[1] != "# Dark" {
		t.Errorf("the agent works in %q, not in %q, and the spec there says %q", lines[0], want, lines[1])
	}
	if made := git(t, top, "-c", "core.quotePath=false", "show", "--name-only", "--format=", "auto-claude/001-dark"); made != sub+"/src/new.txt" {
		t.Errorf("the commit holds %q", made)
	}
	if sum, err = e.Resume(t.Context(), ref, engine.Choice{Option: "merge"}); err != nil || sum.State != reprise.Complete {
		t.Fatalf("merge: %v %v", sum, err)
	}
	if got := get(t, dir, "src/new.txt"); got != "n\n" {
		t.Errorf("merged as %q", got)
	}
}
