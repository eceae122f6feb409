package temporal_test

import (
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"reprise/engine/temporal"
)

// What was done in a checkout that the fleet's own stop named comes back from wherever the
// command is typed, and whatever else someone has checked out. (issue 19)
func TestFleet_takes_back_what_any_checkout_did(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"flow.yaml": `name: hand
steps:
  - {id: a, role: dev, prompt: make it, outputs: [a.txt]}
  - {id: b, needs: [a], role: dev, prompt: make it, outputs: [b.txt]}
  - {id: c, needs: [b], role: dev, prompt: make it, outputs: [c.txt]}
  - {id: d, needs: [c], role: dev, prompt: make it, outputs: [d.txt]}
`})
	plain := filepath.Join(shared.dir, "reprise")
	s.worker("w1")
	for _, run := range []string{"main", "looked"} {
		if r := s.fleet("run", "flow.yaml", "--id", run, "--until", "a"); r.code != 0 {
			t.Fatal(r)
		}
		r := s.fleet("stop", run)
		_, way, _ := strings.Cut(r.err, "on one machine: `")
		way, _, _ = strings.Cut(way, "`")
		if r.code != 3 || way == "" {
			t.Fatal(r)
		}
		at := s.clone
		if run == "looked" { // as the hint was once, and someone looks at the branch
			s.git("fetch", "-q", "origin", "reprise/looked")
			s.git("worktree", "add", "-q", "-b", "reprise/looked", filepath.Join(s.dir, "looks"), "FETCH_HEAD")
			at = filepath.Join(s.dir, run)
			way = "git fetch -q origin reprise/looked && git worktree add --detach " + at + " FETCH_HEAD && reprise resume looked --adopt -C " + at
		}
		cmd := exec.Command("sh", "-c", way+" --trust --mode autopilot --until c")
		cmd.Dir, cmd.Env = s.clone, s.env()
		s.must(cmd)
		s.commits(s.program(shared.bin, "resume", run, "--detach", "-C", at))
		if r := s.program(shared.bin, "resume", run, "--detach", "-C", at); r.code != 0 {
			t.Fatal(r)
		}
		for _, dir := range []string{run, "looks"} {
			if dir = filepath.Join(s.dir, dir); run == "main" && filepath.Base(dir) == "looks" {
				continue
			}
			if r := s.program(plain, "resume", run, "--adopt", "--trust", "--mode", "autopilot", "-C", dir); r.code != 11 {
				t.Errorf("%s goes on in %s: %+v", run, dir, r)
			}
		}
		if r := s.program(shared.bin, "resume", run, "-C", at); !ended(r) {
			t.Fatal(r)
		}
		s.eachOnce(run, "a", "b", "c", "d")
	}
}

// A server that takes connections and does not answer is told as that, by both programs; one
// that does not know the namespace is asked before anything is pushed. (issue 19)
func TestFleet_a_server_that_does_not_answer(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"flow.yaml": "name: own\nsteps:\n  - {id: a, command: [\"true\"]}\n"})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	at := []string{"TEMPORAL_ADDRESS=" + l.Addr().String()}
	want := "the server at " + l.Addr().String() + ": it did not answer within 5s"
	if r := s.programWith(at, shared.bin, "status", "-C", s.clone); r.code != 40 || !strings.Contains(r.err, want) || !strings.Contains(r.err, "is it running?") {
		t.Errorf("%+v", r)
	}
	if r := s.programWith(at, filepath.Join(shared.dir, "reprise"), "status", s.clone); !strings.Contains(strings.Join(strings.Fields(r.out), " "), want) {
		t.Errorf("%+v", r)
	}
	for _, env := range [][]string{at, {"TEMPORAL_NAMESPACE=nosuch"}} {
		r := s.programWith(env, shared.bin, "run", "flow.yaml", "--id", "x", "-C", s.clone)
		if r.code != 40 && (r.code != 2 || !strings.Contains(r.err, "nosuch") || !strings.Contains(r.err, "TEMPORAL_NAMESPACE")) {
			t.Errorf("%+v", r)
		}
		if refs := s.git("ls-remote", "origin", "refs/heads/reprise/*", "refs/reprise-begun/*"); refs != "" {
			t.Errorf("%v: it pushed %s", env, refs)
		}
	}
}

