//go:build unix

package project_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/internal/durable"
	"reprise/internal/gitx/gittest"
)

// A clone that has fetched the branch of a run knows that the fleet has it, or what was done
// there, although its own files say that nothing was begun. (issue 19)
func TestA_run_that_the_fleet_has_is_known_by_its_branch(t *testing.T) {
	t.Parallel()
	const tasks = "specs/003-z/tasks.md"
	open := "# Tasks\n\n- [ ] T001 Make one\n- [ ] T002 Make two\n"
	mark := durable.FleetMark("speckit-003-z")
	for name, c := range map[string]struct {
		there map[string]string // files of the branch
		then  [][]string        // calls of git
		code  string
		want  reprise.Action
	}{
		"not begun": {nil, nil, "", reprise.Start},
		"the fleet has it": {map[string]string{mark: "reprise/003-z\n"}, [][]string{
			{"update-ref", "refs/remotes/origin/reprise/003-z", "side"},
		}, reprise.CodeHandedOver, reprise.Refuse},
		"the fleet has it, and its branch was fetched alone": {map[string]string{mark: "reprise/003-z\n"}, [][]string{
			{"branch", "reprise/003-z", "side"},
		}, reprise.CodeHandedOver, reprise.Refuse},
		"the fleet has left it since": {map[string]string{mark: "reprise/003-z\n"}, [][]string{
			{"branch", "reprise/003-z", "side"}, {"update-ref", "refs/remotes/origin/reprise/003-z", "main"},
		}, "", reprise.Start},
		"the fleet has another run": {map[string]string{mark: "reprise/004-y\n"}, [][]string{
			{"update-ref", "refs/remotes/origin/reprise/004-y", "side"},
		}, "", reprise.Start},
		"the fleet has finished it": {map[string]string{tasks: strings.ReplaceAll(open, "[ ]", "[x]")}, [][]string{
			{"update-ref", "refs/remotes/origin/reprise/003-z", "side"},
		}, reprise.CodeElsewhere, reprise.Ask},
		"the fleet has finished it, and that is merged": {map[string]string{"one.txt": "one\n"}, [][]string{
			{"update-ref", "refs/remotes/origin/reprise/003-z", "side"}, {"merge", "-q", "--ff-only", "side"},
		}, "", reprise.Start},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := gittest.Folder(t)
			env := gittest.Environ(dir)
			gittest.Begin(t, dir, env)
			gittest.Write(t, dir, "specs/003-z/spec.md", "# Z\n")
			gittest.Write(t, dir, tasks, open)
			gittest.Commit(t, dir, env, "base")
			gittest.Run(t, dir, env, "checkout", "-q", "-b", "side")
			for file, text := range c.there {
				gittest.Write(t, dir, file, text)
			}
			if c.there != nil {
				gittest.Commit(t, dir, env, "reprise: start 003-z")
			}
			gittest.Run(t, dir, env, "checkout", "-q", "main")
			for _, call := range c.then {
				gittest.Run(t, dir, env, call...)
			}
			gittest.Run(t, dir, env, "branch", "-q", "-D", "side")
			j := judged(t, dir, time.Now())
			i := slices.IndexFunc(j.Runs, func(r *reprise.Run) bool { return r.ID == "003-z" })
			if i < 0 {
				t.Fatal("the list is not found")
			}
			r, codes := j.Runs[i], ""
			for _, f := range r.Findings {
				if f.Code == reprise.CodeHandedOver || f.Code == reprise.CodeElsewhere {
					codes += f.Code
				}
			}
			if codes != c.code || j.Decisions[r].Action != c.want {
				t.Errorf("%s %q: %+v", j.Decisions[r].Action, codes, r.Findings)
			}
		})
	}
}
