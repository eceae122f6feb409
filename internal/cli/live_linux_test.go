package cli_test

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"reprise/internal/gitx/gittest"
	"reprise/internal/sample"
	"strings"
	"syscall"
	"testing"
)

// shop is a project in git with a workflow of its own.
func shop(t *testing.T, workflow string) string {
	t.Helper()
	dir := t.TempDir()
	gittest.Write(t, dir, "flow.yaml", workflow)
	gittest.Begin(t, dir, gittest.Environ(dir))
	return dir
}

const askingFlow = `
name: release
title: Ship the shop
steps:
  - id: build
    command: [sh, -c, "printf 'compiling \\033[2Jall\\n'; while ! test -e go; do sleep 0.05; done; touch built"]
    outputs: [built]
  - id: ask
    needs: [build]
    ask: {question: "Ship it?", options: ["yes", "no"]}
  - id: ship
    needs: [ask]
    command: [sh, -c, "touch shipped"]
    outputs: [shipped]
`

func TestX10_live_view_trust_and_an_answer_in_the_same_process(t *testing.T) {
	t.Parallel()
	dir := shop(t, askingFlow)
	c := onTerminal(t, dir, 80, 24, nil, "run", "flow.yaml")
	c.waitFor("step build: sh -c")
	c.waitFor("Trust these commands, as they are now? [y/N]")
	c.send("y\r")
	c.waitFor("0 of 3 done, 3 left")
	c.waitFor("◐ build")
	c.waitFor("compiling")
	c.resize(60, 12)
	c.send("typed into the void\r")
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	c.waitFor("? ask: Ship it?")
	c.send("1\r")
	c.waitFor("=== Finished: Task graph")
	c.waitFor("a person answered: yes")
	if code := c.end(); code != 0 {
		t.Errorf("exit %d\n%s", code, c.text())
	}
	if _, err := os.Stat(filepath.Join(dir, "shipped")); err != nil {
		t.Error(err)
	}
	if raw := c.raw(); strings.Contains(raw, "\x1b[2Jall") || strings.Contains(raw, "\x1b[?1049h") {
		t.Error("an agent reached the terminal, or the whole screen was taken")
	}
}

const hangingFlow = `
name: hang
title: It hangs
steps:
  - id: hang
    command: [sh, -c, "trap 'touch asked; exit 0' TERM; echo waiting; touch begun; while :; do sleep 0.05; done"]
`

func TestX10_ctrl_c_stops_the_step_cleanly_and_says_how_to_go_on(t *testing.T) {
	t.Parallel()
	dir := shop(t, hangingFlow)
	c := onTerminal(t, dir, 80, 24, nil, "run", "flow.yaml", "--trust", "--id", "hang")
	c.waitFor("◐ hang")
	c.waitFor("waiting")
	c.send("\x03")
	c.waitFor("=== Stopped: Task graph hang")
	c.waitFor("Next: reprise resume hang")
	if code := c.end(); code != 130 {
		t.Errorf("exit %d\n%s", code, c.text())
	}
	if _, err := os.Stat(filepath.Join(dir, "asked")); err != nil {
		t.Error("the agent was not asked to stop:", err)
	}
	leavesNoView(t, c)
}

// leavesNoView holds that nothing of the live view stays on the terminal.
func leavesNoView(t *testing.T, c *console) {
	t.Helper()
	for i, l := range c.lines() {
		if strings.Contains(l, " left · ") || strings.Contains(l, "◐") || strings.Contains(l, "Ctrl-C stops") {
			t.Errorf("line %d is left of the live view: %s\n%q", i+1, l, c.raw())
		}
	}
}

func TestX10_a_question_is_told_while_another_step_works(t *testing.T) {
	t.Parallel()
	dir := shop(t, `
name: ask
parallel: 2
steps:
  - id: long
    command: [sh, -c, "while ! test -e go; do sleep 0.05; done; touch built"]
    outputs: [built]
  - id: approve
    ask: {question: "Shall it be released?", options: ["yes", "no"]}
`)
	c := onTerminal(t, dir, 80, 24, nil, "run", "flow.yaml", "--trust", "--id", "t")
	c.waitFor("◇ approve waits for an answer: Shall it be released?")
	c.waitFor("`reprise answer t` in another terminal")
	home := ""
	for _, v := range c.cmd.Env {
		if name, value, _ := strings.Cut(v, "="); name == "HOME" {
			home = value
		}
	}
	expect(t, dir, home, 0, "answer", "t", "--option", "1")
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	c.waitFor("=== Finished")
	if code := c.end(); code != 0 {
		t.Errorf("exit %d\n%s", code, c.text())
	}
	leavesNoView(t, c)
}

