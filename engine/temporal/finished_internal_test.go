package temporal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/engine"
	"reprise/internal/cli"
	"reprise/internal/durable"
)

// What was finished of a run inside one that the fleet has left is not done again once the fleet
// takes that up: it is on the default branch of the remote, or in a checkout of the clone. What
// was finished there before the branch was made is for the branch to say. (issue 19)
func TestWhat_was_finished_beside_the_branch_is_not_done_again(t *testing.T) {
	t.Parallel()
	const file = "docs/stories/7.1.story.md"
	story := reprise.Ref{Layout: "orchestrate", ID: "7.1", Path: file, Kind: "sdc"}
	finish := func(b *bench, dir string) {
		e, err := trusted{all: true}.engineFor(dir, time.Now)
		if err == nil {
			_, err = e.Resume(b.Context(), story, engine.Choice{})
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	pushed := func(b *bench, clone string) {
		other := filepath.Join(b.dir, "other")
		b.git(b.dir, "clone", "-q", "--single-branch", b.remote, other)
		finish(b, other)
		b.git(other, "add", "-A")
		b.git(other, "commit", "-q", "-m", "7.1")
		b.git(other, "push", "-q", "origin", "main")
	}
	onBranch := func(b *bench, name, text string) {
		at := filepath.Join(b.dir, "at")
		b.git(b.dir, "clone", "-q", "-b", Branch("7"), b.remote, at)
		if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
		b.git(at, "add", "-A")
		b.git(at, "commit", "-q", "-m", "on the branch")
		b.git(at, "push", "-q", "origin", Branch("7"))
	}
	for name, c := range map[string]struct {
		finish    func(b *bench, clone string)
		next      string // what comes next on the fleet
		conflicts bool
	}{
		"nothing":                   {func(*bench, string) {}, "7.1/implement", false},
		"pushed to the default":     {pushed, "wave-1-gate", false},
		"in the clone, uncommitted": {finish, "wave-1-gate", false},
		"in a checkout of the clone": {func(b *bench, clone string) {
			w := filepath.Join(b.dir, "w")
			b.git(clone, "worktree", "add", "-q", "-b", "mine", w)
			finish(b, w)
			b.git(w, "add", "-A")
			b.git(w, "commit", "-q", "-m", "7.1")
		}, "wave-1-gate", false},
		"in both places": {func(b *bench, clone string) {
			pushed(b, clone)
			b.git(clone, "pull", "-q", "origin", "main")
		}, "wave-1-gate", false},
		"begun again on the branch after it was merged": {func(b *bench, clone string) {
			ready, err := os.ReadFile(filepath.Join(clone, file))
			if err != nil {
				b.Fatal(err)
			}
			pushed(b, clone)
			other := filepath.Join(b.dir, "other")
			b.git(other, "fetch", "-q", "origin", Branch("7"))
			b.git(other, "merge", "-q", "--no-edit", "FETCH_HEAD")
			b.git(other, "push", "-q", "origin", "HEAD:"+Branch("7"))
			b.git(other, "commit", "-q", "--allow-empty", "-m", "more")
			b.git(other, "push", "-q", "origin", "HEAD:main")
			onBranch(b, file, string(ready))
		}, "7.1/implement", false},
		"and conflicts": {func(b *bench, clone string) {
			pushed(b, clone)
			onBranch(b, "made-7.1-implement.txt", "another\n")
		}, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, launches := newEpic(t)
			a, clone := b.worker("one"), filepath.Join(b.dir, "clone")
			f := &Fleet{Clone: clone, Remote: b.remote}
			if _, err := a.decide(t.Context(), b.next(), DecideInput{Run: b.run, Stop: true}); err != nil {
				t.Fatal(err)
			}
			c.finish(b, clone)
			did, was := launches(), b.git(b.remote, "rev-parse", Branch("7"))
			_, err := f.Resume(t.Context(), b.run.Ref, engine.Choice{})
			if c.conflicts {
				var no *UnmergedError
				if !errors.As(err, &no) || cli.ExitCode(err) != 11 || !strings.Contains(no.Hint(), "push origin HEAD:"+Branch("7")) || b.git(b.remote, "rev-parse", Branch("7")) != was {
					t.Errorf("%v: %s", err, reprise.HintOf(err))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.Resume(t.Context(), b.run.Ref, engine.Choice{}); err != nil {
				t.Errorf("a second time: %v", err)
			}
			if s := b.carriedOn(a); s.Name() != c.next {
				t.Errorf("%s comes next, want %s", s.Name(), c.next)
			}
			if launches() != did {
				t.Errorf("agents were started: %s", launches())
			}
		})
	}
}

// A story that someone works on in the clone keeps its epic from being taken up. (issue 19)
func TestA_run_is_not_taken_up_while_someone_works_on_one_inside_it(t *testing.T) {
	t.Parallel()
	b, _ := newEpic(t)
	a, clone := b.worker("one"), filepath.Join(b.dir, "clone")
	if _, err := a.decide(t.Context(), b.next(), DecideInput{Run: b.run, Stop: true}); err != nil {
		t.Fatal(err)
	}
	e, err := trusted{all: true}.engineFor(clone, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	var no error
	e.Tell = func(p engine.Progress) {
		if p.Kind == engine.Began && no == nil {
			_, no = (&Fleet{Clone: clone, Remote: b.remote}).Resume(t.Context(), b.run.Ref, engine.Choice{})
		}
	}
	if _, err := e.Resume(t.Context(), reprise.Ref{Layout: "orchestrate", ID: "7.1", Path: "docs/stories/7.1.story.md", Kind: "sdc"}, engine.Choice{}); err != nil {
		t.Fatal(err)
	}
	if _, held := errors.AsType[*durable.HeldError](no); !held {
		t.Errorf("it is taken up: %v", no)
	}
}

// Whoever merges the branch of a run that the fleet has left, finishes it and pushes that has
// finished it: the fleet settles it, from any clone. (issue 19)
func TestA_run_that_was_merged_and_finished_is_settled(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	s.step()
	s.stop()
	other := filepath.Join(s.dir, "other")
	s.git(s.dir, "clone", "-q", s.remote, other)
	s.git(other, "merge", "-q", "origin/"+Branch("r"))
	if err := s.goOn(other, ""); err != nil {
		t.Fatal(err)
	}
	s.git(other, "add", "-A")
	s.git(other, "commit", "-q", "-m", "the rest")
	s.git(other, "push", "-q", "origin", "main")
	if _, err := s.fleet.Resume(t.Context(), s.run.Ref, engine.Choice{}); err != nil {
		t.Fatal(err)
	}
	s.run.Taken = false
	d, err := s.a.decide(t.Context(), s.next(), DecideInput{Run: s.run})
	if err != nil || len(d.Starts) > 0 || d.Left == nil || d.Left.Action != reprise.Finish {
		t.Errorf("%+v, %v", d, err)
	}
	s.launches("abc")
}