// A stop that takes long says once what it waits for, and a run that is at work is not told to
// do something else. (issue 19)
func TestFleet_says_what_it_waits_for(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"flow.yaml": "name: own\nsteps:\n  - {id: a, command: [\"true\"]}\n"})
	if r := s.fleet("run", "flow.yaml", "--id", "x", "--detach"); r.code != 0 {
		t.Fatal(r)
	}
	if r := s.fleet("resume", "x", "--detach", "--from", "a", "--heartbeat", "9s"); r.code != 11 || !strings.Contains(r.err, "--from does not change that") {
		t.Errorf("%+v", r)
	}
	if r := s.fleet("resume", "x", "--detach", "--heartbeat", "9s"); r.code != 0 || !strings.Contains(r.err, "--heartbeat has no effect") {
		t.Errorf("%+v", r)
	}
	ended := make(chan result)
	go func() { ended <- s.fleet("stop", "x") }()
	time.Sleep(10 * time.Second)
	s.worker("w1")
	if r := <-ended; r.code != 0 || strings.Count(r.err, "Waiting until its agents have ended") != 1 || !strings.Contains(r.err, "no worker answers") {
		t.Errorf("%+v", r)
	}
}

// What a worker may not start waits for one that may, as the same attempt, and the status says why. A
// worker takes up what a person trusts meanwhile. (issue 19)
func TestFleet_a_step_waits_for_trust(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"flow.yaml": "name: own\nsteps:\n  - {id: a, command: [sh, -c, 'echo \"a $REPRISE_ATTEMPT\" >> \"$FLEET_LOG\"; echo a > a.txt'], outputs: [a.txt], attempts: 1}\n"})
	s.workerWith("w1", nil)
	if r := s.fleet("run", "flow.yaml", "--id", "x", "--detach"); r.code != 0 {
		t.Fatal(r)
	}
	for _, c := range []struct{ why, file string }{{"no worker offers the role command", "reprise.yaml"}, {"w1 gave it back", "flow.yaml"}} {
		s.until(c.why, func() bool { return strings.Contains(s.fleet("status").out, c.why) })
		if r := s.program(filepath.Join(shared.dir, "reprise"), "trust", c.file, "--yes", "-C", s.clone); r.code != 0 {
			t.Fatalf("%+v", r)
		}
	}
	s.until("the run ends", func() bool { return ended(s.fleet("resume", "x", "--json")) })
	if got := s.launched(); got != "a 1\n" {
		t.Errorf("launched: %q", got)
	}
}

// A run that was stopped still asks what it asked, also where no one names it, until that is answered.
// (issue 19)
func TestFleet_a_stopped_run_still_asks(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"flow.yaml": "name: own\nsteps:\n  - {id: ok, ask: {question: 'Ship it?', options: [ship, stop]}}\n"})
	s.worker("w1")
	if r := s.fleet("run", "flow.yaml", "--id", "x", "--heartbeat", "11s"); r.code != 12 {
		t.Fatalf("%+v", r)
	}
	if r := s.fleet("stop", "x"); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	if r := s.fleet("answer"); r.code != 12 || !strings.Contains(r.out, "Ship it?") || !strings.Contains(s.fleet("status").out, "? ok: Ship it?") {
		t.Errorf("%+v; %s", r, s.fleet("status").out)
	}
	if r := s.fleet("answer", "--text", "ship"); r.code != 0 || strings.Contains(s.fleet("status").out, "Ship it?") {
		t.Errorf("%+v; %s", r, s.fleet("status").out)
	}
	// It goes on as it was started.
	if r := s.fleet("resume", "x"); !ended(r) {
		t.Errorf("%+v", r)
	}
	c, err := client.Dial(client.Options{HostPort: fmt.Sprintf("127.0.0.1:%d", shared.port)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	first, err := c.GetWorkflowHistory(t.Context(), temporal.Identity(s.remote)+":x", "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT).Next()
	if err != nil || !strings.Contains(first.String(), `\"Heartbeat\":11000000000`) {
		t.Errorf("%v, %v", first, err)
	}
}
