package cli_test

import (
	"errors"
	"os"
	"path/filepath"
	"reprise/internal/sample"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// orphanFlow has a step whose tool continues alone when its keeper is killed. The tool
// itself says that it is there: the shell around it dies with its keeper, and one that
// dies before it has started the tool leaves nothing running.
const orphanFlow = `
name: alone
title: A step that is left alone
steps:
  - id: c
    command: [sh, -c, "(echo $PPID > keeper.new; mv keeper.new keeper; until test -e go; do sleep 0.02; done); true"]
    on_crash: rerun
`

// waiting is the program of which is read while it waits.
type waiting struct {
	*started
	file string
}

func (w *waiting) said() string { return content(filepath.Dir(w.file), filepath.Base(w.file)) }

// X5, X10: what an attempt started, and what outlived engine and keeper, is at work.
// Those who look say so, and whoever wants to continue says what it waits for.
func TestX5_X10_what_outlived_engine_and_keeper_is_at_work(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	dir, home := shop(t, orphanFlow), t.TempDir()
	s := program(t, dir, home, "run", "flow.yaml", "--trust", "--id", "alone", "--mode", "autopilot")
	eventually(t, func() bool { return exists(dir, "keeper") })
	keeper, err := strconv.Atoi(strings.TrimSpace(content(dir, "keeper")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.WriteFile(dir+"/go", nil, 0o644) })
	// The engine first, held: neither of them sees the other end.
	s.signal(syscall.SIGSTOP)
	eventually(t, func() bool { return stands(t, s.cmd.Process.Pid) })
	if err := syscall.Kill(keeper, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s.signal(syscall.SIGKILL)
	s.end()

	if out := expect(t, dir, home, 20, "check"); !strings.Contains(out, "● RUNNING: ") || !strings.Contains(out, "what it started still runs") || !strings.Contains(out, "--stop-orphans") {
		t.Errorf("check says\n%s", out)
	}
	if out := expect(t, dir, home, 0, "status"); !strings.Contains(out, "● running") {
		t.Errorf("status says\n%s", out)
	}
	expect(t, dir, home, 20, "resume", "--dry-run")
	if out := expect(t, dir, home, 20, "resume", "--json"); !strings.Contains(out, `"kind":"notice"`) || !strings.Contains(out, "left running") {
		t.Errorf("resume --json says\n%s", out)
	}
	// Nothing else of the project is started meanwhile, and every look says so.
	other := filepath.Join(dir, "specs", "002-pay")
	another := func() {
		if err := errors.Join(os.MkdirAll(other, 0o755), os.WriteFile(other+"/tasks.md", []byte("# Tasks: Pay\n\n- [ ] T001 Pay\n"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	another()
	for _, args := range [][]string{{"check", "002"}, {"check", "002", "--json"}, {"resume", "002", "--dry-run"}, {"resume", "002", "--mode", "autopilot"}} {
		out := expect(t, dir, home, 20, args...)
		if len(args) < 4 && !strings.Contains(strings.ToLower(out), "waits: what alone started still runs: process ") {
			t.Errorf("%q says\n%s", args, out)
		}
	}
	for _, look := range [][]string{{"status"}, {"brief", "002"}} {
		if out := expect(t, dir, home, 0, look...); !strings.Contains(strings.Join(strings.Fields(out), " "), "waits: what alone") {
			t.Errorf("%q says\n%s", look, out)
		}
	}
	if err := os.RemoveAll(filepath.Dir(other)); err != nil {
		t.Fatal(err)
	}
	// waiter says what it waits for.
	waiter := func(args ...string) *waiting {
		s := prepared(t, dir, home, append([]string{"resume"}, args...)...)
		file, err := os.Create(filepath.Join(t.TempDir(), "said"))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		s.cmd.Stdout, s.cmd.Stderr = file, file
		s.begin()
		w := &waiting{s, file.Name()}
		eventually(t, func() bool {
			return strings.Contains(w.said(), "! waiting for processes that a dead reprise left running: ")
		})
		return w
	}
	interrupted := waiter()
	interrupted.signal(os.Interrupt)
	if code, out := interrupted.end(), interrupted.said(); code != 130 || !strings.Contains(out, "Stopping: nothing is at work.") {
		t.Errorf("exit %d\n%s", code, out)
	}
	patient := waiter("--mode", "autopilot")
	touch(t, dir, "go")
	if code := patient.end(); code != 0 {
		t.Errorf("exit %d\n%s", code, patient.said())
	}
	another()
	expect(t, dir, home, 0, "check", "002")
}

// Where the process on record is gone, or the record cannot be read, the lock tells
// whether someone works on the run: also who runs in a container, under another name.
func TestA_lock_that_is_held_is_somebody_at_work(t *testing.T) {
	t.Parallel()
	dir, home := shop(t, "name: alone\nsteps:\n  - {id: c, command: [sleep, \"1000\"], on_crash: rerun}\n"), t.TempDir()
	s := program(t, dir, home, "run", "flow.yaml", "--trust", "--id", "alone", "--mode", "autopilot")
	name := filepath.Join(dir, ".reprise", "lock")
	eventually(t, func() bool {
		logs, _ := filepath.Glob(filepath.Join(dir, ".reprise", "logs", "*"))
		return len(logs) > 0
	})
	s.signal(syscall.SIGKILL)
	s.end()
	eventually(t, func() bool { return program(t, dir, home, "check").end() == 0 }) // its agent ends with it
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	expect(t, dir, home, 20, "check")
	expect(t, dir, home, 20, "resume", "--dry-run")
	file.Close()
	record := content(dir, ".reprise/lock")
	if err := os.WriteFile(name, []byte(strings.ReplaceAll(record, `"host"`, `"h0st"`)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := expect(t, dir, home, 10, "check"); !strings.Contains(out, "is recorded as working on it; whether that is still true") {
		t.Errorf("check says\n%s", out)
	}
}

// stands reports whether every thread of a process is stopped: the signal for it takes
// effect after it was sent.
func stands(t *testing.T, pid int) bool {
	t.Helper()
	threads, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/stat")
	if err != nil || len(threads) == 0 {
		t.Fatal(threads, err)
	}
	for _, name := range threads {
		text, err := os.ReadFile(name)
		_, state, _ := strings.Cut(string(text), ") ")
		if err == nil && !strings.HasPrefix(state, "T") {
			return false
		}
	}
	return true
}

// X10: what a person types when Ctrl-C seems to be too little stops as cleanly.
func TestX10_sigquit_stops_cleanly(t *testing.T) {
	t.Parallel()
	dir, home := shop(t, hangingFlow), t.TempDir()
	s := program(t, dir, home, "run", "flow.yaml", "--trust", "--id", "hang")
	eventually(t, func() bool { return exists(dir, "begun") })
	s.signal(syscall.SIGQUIT)
	if code := s.end(); code != 130 || !exists(dir, "asked") || strings.Contains(s.text(), "goroutine") {
		t.Errorf("exit %d\n%s", code, s.text())
	}
}
