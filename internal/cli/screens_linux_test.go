package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reprise/internal/cli"
	"reprise/internal/gitx/gittest"
	"reprise/internal/sample"
)

// screen is the program on the screen of a real terminal, tmux.
type screen struct {
	t             *testing.T
	socket        string
	columns, rows int
}

// onScreen starts the program in a terminal of this size. What it prints at its end stays,
// with its exit code below.
func onScreen(t *testing.T, dir string, columns, rows int, env []string, args ...string) *screen {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not here: the screens are not looked at")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	place, err := os.MkdirTemp("", "tm") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{t, filepath.Join(place, "s"), columns, rows}
	t.Cleanup(func() {
		_, _ = s.tmux("kill-server")
		os.RemoveAll(place)
	})
	start := []string{"-f", os.DevNull, "new-session", "-d", "-x", fmt.Sprint(columns), "-y", fmt.Sprint(rows), "-c", dir}
	for _, v := range append([]string{"REPRISE_TEST_PROGRAM=1", "TERM=tmux-256color", "LC_ALL=C.UTF-8", "HOME=" + place, "GIT_CONFIG_GLOBAL=" + os.DevNull, "CI="}, env...) {
		start = append(start, "-e", v)
	}
	script := `PATH="$BESIDE$PATH"; "$0" "$@"; echo "[ended with $?]"; exec sleep 1000`
	start = append(start, ";", "set", "-g", "status", "off")
	start = append(start[:len(start)-5], append([]string{"sh", "-c", script, self}, append(args, start[len(start)-5:]...)...)...)
	if out, err := s.tmux(start...); err != nil {
		t.Fatalf("tmux: %v: %s", err, out)
	}
	return s
}

