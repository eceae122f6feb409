package cli_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reprise/internal/sample"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// started is the program in a pipe, as a machine would have it.
type started struct {
	t        *testing.T
	cmd      *exec.Cmd
	out, err bytes.Buffer
}

// program starts the program in dir with settings of its own below home.
func program(t *testing.T, dir, home string, args ...string) *started {
	t.Helper()
	s := prepared(t, dir, home, args...)
	s.begin()
	return s
}

func (s *started) begin() {
	s.t.Helper()
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
}

// prepared is program before the start.
func prepared(t *testing.T, dir, home string, args ...string) *started {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &started{t: t, cmd: exec.Command(self, args...)}
	s.cmd.Dir = dir
	s.cmd.Env = []string{
		"REPRISE_TEST_PROGRAM=1", "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(), "HOME=" + home, "XDG_STATE_HOME=" + filepath.Join(home, "state"),
		"GIT_CONFIG_GLOBAL=" + os.DevNull, "COLUMNS=80",
	}
	s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.err
	s.cmd.WaitDelay = 5 * time.Second
	t.Cleanup(func() {
		if s.cmd.Process != nil {
			s.cmd.Process.Kill()
		}
	})
	return s
}

// end waits until it is gone and gives its exit code, -1 if it was killed.
func (s *started) end() int {
	s.t.Helper()
	_ = s.cmd.Wait()
	return s.cmd.ProcessState.ExitCode()
}

// text is all it printed. It may be asked for once it has ended.
func (s *started) text() string { return s.out.String() + s.err.String() }

func (s *started) signal(sig os.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// expect runs the program to its end.
func expect(t *testing.T, dir, home string, code int, args ...string) string {
	t.Helper()
	s := program(t, dir, home, args...)
	if got := s.end(); got != code {
		t.Fatalf("reprise %s: exit %d, want %d\n%s", strings.Join(args, " "), got, code, s.text())
	}
	return s.text()
}

func exists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}

// content reads a file; "" if there is none.
func content(dir, name string) string {
	data, _ := os.ReadFile(filepath.Join(dir, name))
	return string(data)
}