// In the background the terminal would stop whoever reads from it or sets it.
func TestX10_in_the_background_of_a_terminal_it_prints_plain_lines(t *testing.T) {
	t.Parallel()
	dir := shop(t, `
name: quick
steps:
  - id: quick
    command: [sh, -c, "touch built"]
    outputs: [built]
  - id: approve
    needs: [quick]
    ask: {question: "Shall it be released?", options: ["yes", "no"]}
`)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := commandOnTerminal(t, dir, 80, 24, nil, exec.Command("sh", "-c", `set -m; "$0" run flow.yaml --trust --id t & wait $!; echo "it ended with $?"`, self))
	c.waitFor("quick  started")
	c.waitFor("asks: Shall it be released?")
	c.waitFor("it ended with 12")
	if strings.Contains(c.raw(), "\x1b[?25l") {
		t.Errorf("a live view was begun:\n%q", c.raw())
	}
	c.end()
}

// As a shell has it for jobs of a script, and nohup for hang-ups.
func TestX10_a_signal_that_was_ignored_from_the_start_stays_ignored(t *testing.T) {
	t.Parallel()
	dir := shop(t, hangingFlow)
	s := prepared(t, dir, t.TempDir(), "run", "flow.yaml", "--trust", "--id", "hang")
	s.cmd.Args = append([]string{"sh", "-c", `trap '' INT; exec "$0" "$@"`}, append([]string{s.cmd.Path}, s.cmd.Args[1:]...)...)
	s.cmd.Path = "/bin/sh"
	s.begin()
	eventually(t, func() bool { return exists(dir, "begun") })
	s.signal(syscall.SIGINT)
	s.signal(syscall.SIGTERM)
	if code := s.end(); code != 143 {
		t.Errorf("exit %d\n%s", code, s.text())
	}
}

func TestX10_sigterm_ends_with_143_in_a_pipe(t *testing.T) { endsWith143(t, syscall.SIGTERM) }

// A hang-up is told of by the shell and by the terminal: twice is no haste.
func TestX10_sighup_ends_with_143_in_a_pipe(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("hang-ups are ignored here")
	}
	endsWith143(t, syscall.SIGHUP, syscall.SIGHUP)
}

func endsWith143(t *testing.T, signals ...syscall.Signal) {
	t.Parallel()
	dir := shop(t, hangingFlow)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "run", "flow.yaml", "--trust", "--id", "hang")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "REPRISE_TEST_PROGRAM=1", "HOME="+t.TempDir(), "XDG_STATE_HOME=")
	var out strings.Builder
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	eventually(t, func() bool { _, err := os.Stat(filepath.Join(dir, "begun")); return err == nil })
	for _, sig := range signals {
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
	}
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 143 {
		t.Errorf("exit %d: %s", code, out.String())
	}
	if !strings.Contains(out.String(), "Next: reprise resume hang") || strings.Contains(out.String(), "\x1b") {
		t.Errorf("%q", out.String())
	}
}

func TestX10_no_colour_where_none_is_wanted(t *testing.T) {
	t.Parallel()
	dir := shop(t, hangingFlow)
	for env, want := range map[string]bool{"TERM=dumb": false, "NO_COLOR=1": false, "TERM=xterm": true} {
		c := onTerminal(t, dir, 80, 200, []string{env}, "doctor")
		c.end()
		if got := strings.Contains(c.raw(), "\x1b["); got != want {
			t.Errorf("%s: colour %v\n%q", env, got, c.raw())
		}
	}
}

func TestX10_no_live_view_where_CI_is_set(t *testing.T) {
	t.Parallel()
	dir := shop(t, "name: one\ntitle: One\nsteps:\n  - id: one\n    command: [sh, -c, \"true\"]\n")
	c := onTerminal(t, dir, 80, 24, []string{"CI=1"}, "run", "flow.yaml", "--trust")
	c.waitFor("one  started")
	c.waitFor("one  done after")
	if code := c.end(); code != 0 {
		t.Errorf("exit %d\n%s", code, c.text())
	}
	if strings.Contains(c.raw(), "\x1b[?25l") {
		t.Error("the live view was shown")
	}
}

const story = `# Story 4.2: Search

**Status:** InProgress

## Acceptance Criteria

- [ ] Results are shown

## Change Log

| Date | Agent | Change |
|---|---|---|
| 2026-03-01 | @dev | Ready → InProgress |
`

