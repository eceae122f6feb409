package temporal_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"reprise"
	"reprise/engine/temporal"
	"reprise/report"
)

// A person is told which runs there are, and what the remote said that refuses work; and who
// ends the program by SIGTERM gets the exit code of that. (issue 19)
func TestFleet_tells_what_is_wrong(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"flow.yaml": "name: r\nsteps:\n  - {id: one, command: [touch, made.txt]}\n", "reprise.yaml": "backoff: 1s\n"})
	hook := filepath.Join(s.remote, "hooks", "pre-receive")
	if err := os.MkdirAll(filepath.Dir(hook), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(hook, []byte("#!/bin/sh\nwhile read old new ref; do case $ref in refs/reprise/*) echo 'policy 17 forbids it'; exit 1;; esac; done\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	follows := exec.Command(shared.bin, "run", "flow.yaml", "--id", "r1", "-C", s.clone)
	follows.Env = s.env()
	if err := startWithUs(follows); err != nil {
		t.Fatal(err)
	}
	s.until("the run is on the server", func() bool { return strings.Contains(s.fleet("status").out, "r1") })
	if err := follows.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = follows.Wait()
	if code := follows.ProcessState.ExitCode(); code != 143 {
		t.Errorf("exit %d after SIGTERM", code)
	}
	for _, args := range [][]string{{"stop", "nosuch"}, {"answer", "nosuch"}, {"resume", "nosuch"}} {
		if r := s.fleet(args...); r.code != 2 || !strings.Contains(r.err, "find nosuch: ") || !strings.Contains(r.err, "lists what there is: r1") {
			t.Errorf("%v: exit %d, %s", args, r.code, r.err)
		}
	}
	s.worker("w")
	s.until("it is left", func() bool { return !strings.Contains(s.fleet("status").out, "r1  open") })
	if said := s.fleet("status").out; !strings.Contains(said, "\n  ! ") || !strings.Contains(said, "policy 17 forbids it") {
		t.Errorf("status does not say why it was left: %s", said)
	}
}

// A run that a person ended is stopped, also where one of its steps had failed. (issue 19)
func TestA_run_that_was_ended_on_purpose_has_not_failed(t *testing.T) {
	t.Parallel()
	for state, want := range map[reprise.State]string{reprise.Stopped: "stopped", reprise.Interrupted: "failed"} {
		if got := temporal.StateOf(&report.Summary{State: state, Parked: []string{"a"}}); got != want {
			t.Errorf("%s: %q", state, got)
		}
	}
}
