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
	"reprise/journal"
	"reprise/project"
)

// looked is what the plain program finds of the run in a folder.
func (s *shared) looked(dir string) string {
	s.Helper()
	j, err := project.Judge(s.Context(), dir, project.JudgeOptions{Options: project.Options{Now: time.Now()}, Full: true, Adopt: true})
	if err != nil {
		s.Fatal(err)
	}
	for _, f := range j.Find(s.run.Ref).Findings {
		if f.Code == reprise.CodeHandedOver && f.Severity == reprise.Blocking {
			return f.Hint
		}
	}
	return ""
}

// While the fleet has a run open its branch says so, from the beginning on: whoever checks it
// out does not do its steps as well. After a stop it goes on there. (issue 19)
func TestA_branch_says_that_the_fleet_has_the_run(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	at := func(when string, blocked bool) {
		t.Helper()
		s.git(s.clone, "fetch", "-q", "origin")
		s.git(s.clone, "checkout", "-q", "--detach", "origin/"+Branch("r"))
		hint := s.looked(s.clone)
		if _, err := s.here(s.run.Ref, "a"); blocked && cli.ExitCode(err) != 11 {
			t.Errorf("%s: it is worked on: %v", when, err)
		}
		if blocked != (hint != "") || blocked && (!strings.Contains(hint, "reprise-fleet stop r") || !strings.Contains(hint, "reprise-fleet status")) {
			t.Errorf("%s: blocked %v: %q", when, blocked, hint)
		}
	}
	at("begun", true)
	s.launches("")
	start := s.decided(s.a).Starts[0]
	at("a is at work", true)
	s.launches("")
	in := s.tried(s.a, start)
	if l, err := s.a.land(t.Context(), s.next(), in); err != nil || l.Accepted == nil {
		t.Fatalf("%+v, %v", l, err)
	}
	at("a landed", true)
	s.stop()
	s.launches("a")
	at("stopped", false)
	if _, err := s.here(s.run.Ref, ""); err != nil {
		t.Error(err)
	}
}

// A run that is over leaves no mark, and neither does one that a workflow left open when it
// was terminated, once someone stops it. (issue 19)
func TestA_mark_does_not_outlive_the_run(t *testing.T) {
	t.Parallel()
	marks := func(s *shared) string {
		return s.git(s.clone, "ls-tree", "-r", "--name-only", s.tip(), "--", ".reprise/journal/"+filepath.Base(durable.FleetMark(journal.Name(s.run.Ref))))
	}
	s := newShared(t)
	for range 3 {
		if s.step(); marks(s) == "" {
			t.Error("it has no mark while the fleet has it")
		}
	}
	if d, err := s.a.decide(t.Context(), s.next(), DecideInput{Run: s.run}); err != nil || d.Left == nil {
		t.Fatalf("%+v, %v", d, err)
	}
	if got := marks(s); got != "" {
		t.Errorf("it is over and has %s", got)
	}
	s = newShared(t)
	s.step()
	for _, want := range []bool{true, false} {
		if had, err := s.fleet.release(t.Context(), "r"); had != want || err != nil {
			t.Errorf("%v, %v", had, err)
		}
	}
	if got := marks(s); got != "" {
		t.Errorf("it was given back and has %s", got)
	}
	s.run.Taken = false // a workflow that was started since
	s.back()
	s.launches("ab")
}

