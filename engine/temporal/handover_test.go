package temporal_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"reprise"
	"reprise/engine/temporal"
)

// handFlow stops for a person in the middle.
const handFlow = `name: hand
steps:
  - {id: a, role: dev, prompt: make it, outputs: [a.txt]}
  - {id: b, needs: [a], role: dev, prompt: make it, outputs: [b.txt]}
  - {id: c, needs: [b], role: dev, prompt: make it, outputs: [c.txt]}
`

// A run that was begun on one machine is carried on by the fleet, and nothing is done
// twice. (issue 19)
func TestFleet_carries_on_what_was_begun_on_one_machine(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"flow.yaml": handFlow})
	plain := filepath.Join(shared.dir, "reprise")
	if r := s.program(plain, "run", "flow.yaml", "--id", "hand", "--trust", "--mode", "autopilot", "--until", "a", "-C", s.clone); r.code != 0 {
		t.Fatal(r)
	}
	s.put("notes.txt", "mine")
	s.commits(s.fleet("resume", "hand", "--detach", "--heartbeat", "5s"))
	if r := s.fleet("resume", "hand", "--detach", "--heartbeat", "5s"); r.code != 0 {
		t.Fatal(r)
	}
	// The copy here is not worked on as well.
	for _, args := range [][]string{{"resume", "hand", "--mode", "autopilot"}, {"resume", "hand", "--option", "continue", "--mode", "autopilot"}, {"check", "hand"}} {
		if r := s.program(plain, append(args, "-C", s.clone)...); r.code != 11 || !strings.Contains(r.out+r.err, "handed to the fleet") || s.attempts("hand", "b") > 0 {
			t.Errorf("%s in the clone: %+v", args, r)
		}
	}
	if r := s.program(plain, "check", "hand", "-C", s.clone); !strings.Contains(r.out, "`reprise-fleet stop hand`") {
		t.Errorf("the way back: %+v", r)
	}
	if r := s.program(plain, "status", s.clone); !strings.Contains(r.out, "handed to the fleet") {
		t.Errorf("status in the clone: %+v", r)
	}
	s.three()
	r := s.fleet("resume", "hand", "--json", "--heartbeat", "5s")
	if sum := s.summary(r); r.code != 0 || sum.State != reprise.Complete || len(sum.Finished) != 2 {
		t.Fatalf("%d %+v", r.code, sum)
	}
	s.eachOnce("hand", "a", "b", "c")
	dir := s.checkout("hand")
	if _, err := os.Stat(filepath.Join(dir, "a.txt")); err != nil {
		t.Errorf("what was made before is not on the branch: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "notes.txt")); err == nil {
		t.Error("what is not the run's is on the branch")
	}
	// What was done comes to the clone with the command that is named there.
	s.git("fetch", "-q", "origin")
	s.paste(s.program(plain, "check", "hand", "-C", s.clone).out, "git merge ")
	if r := s.program(plain, "check", "hand", "-C", s.clone); r.code != 3 {
		t.Errorf("after the merge: %+v", r)
	}
	if r := s.fleet("run", "flow.yaml", "--id", "hand", "--detach"); r.code != 3 || strings.Contains(r.out, "on the fleet") {
		t.Errorf("a run that is over: %+v", r)
	}
}

// commits types the command that commits what is the run's, with which a hand-over was refused.
func (s *site) commits(r result) {
	s.Helper()
	if r.code != 11 || !strings.Contains(r.err, "the fleet takes what is committed") {
		s.Fatalf("%+v", r)
	}
	s.git("config", "user.name", "someone")
	s.git("config", "user.email", "someone@example.com")
	s.paste(r.err, "git -C ")
}

// paste types the command in a text that begins with a word, in the clone.
func (s *site) paste(text, begin string) {
	s.Helper()
	_, command, _ := strings.Cut(strings.Join(strings.Fields(text), " "), "`"+begin)
	command, _, found := strings.Cut(command, "`")
	if !found {
		s.Fatalf("no command that begins with %q: %s", begin, text)
	}
	cmd := exec.Command("sh", "-c", begin+command)
	cmd.Dir, cmd.Env = s.clone, s.env()
	s.must(cmd)
}

