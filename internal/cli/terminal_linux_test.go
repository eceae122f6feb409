package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// examplesCopy is the project of the examples, without git.
func examplesCopy(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "examples")
	if err := os.CopyFS(dir, os.DirFS("../../examples")); err != nil {
		t.Fatal(err)
	}
	return dir
}

var fixedNow = []string{"REPRISE_NOW=2026-03-20T12:00:00Z"}

// EV1
func TestAlone_on_a_terminal_it_offers_what_was_interrupted(t *testing.T) {
	t.Parallel()
	c := onTerminal(t, examplesCopy(t), 100, 40, fixedNow)
	c.waitFor("Resume which run? 9 open in examples")
	c.waitFor("› ◐ EPIC-2")
	c.send("\x1b[B")
	c.waitFor("› ◐ qa-loop-2.2")
	c.send("vouchers (d") // what the list shows of a run counts, and a space is part of it
	c.waitFor("of 9 match: vouchers (d")
	c.waitFor("› ◐ EPIC-2")
	c.send("\x04")
	c.waitFor("Resume which run? 9 open in examples")
	c.send("h") // narrows the list down to what is called that
	c.waitFor("match: h")
	c.send("ealth")
	c.waitFor("1 of 9 match: health")
	c.waitFor("→ look")
	c.send("\x1b[C") // looks, before it leaps
	c.waitFor("NEEDS A DECISION")
	c.waitFor("Ways to continue:")
	c.send("q\x04\x04") // back, all of them again, leave
	if code := c.end(); code != 0 {
		t.Errorf("exit %d", code)
	}
	if strings.Contains(c.raw(), "\x1b[?1049h") {
		t.Error("it took the whole screen")
	}
}

// OR6
func TestWhat_is_picked_is_shown_with_the_ways_to_continue(t *testing.T) {
	t.Parallel()
	dir := examplesCopy(t)
	c := onTerminal(t, dir, 90, 16, fixedNow)
	c.waitFor("› ◐ EPIC-2")
	c.waitFor("more below")
	// On a low terminal the window follows. Only what changes of a line is drawn, so what
	// was picked is seen by what comes next.
	c.send("\x1b[B\x1b[B\x1b[B\x1b[B\x1b[B\r")
	c.waitFor("Build 004-remove-secrets-from-config")
	c.waitFor("1. continue")
	c.waitFor("Your choice (1-")
	c.send("nonsense\r")
	c.waitFor("please enter 1-")
	c.send("\x1b[A\r") // another key than Escape: the line is empty without it
	c.waitFor("Nothing was started.")
	if code := c.end(); code != 12 {
		t.Errorf("exit %d", code)
	}
	if _, err := os.Stat(filepath.Join(dir, ".reprise")); err == nil {
		t.Error("looking made a state folder")
	}
}

// One key steps back: out of the choice to the list, out of the list to the shell.
func TestEscape_steps_back(t *testing.T) {
	t.Parallel()
	c := onTerminal(t, examplesCopy(t), 100, 40, fixedNow)
	c.waitFor("› ◐ EPIC-2")
	c.send("\r")
	c.waitFor("Your choice (1-")
	c.send("1\x1b") // whatever was typed
	back := regexp.MustCompile(`(?s)Nothing was started\..*Esc leave`)
	eventually(t, func() bool { return back.MatchString(c.text()) })
	c.send("\x1b")
	if code := c.end(); code != 0 {
		t.Errorf("exit %d", code)
	}

	c = onTerminal(t, examplesCopy(t), 100, 40, fixedNow, "resume", "EPIC-2")
	c.waitFor("Your choice (1-")
	c.send("\x1b")
	c.waitFor("Nothing was started.")
	if code := c.end(); code != 12 {
		t.Errorf("exit %d", code)
	}
}

func TestWhat_does_not_fit_on_the_terminal_goes_through_the_pager(t *testing.T) {
	t.Parallel()
	dir := examplesCopy(t)
	env := append([]string{"PAGER=sed s/^/paged:/"}, fixedNow...)
	long := onTerminal(t, dir, 90, 16, env, "check", "004", "--full")
	long.waitFor("paged:◐ Build 004-remove-secrets-from-config")
	if code := long.end(); code != 10 {
		t.Errorf("exit %d", code)
	}
	short := onTerminal(t, dir, 90, 100, env, "check", "004")
	if code := short.end(); code != 10 || strings.Contains(short.text(), "paged:") {
		t.Errorf("exit %d: %s", code, short.text())
	}
}

func TestX10_ctrl_c_at_a_prompt_ends_with_130(t *testing.T) {
	t.Parallel()
	agents := t.TempDir()
	if err := os.WriteFile(filepath.Join(agents, "claude"), []byte("#!/bin/sh\necho 2.1.325\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for prompt, args := range map[string][]string{
		"Your choice": {"resume", "004"}, "Write this to reprise.yaml?": {"init"}, "Trust these commands": {"run", "flow.yaml"},
	} {
		dir := examplesCopy(t)
		if err := os.WriteFile(filepath.Join(dir, "flow.yaml"), []byte(askingFlow), 0o644); err != nil {
			t.Fatal(err)
		}
		c := onTerminal(t, dir, 90, 24, append(fixedNow[:len(fixedNow):len(fixedNow)], "PATH="+agents+":"+os.Getenv("PATH")), args...)
		c.waitFor(prompt)
		c.send("\x03")
		if code := c.end(); code != 130 || strings.Contains(c.text(), "cancel") {
			t.Errorf("%q: exit %d:\n%s", args, code, c.text())
		}
	}
}

func TestX10_in_a_pipe_it_is_the_status(t *testing.T) {
	dir := examplesCopy(t)
	t.Chdir(dir)
	out, _, code := run(t, map[string]string{"REPRISE_NOW": "2026-03-20T12:00:00Z"})
	if code != 0 || !strings.Contains(out, "11 runs in examples") || strings.Contains(out, "\x1b") {
		t.Errorf("exit %d: %s", code, out)
	}
}
