package temporal

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/engine"
	"reprise/internal/cli"
	"reprise/internal/durable"
	"reprise/project"
)

// aside makes a checkout of the branch beside the clone, as the fleet's stop names it.
func (s *shared) aside(name string, args ...string) string {
	s.Helper()
	dir := filepath.Join(s.dir, name)
	s.git(s.clone, "fetch", "-q", "origin", Branch("r"))
	s.git(s.clone, append([]string{"worktree", "add", "-q"}, append(args, dir, "FETCH_HEAD")...)...)
	return dir
}

// goOn has a person do steps in a folder.
func (s *shared) goOn(dir, until string) error {
	s.Helper()
	was := s.clone
	s.clone = dir
	defer func() { s.clone = was }()
	_, err := s.here(s.run.Ref, until)
	return err
}

// blocked checks that plain reprise does not go on in a folder: the fleet has the run, or, as
// that copy is further along, another checkout has it, which says so.
func (s *shared) blocked(dir string) {
	s.Helper()
	j, err := project.Judge(s.Context(), dir, project.JudgeOptions{Options: project.Options{Now: time.Now()}, Adopt: true})
	if err != nil {
		s.Fatal(err)
	}
	i := slices.IndexFunc(j.Runs, func(r *reprise.Run) bool { return r.ID == s.run.Ref.ID })
	if i < 0 {
		s.Fatalf("%s has no such run", dir)
	}
	if filepath.IsLocal(j.Runs[i].Path) {
		if err := s.goOn(dir, ""); cli.ExitCode(err) != 11 {
			s.Errorf("it is worked on in %s: %v", dir, err)
		}
	}
	if !slices.ContainsFunc(j.Runs[i].Findings, func(f reprise.Finding) bool {
		return f.Code == reprise.CodeHandedOver && f.Severity == reprise.Blocking
	}) {
		s.Errorf("nothing blocks %s in %s: %+v", j.Runs[i].Path, dir, j.Runs[i].Findings)
	}
}

// noted reports whether a folder says that the fleet has the run.
func (s *shared) noted(dir string) bool {
	s.Helper()
	ours, err := recorded(dir, s.run.Ref)
	if err != nil || len(ours) == 0 {
		s.Fatalf("%s: %v", dir, err)
	}
	return ours[len(ours)-1].Event.Outcome == reprise.HandedOver
}

// What was done in any checkout of the clone comes to the branch, whichever of them the
// command is typed in and whatever else is checked out, and no copy is worked on after
// that. (issue 19)
func TestWork_in_any_checkout_of_the_clone_comes_back(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		at  []string                  // how the checkout that goes on is made
		try func(s *shared, w string) // before the hand-over
		in  bool                      // the hand-over is typed there, else in the clone
	}{
		"in the clone, of a detached checkout": {at: []string{"--detach"}},
		"in the detached checkout":             {at: []string{"--detach"}, in: true},
		"in the clone, of the branch":          {at: []string{"-b", Branch("r")}},
		"in the clone, of another branch":      {at: []string{"-b", "other"}},
		"in the clone, committed": {at: []string{"--detach"}, try: func(s *shared, w string) {
			s.git(w, "add", "-A")
			s.git(w, "commit", "-q", "-m", "b")
		}},
		"with an old branch that was not checked out": {at: []string{"--detach"}, in: true, try: func(s *shared, _ string) {
			s.git(s.clone, "branch", "-q", Branch("r"), "FETCH_HEAD")
		}},
		"with a checkout that was deleted": {at: []string{"--detach"}, try: func(s *shared, _ string) {
			if err := os.RemoveAll(s.aside("gone", "--detach")); err != nil {
				s.Fatal(err)
			}
		}},
		"inside of the clone": {at: []string{"--detach"}, try: func(s *shared, w string) {
			s.git(s.clone, "worktree", "move", w, filepath.Join(s.clone, "w"))
		}},
	} {
		for _, looks := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", someone looks"}[looks], func(t *testing.T) {
				t.Parallel()
				s := newShared(t)
				s.step()
				s.stop()
				w := s.aside("w", c.at...)
				var look string
				if looks && c.at[0] == "--detach" {
					look = s.aside("look", "-b", Branch("r"))
				}
				if err := s.goOn(w, "b"); err != nil {
					t.Fatal(err)
				}
				s.launches("ab")
				if c.try != nil && (look == "" || name != "with an old branch that was not checked out") {
					c.try(s, w)
				}
				if _, err := os.Stat(w); err != nil {
					w = filepath.Join(s.clone, "w")
				}
				if c.in {
					s.fleet.Clone = w
				}
				if err := s.over(s.run.Ref); err != nil {
					t.Fatal(err)
				}
				s.blocked(w)
				if look != "" {
					s.blocked(look)
					if !s.noted(look) {
						t.Errorf("%s does not say that the fleet has it", look)
					}
				}
				if _, err := s.fleet.HandOver(t.Context(), s.run.Ref); err != nil {
					t.Errorf("a second time: %v", err)
				}
				s.run.Taken = false
				s.step()
				s.launches("abc")
				files := s.git(s.clone, "ls-tree", "-r", "--name-only", s.tip())
				if !strings.Contains(files, "b.txt") || strings.Contains(files, "w\n") {
					t.Errorf("the branch has %s", files)
				}
			})
		}
	}
}

