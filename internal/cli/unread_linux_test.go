package cli_test

import (
	"bufio"
	"os"
	"path/filepath"
	"reprise/internal/sample"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// besideFlow has a step that ends, and says so, when someone lets it, beside one that
// is at work for long. Both tell which signals they ignore.
const besideFlow = `
name: beside
title: Two at once
parallel: 2
steps:
  - id: quick
    command: [sh, -c, "grep SigIgn /proc/self/status > ignored; touch begun.quick; until test -e go.quick; do sleep 0.02; done; touch quick"]
    outputs: [quick]
  - id: long
    command: [sh, -c, "echo $REPRISE_ATTEMPT >> long.launched; touch begun.long; until test -e go.long; do sleep 0.02; done; touch long"]
    outputs: [long]
`

// unread prepares the program with an output of which someone reads a line, unless it
// is none, and goes away when leave is called. With both, standard error goes there too.
func unread(t *testing.T, dir, home string, both bool, args ...string) (s *started, leave func(lines int)) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { read.Close(); write.Close() })
	s = prepared(t, dir, home, args...)
	s.cmd.Stdout = write
	if both {
		s.cmd.Stderr = write
	}
	return s, func(lines int) {
		t.Helper()
		for r := bufio.NewReader(read); lines > 0; lines-- {
			if line, err := r.ReadString('\n'); err != nil {
				t.Errorf("%q, %v", line, err)
			}
		}
		read.Close()
	}
}

func TestX10_O1_work_that_nobody_reads_of_is_stopped_cleanly(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	for name, c := range map[string]struct {
		both bool
		args []string
	}{
		"lines":          {false, nil},
		"objects":        {false, []string{"--json"}},
		"standard error": {true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, home := shop(t, besideFlow), t.TempDir()
			s, leave := unread(t, dir, home, c.both, append([]string{"run", "flow.yaml", "--trust", "--id", "two", "--mode", "autopilot"}, c.args...)...)
			s.begin()
			eventually(t, func() bool { return exists(dir, "begun.quick") && exists(dir, "begun.long") })
			leave(1)
			touch(t, dir, "go.quick")
			if code := s.end(); code != 141 {
				t.Errorf("exit %d\n%s", code, s.text())
			}
			if said := s.err.String(); strings.Contains(said, "broken pipe") || !c.both && c.args == nil && !strings.Contains(said, "the output was closed") {
				t.Errorf("it says %q", said)
			}
			if left := livesOf(dir); len(left) > 0 {
				t.Errorf("left over: %q", left)
			}
			if out := expect(t, dir, home, 0, "log", "two"); !strings.Contains(out, "step reset long: stopped before it was finished") || !strings.Contains(out, "engine left") {
				t.Error(out)
			}
			const pipe = 1 << (syscall.SIGPIPE - 1)
			ignored := content(dir, "ignored")
			if mask, err := strconv.ParseUint(strings.TrimSpace(strings.TrimPrefix(ignored, "SigIgn:")), 16, 64); err != nil || mask&pipe != 0 {
				t.Errorf("the agent ignores %q, %v", ignored, err)
			}
			touch(t, dir, "go.long")
			if out := expect(t, dir, home, 0, "resume", "two"); strings.Contains(out, "cut off") {
				t.Errorf("a step that was stopped cleanly is no riddle:\n%s", out)
			}
		})
	}
}

// What was agreed to is changed to its end, although no one reads of it.
func TestX10_X7_what_tends_the_state_ends_its_work_unread(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"--json=false", "--json"} {
		dir, home, s := underWay(t)
		s.signal(os.Interrupt)
		s.end()
		s, leave := unread(t, dir, home, false, "clean", "slow", "--yes", format)
		leave(0)
		s.begin()
		if code := s.end(); code != 141 || s.err.Len() > 0 {
			t.Errorf("%s: exit %d, %q", format, code, s.err.String())
		}
		if out := expect(t, dir, home, 0, "status"); strings.Contains(out, "slow") {
			t.Errorf("%s: it is still there:\n%s", format, out)
		}
	}
}

func TestX10_the_demo_ends_when_nobody_reads_it(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "d")
	s, leave := unread(t, t.TempDir(), t.TempDir(), false, "demo", "--dir", dir, "--pause", "20ms")
	s.begin()
	leave(1)
	if code := s.end(); code != 141 || !strings.Contains(s.err.String(), "What there is stays in") {
		t.Errorf("exit %d\n%s", code, s.text())
	}
	if left := livesOf(dir); len(left) > 0 {
		t.Errorf("left over: %q", left)
	}
}

// A command that only looks is ended by the system, as every program in a pipe.
func TestX10_looking_ends_quietly_when_nobody_reads(t *testing.T) {
	t.Parallel()
	dir, home := shop(t, besideFlow), t.TempDir()
	for _, args := range [][]string{{"status"}, {"status", "--json"}, {"check"}, {"checks"}, {"log"}} {
		s, leave := unread(t, dir, home, false, args...)
		leave(0)
		s.begin()
		s.end()
		status := s.cmd.ProcessState.Sys().(syscall.WaitStatus)
		if status.Signal() != syscall.SIGPIPE && status.ExitStatus() != 141 || s.err.Len() > 0 {
			t.Errorf("%s: exit %d, %v, %q", args, status.ExitStatus(), status.Signal(), s.err.String())
		}
	}
}

// Ctrl-C reaches all of a pipe: who reads it may be gone before we hear of it. That is
// one word of a person's and not two.
func TestX10_an_interrupt_after_a_closed_output_is_the_first(t *testing.T) {
	t.Parallel()
	deaf := strings.Replace(besideFlow, `"echo`, `"trap '' TERM INT; echo`, 1)
	dir, home := shop(t, deaf), t.TempDir()
	s, leave := unread(t, dir, home, false, "run", "flow.yaml", "--trust", "--id", "two")
	s.begin()
	eventually(t, func() bool { return exists(dir, "begun.quick") && exists(dir, "begun.long") })
	leave(2) // that both started: told to no one, it would stop the run before quick is done
	touch(t, dir, "go.quick")
	eventually(t, func() bool { return strings.Contains(expect(t, dir, home, 0, "log", "two"), "step finished quick") })
	s.signal(os.Interrupt)
	time.Sleep(300 * time.Millisecond)
	if len(livesOf(dir)) == 0 {
		t.Error("it was stopped at once")
	}
	began := time.Now()
	s.signal(os.Interrupt)
	if code := s.end(); code != 130 || time.Since(began) > 8*time.Second { // the grace is 10 s
		t.Errorf("exit %d after %s\n%s", code, time.Since(began), s.text())
	}
}
