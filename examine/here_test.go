package examine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/examine"
)

// accepted is a graph whose first step was accepted here, in a commit.
func accepted(edit func(s *scene)) *scene {
	s := quiet()
	s.r.Kind = reprise.KindGraph
	s.r.Steps[0].Accepted = &reprise.Acceptance{Commit: strings.Repeat("d", 40), Key: "k", At: now.Add(-time.Hour)}
	s.o.Git.Known = map[string]bool{s.r.Steps[0].Accepted.Commit: true}
	return s.with(edit)
}

func astray(a reprise.Astray) *scene {
	return accepted(func(s *scene) { s.o.Astray = map[string]reprise.Astray{s.r.Steps[0].Accepted.Commit: a} })
}

func TestX4_work_that_is_not_here(t *testing.T) {
	t.Parallel()
	const code = reprise.CodeWorkNotHere
	gone := func(s *scene) { s.r.Steps[0].Accepted.Commit, s.r.Steps[0].Accepted.Gone = "", []string{"out-a"} }
	emptied := func(s *scene) { s.r.Steps[0].Accepted.Commit, s.r.Steps[0].Accepted.Emptied = "", []string{"out-b"} }
	for _, c := range []caseOf{
		{"in the history", code, accepted(func(*scene) {}), 0, ""},
		{"taken back", code, astray(reprise.Astray{Undone: 2}), blocking, "on no branch"},
		{"on another branch", code, astray(reprise.Astray{Branch: "main", Undone: 2}), blocking, `on "main"`},
		{"taken back in its own checkout", code, astray(reprise.Astray{Branch: "main", Undone: 2}).with(func(s *scene) { s.r.Worktree = "trees/one" }), blocking, `on "main" and not checked out in "trees/one", and none of its changes are there`},
		{"in another form", code, astray(reprise.Astray{Here: 2}), 0, ""},
		{"in another form, and changed", code, astray(reprise.Astray{Here: 2, Other: 1}), 0, ""},
		{"a part is not there", code, astray(reprise.Astray{Here: 2, Undone: 1}), warning, "in part"},
		{"it may be there", code, astray(reprise.Astray{Other: 1}), warning, "in another form"},
		{"nobody can tell", code, astray(reprise.Astray{}), warning, "in another form"},
		{"the run is finished", code, astray(reprise.Astray{Undone: 2}).with(func(s *scene) { s.r.State = reprise.Complete }), warning, "none of its changes are here"},
		{"the run is finished, and its work was changed since", code, astray(reprise.Astray{Other: 1}).with(func(s *scene) { s.r.State = reprise.Complete }), 0, ""},
		{"the run was given up", code, astray(reprise.Astray{Undone: 2}).with(func(s *scene) { s.r.State = reprise.Stopped }), 0, ""},
		{"the repository does not have it", code, astray(reprise.Astray{}).with(func(s *scene) { s.o.Git.Known = nil }), 0, ""},
		{"no repository any more", code, accepted(func(s *scene) { s.o.Git = nil }), blocking, "no longer a git repository here"},
		{"held, and no repository any more", code, quiet().with(func(s *scene) { s.r.Steps[1].Held, s.o.Git = "locked", nil }), blocking, "was to be committed here"},
		{"a repository that cannot be asked", code, accepted(func(s *scene) { s.o.Git, s.o.GitError = nil, "git is not installed" }), 0, ""},
		{"never a repository", code, accepted(func(s *scene) { s.r.Steps[0].Accepted.Commit, s.o.Git = "", nil }), 0, ""},
		{"an output is gone", code, accepted(gone), blocking, `"two" needs it`},
		{"an output is gone that nobody needs", code, accepted(gone).with(func(s *scene) { s.r.Steps[1].Needs = nil }), warning, `which is gone`},
		{"an output is gone, and all that needed it is done", code, accepted(gone).with(func(s *scene) { s.r.Steps[1].Status = reprise.Done }), warning, `which is gone`},
		{"an output was emptied", code, accepted(emptied), blocking, `which is empty; "two" needs it`},
		{"an output cannot be read", code, accepted(func(s *scene) { s.r.Steps[0].Accepted.Commit, s.r.Steps[0].Accepted.Unread = "", []string{"out-c"} }), blocking, `which is unreadable; "two" needs it`},
		{"one is gone, one was emptied", code, accepted(gone).with(emptied), blocking, `"out-a", "out-b", which are gone or empty; "two" needs it`},
		{"an output was emptied that is asked about", code, accepted(emptied).with(func(s *scene) { s.r.Steps[0].Accepted.Changed = []reprise.Expected{{Path: "out-b"}} }), 0, ""},
		{"an output is gone, and a later step was accepted", code, accepted(gone).with(func(s *scene) {
			s.r.Steps = append(s.r.Steps, reprise.Step{ID: "beside", Status: reprise.Done, Accepted: &reprise.Acceptance{At: now}})
		}), warning, "a later step may have removed it"},
		{"work that waits to be committed", reprise.CodeUncommitted, quiet().with(func(s *scene) { s.r.Steps[1].Held = "the index is locked" }), warning, "its work is not committed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.check(t)
		})
	}
}

// One word for a chain of steps, one for each that nothing of it rests on.
func TestX4_work_that_is_not_here_is_told_once(t *testing.T) {
	t.Parallel()
	s := astray(reprise.Astray{Undone: 1})
	s.r.Steps[1].Status, s.r.Steps[1].Accepted = reprise.Done, s.r.Steps[0].Accepted
	s.r.Steps = append(s.r.Steps, reprise.Step{ID: "beside", Status: reprise.Done, Accepted: s.r.Steps[0].Accepted})
	var subjects []string
	for _, f := range of(examine.All(s.r, s.o), reprise.CodeWorkNotHere) {
		subjects = append(subjects, f.Subject)
	}
	if got := strings.Join(subjects, " "); got != "one beside" {
		t.Errorf("told of %s", got)
	}
}

// What brings lost work back is said for the checkout that the run works in: merged anywhere
// else it would bring the build there instead.
func TestX4_work_is_brought_to_where_the_run_works(t *testing.T) {
	t.Parallel()
	for worktree, want := range map[string]string{"": "`git merge main` brings it here", "trees/one": "`git -C trees/one merge dddddddddddd` brings it there"} {
		s := astray(reprise.Astray{Branch: "main", Undone: 2}).with(func(s *scene) { s.r.Worktree = worktree })
		examine.Apply(s.r, s.o, examine.Every)
		if !slices.ContainsFunc(s.r.Findings, func(f reprise.Finding) bool {
			return f.Code == reprise.CodeWorkNotHere && strings.Contains(f.Hint, want)
		}) {
			t.Errorf("in %q: %+v", worktree, s.r.Findings)
		}
	}
}