// What is finished and pushed lands before the fleet leaves a run: no one does it again. Where
// that cannot be, the run is not given back. (issue 19)
func TestWhat_is_pushed_lands_before_a_run_is_given_back(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	in := s.attempted(s.a)
	s.refuse("refs/heads/reprise/")
	if _, err := s.a.land(t.Context(), s.next(), in); err == nil {
		t.Fatal("the remote refuses nothing")
	}
	if _, err := s.fleet.release(t.Context(), "r"); cli.ExitCode(err) != 11 {
		t.Errorf("it is given back without what is pushed: %v", err)
	}
	if err := os.Remove(filepath.Join(s.remote, "hooks", "pre-receive")); err != nil {
		t.Fatal(err)
	}
	// It is stopped once the remote allows it, with an attempt that could not be landed.
	if _, err := s.a.decide(t.Context(), s.next(), DecideInput{Run: s.run, Stop: true, AtWork: []engine.Elsewhere{in.Start.Elsewhere}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{true, false} {
		if had, err := s.fleet.release(t.Context(), "r"); had != want || err != nil {
			t.Fatalf("%v, %v", had, err)
		}
	}
	if left := s.git(s.remote, "for-each-ref", "refs/reprise/"); left != "" {
		t.Errorf("not landed: %s", left)
	}
	s.launches("a")
	s.git(s.clone, "fetch", "-q", "origin")
	s.git(s.clone, "checkout", "-q", Branch("r"))
	if _, err := s.here(s.run.Ref, "b"); err != nil {
		t.Fatal(err)
	}
	s.launches("ab")
}

// Work that a worker has to verify does not land without that, and the run is not given back. (issue 19)
func TestWhat_is_to_be_verified_keeps_a_run_from_being_given_back(t *testing.T) {
	t.Parallel()
	s := &shared{bench: newBench(t, "name: r\nsteps:\n  - {id: a, command: [sh, -c, 'echo a >> a.txt'], outputs: [a.txt], verify: [test, -f, a.txt]}\n")}
	s.fleet, s.a = &Fleet{Clone: filepath.Join(s.dir, "clone"), Remote: s.remote}, s.worker("one")
	in := s.attempted(s.a)
	_, err := s.fleet.release(t.Context(), "r")
	var left *UnlandedError
	if !errors.As(err, &left) || cli.ExitCode(err) != 11 || !strings.Contains(left.Hint(), "resume r --until a") {
		t.Fatalf("%v", err)
	}
	if l, err := s.a.land(t.Context(), s.next(), in); err != nil || l.Late || !l.Verify {
		t.Errorf("it is no longer open: %+v, %v", l, err)
	}
	// Where the server is gone for good, whoever goes on has it and verifies it.
	if err := s.fleet.GiveBack(t.Context(), "r", false); err != nil {
		t.Fatal(err)
	}
	work, err := s.fleet.Left(t.Context(), "r")
	if err != nil || len(work) != 1 || work[0].Ref != "refs/reprise/r/a/1" {
		t.Fatalf("%+v, %v", work, err)
	}
	s.clone = s.fleet.Clone
	s.git(s.clone, "fetch", "-q", "origin")
	s.git(s.clone, "checkout", "-q", Branch("r"))
	s.git(s.clone, "fetch", "-q", "origin", work[0].Ref)
	s.git(s.clone, "merge", "-q", "--squash", "FETCH_HEAD")
	sum, err := s.here(s.run.Ref, "")
	if text, _ := os.ReadFile(filepath.Join(s.clone, "a.txt")); err != nil || len(sum.Left) > 0 || string(text) != "a\n" {
		t.Errorf("it is done again: %q, %+v, %v", text, sum, err)
	}
}

// begunHere begins a run in the clone and does its first step.
func (s *shared) begunHere(id string) reprise.Ref {
	s.Helper()
	e, err := trusted{all: true}.engineFor(s.clone, time.Now)
	if err != nil {
		s.Fatal(err)
	}
	ref, err := begin(s.Context(), e, "flow.yaml", reprise.Goal{ID: id})
	if err == nil {
		_, err = e.Resume(s.Context(), ref, engine.Choice{Until: "a"})
	}
	if err != nil {
		s.Fatal(err)
	}
	return ref
}

// A run whose branch was deleted is not invented anew. (issue 19)
func TestA_run_whose_branch_is_gone_is_refused(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	ref := s.begunHere("loc")
	if err := s.over(ref); err != nil {
		t.Fatal(err)
	}
	s.git(s.clone, "fetch", "-q", "origin")
	was := s.git(s.clone, "rev-parse", "origin/"+Branch("loc"))
	s.git(s.remote, "update-ref", "-d", "refs/heads/"+Branch("loc"))
	_, err := s.fleet.HandOver(t.Context(), ref)
	var gone *NoBranchError
	if !errors.As(err, &gone) || cli.ExitCode(err) != 11 || !strings.Contains(err.Error(), "the remote has no branch reprise/loc") {
		t.Fatalf("%v", err)
	}
	_, way, _ := strings.Cut(gone.Hint(), "`")
	if out, err := shell(s.clone, strings.TrimSuffix(way, "`")); err != nil {
		t.Fatalf("%q: %v %s", way, err, out)
	}
	if _, err := s.fleet.HandOver(t.Context(), ref); err != nil || s.git(s.remote, "rev-parse", Branch("loc")) != was {
		t.Errorf("brought back: %v", err)
	}
}

// A hand-over brings the run, and neither another one nor what else is not committed. (issue 19)
func TestA_hand_over_brings_no_other_run(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	other, ref := s.begunHere("other"), s.begunHere("loc")
	if err := os.WriteFile(filepath.Join(s.clone, "work.txt"), []byte("not committed"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := s.over(ref); err != nil {
		t.Fatal(err)
	}
	files := s.git(s.remote, "ls-tree", "-r", "--name-only", Branch("loc"))
	for _, not := range []string{other.Path + "/", journal.Name(other), "work.txt"} {
		if strings.Contains(files, not) {
			t.Errorf("%s of the other run is on the branch: %s", not, files)
		}
	}
	for _, want := range []string{ref.Path + "/", journal.Name(ref) + ".anchor", journal.Name(ref) + "-000001.log", durable.FleetMark(journal.Name(ref)), "a.txt"} {
		if !strings.Contains(files, want) {
			t.Errorf("the branch has no %s: %s", want, files)
		}
	}
}

// A name stands for one run: what else is begun under it is refused. (issue 19)
func TestA_name_is_that_of_one_run(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	if err := os.WriteFile(filepath.Join(s.clone, "other.yaml"), []byte(threeSteps(s.log)), 0o644); err != nil {
		t.Fatal(err)
	}
	s.git(s.clone, "add", "-A")
	s.git(s.clone, "commit", "-q", "-m", "other")
	if _, err := s.fleet.Begin(t.Context(), "build", reprise.Goal{ID: "p", Text: "one"}); err != nil {
		t.Fatal(err)
	}
	ref := s.begunHere("loc") // its branch tells by its files alone
	if err := s.over(ref); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what, id, text, of string
	}{
		{"flow.yaml", "r", "", ""}, {"./flow.yaml", "r", "", ""}, {"other.yaml", "r", "", "flow.yaml"}, {"build", "r", "one", "flow.yaml"},
		{"build", "p", "one", ""}, {"build", "p", "two", "build one"}, {"flow.yaml", "p", "", "build one"},
		{"flow.yaml", "loc", "", ""}, {"other.yaml", "loc", "", "flow.yaml"},
	} {
		_, err := s.fleet.Begin(t.Context(), c.what, reprise.Goal{ID: c.id, Text: c.text})
		var other *OtherRunError
		if errors.As(err, &other) != (c.of != "") || other != nil && other.Of != c.of || other == nil && err != nil {
			t.Errorf("run %s %s --id %s: %v", c.what, c.text, c.id, err)
		}
	}
}
