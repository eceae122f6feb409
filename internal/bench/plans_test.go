package bench

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestBenchPlansInCheckouts: 68 plans of 60 kB in each of 4 checkouts, some ticked, some half, some by
// nobody: `status` takes at most 1.5 s of CPU and `check` 3 s.
func TestBenchPlansInCheckouts(t *testing.T) {
	bin := wanted(t)
	dir := filepath.Join(t.TempDir(), "main")
	repositoryOfPlans(t, dir, 68, 4)
	for command, limit := range map[string]time.Duration{"status": 1500 * time.Millisecond, "check": 3 * time.Second} {
		spent := func(name string, args ...string) time.Duration {
			cmd := exec.Command(name, args...)
			cmd.Dir, cmd.Env = dir, append(cmd.Environ(), "HOME="+filepath.Dir(dir))
			if _ = cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() < 0 {
				t.Fatalf("%v did not end", cmd.Args)
			}
			return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		}
		ours, theirs := spent(bin, command), spent("git", "log", "--name-status")
		for range 2 {
			ours, theirs = min(ours, spent(bin, command)), min(theirs, spent("git", "log", "--name-status"))
		}
		if figure(t, "CPU of `"+command+"`, 68 plans in 4 checkouts", ours, "`git log --name-status`", theirs, fmt.Sprint(limit)); ours > limit {
			t.Errorf("%s: %v of CPU", command, ours)
		}
	}
}

// repositoryOfPlans makes a repository with a history, and further checkouts of earlier commits.
func repositoryOfPlans(t *testing.T, dir string, plans, checkouts int) {
	t.Helper()
	git := func(in string, args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
		cmd.Stdin = strings.NewReader(in)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", args, out)
		}
	}
	var in bytes.Buffer
	commits, at := 0, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	commit := func(subject string, files ...string) { // name, text, name, text ...
		commits, at = commits+1, at.Add(time.Hour)
		fmt.Fprintf(&in, "commit refs/heads/main\ncommitter t <t@example.org> %d +0000\ndata %d\n%s\n", at.Unix(), len(subject), subject)
		for i := 0; i < len(files); i += 2 {
			fmt.Fprintf(&in, "M 100644 inline %s\ndata %d\n%s\n", files[i], len(files[i+1]), files[i+1])
		}
	}
	for p := range plans {
		name := fmt.Sprintf("docs/superpowers/plans/2026-01-%02d-feature-%d.md", p%28+1, p)
		commit(fmt.Sprintf("docs: plan feature %d", p), name, planText(p, 0))
		for task := 1; task <= []int{8, 8, 4, 0}[p%4]; task++ { // unticked, all, half, not begun
			files := []string{fmt.Sprintf("src/f%d/mod%d.ts", p, task), "export {}\n", "src/index.ts", at.String()}
			if p%4 != 0 {
				files = append(files, name, planText(p, task*5))
			}
			commit(fmt.Sprintf("feat(f%d): part %d", p, task), files...)
		}
	}
	if out, err := exec.Command("git", "init", "-q", "-b", "main", dir).CombinedOutput(); err != nil {
		t.Fatalf("%s", out)
	}
	git(in.String(), "fast-import", "--quiet")
	git("", "reset", "-q", "--hard", "main")
	for i := 1; i < checkouts; i++ {
		git("", "worktree", "add", "-q", "-b", fmt.Sprint("b", i), fmt.Sprint(dir, "-", i), fmt.Sprintf("main~%d", i*commits/checkouts))
	}
}

// planText is a plan of 8 tasks with 5 steps each, of which the first so many are ticked.
func planText(p, ticked int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Feature %d Implementation Plan\n\n**Goal:** one part of it merges at a time, behind a queue.\n\n---\n", p)
	for task := range 8 {
		fmt.Fprintf(&b, "\n### Task %d: Part %d (`mod%d.ts`)\n\n**Files:**\n\n- Create: `src/f%d/mod%d.ts`\n- Modify: `src/index.ts:10-30`\n", task+1, task+1, task+1, p, task+1)
		for i, what := range []string{"Write the failing tests", "See them fail", "Write it", "See them pass", "Commit"} {
			mark := " "
			if task*5+i < ticked {
				mark = "x"
			}
			fmt.Fprintf(&b, "\n- [%s] **Step %d: %s**\n\n```ts\n", mark, i+1, what)
			if i == 4 {
				fmt.Fprintf(&b, "git commit -m \"feat(f%d): part %d\"\n", p, task+1)
			}
			for line := range 16 {
				fmt.Fprintf(&b, "export function step%d(q: Queue, id: string): Queue { return q.filter((e) => e.id !== %d); }\n", line, i)
			}
			b.WriteString("```\n")
		}
	}
	return b.String()
}