// A run that was killed within a step is carried on by the fleet, which asks nothing about the
// branch that the step began on. (issue 19)
func TestFleet_carries_on_what_was_killed_within_a_step(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"flow.yaml": `name: cut
steps:
  - {id: a, command: [sh, -c, 'echo "cut a $REPRISE_ATTEMPT" >> "$FLEET_LOG"; test "$REPRISE_ATTEMPT" = 1 && sleep 300; echo a > a.txt'], outputs: [a.txt]}
`})
	cmd := exec.Command(filepath.Join(shared.dir, "reprise"), "run", "flow.yaml", "--id", "cut", "--trust", "--mode", "autopilot", "-C", s.clone)
	cmd.Env = s.env()
	if err := startWithUs(cmd); err != nil {
		t.Fatal(err)
	}
	s.until("a is at work", func() bool { return s.attempts("cut", "a") == 1 })
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	s.worker("w1")
	var r result
	s.until("the fleet may take it", func() bool { r = s.fleet("resume", "cut", "--detach"); return r.code != 20 })
	s.commits(r)
	if r := s.fleet("resume", "cut"); !ended(r) || s.attempts("cut", "a") != 2 {
		t.Errorf("%+v after %d attempts", r, s.attempts("cut", "a"))
	}
}

// A run that the fleet began is stopped and carried on by the plain program in a clone of
// its branch, and nothing is done twice. (issue 19)
func TestFleet_is_carried_on_by_one_machine(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"flow.yaml": handFlow})
	s.three()
	if r := s.fleet("run", "flow.yaml", "--id", "hand", "--until", "b", "--json", "--heartbeat", "5s"); r.code != 0 {
		t.Fatal(r)
	}
	dir := s.checkout("hand")
	plain := filepath.Join(shared.dir, "reprise")
	if r := s.program(plain, "status", dir); !strings.Contains(r.out, "hand") {
		t.Errorf("status in a clone of the branch: %+v", r)
	}
	r := s.program(plain, "resume", "hand", "--adopt", "--trust", "--mode", "autopilot", "-C", dir)
	if r.code != 0 || !strings.Contains(r.out, "Finished") {
		t.Fatalf("%+v", r)
	}
	s.eachOnce("hand", "a", "b", "c")
}

func (s *site) eachOnce(run string, steps ...string) {
	s.Helper()
	for _, step := range steps {
		if n := s.attempts(run, step); n != 1 {
			s.Errorf("%d attempts at %s", n, step)
		}
	}
}

// Stopping a run reaches the agent, wherever it works, and the run can be resumed.
// (issue 19)
func TestFleet_stop_reaches_the_agent(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"flow.yaml": `name: stop
steps:
  - {id: a, command: [sh, -c, 'echo "stop a $REPRISE_ATTEMPT" >> "$FLEET_LOG"; test "$REPRISE_ATTEMPT" = 1 && echo $$ > "$FLEET_LOG.pid" && sleep 300; echo a > a.txt'], outputs: [a.txt], on_crash: rerun}
`})
	s.three()
	if r := s.fleet("run", "flow.yaml", "--id", "stop", "--detach", "--heartbeat", "5s"); r.code != 0 {
		t.Fatal(r)
	}
	s.until("the agent works", func() bool { _, err := os.Stat(s.launches + ".pid"); return err == nil })
	s.until("status tells who has it", func() bool { return strings.Contains(s.fleet("status").out, "a  attempt 1  on w") })
	if r := s.fleet("stop", "stop"); r.code != 0 {
		t.Fatal(r)
	}
	s.record("stop")
	pid, _ := os.ReadFile(s.launches + ".pid")
	if _, err := os.Stat("/proc/" + strings.TrimSpace(string(pid))); err == nil {
		t.Error("the agent still works")
	}
	r := s.fleet("resume", "stop", "--json", "--heartbeat", "5s")
	if sum := s.summary(r); r.code != 0 || sum.State != reprise.Complete {
		t.Fatalf("%d %+v", r.code, sum)
	}
	if n := s.attempts("stop", "a"); n != 2 {
		t.Errorf("%d attempts", n)
	}
}