func (s *screen) tmux(args ...string) (string, error) {
	cmd := exec.Command("tmux", append([]string{"-u", "-S", s.socket}, args...)...)
	cmd.Env = append(os.Environ(), "TMUX=", "LC_ALL=C.UTF-8")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (s *screen) keys(keys ...string) {
	s.t.Helper()
	if out, err := s.tmux(append([]string{"send-keys"}, keys...)...); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
}

// shows waits until all of the texts are on the screen at once, and holds that nothing is
// wider than it.
func (s *screen) shows(wants ...string) string {
	s.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		text, err := s.tmux("capture-pane", "-p")
		if err != nil {
			s.t.Fatalf("%v: %s", err, text)
		}
		missing := ""
		for _, want := range wants {
			if !strings.Contains(text, want) {
				missing = want
			}
		}
		if missing == "" {
			for line := range strings.Lines(text) {
				if n := cli.Width(strings.TrimRight(line, "\n")); n > s.columns {
					s.t.Errorf("%d columns: %q", n, line)
				}
			}
			s.t.Logf("%dx%d:\n%s", s.columns, s.rows, strings.TrimRight(text, "\n"))
			return text
		}
		if strings.Contains(text, "[ended with") || time.Now().After(deadline) {
			s.t.Fatalf("%q is not shown:\n%s", missing, text)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Issue 17: every screen at 80 by 24 and at 120 by 40, as a terminal shows it.
func TestScreens(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	dir, dated := examplesCopy(t), append([]string{"PAGER="}, fixedNow...)
	home := t.TempDir()
	worked := shop(t, askingFlow)
	if err := os.WriteFile(filepath.Join(worked, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	expect(t, worked, home, 12, "run", "flow.yaml", "--trust", "--id", "t")
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		for name, look := range map[string]func(t *testing.T){
			"picker": func(t *testing.T) {
				s := onScreen(t, dir, size[0], size[1], dated)
				s.shows("Resume which run?", "› ◐ EPIC-2")
				s.keys("004")
				s.shows("match: 004", "› ◐ 004")
				s.keys("Right") // looks before it leaps
				s.shows("Build 004-remove-secrets-from-config", "CAUTION")
				s.keys("Escape")
				s.shows("match: 004")
				s.keys("Enter")
				s.shows("Your choice (1-")
				s.keys("Enter")
				s.shows("Nothing was started.", "[ended with 12]")
			},
			"filter": func(t *testing.T) {
				dir := t.TempDir()
				for i, name := range []string{"a-cart", "cart-page", "cart"} {
					file := ".kiro/specs/" + name + "/tasks.md"
					gittest.Write(t, dir, file, "# Implementation Plan\n\n- [x] 1. One\n- [ ] 2. Two\n")
					at := time.Now().Add(-time.Duration(i) * time.Hour)
					if err := os.Chtimes(filepath.Join(dir, file), at, at); err != nil {
						t.Fatal(err)
					}
				}
				s := onScreen(t, dir, size[0], size[1], nil)
				s.shows("Resume which run?", "› ◐ a-cart")
				s.keys("cart")
				text := s.shows("3 of 3 match: cart", "› ◐ cart ")
				if page, other := strings.Index(text, "◐ cart-page"), strings.Index(text, "◐ a-cart"); page > other {
					t.Errorf("a name that begins with it comes after one that has it in it:\n%s", text)
				}
				s.keys("Escape")
				s.shows("3 open in", "› ◐ a-cart") // the usual order again
			},
			"status": func(t *testing.T) {
				s := onScreen(t, dir, size[0], size[1], dated, "status")
				s.shows("11 runs in examples", "EPIC-2", "qa-loop-2.2")
				s.keys("q") // out of the pager, where it does not fit
				s.shows("[ended with 0]")
			},
			"log": func(t *testing.T) {
				s := onScreen(t, worked, size[0], size[1], nil, "log", "t")
				s.shows("build", "Ship it?", "[ended with 0]")
				s = onScreen(t, worked, size[0], size[1], nil, "log", "t", "build")
				s.shows("compiling", "[ended with 0]")
			},
			"init": func(t *testing.T) {
				dir := t.TempDir()
				agents := t.TempDir()
				gittest.Program(t, filepath.Join(agents, "claude"), "#!/bin/sh\necho 2.1.325\n")
				s := onScreen(t, dir, size[0], size[1], []string{"BESIDE=" + agents + ":"}, "init") // tmux has a PATH of its own
				s.shows("roles:", "With it, claude may change files here and run any command", "Write this to reprise.yaml? [y/N]")
				s.keys("n", "Enter")
				s.shows("Have claude tell by itself")
				s.keys("n", "Enter")
				s.shows("[ended with ")
				if exists(dir, "reprise.yaml") {
					t.Error("it was written after a no")
				}
			},
			"resume": func(t *testing.T) {
				dir := shop(t, askingFlow)
				s := onScreen(t, dir, size[0], size[1], nil, "run", "flow.yaml", "--trust", "--id", "t")
				s.shows("0 of 3 done, 3 left", "◐ build", "compiling", "Ctrl-C stops the step cleanly")
				s.keys("C-c")
				text := s.shows("Stopped: Task graph t", "[ended with 130]")
				if strings.Contains(text, "Ctrl-C stops") {
					t.Errorf("the live view stays:\n%s", text)
				}
				if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o644); err != nil {
					t.Fatal(err)
				}
				s = onScreen(t, dir, size[0], size[1], []string{"XDG_STATE_HOME=" + filepath.Join(dir, "..")}, "resume", "t", "--trust")
				s.shows("Your choice (1-", "1. continue")
				s.keys("1", "Enter")
				s.shows("? ask: Ship it?", "1. yes", "Answer (Enter to leave it open):")
				s.keys("Enter")
				s.shows("Waits for you", "reprise answer t", "[ended with 12]")
			},
			"answer": func(t *testing.T) {
				s := onScreen(t, worked, size[0], size[1], nil, "answer", "t")
				s.shows("? ask: Ship it?", "2. no", "Answer (Enter to leave it open):")
				s.keys("3", "Enter")
				s.shows("please enter 1-2")
				s.keys("Enter")
				s.shows("[ended with 12]")
			},
			"check": func(t *testing.T) {
				s := onScreen(t, dir, size[0], size[1], dated, "check", "003")
				s.shows("NEEDS A DECISION", "[ended with 12]")
			},
			"pager": func(t *testing.T) {
				if _, err := exec.LookPath("less"); err != nil {
					t.Skip("less is not here")
				}
				s := onScreen(t, dir, size[0], size[1], dated, "check", "004", "--full")
				if strings.Contains(s.shows("Build 004-remove-secrets-from-config"), "[ended") {
					t.Error("it did not wait")
				}
				s.keys("q")
				s.shows("[ended with 10]")
			},
			"watch": func(t *testing.T) {
				s := onScreen(t, worked, size[0], size[1], nil, "watch", ".", dir)
				text := s.shows("Watching 7 projects", "◇ waiting", "Ship it?", "Ctrl-C leaves")
				if strings.Count(text, "Watching") != 1 {
					t.Errorf("it is drawn twice:\n%s", text)
				}
				s.keys("C-c")
				if text := s.shows("[ended with 0]"); strings.Contains(text, "Watching") {
					t.Errorf("something of it stays:\n%s", text)
				}
			},
			"timeline": func(t *testing.T) {
				s := onScreen(t, worked, size[0], size[1], nil, "log", "t", "--timeline")
				s.shows("t, 1 step in ", "build", "█", "◇", "waiting for a person", "[ended with 0]")
			},
		} {
			t.Run(fmt.Sprintf("%s %dx%d", name, size[0], size[1]), func(t *testing.T) {
				t.Parallel()
				look(t)
			})
		}
	}
}
