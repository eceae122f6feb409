package temporal

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.temporal.io/sdk/temporal"

	"reprise"
	"reprise/engine"
	"reprise/internal/cli"
)

// given has the fleet begin a list of tasks that is committed in the clone, which has nothing of
// it on record.
func (s *shared) given() {
	s.Helper()
	s.listed()
	made, err := s.fleet.Begin(s.Context(), "tasks", reprise.Goal{Path: "specs/003-z/tasks.md"})
	if err != nil {
		s.Fatal(err)
	}
	s.run.Ref = made.Ref
}

// listed commits a list of tasks in the clone.
func (s *shared) listed() {
	s.Helper()
	dir := filepath.Join(s.clone, "specs", "003-z")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		s.Fatal(err)
	}
	for name, text := range map[string]string{
		"spec.md":  "# Z\n\n**Status**: Draft\n",
		"tasks.md": "# Tasks\n\n- [ ] T001 Make one\n- [ ] T002 Make two\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			s.Fatal(err)
		}
	}
	s.saved("tasks")
	s.git(s.clone, "push", "-q", "origin", "main")
}

// saved commits what is in the clone.
func (s *shared) saved(message string) {
	s.Helper()
	s.git(s.clone, "add", "-A")
	s.git(s.clone, "commit", "-q", "-m", message)
}

// The files of a run may be in the clone before anyone begins it, as a list of tasks is. Once the
// fleet has it, no checkout of the clone does its tasks as well. (issue 19)
func TestA_list_of_tasks_that_the_fleet_has_is_not_done_in_the_clone(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	s.given()
	aside := filepath.Join(s.dir, "aside")
	s.git(s.clone, "worktree", "add", "-q", "--detach", aside, "main")
	if _, err := s.fleet.HandOver(t.Context(), s.run.Ref); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{s.clone, aside} {
		s.blocked(dir)
		if !s.noted(dir) {
			t.Errorf("%s does not say that the fleet has it", dir)
		}
	}
	// A clone that has fetched the branch knows it as well, from the beginning on.
	other := filepath.Join(s.dir, "other")
	s.git(s.dir, "clone", "-q", s.remote, other)
	if hint := s.looked(other); hint == "" {
		t.Error("another clone does not know that the fleet has it")
	}
	home := t.TempDir()
	if code := cli.Main([]string{"check", "-C", other}, io.Discard, io.Discard, func(name string) string { return map[string]string{"HOME": home, "PATH": os.Getenv("PATH")}[name] }); code != 11 {
		t.Errorf("check there ends with %d", code)
	}
	s.git(other, "checkout", "-q", Branch(s.run.Ref.ID))
	if hint := s.looked(other); hint == "" {
		t.Error("a checkout of the branch does not say that the fleet has it")
	}
	s.run.Taken = false
	if d := s.decided(s.a); d.Starts[0].Step != "T001" {
		t.Errorf("the fleet starts %+v", d.Starts)
	}
}

// A start without a name finds the run that was begun before while something is left of it, and
// begins another one after that: its branch says so, whatever the server still knows, and its last
// commit where the branch was deleted. (issue 19)
func TestA_new_start_of_a_run_that_is_over_begins_another(t *testing.T) {
	t.Parallel()
	for _, deleted := range []bool{false, true} {
		s := newShared(t)
		begin := func() string {
			t.Helper()
			made, err := s.fleet.Begin(t.Context(), "flow.yaml", reprise.Goal{})
			if err != nil {
				t.Fatal(err)
			}
			s.run.Ref = made.Ref
			return made.ID
		}
		first := begin()
		for range 3 {
			if again := begin(); again != first {
				t.Fatalf("%s was begun while %s is open", again, first)
			}
			s.step()
		}
		if d, err := s.a.decide(t.Context(), s.next(), DecideInput{Run: s.run}); err != nil || d.Left == nil || len(d.Left.Left) > 0 {
			t.Fatalf("%+v, %v", d, err)
		}
		if deleted {
			s.git(s.clone, "push", "-q", "origin", ":"+Branch(first))
		}
		if again := begin(); again == first {
			t.Errorf("deleted %v: the run that is over was found again", deleted)
		}
	}
}

// A run that is finished and merged, and whose branch was deleted after that, is told finished. Where
// it is not merged, the command that brings the branch back is. (issue 19)
func TestA_finished_run_whose_branch_was_deleted_is_told_finished(t *testing.T) {
	t.Parallel()
	for _, merged := range []bool{true, false} {
		s := newShared(t)
		for range 3 {
			s.step()
		}
		if d, err := s.a.decide(t.Context(), s.next(), DecideInput{Run: s.run}); err != nil || d.Left == nil || len(d.Left.Left) > 0 {
			t.Fatalf("%+v, %v", d, err)
		}
		if s.git(s.clone, "fetch", "-q", "origin"); merged {
			s.git(s.clone, "merge", "-q", "--no-edit", "origin/"+Branch("r"))
		}
		s.git(s.clone, "push", "-q", "origin", ":"+Branch("r"))
		for name, do := range map[string]func() (Begun, error){
			"run":    func() (Begun, error) { return s.fleet.Begin(t.Context(), "flow.yaml", reprise.Goal{ID: "r"}) },
			"resume": func() (Begun, error) { return s.fleet.Resume(t.Context(), s.run.Ref, engine.Choice{}) },
		} {
			_, err := do()
			over, is := errors.AsType[*OverError](err)
			var gone *NoBranchError
			if is != merged || is && (over.Verb != name || cli.ExitCode(err) != 3) || !is && !errors.As(err, &gone) {
				t.Errorf("merged %v: %s: %v", merged, name, err)
			}
		}
	}
}

