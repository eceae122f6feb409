package temporal_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/engine/temporal"
	"reprise/report"
)

// state is what the fleet's status says of a run, and that of the plain program.
func (s *site) state(run string) (report.FleetRun, string) {
	s.Helper()
	var fleet report.Fleet
	if r := s.fleet("status", "--json"); json.Unmarshal([]byte(r.out), &fleet) != nil {
		s.Fatalf("%+v", r)
	}
	i := slices.IndexFunc(fleet.Runs, func(r report.FleetRun) bool { return r.ID == run })
	if i < 0 {
		s.Fatalf("%s is not listed: %+v", run, fleet)
	}
	return fleet.Runs[i], s.program(filepath.Join(shared.dir, "reprise"), "status", s.clone).out
}

// A run that was left says how, as the plain program does: what is left of it, why, and what
// continues it. What it has not, and what is over, is refused at once. (issue 19)
func TestFleet_says_how_a_run_was_left(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{
		"long.yaml": "name: long\nsteps:\n  - {id: a, command: [touch, a.txt], outputs: [a.txt]}\n  - {id: b, needs: [a], command: [touch, b.txt], outputs: [b.txt]}\n  - {id: c, needs: [b], command: [touch, c.txt], outputs: [c.txt]}\n",
		"bad.yaml":  "name: bad\nsteps:\n  - {id: a, command: [touch, a.txt], outputs: [a.txt]}\n  - {id: nn, needs: [a], command: [sh, -c, 'exit 7'], attempts: 2}\n",
		"ask.yaml":  "name: ask\nsteps:\n  - {id: q, ask: {question: 'Ship it?', options: [yes, no]}}\n",
		"slow.yaml": "name: slow\nsteps:\n  - {id: a, command: [sleep, '300']}\n",
	})
	s.worker("w1")
	if r := s.fleet("run", "long.yaml", "--id", "long", "--until", "b"); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	if run, text := s.state("long"); run.State != "interrupted" || !strings.Contains(text, "long  interrupted") {
		t.Errorf("after --until: %+v\n%s", run, text)
	}
	if r := s.fleet("stop", "long"); r.code != 3 || !strings.Contains(r.err, "it is interrupted") {
		t.Errorf("stop of what is not at work: %+v", r)
	}
	for _, flag := range []string{"--from", "--skip", "--until", "--option"} {
		began := time.Now()
		r := s.fleet("resume", "long", flag, "zzz")
		if r.code != 2 || !strings.Contains(r.err, "zzz") || !strings.Contains(r.err, map[bool]string{true: "continue", false: "its steps are a, b, c"}[flag == "--option"]) || time.Since(began) > time.Minute {
			t.Errorf("%s: %+v after %s", flag, r, time.Since(began))
		}
	}
	if r := s.fleet("resume", "long", "--json"); r.code != 0 || s.summary(r).State != reprise.Complete || len(s.summary(r).Findings) > 0 || !strings.HasSuffix(s.summary(r).Next, "git merge FETCH_HEAD") {
		t.Errorf("%+v", r)
	}
	if run, _ := s.state("long"); run.State != "complete" {
		t.Errorf("at the end: %+v", run)
	}
	if r := s.fleet("resume", "long"); r.code != 3 || !strings.Contains(r.err, "nothing is left to do") {
		t.Errorf("resume of a complete run: %+v", r)
	}
	if r := s.fleet("resume", "long", "--json"); r.code != 3 || s.summary(r).Exit != 3 || s.summary(r).State != reprise.Complete {
		t.Errorf("resume --json of a complete run: %+v", r)
	}

	r := s.fleet("run", "bad.yaml", "--id", "bad", "--json")
	sum := s.summary(r)
	if r.code != 1 || sum.Exit != 1 || len(sum.Finished) != 1 || len(sum.Failed) == 0 || sum.Failed[0].ID != "nn" || !slices.Contains(sum.Parked, "nn") ||
		sum.Launches != 1+len(sum.Failed) || sum.Next != "reprise-fleet resume bad --from nn" {
		t.Errorf("a step that failed for good: %+v", r)
	}
	if run, text := s.state("bad"); run.State != "failed" || !strings.Contains(text, "bad  failed") {
		t.Errorf("after a failure: %+v\n%s", run, text)
	}

	r = s.fleet("run", "ask.yaml", "--id", "ask", "--json")
	if sum := s.summary(r); r.code != 12 || sum.Started.IsZero() || len(sum.Questions) != 1 {
		t.Errorf("a run that waits: %+v", r)
	}

	ended := make(chan result)
	go func() { ended <- s.fleet("run", "slow.yaml", "--id", "slow", "--json", "--heartbeat", "5s") }()
	s.until("it works", func() bool { return strings.Contains(s.fleet("status").out, "a  attempt 1  on w1") })
	if r := s.fleet("stop", "slow"); r.code != 0 {
		t.Errorf("%+v", r)
	}
	r = <-ended
	if sum := s.summary(r); r.code != 130 || sum.Exit != 130 || sum.State != reprise.Interrupted || sum.Next != "reprise-fleet resume slow" {
		t.Errorf("the follower of a run that was stopped: %+v", r)
	}
	if run, _ := s.state("slow"); run.State != "interrupted" {
		t.Errorf("after stop: %+v", run)
	}
}

// A landing that the remote refuses ends the run with the words of the remote. (issue 19)
func TestFleet_a_landing_that_the_remote_refuses(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	hook := filepath.Join(s.remote, "hooks", "pre-receive")
	s.put("flow.yaml", fmt.Sprintf("name: r\nsteps:\n  - {id: a, command: [sh, lock.sh, %q]}\n", hook))
	s.put("lock.sh", "printf '#!/bin/sh\\nwhile read old new ref; do case $ref in refs/heads/reprise/*) echo policy 17 forbids it; exit 1;; esac; done\\n' > \"$1\"\nchmod +x \"$1\"\necho w > w.txt\n")
	s.git("add", "-A")
	s.git("commit", "-q", "-m", "flow")
	s.git("push", "-q", "origin", "main")
	s.worker("w1")
	r := s.fleet("run", "flow.yaml", "--id", "r")
	if r.code != 11 || !strings.Contains(r.err, "policy 17 forbids it") || !strings.Contains(r.err, "allow that on the remote") {
		t.Errorf("%+v", r)
	}
	if run, text := s.state("r"); run.State != "failed" || !strings.Contains(run.Problem, "policy 17") || !strings.Contains(text, "policy 17") {
		t.Errorf("%+v\n%s", run, text)
	}
	if temporal.Branch("r") != "reprise/r" {
		t.Error("the hook is about another branch")
	}
}

// An agent that leaves a lock in git's folder is started once, and its work lands. (issue 19)
func TestFleet_an_agent_leaves_a_lock(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"flow.yaml": "name: lk\nsteps:\n  - {id: a, command: [sh, -c, 'echo \"lk a $REPRISE_ATTEMPT\" >> \"$FLEET_LOG\"; echo w >> lk.txt; touch .git/index.lock'], outputs: [lk.txt]}\n"})
	s.worker("w1")
	if r := s.fleet("run", "flow.yaml", "--id", "lk"); r.code != 0 || s.attempts("lk", "a") != 1 || s.landed("lk")["a"] != 1 {
		t.Errorf("%+v after %d attempts", r, s.attempts("lk", "a"))
	}
}
