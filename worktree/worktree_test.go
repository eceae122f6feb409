//go:build unix

package worktree_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/convention/autoclaude"
	"reprise/internal/durable"
	"reprise/internal/gitx"
	"reprise/internal/gitx/gittest"
	"reprise/worktree"
)

const (
	specID = "001-dark-mode"
	specAt = ".auto-claude/specs/" + specID
	place  = ".auto-claude/worktrees/tasks/" + specID
	branch = "auto-claude/" + specID
)

const planText = `{"feature": "Dark mode", "status": "in_progress", "phases": [{"id": "p", "subtasks": [
  {"id": "1.1", "description": "one", "status": "completed"},
  {"id": "1.2", "description": "two", "status": "pending"}]}]}
`

// bench is a project with a spec, in a repository of its own.
type bench struct {
	t   testing.TB
	dir string
	env []string
}

func newBench(t testing.TB) *bench {
	t.Helper()
	base := gittest.Folder(t)
	b := &bench{t: t, dir: filepath.Join(base, "repo"), env: gittest.Environ(base)}
	b.write(".gitignore", ".auto-claude/\n.worktrees/\nignored\n")
	b.write("main.txt", "one\n")
	b.write(".env.example", "KEY=\n")
	for i := range 15 {
		b.write(fmt.Sprintf("src/%02d.txt", i), strings.Repeat(fmt.Sprintf("line %d\n", i), 50))
	}
	gittest.Begin(t, b.dir, b.env)
	b.write(specAt+"/implementation_plan.json", planText)
	b.write(specAt+"/spec.md", "# Dark mode\n")
	b.write(specAt+"/.env", "SECRET=1\n")
	return b
}

func (b *bench) write(name, text string) {
	b.t.Helper()
	gittest.Write(b.t, b.dir, name, text)
}

func (b *bench) read(name string) string {
	data, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		return ""
	}
	return string(data)
}

func (b *bench) gitIn(dir string, args ...string) string {
	b.t.Helper()
	return gittest.Run(b.t, filepath.Join(b.dir, dir), b.env, args...)
}

func (b *bench) git(args ...string) string { b.t.Helper(); return b.gitIn(".", args...) }