// Without a server no one knows whether an agent is at work on an attempt that has pushed nothing:
// the run is not given back until it has, or a person says that it is lost. A server that comes back
// finds that the fleet has left the run: nothing of it is started or landed. (issue 19)
func TestAn_attempt_that_may_be_at_work_keeps_a_run_from_being_given_back(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{false, true} {
		s := newShared(t)
		s.step()
		start := s.decided(s.a).Starts[0]
		var unheard *UnheardError
		if err := s.fleet.GiveBack(t.Context(), "r", false); !errors.As(err, &unheard) || cli.ExitCode(err) != 11 ||
			!strings.Contains(err.Error(), "attempt 1 of b") || !strings.Contains(unheard.Hint(), "stop r --server-gone --lost") {
			t.Fatalf("%v", err)
		}
		in := LandInput{Run: s.run, Start: start}
		if !lost {
			in = s.tried(s.a, start)
		}
		if err := s.fleet.GiveBack(t.Context(), "r", lost); err != nil {
			t.Fatal(err)
		}
		tip := s.tip()
		var app *temporal.ApplicationError
		refused := func(what string, err error) {
			t.Helper()
			if !errors.As(err, &app) || app.Type() != "exit-11" || !strings.Contains(err.Error(), "the fleet has left it") {
				t.Errorf("lost %v: %s: %v", lost, what, err)
			}
		}
		if lost {
			_, err := s.a.attempt(t.Context(), t.Context(), s.next(), AttemptInput{Run: s.run, Start: start}, &words{})
			refused("it is attempted", err)
		}
		_, err := s.a.land(t.Context(), s.next(), in)
		refused("it is landed", err)
		_, err = s.a.decide(t.Context(), s.next(), DecideInput{Run: s.run})
		refused("it goes on", err)
		if s.tip() != tip {
			t.Error("the branch was moved")
		}
		s.launches(map[bool]string{true: "a", false: "ab"}[lost])
		s.run.Taken = false // someone resumes it
		if d := s.decided(s.a); len(d.Starts) != 1 {
			t.Errorf("%+v", d)
		}
	}
}

// A run that the server has forgotten is told as its branch has it. (issue 19)
func TestA_run_that_the_server_forgot_is_told_by_its_branch(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	s.step()
	s.stop()
	told, err := s.fleet.forgotten(t.Context(), "r")
	if err != nil || len(told.Runs) != 1 || told.Runs[0].State != reprise.Interrupted.String() || told.Runs[0].Started.IsZero() {
		t.Errorf("%+v, %v", told, err)
	}
	if told, err := s.fleet.forgotten(t.Context(), "none"); err != nil || len(told.Runs) != 0 {
		t.Errorf("%+v, %v", told, err)
	}
}

// A run that was handed over with an attempt under way, and came back by a squash merge after which its
// branch was deleted, is an old copy until the fleet's program is asked: that finds in the history here
// what the fleet left. Where that is not here, it stays one. (issue 19)
func TestA_run_that_came_back_by_a_squash_merge_is_found_here(t *testing.T) {
	t.Parallel()
	for _, merged := range []bool{true, false} {
		s := newShared(t)
		s.given()
		id := s.run.Ref.ID
		s.git(s.clone, "fetch", "-q", "origin")
		s.git(s.clone, "checkout", "-q", "--detach", "origin/"+Branch(id))
		list := filepath.Join(s.clone, "specs", "003-z", "tasks.md")
		text, err := os.ReadFile(list)
		if err == nil {
			err = os.WriteFile(list, []byte(strings.ReplaceAll(string(text), "[ ]", "[x]")), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		s.git(s.clone, "rm", "-q", "-r", "--cached", "--ignore-unmatch", journalDir)
		s.saved(reprise.OverSubject(id))
		over := strings.TrimSpace(s.git(s.clone, "rev-parse", "HEAD"))
		s.git(s.clone, "push", "-q", "origin", "HEAD:refs/heads/"+Branch(id), "HEAD:"+lastOf("refs/heads/"+Branch(id)))
		s.git(s.clone, "checkout", "-q", "main")
		if merged {
			s.git(s.clone, "merge", "-q", "--squash", over)
			s.git(s.clone, "commit", "-q", "-m", "feat: z (#1)")
		}
		s.git(s.clone, "push", "-q", "origin", ":"+Branch(id))
		in, err := s.fleet.CameBack(t.Context(), id)
		if err != nil || (len(in) == 1) != merged {
			t.Fatalf("merged %v: in %v, %v", merged, in, err)
		}
		if s.noted(s.clone) == merged {
			t.Errorf("merged %v: what the clone says of the hand-over", merged)
		}
	}
}