// storyProject is a story that was interrupted, and someone who can do it.
func storyProject(t *testing.T) string {
	t.Helper()
	dir := shop(t, "")
	for name, text := range map[string]string{
		"docs/stories/4.2.story.md": story,
		"reprise.yaml":              "agents:\n  any: {command: [sh, agent.sh]}\nroles:\n  default: any\n",
		"agent.sh":                  "cat > /dev/null\nsed 's/- \\[ \\]/- [x]/' docs/stories/4.2.story.md > new\ncat new > docs/stories/4.2.story.md\nrm new\necho '{\"outcome\":\"done\",\"verdict\":\"PASS\"}' > \"$REPRISE_RESULT\"\n",
	} {
		gittest.Write(t, dir, name, text)
	}
	environ := append(gittest.Environ(dir), "GIT_AUTHOR_DATE=2026-03-01T11:15:00Z", "GIT_COMMITTER_DATE=2026-03-01T11:15:00Z")
	gittest.Run(t, dir, environ, "config", "user.name", "t")
	gittest.Run(t, dir, environ, "config", "user.email", "t@example.org")
	gittest.Commit(t, dir, environ, "story 4.2")
	return dir
}

func TestOR1_interactive_takes_the_words_of_the_seed(t *testing.T) {
	t.Parallel()
	c := onTerminal(t, storyProject(t), 90, 40, []string{"REPRISE_NOW=2026-03-01T12:00:00Z"}, "resume", "4.2", "--trust")
	c.waitFor("starts    phase")
	c.waitFor("Your choice")
	c.send("yes\r")
	c.waitFor("=== Resuming: SDC for story 4.2 ===")
	c.waitFor("=== Finished: SDC for story 4.2 ===")
	if code := c.end(); code != 0 {
		t.Errorf("exit %d\n%s", code, c.text())
	}
}

func TestOR1_preflight_wants_the_word_proceed(t *testing.T) {
	t.Parallel()
	dir := storyProject(t)
	env := []string{"REPRISE_NOW=2026-03-01T12:00:00Z"}
	c := onTerminal(t, dir, 90, 40, env, "resume", "4.2", "--mode", "preflight", "--trust")
	c.waitFor(`Type "proceed" to continue.`)
	c.send("yes\r")
	c.waitFor("Nothing was started.")
	if code := c.end(); code != 12 {
		t.Errorf("exit %d", code)
	}
	c = onTerminal(t, dir, 90, 40, env, "resume", "4.2", "--mode", "preflight", "--trust")
	c.waitFor("Plan from here to the end")
	c.waitFor(`Type "proceed" to continue.`)
	c.send("proceed\r")
	c.waitFor("=== Finished: SDC for story 4.2 ===")
	if code := c.end(); code != 0 {
		t.Errorf("exit %d\n%s", code, c.text())
	}
}

// The word is wanted whatever else is said of how to continue.
func TestOR1_preflight_wants_the_word_also_where_a_step_is_named(t *testing.T) {
	t.Parallel()
	dir := storyProject(t)
	env := []string{"REPRISE_NOW=2026-03-01T12:00:00Z"}
	for _, how := range [][]string{{"--from", "implement"}, {"--skip", "implement"}, {"--option", "continue"}, {"--auto-continue"}, {"--fresh"}} {
		c := onTerminal(t, dir, 90, 40, env, append([]string{"resume", "4.2", "--mode", "preflight", "--trust"}, how...)...)
		c.waitFor(`Type "proceed" to continue.`)
		c.send("y\r")
		c.waitFor("Nothing was started.")
		if code := c.end(); code != 12 || exists(dir, ".reprise") {
			t.Errorf("%v: exit %d", how, code)
		}
	}
	c := onTerminal(t, dir, 90, 40, env, "resume", "4.2", "--mode", "preflight", "--trust", "--from", "validate", "--until", "validate")
	c.waitFor(`Type "proceed" to continue.`)
	c.send("proceed\r")
	c.waitFor("Handing off to @po") // not to whoever would have been next
	c.end()
}

func TestX10_a_second_ctrl_c_ends_it_at_once(t *testing.T) {
	t.Parallel()
	dir := shop(t, strings.Replace(hangingFlow, "touch asked; exit 0", "touch asked", 1))
	c := onTerminal(t, dir, 80, 24, nil, "run", "flow.yaml", "--trust", "--id", "hang")
	c.waitFor("◐ hang")
	eventually(t, func() bool { _, err := os.Stat(filepath.Join(dir, "begun")); return err == nil })
	c.send("\x03")
	c.waitFor("Stopping: the step is ended cleanly")
	c.send("\x03")
	c.waitFor("=== Stopped: Task graph hang")
	if code := c.end(); code != 130 {
		t.Errorf("exit %d\n%s", code, c.text())
	}
}