// Two checkouts that went on each without the other are both named, and nothing is pushed or
// noted. (issue 19)
func TestCheckouts_that_went_on_each_without_the_other_are_refused(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	s.step()
	s.stop()
	one, two := s.aside("c-one", "--detach"), s.aside("c-two", "-b", Branch("r"))
	if err := s.goOn(one, "b"); err != nil {
		t.Fatal(err)
	}
	clone := s.clone
	s.clone = two // another checkout is further along: a person says to go on here
	if _, err := s.chosen(s.run.Ref, engine.Choice{Option: reprise.OptionContinue, Until: "b"}); err != nil {
		t.Fatal(err)
	}
	s.clone = clone
	was := s.tip()
	for _, at := range []string{s.clone, one, two} {
		s.fleet.Clone = at
		_, err := s.fleet.HandOver(t.Context(), s.run.Ref)
		var diverged *DivergedError
		if !errors.As(err, &diverged) || cli.ExitCode(err) != 11 || !strings.Contains(err.Error(), one) || !strings.Contains(err.Error(), two) {
			t.Errorf("in %s: %v", at, err)
		}
		if s.tip() != was || s.noted(one) || s.noted(two) {
			t.Error("something was pushed or noted")
		}
	}
	s.fleet.Clone = s.clone
	_, err := s.fleet.HandOver(t.Context(), s.run.Ref)
	way := "mv " + two + " " + two + ".put-away && git worktree prune"
	if !strings.Contains(reprise.HintOf(err), "`"+way+"`") || !strings.Contains(reprise.HintOf(err), "mv "+one+" ") {
		t.Errorf("the way out: %s", reprise.HintOf(err))
	}
	if out, err := shell(s.clone, way); err != nil {
		t.Fatal(err, out)
	}
	if err := s.over(s.run.Ref); err != nil {
		t.Errorf("one was put away: %v", err)
	}
	s.blocked(one)
}

// A copy whose state was changed and not committed is not passed over. (issue 19)
func TestA_state_that_is_not_committed_is_not_passed_over(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	s.step()
	s.stop()
	w, look := s.aside("w", "--detach"), s.aside("look", "-b", "other")
	if err := s.goOn(w, "b"); err != nil {
		t.Fatal(err)
	}
	files := strings.Fields(s.git(look, "ls-files", "--", s.run.Ref.Path))
	if len(files) == 0 {
		t.Fatal("the branch has no state")
	}
	file := filepath.Join(look, files[0])
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = s.fleet.HandOver(t.Context(), s.run.Ref)
	var diverged *DivergedError
	if !errors.As(err, &diverged) || !strings.Contains(err.Error(), look) || !strings.Contains(err.Error(), files[0]) {
		t.Errorf("%v", err)
	}
	s.git(look, "checkout", "-q", "--", files[0])
	if err := s.over(s.run.Ref); err != nil {
		t.Error(err)
	}
}

