package temporal

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/engine"
	"reprise/internal/cli"
	"reprise/project"
)

// threeSteps note every launch outside of the repository.
func threeSteps(log string) string {
	text := "name: r\nsteps:\n"
	for i, id := range []string{"a", "b", "c"} {
		needs := ""
		if i > 0 {
			needs = ", needs: [" + string(rune('a'+i-1)) + "]"
		}
		text += "  - {id: " + id + needs + ", command: [sh, -c, 'echo " + id + " >> " + log + "; echo " + id + " > " + id + ".txt'], outputs: [" + id + ".txt], on_crash: rerun}\n"
	}
	return text
}

// shared is a bench with a clone that a person works in.
type shared struct {
	*bench
	clone, log string
	fleet      *Fleet
	a          *Activities
}

func newShared(t *testing.T) *shared {
	t.Helper()
	log := filepath.Join(t.TempDir(), "launches")
	s := &shared{bench: newBench(t, threeSteps(log)), log: log}
	s.clone, s.a = filepath.Join(s.dir, "clone"), s.worker("one")
	s.fleet = &Fleet{Clone: s.clone, Remote: s.remote}
	return s
}

// step has a worker do the next step.
func (s *shared) step() {
	s.Helper()
	in := s.attempted(s.a)
	in.Decide = false
	if l, err := s.a.land(s.Context(), s.next(), in); err != nil || l.Accepted == nil {
		s.Fatalf("%+v, %v", l, err)
	}
}

// here has a person do steps in the clone.
func (s *shared) here(ref reprise.Ref, until string) (*engine.Summary, error) {
	s.Helper()
	return s.chosen(ref, engine.Choice{Until: until})
}

// chosen resumes a run in the clone as a person chose.
func (s *shared) chosen(ref reprise.Ref, choice engine.Choice) (*engine.Summary, error) {
	s.Helper()
	e, err := trusted{all: true}.engineFor(s.clone, time.Now)
	if err != nil {
		s.Fatal(err)
	}
	return e.Resume(s.Context(), ref, choice)
}

// stop has the fleet leave the run.
func (s *shared) stop() {
	s.Helper()
	if _, err := s.a.decide(s.Context(), s.next(), DecideInput{Run: s.run, Stop: true}); err != nil {
		s.Fatal(err)
	}
}

// back has a person stop the run, fetch the branch and do b in a checkout of it.
func (s *shared) back() {
	s.Helper()
	s.stop()
	s.git(s.clone, "fetch", "-q", "origin")
	s.git(s.clone, "checkout", "-q", Branch("r"))
	if _, err := s.here(s.run.Ref, "b"); err != nil {
		s.Fatal(err)
	}
}

func (s *shared) launches(want string) {
	s.Helper()
	text, _ := os.ReadFile(s.log)
	if got := strings.Join(strings.Fields(string(text)), ""); got != want {
		s.Errorf("launched %q, want %q", got, want)
	}
}