// project opens everything anew, as the next process would.
func project(ctx context.Context, dir string, env []string) (worktree.Project, error) {
	store, err := durable.Open(dir, durable.Options{Reserve: -1})
	if err != nil {
		return worktree.Project{}, err
	}
	// A git that outlived the last process keeps the lease until it ends.
	for end := time.Now().Add(20 * time.Second); ; {
		_, err = store.Take(ctx)
		var held *durable.HeldError
		if !errors.As(err, &held) || time.Now().After(end) {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if err != nil {
		return worktree.Project{}, err
	}
	repo, err := gitx.Open(ctx, dir, gitx.Options{Environ: env})
	if err != nil {
		return worktree.Project{}, err
	}
	run, err := autoclaude.New().Load(store, reprise.Ref{Path: specAt, ID: specID})
	return worktree.Project{Store: store, Repo: repo, Run: run, Age: 10 * time.Millisecond}, err
}

// with does something with the lease held.
func (b *bench) with(do func(p worktree.Project)) {
	b.t.Helper()
	p, err := project(b.t.Context(), b.dir, b.env)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() {
		if err := p.Store.Release(); err != nil {
			b.t.Error(err)
		}
	}()
	do(p)
}

func (b *bench) ensure() worktree.Made {
	b.t.Helper()
	var made worktree.Made
	b.with(func(p worktree.Project) {
		var err error
		if made, err = worktree.Ensure(b.t.Context(), p); err != nil {
			b.t.Fatal(err)
		}
	})
	return made
}

// sound asks that the checkout is whole and the repository undamaged.
func (b *bench) sound() {
	b.t.Helper()
	if out := b.git("fsck", "--strict", "--no-dangling"); out != "" {
		b.t.Errorf("fsck: %s", out)
	}
	if got := b.gitIn(place, "status", "--porcelain"); got != "" {
		b.t.Errorf("the checkout is not clean:\n%s", got)
	}
	if got := b.gitIn(place, "rev-parse", "--abbrev-ref", "HEAD"); got != branch {
		b.t.Errorf("on branch %s", got)
	}
	if got := strings.Count(b.git("worktree", "list", "--porcelain"), "worktree "); got != 2 {
		b.t.Errorf("%d worktrees", got)
	}
	if got := b.read(place + "/" + specAt + "/implementation_plan.json"); got != planText {
		b.t.Errorf("the copy of the plan is %q", got)
	}
	if got := b.read(place + "/" + specAt + "/.env"); got != "" {
		b.t.Errorf("secrets were copied: %q", got)
	}
}

func TestAC2_Ensure_makes_and_uses_again(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	made := b.ensure()
	if made.Path != place || made.Branch != branch || made.Record == nil || made.Record.Text != place || made.Record.Commit != b.git("rev-parse", "main") {
		t.Fatalf("%+v", made)
	}
	b.sound()
	b.write(place+"/"+specAt+"/implementation_plan.json", "changed by an agent")
	b.write(place+"/work.txt", "not committed")
	b.with(func(p worktree.Project) {
		p.Ready = made.Record
		again, err := worktree.Ensure(t.Context(), p)
		if err != nil || again.Record != nil || again.Path != place {
			t.Errorf("%+v %v", again, err)
		}
	})
	if again := b.ensure(); again.Record == nil || len(again.Notes) > 0 {
		t.Errorf("without a record it is to be recorded again: %+v", again)
	}
	if b.read(place+"/work.txt") == "" || b.read(place+"/"+specAt+"/implementation_plan.json") != "changed by an agent" {
		t.Error("work in the checkout was touched")
	}
}

func TestAC2_Ensure_uses_older_places(t *testing.T) {
	t.Parallel()
	for _, at := range []string{".worktrees/" + specID, ".worktrees/auto-claude"} {
		b := newBench(t)
		b.git("worktree", "add", "-q", "-b", branch, at)
		b.write(at+"/mine.txt", "by the user")
		if made := b.ensure(); made.Path != at || made.Record == nil || b.read(at+"/mine.txt") == "" {
			t.Errorf("%s: %+v", at, made)
		}
	}
	b := newBench(t)
	b.git("worktree", "add", "-q", "-b", "auto-claude/002-other", ".worktrees/auto-claude")
	if made := b.ensure(); made.Path != place {
		t.Errorf("another spec's checkout was taken: %+v", made)
	}
}

func TestAC7_Ensure_takes_a_branch_as_it_is(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.git("branch", branch)
	b.git("commit", "-q", "--allow-empty", "-m", "later")
	head := b.git("rev-parse", branch)
	made := b.ensure()
	if got := b.gitIn(place, "rev-parse", "HEAD"); got != head || made.Base != head {
		t.Errorf("%s, want %s; %+v", got, head, made)
	}
}

// What agents and people do to checkouts.
func TestAC7_Ensure_after_somebody_meddled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do      func(b *bench)
		refused bool
		kept    string // a text that must still be somewhere
	}{
		"folder deleted": {do: func(b *bench) {
			b.write(place+"/main.txt", "staged work")
			b.gitIn(place, "add", "main.txt")
			b.remove(place)
		}, kept: "staged work"},
		"link deleted": {do: func(b *bench) {
			b.write(place+"/work.txt", "not committed")
			b.remove(place + "/.git")
		}, kept: "not committed"},
		"record pruned": {do: func(b *bench) {
			b.write(place+"/work.txt", "not committed")
			b.remove(".git/worktrees/" + specID)
		}, kept: "not committed"},
		"a folder of the user's": {do: func(b *bench) {
			b.git("worktree", "remove", "--force", place)
			b.write(place+"/notes.txt", "mine")
		}, kept: "mine"},
		"another branch":  {do: func(b *bench) { b.gitIn(place, "checkout", "-q", "-b", "else") }, refused: true},
		"detached":        {do: func(b *bench) { b.gitIn(place, "checkout", "-q", "--detach") }, refused: true},
		"another project": {do: func(b *bench) { b.remove(place + "/.git"); b.gitIn(place, "init", "-q") }, refused: true},
		"a file instead":  {do: func(b *bench) { b.git("worktree", "remove", "--force", place); b.write(place, "x") }, refused: true},
		"locked and away": {do: func(b *bench) { b.git("worktree", "lock", place); b.remove(place) }, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.ensure()
			c.do(b)
			if c.refused {
				b.with(func(p worktree.Project) {
					made, err := worktree.Ensure(t.Context(), p)
					var refused *worktree.RefusedError
					if !errors.As(err, &refused) || refused.Hint() == "" {
						t.Errorf("%+v %v", made, err)
					}
				})
				return
			}
			made := b.ensure()
			if made.Record == nil {
				t.Errorf("%+v", made)
			}
			b.sound()
			if !b.holds(c.kept) {
				t.Errorf("%q is lost; %q", c.kept, made.Notes)
			}
		})
	}
}

func (b *bench) remove(name string) {
	b.t.Helper()
	if err := os.RemoveAll(filepath.Join(b.dir, name)); err != nil {
		b.t.Fatal(err)
	}
}

// holds looks for a text in every file of the project, and in all that git keeps.
func (b *bench) holds(text string) bool {
	b.t.Helper()
	found := false
	err := filepath.WalkDir(b.dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			data, err := os.ReadFile(p)
			found = found || err == nil && strings.Contains(string(data), text)
		}
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, ref := range strings.Fields(b.git("for-each-ref", "--format=%(refname)")) {
		cmd := exec.CommandContext(b.t.Context(), "git", "grep", "-q", text, ref)
		cmd.Dir, cmd.Env = b.dir, b.env
		found = found || cmd.Run() == nil
	}
	return found
}