// A worker that is to stop ends its agents, pushes what they left and says so; another one
// does the step again, and no attempt counts as failed or lost. (issue 19)
func TestFleet_a_worker_leaves_in_good_order(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"flow.yaml": `name: leave
steps:
  - {id: a, command: [sh, -c, 'echo "leave a $REPRISE_ATTEMPT" >> "$FLEET_LOG"; echo half > half.txt; test "$REPRISE_ATTEMPT" = 1 && sleep 300; cat half.txt > a.txt'], outputs: [a.txt], on_crash: rerun}
`})
	first := s.worker("w1")
	if r := s.fleet("run", "flow.yaml", "--id", "leave", "--detach"); r.code != 0 {
		t.Fatal(r)
	}
	s.until("the agent works", func() bool { return s.attempts("leave", "a") == 1 })
	if err := first.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if <-first.gone; !first.ProcessState.Success() {
		t.Errorf("the worker ended with %v", first.ProcessState)
	}
	s.worker("w2")
	r := s.fleet("resume", "leave", "--json")
	if sum := s.summary(r); r.code != 0 || sum.State != reprise.Complete {
		t.Fatalf("%d %+v", r.code, sum)
	}
	if n := s.attempts("leave", "a"); n != 2 {
		t.Errorf("%d attempts", n)
	}
}

// A history that has grown begins anew, and nothing is lost by that. (issue 19)
func TestFleet_a_history_begins_anew(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"flow.yaml": chaosFlow(6)})
	s.three()
	r := s.fleet("run", "flow.yaml", "--id", "long", "--landings", "2", "--json")
	if sum := s.summary(r); r.code != 0 || sum.State != reprise.Complete || len(sum.Finished) != 6 {
		t.Fatalf("%d %+v", r.code, sum)
	}
	out := s.must(exec.Command(os.Getenv("REPRISE_TEMPORAL"), "workflow", "list", "--output", "json", "--address", fmt.Sprintf("127.0.0.1:%d", shared.port),
		"--query", fmt.Sprintf("WorkflowId = '%s:long' AND ExecutionStatus = 'ContinuedAsNew'", temporal.Identity(s.remote))))
	if !strings.Contains(out, "executionDuration") && !strings.Contains(out, "workflowId") {
		t.Errorf("the history never began anew: %s", out)
	}
	for step, n := range s.landed("long") {
		if n != 1 {
			t.Errorf("%s was accepted %d times", step, n)
		}
	}
}

// A run without a name is found by what it was made from until it is over, and several
// questions are answered by one file. (issue 19)
func TestFleet_a_run_without_a_name(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"flow.yaml": `name: ship
parallel: 2
steps:
  - {id: q, ask: {question: "Ship it?"}}
  - {id: r, ask: {question: "When?"}}
  - {id: a, needs: [q, r], command: [sh, -c, 'echo a > a.txt'], outputs: [a.txt]}
`})
	w := s.worker("w1")
	for range 2 {
		if r := s.fleet("run", "flow.yaml", "--detach"); r.code != 0 {
			t.Fatal(r)
		}
	}
	s.until("it asks", func() bool { return strings.Count(s.fleet("status").out, "? ") == 2 })
	if out := s.fleet("status").out; strings.Count(out, "branch") != 1 {
		t.Errorf("a second start began another run: %s", out)
	}
	if r := s.fleet("answer", "--list"); r.code != 12 || !strings.Contains(r.out, "q: Ship it?") {
		t.Errorf("the list of what is asked: %+v", r)
	}
	if r := s.fleet("answer", "--text", "yes"); r.code != 2 {
		t.Errorf("an answer to which question: %+v", r)
	}
	w.kill() // without a worker no one can say what is asked
	if r := s.fleet("answer", "--list"); r.code != 40 || r.out != "" {
		t.Errorf("the list of what is asked, with no worker: %+v", r)
	}
	s.worker("w1")
	s.put("answers.json", `{"q": "yes", "r": "today"}`)
	if r := s.fleet("answer", "--file", filepath.Join(s.clone, "answers.json")); r.code != 0 || !strings.Contains(r.out, "Kept: q, r.") {
		t.Fatalf("%+v", r)
	}
	r := s.fleet("run", "flow.yaml", "--json")
	sum := s.summary(r)
	if r.code != 0 || sum.State != reprise.Complete {
		t.Fatalf("%d %+v", r.code, sum)
	}
	if r := s.fleet("run", "flow.yaml", "--detach"); r.code != 0 {
		t.Errorf("what is over is begun anew: %+v", r)
	}
	s.until("there are two", func() bool { return strings.Count(s.fleet("status").out, "branch") == 2 })
}