// An engine at work in any checkout keeps the fleet from taking the run, and so does a
// checkout that cannot be looked at. (issue 19)
func TestA_checkout_at_work_keeps_the_fleet_out(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	s.step()
	s.stop()
	w := s.aside("w", "--detach")
	if err := s.goOn(w, "b"); err != nil {
		t.Fatal(err)
	}
	was := s.tip()
	store, err := durable.Open(w, durable.Options{Now: time.Now})
	if err == nil {
		_, err = store.Take(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	var held *durable.HeldError
	if _, err := s.fleet.HandOver(t.Context(), s.run.Ref); !errors.As(err, &held) || !strings.Contains(err.Error(), w) || s.tip() != was {
		t.Errorf("at work: %v", err)
	}
	if err := store.Release(); err != nil {
		t.Fatal(err)
	}
	far := filepath.Join(s.dir, "disk", "far")
	s.git(s.clone, "worktree", "move", w, s.mount(far))
	if err := os.Rename(filepath.Dir(far), filepath.Dir(far)+".away"); err != nil {
		t.Fatal(err)
	}
	var unseen *UnseenError
	if _, err := s.fleet.HandOver(t.Context(), s.run.Ref); !errors.As(err, &unseen) || cli.ExitCode(err) != 11 || s.tip() != was {
		t.Errorf("its disk is away: %v", err)
	}
	if err := os.Rename(filepath.Dir(far)+".away", filepath.Dir(far)); err != nil {
		t.Fatal(err)
	}
	if err := s.over(s.run.Ref); err != nil {
		t.Error(err)
	}
	s.blocked(far)
}

// mount makes the folder around a checkout.
func (s *shared) mount(dir string) string {
	s.Helper()
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		s.Fatal(err)
	}
	return dir
}

// A run that was begun in another checkout of the clone is found, and handed over from any of
// them. (issue 19)
func TestA_run_that_was_begun_in_another_checkout(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	w := filepath.Join(s.dir, "w")
	s.git(s.clone, "worktree", "add", "-q", "-b", "side", w)
	was := s.clone
	s.clone = w
	ref := s.begunHere("loc")
	s.clone = was
	var here *BegunHereError
	if _, err := s.fleet.Begin(t.Context(), "flow.yaml", reprise.Goal{ID: "loc"}); !errors.As(err, &here) || !strings.Contains(err.Error(), w) {
		t.Errorf("begun as well: %v", err)
	}
	found, err := s.fleet.findBranch(t.Context(), "loc")
	if err != nil || found != ref {
		t.Fatalf("%+v, %v", found, err)
	}
	if err := s.over(found); err != nil {
		t.Fatal(err)
	}
	e, err := trusted{all: true}.engineFor(w, time.Now)
	if err == nil {
		_, err = e.Resume(t.Context(), ref, engine.Choice{})
	}
	if cli.ExitCode(err) != 11 {
		t.Errorf("it is worked on: %v", err)
	}
	s.run.Ref = ref
	s.step()
	s.launches("ab")
}

// The way back to one machine is a checkout on the branch where that can be, also where one
// was made before; a checkout that was handed over is left as it is. (issue 19)
func TestThe_way_back_is_on_the_branch(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	s.step()
	s.stop()
	s.takeBack("r", s.clone, Branch("r"))
	w := filepath.Join(s.dir, "r")
	s.takeBack("r", s.clone, Branch("r")) // it is there, and can follow
	if err := s.goOn(w, "b"); err != nil {
		t.Fatal(err)
	}
	if err := s.over(s.run.Ref); err != nil {
		t.Fatal(err)
	}
	s.blocked(w)
	s.run.Taken = false
	s.stop()
	s.takeBack("r", s.clone, "HEAD")
	s.takeBack("r", s.dir, "HEAD")
	if err := s.goOn(filepath.Join(s.dir, "r-2"), ""); err != nil {
		t.Fatal(err)
	}
	s.launches("abc")
}