func TestAC9_Merge_once(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.ensure()
	b.write(place+"/new.txt", "built")
	b.write(place+"/"+specAt+"/implementation_plan.json", strings.ReplaceAll(planText, "pending", "completed"))
	b.with(func(p worktree.Project) {
		var refused *worktree.RefusedError
		if _, err := worktree.Merge(t.Context(), p); !errors.As(err, &refused) {
			t.Errorf("merged with work that is not committed: %v", err)
		}
	})
	b.gitIn(place, "add", "-A")
	b.gitIn(place, "commit", "-q", "-m", "auto-claude: 1.2 - two")
	b.with(func(p worktree.Project) {
		text, err := worktree.Review(t.Context(), p)
		if err != nil || !strings.Contains(text, "auto-claude: 1.2 - two") || !strings.Contains(text, "new.txt +1 -0") {
			t.Errorf("%s %v", text, err)
		}
		merged, err := worktree.Merge(t.Context(), p)
		if err != nil || merged.Before || merged.Commit != b.git("rev-parse", "main") {
			t.Fatalf("%+v %v", merged, err)
		}
		again, err := worktree.Merge(t.Context(), p)
		if err != nil || !again.Before || again.Commit != merged.Commit {
			t.Errorf("%+v %v", again, err)
		}
	})
	if b.read("new.txt") != "built" || !strings.Contains(b.read(specAt+"/implementation_plan.json"), `"1.2", "description": "two", "status": "completed"`) {
		t.Errorf("%q", b.read(specAt+"/implementation_plan.json"))
	}
}

func TestAC9_Merge_conflict_changes_nothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.ensure()
	b.write(place+"/main.txt", "theirs\n")
	b.gitIn(place, "commit", "-qam", "theirs")
	b.write("main.txt", "ours\n")
	b.git("commit", "-qam", "ours")
	b.with(func(p worktree.Project) {
		var conflict *gitx.ConflictError
		if _, err := worktree.Merge(t.Context(), p); !errors.As(err, &conflict) || conflict.Files[0] != "main.txt" {
			t.Errorf("%v", err)
		}
	})
	if got := b.git("status", "--porcelain"); got != "" {
		t.Errorf("%s", got)
	}
}

func TestAC3_Discard_loses_nothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for n := 1; n <= 2; n++ {
		b.ensure()
		b.write(place+"/new.txt", fmt.Sprintf("committed %d", n))
		b.gitIn(place, "add", "-A")
		b.gitIn(place, "commit", "-qm", "work")
		b.write(place+"/more.txt", fmt.Sprintf("uncommitted %d", n))
		b.write(place+"/ignored", fmt.Sprintf("ignored %d", n))
		b.with(func(p worktree.Project) {
			out, err := worktree.Discard(t.Context(), p)
			if want := fmt.Sprintf("reprise/discarded/%s-%d", specID, n); err != nil || out.Branch != want {
				t.Fatalf("%+v %v", out, err)
			}
			again, err := worktree.Discard(t.Context(), p)
			if err != nil || again.Branch != "" {
				t.Errorf("%+v %v", again, err)
			}
		})
		for _, text := range []string{"committed %d", "uncommitted %d", "ignored %d"} {
			if !b.holds(fmt.Sprintf(text, n)) {
				t.Errorf("lost: "+text, n)
			}
		}
	}
	b.ensure()
	b.sound()
}

// A person's own branch is checked out where the run's checkout would be.
func TestAC3_a_checkout_of_another_branch_is_left_alone(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(context.Context, worktree.Project) error{
		"discard": func(ctx context.Context, p worktree.Project) error { _, err := worktree.Discard(ctx, p); return err },
		"merge":   func(ctx context.Context, p worktree.Project) error { _, err := worktree.Merge(ctx, p); return err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.git("branch", branch)
			b.git("worktree", "add", "-q", "-b", "my-feature", ".worktrees/"+specID)
			head := b.git("rev-parse", "my-feature")
			if name == "discard" {
				b.write(".worktrees/"+specID+"/mine.txt", "mine\n")
			}
			b.with(func(p worktree.Project) {
				var refused *worktree.RefusedError
				if err := end(t.Context(), p); !errors.As(err, &refused) {
					t.Errorf("it is not refused: %v", err)
				}
			})
			if now := b.git("rev-parse", "my-feature"); now != head {
				t.Errorf("my-feature moved: %s", b.git("log", "-1", "--format=%s", "my-feature"))
			}
			if name == "discard" && b.read(".worktrees/"+specID+"/mine.txt") == "" {
				t.Errorf("the checkout is gone: %s", b.git("worktree", "list"))
			}
			b.git("rev-parse", "--verify", branch)
		})
	}
}