// What the fleet is working on is not done a second time by whoever checks out the branch, in
// this clone or a fresh one; after a stop it goes on there. A branch that was deleted is not
// made from nothing, and a name stands for one run. (issue 19)
func TestFleet_keeps_what_it_has_open(t *testing.T) {
	t.Parallel()
	flow := `name: open
steps:
  - {id: g, command: [sh, -c, 'echo "open g $REPRISE_ATTEMPT" >> "$FLEET_LOG"; test "$REPRISE_ATTEMPT" = 1 && sleep 300; echo g > g.txt'], outputs: [g.txt], on_crash: rerun}
`
	s := newSite(t, map[string]string{"flow.yaml": flow, "other.yaml": strings.ReplaceAll(flow, "open", "other")})
	plain := filepath.Join(shared.dir, "reprise")
	if r := s.fleet("run", "flow.yaml", "--id", "bad name/.."); r.code != 2 {
		t.Errorf("a name that is none: %+v", r)
	}
	s.worker("w1")
	if r := s.fleet("run", "flow.yaml", "--id", "open", "--detach", "--heartbeat", "5s"); r.code != 0 {
		t.Fatal(r)
	}
	s.until("g is at work", func() bool { return s.attempts("open", "g") == 1 })
	if r := s.fleet("run", "other.yaml", "--id", "open", "--detach"); r.code != 2 || !strings.Contains(r.err, "the run open is of flow.yaml") {
		t.Errorf("another file under the same name: %+v", r)
	}
	// A clone that does not fetch its branch is told by the server alone.
	narrow := filepath.Join(s.dir, "narrow")
	s.must(exec.Command("git", "clone", "-q", "--single-branch", s.remote, narrow))
	if r := s.program(plain, "check", "-C", narrow); r.code != 11 || !strings.Contains(r.out, "the fleet has open open") {
		t.Errorf("check where its branch was not fetched: %+v", r)
	}
	r := s.program(plain, "run", "flow.yaml", "--trust", "--mode", "autopilot", "-C", narrow)
	if r.code != 11 || !strings.Contains(r.err, "its branch was not fetched here") {
		t.Errorf("run where its branch was not fetched: %+v", r)
	}
	_, way, _ := strings.Cut(r.err, "`")
	way, _, _ = strings.Cut(way, "`")
	s.must(exec.Command("sh", "-c", "cd "+narrow+" && "+way))
	if r := s.program(plain, "run", "flow.yaml", "--trust", "--mode", "autopilot", "-C", narrow); r.code != 11 || !strings.Contains(r.err, "open is such a run: the fleet works on it") {
		t.Errorf("run once it was fetched: %+v", r)
	}
	s.git("fetch", "-q", "origin")
	s.git("checkout", "-q", "reprise/open")
	for _, dir := range []string{s.clone, s.checkout("open")} {
		for _, args := range [][]string{{"check", "open"}, {"resume", "open", "--trust", "--mode", "autopilot"}, {"resume", "open", "--trust", "--adopt", "--mode", "autopilot"}} {
			if r := s.program(plain, append(args, "-C", dir)...); r.code != 11 || !strings.Contains(r.out+r.err, "reprise-fleet stop open") {
				t.Errorf("%s in %s: %+v", args, dir, r)
			}
		}
	}
	s.git("checkout", "-q", "main")
	r = s.fleet("stop", "open")
	_, way, _ = strings.Cut(r.out, "in a checkout: `")
	way, _, _ = strings.Cut(way, "`")
	if r.code != 0 || way == "" || strings.Contains(way, "--trust") || !strings.Contains(way, "worktree add "+s.dir+"/open reprise/open") {
		t.Fatal(r)
	}
	if r := s.program(plain, "trust", "reprise.yaml", "flow.yaml", "--yes", "-C", s.clone); r.code != 0 {
		t.Fatal(r)
	}
	if r := s.fleet("stop", "open"); r.code != 3 || !strings.Contains(r.err, way+" --trust`") {
		t.Errorf("stop of what was stopped names the way back, once the files are trusted here: %+v", r)
	}
	cmd := exec.Command("sh", "-c", way+" --trust --mode autopilot")
	cmd.Dir, cmd.Env = s.clone, s.env()
	if out := s.must(cmd); !strings.Contains(out, "Finished") || s.attempts("open", "g") != 2 {
		t.Errorf("%d attempts: %s", s.attempts("open", "g"), out)
	}
	s.must(exec.Command("git", "-C", s.remote, "update-ref", "-d", "refs/heads/reprise/open"))
	if r := s.fleet("resume", "open", "--detach"); r.code != 11 || !strings.Contains(r.err, "the remote has no branch reprise/open") || !strings.Contains(r.err, "git push origin ") {
		t.Errorf("its branch is gone: %+v", r)
	}
}

