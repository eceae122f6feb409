package temporal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/engine"
	"reprise/journal"
	"reprise/report"
)

// A run that went on after the fleet left it is told as it stands: by its branch, or by the
// checkout of the clone that finished it. Where the remote cannot be asked, that is said.
// (issue 19)
func TestStatus_tells_what_came_of_a_run_since_the_fleet_left_it(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	s.step()
	s.back()
	look := func() (report.FleetRun, string) {
		runs := []report.FleetRun{{ID: "r", State: reprise.Interrupted.String()}}
		problem := s.fleet.since(t.Context(), runs, time.Minute)
		return runs[0], problem
	}
	if r, problem := look(); r.State != "interrupted" || r.Here != "" || problem != "" {
		t.Errorf("c is left: %+v, %q", r, problem)
	}
	if _, err := s.here(s.run.Ref, ""); err != nil {
		t.Fatal(err)
	}
	if r, problem := look(); r.State != "interrupted" || r.Here != s.run.Ref.Path || problem != "" {
		t.Errorf("finished here: %+v, %q", r, problem)
	}
	s.git(s.clone, "add", "-A")
	s.git(s.clone, "commit", "-q", "-m", "all of it")
	s.git(s.clone, "push", "-q", "origin", Branch("r"))
	if r, problem := look(); r.State != "complete" || r.Here != "" || problem != "" {
		t.Errorf("finished and pushed: %+v, %q", r, problem)
	}
	if err := os.Rename(s.remote, s.remote+".away"); err != nil {
		t.Fatal(err)
	}
	if r, problem := look(); r.State != "interrupted" || r.Here == "" || !strings.Contains(problem, "reach the remote") {
		t.Errorf("without the remote: %+v, %q", r, problem)
	}
}

// A run that is complete in a clone comes to its branch, and a turn of the fleet settles it: no
// mark stays. What cannot be resumed is not handed over. (issue 19)
func TestA_run_that_was_finished_in_a_clone_is_settled(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	s.step()
	s.back()
	if _, err := s.here(s.run.Ref, ""); err != nil {
		t.Fatal(err)
	}
	s.git(s.clone, "add", "-A")
	s.git(s.clone, "commit", "-q", "-m", "all of it")
	was := s.tip()
	var step *engine.StepError
	if _, err := s.fleet.Resume(t.Context(), s.run.Ref, engine.Choice{From: "nosuch"}); !errors.As(err, &step) || s.tip() != was {
		t.Errorf("it was handed over all the same: %v", err)
	}
	if _, err := s.fleet.Resume(t.Context(), s.run.Ref, engine.Choice{}); err != nil || s.tip() == was {
		t.Fatalf("it is not on the branch: %v", err)
	}
	s.run.Taken = false
	d, err := s.a.decide(t.Context(), s.next(), DecideInput{Run: s.run})
	if err != nil || d.Left == nil || d.Left.State != reprise.Complete {
		t.Fatalf("%+v, %v", d, err)
	}
	if files := s.git(s.remote, "ls-tree", "-r", "--name-only", Branch("r")); strings.Contains(files, stateDir) {
		t.Errorf("the branch has %s", files)
	}
	var over *OverError
	if _, err := s.fleet.Resume(t.Context(), s.run.Ref, engine.Choice{}); !errors.As(err, &over) {
		t.Errorf("it is resumed again: %v", err)
	}
	s.launches("abc")
}

// Where the server is gone for good, what is pushed lands without it, and is not done again.
// (issue 19)
func TestA_run_is_given_back_without_a_server(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	s.step()
	s.attempted(s.a) // no one is left to land it
	if err := s.fleet.GiveBack(t.Context(), "r", false); err != nil {
		t.Fatal(err)
	}
	s.git(s.clone, "fetch", "-q", "origin")
	s.git(s.clone, "checkout", "-q", Branch("r"))
	if sum, err := s.here(s.run.Ref, ""); err != nil || len(sum.Left) > 0 {
		t.Errorf("%+v, %v", sum, err)
	}
	s.launches("abc")
	if err := s.fleet.GiveBack(t.Context(), "r", false); err == nil || !strings.Contains(err.Error(), "not the fleet's") {
		t.Errorf("it is given back twice: %v", err)
	}
}

// What a stopped attempt left is not on the branch: whoever goes on is told which ref has it, and
// so is the next agent. (issue 19)
func TestWhat_a_stopped_attempt_left_is_named(t *testing.T) {
	t.Parallel()
	told := filepath.Join(t.TempDir(), "prompt-")
	b := newBench(t, "name: r\nsteps:\n  - {id: a, role: dev, prompt: make it, outputs: [a.txt], on_crash: rerun}\n",
		"reprise.yaml", "agents:\n  actor: {command: [sh, -c, 'cat > "+told+"$REPRISE_ATTEMPT; echo half > half.txt; test $REPRISE_ATTEMPT -gt 1 || sleep 100; echo a > a.txt']}\nroles: {default: actor}\n")
	a := b.worker("one")
	start := b.decided(a).Starts[0]
	work, stop := context.WithTimeout(t.Context(), 2*time.Second)
	defer stop()
	r, err := a.attempt(t.Context(), work, b.next(), AttemptInput{Run: b.run, Start: start}, &words{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.land(t.Context(), b.next(), LandInput{Run: b.run, Start: start, Result: *r}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.decide(t.Context(), b.next(), DecideInput{Run: b.run, Stop: true}); err != nil {
		t.Fatal(err)
	}
	f := &Fleet{Clone: filepath.Join(b.dir, "clone"), Remote: b.remote}
	left, err := f.Left(t.Context(), "r")
	want := LeftWork{Step: "a", Number: 1, Ref: "refs/reprise/r/a/1", Files: 1}
	if err != nil || len(left) != 1 || left[0] != want {
		t.Errorf("%+v, %v", left, err)
	}
	b.git(f.Clone, "fetch", "-q", "origin")
	b.git(f.Clone, "checkout", "-q", Branch("r"))
	entries, err := recorded(f.Clone, b.run.Ref)
	if err != nil || journal.Fold(entries).Step("a").Ref != want.Ref {
		t.Errorf("the record says %q, %v", journal.Fold(entries).Step("a").Ref, err)
	}
	b.git(f.Clone, "fetch", "-q", "origin", want.Ref)
	b.git(f.Clone, "merge", "-q", "--squash", "FETCH_HEAD")
	if text, _ := os.ReadFile(filepath.Join(f.Clone, "half.txt")); string(text) != "half\n" {
		t.Errorf("the command brings %q", text)
	}
	b.git(f.Clone, "commit", "-q", "-m", "half")
	e, err := trusted{all: true}.engineFor(f.Clone, time.Now)
	if err == nil {
		_, err = e.Resume(t.Context(), b.run.Ref, engine.Choice{})
	}
	if text, _ := os.ReadFile(told + "2"); err != nil || !strings.Contains(string(text), "git fetch origin "+want.Ref) {
		t.Errorf("the next agent is told %s, %v", text, err)
	}
}