func TestLR8_an_answer_at_the_prompt_goes_on_in_the_same_process(t *testing.T) {
	t.Parallel()
	dir := shop(t, askingFlow)
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	c := onTerminal(t, dir, 80, 40, []string{"CI=1"}, "run", "flow.yaml", "--trust", "--id", "shop")
	c.waitFor("? ask: Ship it?")
	c.send("\r") // left open
	c.waitFor("=== Waits for you: Task graph shop")
	c.waitFor("Next: reprise answer shop")
	if code := c.end(); code != 12 {
		t.Errorf("exit %d\n%s", code, c.text())
	}
	c = onTerminal(t, dir, 80, 40, nil, "resume")
	c.waitFor("1. answer")
	c.waitFor("Your choice")
	c.send("answer\r")
	// Another home: whoever finds a run with its workflow file in a project has
	// trusted nothing yet.
	c.waitFor("Trust these commands")
	c.send("y\r")
	c.waitFor("? ask: Ship it?")
	c.send("no, wait: yes\r") // which of the two is not for us to guess
	c.waitFor("please enter 1-")
	c.send("yes: at last\r")
	c.waitFor("=== Finished: Task graph shop")
	c.waitFor("a person answered: yes: at last")
	if code := c.end(); code != 0 {
		t.Errorf("exit %d\n%s", code, c.text())
	}
}

// What a person leaves open holds up only what needs it, and a run that they ended goes
// on when they say so: they are asked again.
func TestX8_a_question_that_is_left_open_and_a_run_that_was_stopped_at_the_prompt(t *testing.T) {
	t.Parallel()
	dir := shop(t, `name: shop
steps:
  - id: q
    ask: {question: "Ship it?", options: [go on, stop]}
  - {id: s, command: [sh, -c, "echo s >> log"], on_crash: rerun}
  - {id: d, needs: [q], command: [sh, -c, "echo d >> log"], on_crash: rerun}
`)
	c := onTerminal(t, dir, 80, 40, []string{"CI=1"}, "run", "flow.yaml", "--trust", "--id", "shop")
	c.waitFor("? q: Ship it?")
	c.send("\r") // left open
	c.waitFor("s  done")
	c.waitFor("=== Waits for you: Task graph shop")
	if code := c.end(); code != 12 {
		t.Errorf("exit %d\n%s", code, c.text())
	}
	c = onTerminal(t, dir, 80, 40, []string{"CI=1"}, "resume", "--option", "answer", "--trust")
	c.waitFor("? q: Ship it?")
	c.send("stop\r")
	c.waitFor("Next: reprise resume shop --option continue")
	if code := c.end(); code != 3 {
		t.Errorf("exit %d\n%s", code, c.text())
	}
	c = onTerminal(t, dir, 80, 40, []string{"CI=1"}, "resume", "shop", "--trust")
	c.waitFor("1. continue")
	c.waitFor("Your choice")
	c.send("1\r")
	c.waitFor("? q: Ship it?")
	c.send("1\r")
	c.waitFor("=== Finished: Task graph shop")
	if code := c.end(); code != 0 {
		t.Errorf("exit %d\n%s", code, c.text())
	}
	if log, err := os.ReadFile(filepath.Join(dir, "log")); err != nil || string(log) != "s\nd\n" {
		t.Errorf("%q %v", log, err)
	}
}

// A task group is skipped at the prompt, by its number or its word; where it is not
// certain the prompt does not offer it and says why.
func TestLR8_a_task_group_is_skipped_at_the_prompt(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	for _, said := range []string{"2", "skip-group"} {
		dir := shop(t, "")
		if err := os.CopyFS(dir, os.DirFS("../../examples/longrun")); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{
			"reprise.yaml": "agents:\n  any: {command: [sh, agent.sh]}\nroles:\n  default: any\n",
			"agent.sh":     "cat > /dev/null\necho made >> webhook.go\necho '{\"outcome\":\"done\"}' > \"$REPRISE_RESULT\"\n",
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		asked := filepath.Join(dir, "specs/checkout/.long-run/clarifications.md")
		before, err := os.ReadFile(asked)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(asked, []byte(strings.ReplaceAll(string(before), "Task Group 3: confirmation", "Task Group 3")), 0o644); err != nil {
			t.Fatal(err)
		}
		c := onTerminal(t, dir, 120, 60, nil, "resume", "checkout", "--trust")
		c.waitFor("Task Group 3 cannot be skipped: no plan says that it belongs to that group")
		c.waitFor("Your choice")
		c.send("skip-group\r")
		c.waitFor("please enter 1-")
		c.send("\r")
		c.waitFor("Nothing was started.")
		c.end()
		if err := os.WriteFile(asked, before, 0o644); err != nil {
			t.Fatal(err)
		}
		c = onTerminal(t, dir, 120, 60, nil, "resume", "checkout", "--trust")
		c.waitFor("2. skip-group")
		c.waitFor("Skip Task Group 3: confirmation (plan 03)")
		c.waitFor("Your choice")
		c.send(said + "\r")
		c.waitFor("=== Finished")
		c.waitFor("03 confirmation left out")
		if code := c.end(); code != 0 {
			t.Errorf("%s: exit %d\n%s", said, code, c.text())
		}
		if data, err := os.ReadFile(asked); err != nil || !strings.Contains(string(data), "**Status:** skipped") {
			t.Errorf("%s: %s, %v", said, data, err)
		}
	}
}
