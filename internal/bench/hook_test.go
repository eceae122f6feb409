package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestBenchHookBesideGitStatus: a hook takes at most five times as long as `git status`
// where nothing was interrupted, for it starts no git then, and never more than 150 ms; a
// whole briefing, for which git is asked many things, is given in less. The line for a
// prompt starts no process at all.
func TestBenchHookBesideGitStatus(t *testing.T) {
	bin := wanted(t)
	for _, name := range []string{"", "autoclaude", "longrun", "orchestrate", "eventrun", "specloop", "60 lists"} {
		dir := t.TempDir()
		if name == "60 lists" {
			lists(t, dir, 60)
		} else if name != "" {
			if err := os.CopyFS(dir, os.DirFS("../../examples/"+name)); err != nil {
				t.Fatal(err)
			}
		}
		commitWith300Files(t, dir)
		at := func(cmd *exec.Cmd) *exec.Cmd {
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+filepath.Dir(dir))
			return cmd
		}
		got := timed(t, 40,
			func() *exec.Cmd { return at(exec.Command(bin, "hook", "run", "claude", "start")) },
			func() *exec.Cmd { return at(exec.Command("git", "status")) },
			func() *exec.Cmd { return at(exec.Command(bin, "status", "--short")) })
		ratio, short := float64(got[0])/float64(got[1]), float64(got[2])/float64(got[1])
		if what := map[string]string{"": "nothing interrupted", "orchestrate": "one open run", "60 lists": "60 lists of 20 tasks"}[name]; what != "" {
			figure(t, "hook at the start of a session, "+what, got[0], "`git status`", got[1], "150 ms")
			figure(t, "`status --short` for a prompt, "+what, got[2], "`git status`", got[1], "30 ms")
		}
		if got[2] > 30*time.Millisecond && short > 5 {
			t.Errorf("%q: the prompt takes %v, %.2f times git", name, got[2], short)
		}
		if got[0] > 150*time.Millisecond || name == "" && ratio > 5 {
			t.Errorf("%q: %v, %.2f times git", name, got[0], ratio)
		}
	}
}

// lists makes task lists of Spec Kit that were begun.
func lists(t *testing.T, dir string, n int) {
	t.Helper()
	for i := range n {
		text := fmt.Sprintf("# Tasks: Feature %d\n\n", i)
		for task := range 20 {
			text += fmt.Sprintf("- [%c] T%03d Write part %d in src/f%d_%d.go\n", "x "[min(task/9, 1)], task+1, task+1, i, task)
		}
		name := filepath.Join(dir, "specs", fmt.Sprintf("%03d-feature", i), "tasks.md")
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
