//go:build unix

package evidence

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reprise"
	"reprise/internal/gitx/gittest"
)

// What a person does to the history between two sessions, and whether the work of a
// finished step is still there.
func TestX4_work_that_was_accepted_is_looked_for_where_the_run_goes_on(t *testing.T) {
	t.Parallel()
	const key = "r/a#1@abc"
	for _, c := range []struct {
		name    string
		trailer string // of the commit
		then    func(p place)
		own     string // a branch that the run has
		want    *reprise.Astray
	}{
		{name: "nothing happened", then: func(place) {}},
		{name: "more was committed", then: func(p place) { p.commit("more", "more") }},
		{name: "a new branch", then: func(p place) { p.git("checkout", "-q", "-b", "new") }},
		{name: "no branch", then: func(p place) { p.git("checkout", "-q", "--detach") }},
		{name: "taken back by reset", then: func(p place) { p.git("reset", "-q", "--hard", "HEAD~1") }, want: &reprise.Astray{Undone: 2}},
		{name: "taken back by reset, and others came", then: func(p place) {
			p.git("reset", "-q", "--hard", "HEAD~1")
			p.commit("else", "else")
		}, want: &reprise.Astray{Undone: 2}},
		{name: "another branch", then: func(p place) { p.git("checkout", "-q", "other") }, want: &reprise.Astray{Branch: "main", Undone: 2}},
		{name: "another branch that changes the same", then: func(p place) {
			p.git("checkout", "-q", "other")
			p.commit("old", "otherwise")
		}, want: &reprise.Astray{Branch: "main", Undone: 1, Other: 1}},
		{name: "the run has a branch of its own", own: "main", then: func(p place) { p.git("checkout", "-q", "other") }},
		{name: "the run has a branch of its own and was taken back", own: "main", then: func(p place) { p.git("reset", "-q", "--hard", "HEAD~1") }, want: &reprise.Astray{Undone: 2}},
		{name: "merged", then: func(p place) {
			p.git("checkout", "-q", "other")
			p.git("merge", "-q", "--no-ff", "-m", "merge", "main")
		}},
		{name: "rebased", trailer: key + "+accepted", then: rebase},
		{name: "rebased, an agent's own", trailer: key, then: rebase},
		{name: "rebased without a trailer", then: rebase, want: &reprise.Astray{Here: 2}},
		{name: "amended", trailer: key, then: func(p place) {
			gittest.Write(p.t, p.dir, "new", "better")
			p.git("commit", "-q", "-a", "--amend", "--no-edit")
		}},
		{name: "amended without a trailer", then: func(p place) {
			gittest.Write(p.t, p.dir, "new", "better")
			p.git("commit", "-q", "-a", "--amend", "--no-edit")
		}, want: &reprise.Astray{Here: 1, Other: 1}},
		{name: "picked", trailer: key, then: func(p place) {
			p.git("checkout", "-q", "other")
			p.git("cherry-pick", "main")
		}},
		{name: "the trailer of another attempt", trailer: "r/a#2@abc", then: rebase, want: &reprise.Astray{Here: 2}},
		{name: "squashed", trailer: key, then: func(p place) {
			p.git("checkout", "-q", "other")
			p.git("merge", "-q", "--squash", "main")
			p.git("commit", "-q", "-m", "all of it")
			p.git("branch", "-q", "-D", "main")
		}, want: &reprise.Astray{Here: 2}},
		{name: "uncommitted, staged", then: func(p place) { p.git("reset", "-q", "--soft", "HEAD~1") }, want: &reprise.Astray{Here: 2}},
		{name: "uncommitted, untracked", then: func(p place) { p.git("reset", "-q", "HEAD~1") }, want: &reprise.Astray{Here: 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.commit("old", "before")
			p.git("branch", "other")
			gittest.Write(t, p.dir, "old", "after")
			message := "work"
			if c.trailer != "" {
				message += "\n\nReprise-Step: " + c.trailer
			}
			commit := p.commit("new", message)
			c.then(p)
			r := &reprise.Run{
				Ref: reprise.Ref{Layout: "eventrun", ID: "r", Path: "runs/r"}, State: reprise.Interrupted, Branch: c.own,
				Steps: []reprise.Step{{ID: "a", Status: reprise.Done, Accepted: &reprise.Acceptance{Commit: commit, Key: key}}},
			}
			o := p.gather([]*reprise.Run{r}, Options{})
			var want map[string]reprise.Astray
			if c.want != nil {
				want = map[string]reprise.Astray{commit: *c.want}
			}
			if d := cmp.Diff(want, o.Astray); d != "" || o.GitError != "" {
				t.Errorf("astray (-want +got):\n%s%s", d, o.GitError)
			}
			if !o.Git.Known[commit] {
				t.Error("git was not asked for the commit")
			}
		})
	}
}

