//go:build unix

package evidence

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/internal/gitx/gittest"
)

// behind puts a program of our own in the place of git.
func (p place) behind(script string) place {
	p.t.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		p.t.Fatal(err)
	}
	bin := filepath.Join(filepath.Dir(p.dir), "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		p.t.Fatal(err)
	}
	text := "#!/bin/sh\nlog='" + filepath.Join(bin, "log") + "'\ngit='" + real + "'\n" + script
	gittest.Program(p.t, filepath.Join(bin, "git"), text)
	p.environ = append([]string(nil), p.environ...)
	p.environ[0] = "PATH=" + bin + ":" + os.Getenv("PATH")
	return p
}

func TestGather_starts_few_processes_whatever_the_runs(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	head := p.commit("docs/stories/a", "a")
	p.git("remote", "add", "origin", p.dir)
	p.git("fetch", "-q")
	p.git("branch", "-q", "-u", "origin/main")
	var runs []*reprise.Run
	for i := range 500 {
		name := fmt.Sprintf("b%d", i)
		if i < 12 {
			p.git("worktree", "add", "-q", "-b", name, "../w"+name)
		}
		runs = append(runs, &reprise.Run{
			Ref: reprise.Ref{ID: name, Kind: reprise.KindStory, Path: "docs/stories/" + name}, State: reprise.Interrupted,
			Branch: name, Worktree: "../w" + name, Steps: []reprise.Step{{ID: "1", Commits: []string{head, fmt.Sprintf("%08x", i)}}},
		})
	}
	counted := p.behind("echo \"$*\" >> \"$log\"\nexec \"$git\" \"$@\"\n")
	log := filepath.Join(filepath.Dir(p.dir), "bin", "log")
	for _, c := range []struct {
		name  string
		runs  []*reprise.Run
		cheap bool
		most  int
	}{{"one run", runs[20:21], false, 10}, {"500 runs with 12 worktrees", runs, false, 10 + 2*8}, {"500 runs, cheap", runs, true, 2}} {
		if err := os.WriteFile(log, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if o := counted.gather(c.runs, Options{Cheap: c.cheap}); o.GitError != "" {
			t.Errorf("%s: %s", c.name, o.GitError)
		}
		lines, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(lines), "\n"); n > c.most || n == 0 {
			t.Errorf("%s: %d calls, at most %d wanted\n%s", c.name, n, c.most, lines)
		}
	}
}

func TestGather_says_what_to_do_where_git_gives_no_answer_at_all(t *testing.T) {
	t.Parallel()
	o := newPlace(t).behind("kill -9 $$\n").gather(nil, Options{})
	if o.Git != nil || o.GitError == "" || o.GitTodo == "" {
		t.Errorf("%q %q %+v", o.GitError, o.GitTodo, o.Git)
	}
}

func TestGather_does_not_wait_for_a_git_that_hangs(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.commit("docs/stories/a", "a")
	// What git has started hangs too, and holds its output open.
	stuck := p.behind("case \"$*\" in *status*|*name-status*) sleep 61 & echo $! >> \"$log\"; wait;; esac\nexec \"$git\" \"$@\"\n")
	start := time.Now()
	o := stuck.gather(nil, Options{Timeout: 500 * time.Millisecond, Paths: []string{"."}})
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
	if o.Git == nil || !strings.Contains(o.GitError, "took too long") || len(o.Git.Commits) != 1 || !o.Git.Complete {
		t.Errorf("%q %+v", o.GitError, o.Git)
	}
	pids, err := os.ReadFile(filepath.Join(filepath.Dir(p.dir), "bin", "log"))
	if err != nil {
		t.Fatal(err)
	}
	for pid := range strings.FieldsSeq(string(pids)) {
		for range 200 {
			state, err := os.ReadFile("/proc/" + pid + "/stat")
			if err != nil || strings.Contains(string(state), ") Z ") {
				pid = ""
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if pid != "" {
			t.Errorf("process %s was left behind", pid)
		}
	}
}