// What was done in a checkout of the branch comes to the branch, once it is committed, before the
// fleet takes the run up: nothing is done twice. The copy here is not worked on after that.
// (issue 19)
func TestWork_in_a_clone_comes_back_to_the_fleet(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(s *shared){
		"not committed": func(*shared) {},
		"committed": func(s *shared) {
			s.git(s.clone, "add", "-A")
			s.git(s.clone, "commit", "-q", "-m", "b")
		},
		"committed and left": func(s *shared) {
			s.git(s.clone, "add", "-A")
			s.git(s.clone, "commit", "-q", "-m", "b")
			s.git(s.clone, "checkout", "-q", "main")
		},
		"pushed": func(s *shared) {
			s.git(s.clone, "add", "-A")
			s.git(s.clone, "commit", "-q", "-m", "b")
			s.git(s.clone, "push", "-q", "origin", Branch("r"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShared(t)
			s.step()
			s.back()
			s.launches("ab")
			leave(s)
			if err := s.over(s.run.Ref); err != nil {
				t.Fatal(err)
			}
			if name != "committed and left" {
				if _, err := s.here(s.run.Ref, ""); cli.ExitCode(err) != 11 {
					t.Errorf("the copy here is worked on: %v", err)
				}
			}
			s.run.Taken = false
			s.step()
			s.launches("abc")
			// The fleet has moved on: the copy here is old, and no more than that.
			if _, err := s.fleet.HandOver(t.Context(), s.run.Ref); err != nil {
				t.Errorf("an old copy: %v", err)
			}
			files := s.git(s.clone, "ls-tree", "-r", "--name-only", s.tip())
			for _, file := range []string{"a.txt", "b.txt", "c.txt"} {
				if !strings.Contains(files, file) {
					t.Errorf("the branch has no %s: %s", file, files)
				}
			}
		})
	}
}

func (s *shared) tip() string {
	s.git(s.clone, "fetch", "-q", "origin", Branch("r"))
	return s.git(s.clone, "rev-parse", "FETCH_HEAD")
}

// A run that went on in both places is not taken up. (issue 19)
func TestA_run_that_went_on_in_two_places_is_refused(t *testing.T) {
	t.Parallel()
	for _, committed := range []bool{false, true} {
		s := newShared(t)
		s.step()
		s.back()
		if committed {
			s.git(s.clone, "add", "-A")
			s.git(s.clone, "commit", "-q", "-m", "b")
			s.git(s.clone, "checkout", "-q", "main")
		}
		s.step()
		was := s.tip()
		var diverged *DivergedError
		if _, err := s.fleet.HandOver(t.Context(), s.run.Ref); !errors.As(err, &diverged) || cli.ExitCode(err) != 11 {
			t.Errorf("committed %v: %v", committed, err)
		}
		if s.tip() != was {
			t.Error("the branch was moved")
		}
	}
}

// Looking at the branch in a checkout changes nothing. (issue 19)
func TestA_checkout_that_was_only_looked_at_stays_as_it_is(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	s.step()
	s.git(s.clone, "fetch", "-q", "origin")
	s.git(s.clone, "checkout", "-q", Branch("r"))
	was := s.tip()
	if _, err := s.fleet.HandOver(t.Context(), s.run.Ref); err != nil {
		t.Fatal(err)
	}
	if changed := s.git(s.clone, "status", "--porcelain"); changed != "" || s.tip() != was {
		t.Errorf("changed %q, the branch is at %s and was at %s", changed, s.tip(), was)
	}
}

// A stop that meets the landing of the last step has the end of the run put on record, as if no one
// had stopped it. One that comes before that has not. (issue 19)
func TestA_stop_after_the_last_step_ends_the_run(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	s.step()
	s.step()
	s.step()
	d, err := s.a.decide(s.Context(), s.next(), DecideInput{Run: s.run, Stop: true})
	if err != nil || d.Left == nil || d.Left.State != reprise.Complete || len(d.Starts) > 0 {
		t.Errorf("%+v, %v", d, err)
	}
	s = newShared(t)
	s.step()
	s.step()
	d, err = s.a.decide(s.Context(), s.next(), DecideInput{Run: s.run, Stop: true})
	if err != nil || d.Left == nil || d.Left.State != reprise.Interrupted || len(d.Starts) > 0 {
		t.Errorf("%+v, %v", d, err)
	}
	s.launches("ab")
}

// What was begun in the clone and is not over is not begun on the fleet as well under another name.
// --id begins another one. (issue 19)
func TestWhat_the_clone_has_begun_the_fleet_does_not_begin_again(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	s.without("r")
	ref := s.begunHere("")
	refused := func() {
		t.Helper()
		_, err := s.fleet.Begin(t.Context(), "./flow.yaml", reprise.Goal{})
		if here, is := errors.AsType[*BegunHereError](err); !is || cli.ExitCode(err) != 11 || !strings.Contains(here.Hint(), "`reprise-fleet resume "+ref.ID+"`") {
			t.Errorf("exit %d, %v", cli.ExitCode(err), err)
		}
	}
	refused()
	if err := s.over(ref); err != nil {
		t.Fatal(err)
	}
	if made, err := s.fleet.Begin(t.Context(), "./flow.yaml", reprise.Goal{}); err != nil || made.ID != ref.ID {
		t.Errorf("the fleet has it, and found %q, %v", made.ID, err)
	}
	if _, err := s.fleet.Begin(t.Context(), "flow.yaml", reprise.Goal{ID: "new"}); err != nil {
		t.Error(err)
	}
	if live := (&BegunHereError{Name: ref.ID, live: true}); cli.ExitCode(live) != 20 {
		t.Errorf("exit %d while it is at work", cli.ExitCode(live))
	}
}

// A run that was begun in one clone and handed over, with a name or without, is what a start without
// a name finds in another: a claim says so at once, and its branch where no one made that. (issue 19)
func TestA_run_that_was_handed_over_is_found_in_another_clone(t *testing.T) {
	t.Parallel()
	for id, claimed := range map[string]bool{"": true, "named": true, "unclaimed": false} {
		s := newShared(t)
		s.without("r")
		ref := s.begunHere(id)
		if err := s.over(ref); err != nil {
			t.Fatal(err)
		}
		claim := s.fleet.claim("flow.yaml", reprise.Goal{})
		if at := s.git(s.remote, "for-each-ref", "--format=%(objectname)", claim); at != s.git(s.remote, "rev-parse", Branch(ref.ID)) {
			t.Errorf("%q: the claim is at %q", id, at)
		}
		if !claimed {
			s.git(s.remote, "update-ref", "-d", claim)
		}
		other := &Fleet{Clone: filepath.Join(s.dir, "other"), Remote: s.remote}
		s.git(s.dir, "clone", "-q", s.remote, other.Clone)
		if made, err := other.Begin(t.Context(), "flow.yaml", reprise.Goal{}); err != nil || made.ID != ref.ID {
			t.Errorf("%q: begun again as %q, %v", id, made.ID, err)
		}
		if made, err := other.Begin(t.Context(), "flow.yaml", reprise.Goal{ID: "new"}); err != nil || made.ID != "new" {
			t.Errorf("%q: a new one is %q, %v", id, made.ID, err)
		}
	}
}

// without has the remote know nothing of a run.
func (s *shared) without(run string) {
	s.Helper()
	for _, ref := range []string{"refs/heads/" + Branch(run), lastOf("refs/heads/" + Branch(run))} {
		s.git(s.remote, "update-ref", "-d", ref)
	}
}

// A run that was begun in the clone and handed over is blocked there, whatever a person
// chooses, and the way back is one that works. (issue 19)
func TestA_run_that_was_handed_over_is_blocked_in_the_clone(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	e, err := trusted{all: true}.engineFor(s.clone, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	ref, err := begin(t.Context(), e, "flow.yaml", reprise.Goal{ID: "loc"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.here(ref, "a"); err != nil {
		t.Fatal(err)
	}
	var here *BegunHereError
	if _, err := s.fleet.Begin(t.Context(), "flow.yaml", reprise.Goal{ID: "loc"}); !errors.As(err, &here) {
		t.Errorf("begun on the fleet as well: %v", err)
	}
	for range 2 {
		if err := s.over(ref); err != nil {
			t.Fatal(err)
		}
	}
	for _, option := range []string{"", reprise.OptionContinue} {
		if _, err := e.Resume(t.Context(), ref, engine.Choice{Option: option}); cli.ExitCode(err) != 11 {
			t.Errorf("option %q: %v", option, err)
		}
	}
	s.launches("a")
	j, err := project.Judge(t.Context(), s.clone, project.JudgeOptions{Options: project.Options{Now: time.Now()}})
	if err != nil {
		t.Fatal(err)
	}
	hint := ""
	for _, f := range j.Find(ref).Findings {
		if f.Code == reprise.CodeHandedOver {
			hint = f.Hint
		}
	}
	// `reprise-fleet stop`, where no server has a workflow of the run.
	if had, err := s.fleet.release(t.Context(), "loc"); !had || err != nil || !strings.Contains(hint, "`reprise-fleet stop loc`") {
		t.Errorf("%q: %t, %v", hint, had, err)
	}
	s.takeBack("loc", s.clone, "reprise/loc")
	if _, err := os.Stat(filepath.Join(s.dir, "loc", "a.txt")); err != nil {
		t.Error(err)
	}
	s.clone = filepath.Join(s.dir, "loc")
	if _, err := s.here(ref, "b"); err != nil {
		t.Fatal(err)
	}
	s.launches("ab")
	// And on to the fleet again, from there.
	s.fleet.Clone = s.clone
	if err := s.over(ref); err != nil {
		t.Fatal(err)
	}
	s.run.Ref = ref
	s.step()
	s.launches("abc")
}

// takeBack follows the way back to one machine in a folder, and checks what is checked out
// there: a branch, or "HEAD" for none.
func (s *shared) takeBack(run, dir, branch string) {
	s.Helper()
	way, err := s.fleet.WayBack(s.Context(), run, dir)
	if err != nil {
		s.Fatal(err)
	}
	git, resume, _ := strings.Cut(way, " && reprise resume ")
	if out, err := shell(dir, git); err != nil {
		s.Fatalf("%s: %v: %s", way, err, out)
	}
	_, at, _ := strings.Cut(strings.TrimSuffix(resume, " --trust"), " -C ")
	if !filepath.IsAbs(at) {
		at = filepath.Join(dir, at)
	}
	if got := s.git(at, "rev-parse", "--abbrev-ref", "HEAD"); got != branch {
		s.Errorf("%s: %s is checked out", way, got)
	}
	if s.git(at, "rev-parse", "HEAD") != s.git(s.remote, "rev-parse", Branch(run)) {
		s.Errorf("%s: it is not what the remote has", way)
	}
}

func shell(dir, line string) (string, error) {
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// A file that is not committed is named as it was given. (issue 19)
func TestA_workflow_file_that_is_not_there(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	_, err := s.fleet.Begin(t.Context(), "nofile.yaml", reprise.Goal{ID: "x"})
	var unknown *UnknownFlowError
	if !errors.As(err, &unknown) || strings.Contains(err.Error(), os.TempDir()) {
		t.Errorf("%v", err)
	}
}

// A run is left to a person only if nothing else goes on. (issue 19)
func TestState_asks(t *testing.T) {
	t.Parallel()
	q := []Question{{}}
	for i, c := range []struct {
		State
		want bool
	}{
		{State{}, false},
		{State{Questions: q}, true},
		{State{Questions: q, Answering: 1}, false},
		{State{Questions: q, AtWork: []AtWork{{}}}, false},
		{State{Questions: q, Until: time.Now()}, false},
	} {
		if c.Asks() != c.want {
			t.Errorf("%d: %v", i, c.Asks())
		}
	}
}
