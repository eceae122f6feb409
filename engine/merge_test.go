package engine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"reprise"
	"reprise/engine"
	"reprise/internal/sample"
	"reprise/worktree"
)

// AC9: what is built is merged into the branch it was built for, that branch is named
// before and after, and a build with open items stays open, which is said.
func TestAC9_a_merge_names_its_target(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	const at, branch = ".auto-claude/specs/001-health", "auto-claude/001-health"
	for name, c := range map[string]struct {
		base, on string
		status   string // of the second item
		refused  bool
		ahead    bool   // feature/x has a commit of its own, and the build is begun on it
		from     string // what the branch is made from by name
	}{
		"the base of the build":                 {base: "main", on: "main", status: "completed"},
		"a base of the remote's name":           {base: "origin/main", on: "main", status: "completed"},
		"another branch":                        {base: "main", on: "feature/x", status: "completed", refused: true},
		"open items":                            {base: "main", on: "main", status: "pending"},
		"no base on record":                     {on: "main", status: "completed"},
		"no base, another branch":               {on: "feature/x", status: "completed", refused: true},
		"no base, where it begins":              {on: "feature/x", status: "completed", ahead: true},
		"no base, begun elsewhere":              {on: "main", status: "completed", ahead: true},
		"no base, its log names another branch": {on: "feature/x", status: "completed", ahead: true, from: "main", refused: true},
		"no base, its log names the branch":     {on: "feature/x", status: "completed", from: "feature/x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := repository(t)
			put(t, dir, ".gitignore", ".auto-claude/\n.reprise/\n")
			git(t, dir, "add", "-A")
			git(t, dir, "commit", "-q", "-m", "ignore")
			put(t, dir, at+"/spec.md", "# Health\n")
			put(t, dir, at+"/requirements.json", `{"task_description":"Health"}`)
			put(t, dir, at+"/task_metadata.json", `{"baseBranch":"`+c.base+`"}`)
			plan := func(second string) string {
				return `{"feature":"Health","status":"in_progress","phases":[{"id":"p","name":"P","subtasks":[{"id":"subtask-1-1","description":"d","status":"completed"},{"id":"subtask-1-2","description":"d","status":"` + second + `"}]}],"qa_signoff":{"status":"approved"}}`
			}
			put(t, dir, at+"/implementation_plan.json", strings.Replace(plan("pending"), "completed", "pending", 1))
			const tree = ".auto-claude/worktrees/tasks/001-health"
			if c.ahead || c.from == "feature/x" {
				git(t, dir, "checkout", "-q", "-b", "feature/x")
			}
			if c.ahead {
				git(t, dir, "commit", "-q", "--allow-empty", "-m", "ahead")
			}
			git(t, dir, append([]string{"worktree", "add", "-q", "-b", branch, tree}, strings.Fields(c.from)...)...)
			put(t, dir, tree+"/src/new.txt", "new\n")
			git(t, dir+"/"+tree, "add", "src")
			git(t, dir+"/"+tree, "commit", "-q", "-m", "auto-claude: subtask-1-1 - d")
			put(t, dir, tree+"/"+at+"/implementation_plan.json", plan(c.status))
			if c.on != "main" && !c.ahead && c.from != "feature/x" {
				git(t, dir, "branch", c.on)
			}
			git(t, dir, "checkout", "-q", c.on)
			ref := reprise.Ref{Layout: "autoclaude", ID: "001-health", Path: at, Kind: reprise.KindBuild}
			e := newEngine(dir)
			choice := engine.Choice{Option: "merge"}
			seen, foreseen := e.Preview(t.Context(), ref, choice)
			sum, err := e.Resume(t.Context(), ref, choice)
			if c.refused {
				for _, err := range []error{foreseen, err} {
					var refused *worktree.RefusedError
					if !errors.As(err, &refused) || !strings.Contains(err.Error(), " main, and feature/x is checked out") {
						t.Errorf("it is not refused: %v", err)
					}
				}
				return
			}
			if err != nil || foreseen != nil {
				t.Fatalf("%v, foreseen %v", err, foreseen)
			}
			if !strings.Contains(sum.Merged, branch+" was merged into "+c.on+" as ") || !strings.Contains(seen.Would[0]+seen.Would[1], "is merged into "+c.on) {
				t.Errorf("it says %q, and before %q", sum.Merged, seen.Would)
			}
			if !strings.Contains(seen.Diff, `"completed"`) {
				t.Errorf("the preview does not show the plan that is brought back:\n%s", seen.Diff)
			}
			open := slices.ContainsFunc(seen.Would, func(s string) bool { return strings.Contains(s, "stays open (not done: 1 of 2)") })
			if c.status == "pending" != open || open != strings.Contains(sum.Merged, "stays open (not done: 1 of 2)") || open == (sum.State == reprise.Complete) {
				t.Errorf("open items: %v %q, and before %q", sum.State, sum.Merged, seen.Would)
			}
		})
	}
}