// treeHash is a fingerprint of everything below a folder.
func treeHash(t *testing.T, dir string) string {
	t.Helper()
	h := sha256.New()
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%s %s ", p, info.Mode())
		if d.Type().IsRegular() {
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			h.Write(data)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// livesOf finds processes of a run's attempts in a folder.
func livesOf(dir string) []string {
	names, _ := filepath.Glob("/proc/[0-9]*/environ")
	var out []string
	for _, name := range names {
		env, err := os.ReadFile(name)
		if err == nil && bytes.Contains(env, []byte("REPRISE_RESULT="+dir)) || opens(filepath.Dir(name), filepath.Join(dir, ".reprise/lock")) {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline"))
			out = append(out, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return out
}

// opens reports whether a process, of which /proc has this folder, has a file open.
func opens(process, file string) bool {
	fds, _ := filepath.Glob(filepath.Join(process, "fd/*"))
	return slices.ContainsFunc(fds, func(fd string) bool {
		to, err := os.Readlink(fd)
		return err == nil && to == file
	})
}

// slowFlow has a step in the middle that waits, with a child of its own, until
// someone lets it continue.
const slowFlow = `
name: slow
title: A slow one
steps:
  - id: first
    command: [sh, -c, "echo $REPRISE_ATTEMPT >> first"]
    outputs: [first]
  - id: middle
    needs: [first]
    command: [sh, -c, "echo $REPRISE_ATTEMPT >> middle.launched; sleep 300 & touch begun; until test -e go; do sleep 0.02; done; echo whole > middle"]
    outputs: [middle]
  - id: last
    needs: [middle]
    command: [sh, -c, "echo $REPRISE_ATTEMPT >> last"]
    outputs: [last]
`

// underWay starts the slow workflow and waits until its middle step is at work.
func underWay(t *testing.T) (dir, home string, s *started) {
	t.Helper()
	dir, home = shop(t, slowFlow), t.TempDir()
	s = program(t, dir, home, "run", "flow.yaml", "--trust", "--id", "slow", "--mode", "autopilot")
	eventually(t, func() bool { return exists(dir, "begun") })
	return dir, home, s
}

func letGo(t *testing.T, dir string) {
	t.Helper()
	touch(t, dir, "go")
}

func touch(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestO1_O4_a_killed_workflow_goes_on_where_it_stopped(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	dir, home, s := underWay(t)
	s.signal(syscall.SIGKILL)
	s.end()
	eventually(t, func() bool { return len(livesOf(dir)) == 0 })
	if out := expect(t, dir, home, 0, "status"); !strings.Contains(out, "◐ interrupted  slow  1/3") {
		t.Error(out)
	}

	// Looking at what would be done changes nothing at all.
	before := treeHash(t, dir)
	out := expect(t, dir, home, 0, "resume", "slow", "--dry-run")
	if !strings.Contains(out, "Nothing was changed or started.") || !strings.Contains(out, "Starts middle:") {
		t.Error(out)
	}
	expect(t, dir, home, 0, "resume", "slow", "--dry-run", "--json")
	if treeHash(t, dir) != before {
		t.Error("a dry run changed the folder")
	}

	letGo(t, dir)
	out = expect(t, dir, home, 0, "resume", "--mode", "autopilot")
	for _, want := range []string{"middle  was cut off before: rerun", "middle  started, attempt 2", "=== Finished: Task graph slow ==="} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if content(dir, "first") != "1\n" || content(dir, "middle.launched") != "1\n2\n" || content(dir, "last") != "1\n" || content(dir, "middle") != "whole\n" {
		t.Errorf("first %q, middle %q, last %q", content(dir, "first"), content(dir, "middle.launched"), content(dir, "last"))
	}
	if left := livesOf(dir); len(left) > 0 {
		t.Errorf("left over: %q", left)
	}
	expect(t, dir, home, 3, "resume", "slow", "--mode", "autopilot")
}

func TestO2_a_live_holder_keeps_others_away(t *testing.T) {
	t.Parallel()
	dir, home, s := underWay(t)
	for _, args := range [][]string{{"resume", "slow", "--mode", "autopilot"}, {"resume", "slow", "--mode", "autopilot", "--json"}, {"run", "flow.yaml", "--id", "slow", "--mode", "autopilot"}} {
		out := expect(t, dir, home, 20, args...)
		if !strings.Contains(out, fmt.Sprintf("process %d", s.cmd.Process.Pid)) {
			t.Error(out)
		}
	}
	letGo(t, dir)
	if code := s.end(); code != 0 {
		t.Errorf("exit %d\n%s", code, s.text())
	}
	if content(dir, "middle.launched") != "1\n" {
		t.Errorf("launched %q", content(dir, "middle.launched"))
	}
}

func TestX10_an_interrupt_is_recorded_and_leaves_nothing(t *testing.T) {
	t.Parallel()
	dir, home, s := underWay(t)
	s.signal(os.Interrupt)
	if code := s.end(); code != 130 {
		t.Errorf("exit %d\n%s", code, s.text())
	}
	if left := livesOf(dir); len(left) > 0 {
		t.Errorf("left over: %q", left)
	}
	if out := expect(t, dir, home, 0, "log", "slow"); !strings.Contains(out, "step reset middle: stopped before it was finished") || !strings.Contains(out, "engine left") {
		t.Error(out)
	}
	letGo(t, dir)
	if out := expect(t, dir, home, 0, "resume", "slow"); strings.Contains(out, "cut off") {
		t.Errorf("a step that was stopped cleanly is no riddle:\n%s", out)
	}
	if content(dir, "first") != "1\n" || content(dir, "last") != "1\n" {
		t.Errorf("first %q, last %q", content(dir, "first"), content(dir, "last"))
	}
}

// deafFlow has an agent that does not end when it is asked to.
const deafFlow = `
name: deaf
title: It does not listen
steps:
  - id: deaf
    command: [sh, -c, "trap '' TERM INT; touch begun; while :; do sleep 0.05; done"]
`

func TestX10_a_second_interrupt_kills_what_does_not_listen(t *testing.T) {
	t.Parallel()
	dir, home := shop(t, deafFlow), t.TempDir()
	s := program(t, dir, home, "run", "flow.yaml", "--trust", "--id", "deaf")
	eventually(t, func() bool { return exists(dir, "begun") })
	s.signal(os.Interrupt)
	time.Sleep(300 * time.Millisecond)
	began := time.Now()
	s.signal(os.Interrupt)
	if code := s.end(); code != 130 || time.Since(began) > 8*time.Second { // the grace is 10 s
		t.Errorf("exit %d after %s\n%s", code, time.Since(began), s.text())
	}
	if left := livesOf(dir); len(left) > 0 {
		t.Errorf("left over: %q", left)
	}
}