// A run that the fleet began and one machine finished is complete for the fleet, too, and its
// branch has no mark. (issue 19)
func TestFleet_learns_that_one_machine_finished_a_run(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"flow.yaml": handFlow})
	s.worker("w1")
	if r := s.fleet("run", "flow.yaml", "--id", "hand", "--until", "b", "--json", "--heartbeat", "5s"); r.code != 0 {
		t.Fatal(r)
	}
	dir := filepath.Join(s.dir, "beside")
	s.git("fetch", "-q", "origin", temporal.Branch("hand")+":"+temporal.Branch("hand"))
	s.git("worktree", "add", "-q", dir, temporal.Branch("hand"))
	plain := filepath.Join(shared.dir, "reprise")
	if r := s.program(plain, "resume", "hand", "--adopt", "--trust", "--mode", "autopilot", "-C", dir); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	s.commits(s.fleet("resume", "hand"))
	if r := s.fleet("status"); !strings.Contains(r.out, "it was finished in ../beside/") || !strings.Contains(r.out, "`reprise-fleet resume hand`") {
		t.Errorf("%+v", r)
	}
	if r := s.fleet("resume", "hand", "--json"); r.code != 0 || s.summary(r).State != reprise.Complete {
		t.Errorf("%+v", r)
	}
	if r := s.fleet("status"); !strings.Contains(r.out, "hand  complete") {
		t.Errorf("%+v", r)
	}
	s.git("fetch", "-q", "origin")
	if files := s.git("ls-tree", "-r", "--name-only", "refs/remotes/origin/"+temporal.Branch("hand")); strings.Contains(files, ".fleet") {
		t.Errorf("the fleet still has it: %s", files)
	}
	s.eachOnce("hand", "a", "b", "c")
}

// A list that the fleet has finished and that grows after the merge goes on wherever it is taken up:
// here, or in a new round of the fleet, from which on it is the fleet's again. (issue 19)
func TestFleet_takes_up_what_was_added_after_the_merge(t *testing.T) {
	t.Parallel()
	const tasks = "specs/001-x/tasks.md"
	s := newSite(t, map[string]string{tasks: "# Tasks\n\n- [ ] T001 One\n", "specs/001-x/spec.md": "# X\n"})
	s.worker("w1")
	plain := filepath.Join(shared.dir, "reprise")
	merged := func() {
		t.Helper()
		s.git("fetch", "-q", "origin")
		s.git("merge", "-q", "--ff-only", "origin/"+temporal.Branch("001-x"))
		s.git("push", "-q", "origin", "main")
		if r := s.program(plain, "check", "001-x", "-C", s.clone); r.code != 3 {
			t.Errorf("after the merge: %+v", r)
		}
	}
	if r := s.fleet("run", "tasks", "--path", "specs/001-x"); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	merged()
	if r := s.fleet("resume", "001-x"); r.code != 3 {
		t.Errorf("nothing was added: %+v", r)
	}
	text, err := os.ReadFile(filepath.Join(s.clone, tasks))
	if err != nil {
		t.Fatal(err)
	}
	s.put(tasks, string(text)+"- [ ] T002 Two\n")
	s.git("commit", "-q", "-am", "more")
	s.git("push", "-q", "origin", "main")
	if r := s.program(plain, "check", "001-x", "-C", s.clone); r.code == 11 {
		t.Errorf("it is up to date: %+v", r)
	}
	if r := s.fleet("resume", "001-x"); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	if r := s.program(plain, "check", "001-x", "-C", s.clone); r.code != 11 {
		t.Errorf("the fleet has worked on it again: %+v", r)
	}
	merged()
	s.eachOnce("001-x", "T001", "T002")
}
