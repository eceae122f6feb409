//go:build unix

package project_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/internal/gitx/gittest"
)

// Work on a story that commits name and that is not marked done is told of wherever it
// went, so that no one does it twice; what was given up is not. (issue 15, item 3)
func TestWork_that_left_its_branch_is_asked_about(t *testing.T) {
	t.Parallel()
	const story = "# Story 4.2: Refunds\n\n## Status\nInProgress\n\n## Acceptance Criteria\n- [ ] refunds are paid\n\n## Tasks\n- [ ] write it\n"
	for name, c := range map[string]struct {
		then [][]string // calls of git
		want string     // of a finding, "" where nothing is to be asked
	}{
		"still checked out": {nil, ""},
		"amended":           {[][]string{{"commit", "-q", "--amend", "-m", "feat(4.2): refunds, better"}}, ""},
		"on its branch":     {[][]string{{"checkout", "-q", "main"}}, "branch story is not merged here"},
		"merged as one commit, and the branch is gone": {[][]string{
			{"checkout", "-q", "main"}, {"merge", "-q", "--squash", "story"}, {"commit", "-q", "-m", "Money can be returned"}, {"branch", "-q", "-D", "story"},
		}, "no longer on a local branch"},
		"merged under its own name": {[][]string{
			{"checkout", "-q", "main"}, {"merge", "-q", "--squash", "story"}, {"commit", "-q", "-m", "feat(4.2): refunds (#17)"}, {"branch", "-q", "-D", "story"},
		}, ""},
		"given up": {[][]string{{"checkout", "-q", "main"}, {"branch", "-q", "-D", "story"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := gittest.Folder(t)
			env := gittest.Environ(dir)
			gittest.Begin(t, dir, env)
			gittest.Write(t, dir, "docs/stories/4.2.story.md", story)
			gittest.Commit(t, dir, env, "base")
			gittest.Run(t, dir, env, "checkout", "-q", "-b", "story")
			gittest.Write(t, dir, "refund.py", "def refund(): pass\n")
			gittest.Commit(t, dir, env, "feat(4.2): refunds")
			for _, call := range c.then {
				gittest.Run(t, dir, env, call...)
			}
			j := judged(t, dir, time.Now())
			i := slices.IndexFunc(j.Runs, func(r *reprise.Run) bool { return r.ID == "4.2" })
			if i < 0 {
				t.Fatal("the story is not found")
			}
			r, told := j.Runs[i], ""
			for _, f := range r.Findings {
				if f.Code == reprise.CodeElsewhere {
					told += f.Message
				}
			}
			if !strings.Contains(told, c.want) || c.want == "" && told != "" {
				t.Errorf("told %q, want %q", told, c.want)
			}
			if asks := j.Decisions[r].Action == reprise.Ask; asks != (c.want != "") {
				t.Errorf("it is %s: %q", j.Decisions[r].Action, j.Decisions[r].Reasons)
			}
		})
	}
}
