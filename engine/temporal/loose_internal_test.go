package temporal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"reprise"
	"reprise/engine"
)

// pasted types the first command of a hint in a folder.
func (s *shared) pasted(dir, hint string) {
	s.Helper()
	_, command, _ := strings.Cut(hint, "`")
	command, _, _ = strings.Cut(command, "`")
	if out, err := shell(dir, command); err != nil || command == "" {
		s.Fatalf("%s: %v: %s", hint, err, out)
	}
}

// over hands a run over, and where that is refused because files of it are not committed, types the
// command that commits them and tries again.
func (s *shared) over(ref reprise.Ref) error {
	s.Helper()
	was := s.git(s.remote, "for-each-ref")
	_, err := s.fleet.HandOver(s.Context(), ref)
	if !isRefused(err, Uncommitted) {
		return err
	}
	if s.git(s.remote, "for-each-ref") != was {
		s.Errorf("%v; the remote has %s", err, s.git(s.remote, "for-each-ref"))
	}
	s.git(s.clone, "config", "user.name", "someone") // for what is pasted
	s.git(s.clone, "config", "user.email", "someone@example.com")
	_, dir, _ := strings.Cut(err.Error(), " is not in ")
	dir, _, _ = strings.Cut(dir, ": ")
	s.pasted(s.clone, strings.ReplaceAll(reprise.HintOf(err), "-C DIR ", "-C '"+dir+"' ")) // the name of a test may not be one to paste
	_, err = s.fleet.HandOver(s.Context(), ref)
	return err
}