// A run with a checkout of its own continues there: what other branches have of its work is
// not there.
func TestX4_work_is_looked_for_in_the_checkout_of_the_run(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		then func(p, own place, commit string)
		want *reprise.Astray
	}{
		{"nothing happened", func(place, place, string) {}, nil},
		{"merged here as well", func(p, _ place, commit string) { p.git("merge", "-q", commit) }, nil},
		{"set back", func(_, own place, _ string) { own.git("reset", "-q", "--hard", "HEAD~1") }, &reprise.Astray{Undone: 1}},
		{"set back and merged here", func(p, own place, commit string) {
			p.git("merge", "-q", commit)
			own.git("reset", "-q", "--hard", "HEAD~1")
		}, &reprise.Astray{Branch: "main", Undone: 1}},
		{"set back and kept in a branch", func(p, own place, commit string) {
			p.git("branch", "kept", commit)
			own.git("reset", "-q", "--hard", "HEAD~1")
		}, &reprise.Astray{Branch: "kept", Undone: 1}},
		{"set back and merged there", func(_, own place, commit string) {
			own.git("reset", "-q", "--hard", "HEAD~1")
			own.git("merge", "-q", commit)
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.commit("old", "before")
			p.git("worktree", "add", "-q", "-b", "own", "own")
			own := p
			own.dir = filepath.Join(p.dir, "own")
			commit := own.commit("new", "work\n\nReprise-Step: r/a#1@abc")
			c.then(p, own, commit)
			r := &reprise.Run{
				Ref: reprise.Ref{Layout: "autoclaude", ID: "r", Path: "runs/r"}, State: reprise.Interrupted, Branch: "own", Worktree: "own",
				Steps: []reprise.Step{{ID: "a", Status: reprise.Done, Accepted: &reprise.Acceptance{Commit: commit, Key: "r/a#1@abc"}}},
			}
			var want map[string]reprise.Astray
			if c.want != nil {
				want = map[string]reprise.Astray{commit: *c.want}
			}
			if o := p.gather([]*reprise.Run{r}, Options{}); !cmp.Equal(want, o.Astray) || o.GitError != "" {
				t.Errorf("astray (-want +got):\n%s%s", cmp.Diff(want, o.Astray), o.GitError)
			}
		})
	}
}

// However much was set back, all of it is looked for.
func TestX4_many_commits_that_were_taken_back_are_all_told(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	base := p.commit("first", "first")
	r := &reprise.Run{Ref: reprise.Ref{ID: "r"}, State: reprise.Interrupted}
	for i := range 70 {
		commit := p.commit("new"+strconv.Itoa(i), "work")
		r.Steps = append(r.Steps, reprise.Step{ID: strconv.Itoa(i), Status: reprise.Done, Accepted: &reprise.Acceptance{Commit: commit}})
	}
	p.git("reset", "-q", "--hard", base)
	o := p.gather([]*reprise.Run{r}, Options{})
	for i := range r.Steps {
		if a := o.Astray[r.Steps[i].Accepted.Commit]; a.Undone != 1 {
			t.Errorf("of step %d: %+v", i, a)
		}
	}
}

// A commit with more changes than are looked at is not taken for one that is all here.
func TestX4_what_is_beyond_our_bounds_is_said_not_to_be_looked_at(t *testing.T) {
	t.Parallel()
	for name, then := range map[string]func(p place){
		"taken back":    func(p place) { p.git("reset", "-q", "--hard", "HEAD~1") },
		"deleted since": func(p place) { p.git("rm", "-q", "-r", "many"); p.git("commit", "-q", "-m", "smaller") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.commit("first", "first")
			for i := range 5001 {
				gittest.Write(t, p.dir, "many/"+strconv.Itoa(i), "one of many")
			}
			commit := p.commit("new", "work\n\nReprise-Step: r/a#1@abc+accepted")
			then(p)
			r := &reprise.Run{
				Ref: reprise.Ref{Layout: "eventrun", ID: "r", Path: "runs/r"}, State: reprise.Interrupted,
				Steps: []reprise.Step{{ID: "a", Status: reprise.Done, Accepted: &reprise.Acceptance{Commit: commit, Key: "r/a#1@abc"}}},
			}
			o := p.gather([]*reprise.Run{r}, Options{})
			if !strings.Contains(o.GitError, "not fully looked at") || !o.Git.Unheard {
				t.Errorf("%q %v", o.GitError, o.Git.Unheard)
			}
		})
	}
}

func rebase(p place) {
	p.git("checkout", "-q", "other")
	p.commit("unrelated", "upstream")
	p.git("checkout", "-q", "main")
	p.git("rebase", "-q", "other")
}

func TestX4_links_and_folders_in_the_place_of_work(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.commit("first", "first")
	if err := os.Symlink("first", filepath.Join(p.dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/hostname", filepath.Join(p.dir, "outside")); err != nil {
		t.Fatal(err)
	}
	commit := p.commit("dir/file", "work")
	p.git("reset", "-q", "HEAD~1")
	if err := os.RemoveAll(filepath.Join(p.dir, "dir")); err != nil {
		t.Fatal(err)
	}
	gittest.Write(t, p.dir, "dir", "a file lies where the folder was")
	r := &reprise.Run{Ref: reprise.Ref{ID: "r"}, State: reprise.Interrupted, Steps: []reprise.Step{{ID: "a", Status: reprise.Done, Accepted: &reprise.Acceptance{Commit: commit}}}}
	want := map[string]reprise.Astray{commit: {Here: 2, Undone: 1}}
	if d := cmp.Diff(want, p.gather([]*reprise.Run{r}, Options{}).Astray); d != "" {
		t.Errorf("astray (-want +got):\n%s", d)
	}
}