// What a person has in the clone and did not commit stays there when a run is handed over, tracked by
// git or not. What is the run's is to be committed first: the fleet says what that is. Once the fleet
// has finished the run, the merge that plain reprise names works there. (issue 19)
func TestA_run_is_handed_over_as_it_is_committed(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	private := map[string]string{"notes.txt": "mine\n", "reprise.yaml": "# mine\n"}
	ref := s.begunHere("loc")
	for name, text := range private {
		old, _ := os.ReadFile(filepath.Join(s.clone, name))
		private[name] = string(old) + text
		if err := os.WriteFile(filepath.Join(s.clone, name), []byte(private[name]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.fleet.HandOver(t.Context(), ref)
	if !isRefused(err, Uncommitted) || !strings.HasSuffix(err.Error(), ": "+ref.Path+", a.txt") {
		t.Fatalf("%v", err)
	}
	if err := s.over(ref); err != nil {
		t.Fatal(err)
	}
	for _, of := range strings.Fields(s.git(s.remote, "for-each-ref", "--format=%(refname)")) {
		if files := s.git(s.remote, "log", "--format=", "-p", of); strings.Contains(files, "mine") {
			t.Errorf("%s has what is private: %s", of, files)
		}
	}
	s.run.Ref, s.run.Taken = ref, false
	s.step()
	in := s.attempted(s.a)
	in.Decide = true
	if l, err := s.a.land(t.Context(), s.next(), in); err != nil || l.Accepted == nil {
		t.Fatalf("%+v, %v", l, err)
	}
	s.launches("abc")
	s.git(s.clone, "fetch", "-q", "origin")
	hint := s.looked(s.clone)
	if !strings.Contains(hint, "`git merge origin/reprise/loc`") {
		t.Fatalf("%q", hint)
	}
	s.pasted(s.clone, hint)
	for name, text := range private {
		if is, err := os.ReadFile(filepath.Join(s.clone, name)); string(is) != text {
			t.Errorf("%s is %q, %v", name, is, err)
		}
	}
	if hint := s.looked(s.clone); hint != "" {
		t.Errorf("after the merge: %s", hint)
	}
	if _, err := os.Stat(filepath.Join(s.clone, "c.txt")); err != nil {
		t.Error(err)
	}
}

// meanwhile has the remote move the branch of the run to a commit at the moment of the next push.
func (s *shared) meanwhile(commit string) {
	s.Helper()
	hook := filepath.Join(s.remote, "hooks", "pre-receive")
	text := "#!/bin/sh\nrm -f " + hook + "\nunset GIT_QUARANTINE_PATH\n"
	for _, ref := range []string{"refs/heads/" + Branch("r"), lastOf("refs/heads/" + Branch("r"))} {
		text += "git update-ref " + ref + " " + commit + "\n"
	}
	if err := os.WriteFile(hook, []byte(text), 0o755); err != nil {
		s.Fatal(err)
	}
}

// Of two people who answer the same question of a run at the same moment, or take it up, the second
// looks again: that answer is kept which came first, and the run is taken up once. (issue 19)
func TestSeveral_who_do_the_same_at_once(t *testing.T) {
	t.Parallel()
	const ask = "name: r\nsteps:\n  - {id: q, ask: {question: \"Ship it?\"}}\n  - {id: b, needs: [q], command: [sh, -c, 'echo b > b.txt'], outputs: [b.txt]}\n"
	s := &shared{bench: newBench(t, ask)}
	s.clone, s.a = filepath.Join(s.dir, "clone"), s.worker("one")
	s.fleet = &Fleet{Clone: s.clone, Remote: s.remote}
	if _, err := s.a.decide(t.Context(), s.next(), DecideInput{Run: s.run}); err != nil {
		t.Fatal(err)
	}
	s.stop()
	asked := s.tip()
	if err := s.fleet.answerLeft(t.Context(), "r", "q", "no"); err != nil {
		t.Fatal(err)
	}
	no := s.tip()
	for text, kept := range map[string]bool{"yes": false, "no": true} {
		for _, ref := range []string{"refs/heads/" + Branch("r"), lastOf("refs/heads/" + Branch("r"))} {
			s.git(s.remote, "update-ref", ref, asked)
		}
		s.meanwhile(no)
		err := s.fleet.answerLeft(t.Context(), "r", "q", text)
		if answered, is := errors.AsType[*engine.AnsweredError](err); kept && err != nil || !kept && (!is || answered.Answer != "no") || s.tip() != no {
			t.Errorf("answered %q while someone said no: %v", text, err)
		}
	}
	// Whoever takes it up begins from what the other left.
	s.git(s.clone, "fetch", "-q", "origin")
	s.git(s.clone, "checkout", "-q", "--detach", asked)
	var all sync.WaitGroup
	for _, name := range []string{"two", "three", "four"} {
		s.git(s.dir, "clone", "-q", s.remote, filepath.Join(s.dir, name))
		all.Go(func() {
			if _, err := (&Fleet{Clone: filepath.Join(s.dir, name), Remote: s.remote}).HandOver(t.Context(), s.run.Ref); err != nil {
				t.Errorf("taken up at once: %v", err)
			}
		})
	}
	all.Wait()
}

// Runs on branches of their own add to one log of the project. Where the fleet merges them, the log
// has the entries of both; a file that is no log conflicts. (issue 19)
func TestLogs_are_joined(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	const log, other = ".aiox/orchestration-log-20260101T000000Z.md", "notes.md"
	add := func(branch, text string) {
		t.Helper()
		s.git(s.clone, "checkout", "-q", "-B", branch)
		for _, name := range []string{log, branch[:3] + other} {
			name = filepath.Join(s.clone, name)
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			old, _ := os.ReadFile(name)
			if err := os.WriteFile(name, append(old, text...), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		s.git(s.clone, "add", "-A")
		s.git(s.clone, "commit", "-q", "-m", text)
		s.git(s.clone, "push", "-q", "origin", branch)
	}
	add("main", "# Log\n")
	add("one", "\n[1] Workflow resumed: epic\n")
	s.git(s.clone, "checkout", "-q", "main")
	add("two", "\n[2] Workflow resumed: epic\n")
	s.git(s.clone, "mv", "twonotes.md", "onenotes.md")
	add("three", "\n[3] Workflow resumed: epic\n")
	m := s.a.Mirror
	at, err := m.Fetch(t.Context(), "refs/heads/one", "refs/heads/two", "refs/heads/three")
	if err != nil {
		t.Fatal(err)
	}
	c, err := m.Checkout(t.Context(), at["refs/heads/one"], "one")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, conflicts, err := c.Bring(t.Context(), at["refs/heads/three"], commit{}); err != nil || strings.Join(conflicts, " ") != "onenotes.md" {
		t.Errorf("%q, %v", conflicts, err)
	}
	if _, conflicts, err := c.Bring(t.Context(), at["refs/heads/two"], commit{}); err != nil || len(conflicts) > 0 {
		t.Fatalf("%q, %v", conflicts, err)
	}
	text, err := os.ReadFile(filepath.Join(c.Dir, log))
	if err != nil || !strings.Contains(string(text), "[1]") || !strings.Contains(string(text), "[2]") {
		t.Errorf("%q, %v", text, err)
	}
}

// A checkout of the branch of a run has its journal in git's hands, and that went on there: git does
// not merge over it. What plain reprise names works all the same. (issue 19)
func TestThe_way_to_what_the_fleet_did_from_a_checkout_of_its_branch(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	s.step()
	s.back()
	if err := s.over(s.run.Ref); err != nil {
		t.Fatal(err)
	}
	s.run.Taken = false
	in := s.attempted(s.a)
	in.Decide = true
	if l, err := s.a.land(t.Context(), s.next(), in); err != nil || l.Accepted == nil {
		t.Fatalf("%+v, %v", l, err)
	}
	s.launches("abc")
	s.git(s.clone, "fetch", "-q", "origin")
	s.pasted(s.clone, s.looked(s.clone))
	if files, _ := filepath.Glob(filepath.Join(s.dir, "*", "c.txt")); len(files) == 0 {
		t.Error("what was done is not there")
	}
}

// The workflow file that a run was begun from is handed over as it is committed: with another one the
// fleet would do other steps. (issue 19)
func TestA_changed_workflow_file_is_to_be_committed_first(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	ref := s.begunHere("loc")
	flow, err := os.ReadFile(filepath.Join(s.clone, "flow.yaml"))
	if err == nil {
		err = os.WriteFile(filepath.Join(s.clone, "flow.yaml"), append(flow, "# changed\n"...), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.fleet.HandOver(t.Context(), ref); !isRefused(err, Uncommitted) || !strings.Contains(err.Error(), "flow.yaml") {
		t.Errorf("%v", err)
	}
}
