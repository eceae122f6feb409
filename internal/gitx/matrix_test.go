//go:build unix

package gitx

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"reprise"
)

// TestGather_git_matrix shows what is said of a repository in each of the
// situations git can be left in, and that asking changes nothing.
func TestGather_git_matrix(t *testing.T) {
	t.Parallel()
	operation := func(want string) func(*testing.T, *reprise.Git) {
		return func(t *testing.T, g *reprise.Git) {
			if g.Operation != want {
				t.Errorf("operation %q, want %q", g.Operation, want)
			}
		}
	}
	for _, c := range []struct {
		name  string
		setup func(f *fixture)
		check func(t *testing.T, g *reprise.Git)
	}{
		{"nothing under way", func(*fixture) {}, func(t *testing.T, g *reprise.Git) {
			if g.Operation != "" || g.Branch != "main" || g.Detached || g.Bare || g.Shallow || g.IndexLock != nil || len(g.Changed) > 0 || !g.Complete || len(g.Commits) != 1 || g.HasRemote {
				t.Errorf("%+v", g)
			}
		}},
		{"merge", func(f *fixture) { f.conflict(); f.fails("merge", "other") }, func(t *testing.T, g *reprise.Git) {
			operation("merge")(t, g)
			if len(g.Changed) != 1 || !g.Changed[0].Conflict || g.Changed[0].Path != "file.txt" {
				t.Errorf("changes %+v", g.Changed)
			}
		}},
		{"rebase with the merge backend", func(f *fixture) { f.conflict(); f.fails("rebase", "--merge", "other") }, operation("rebase")},
		{"rebase with the apply backend", func(f *fixture) { f.conflict(); f.fails("rebase", "--apply", "other") }, operation("rebase")},
		{"cherry-pick", func(f *fixture) { f.conflict(); f.fails("cherry-pick", "other") }, operation("cherry-pick")},
		{"cherry-pick of several, stopped between two", func(f *fixture) {
			f.conflict()
			f.git("checkout", "-q", "other")
			f.write("more.txt", "more\n")
			f.commit("more")
			f.git("checkout", "-q", "main")
			f.fails("cherry-pick", "main..other")
			f.write("file.txt", "solved\n")
			f.git("add", "-A")
			f.git("commit", "-q", "-m", "solved")
		}, operation("cherry-pick")},
		{"revert", func(f *fixture) {
			f.write("file.txt", "two\n")
			f.commit("second")
			f.write("file.txt", "three\n")
			f.commit("third")
			f.fails("revert", "--no-edit", "HEAD~1")
		}, operation("revert")},
		{"bisect", func(f *fixture) {
			f.commit("second")
			f.commit("third")
			f.commit("fourth")
			f.git("bisect", "start", "HEAD", "HEAD~3")
		}, func(t *testing.T, g *reprise.Git) {
			operation("bisect")(t, g)
			if !g.Detached {
				t.Error("not detached")
			}
		}},
		{"am", func(f *fixture) {
			f.conflict()
			f.git("format-patch", "-q", "-1", "-o", filepath.Join(f.base, "patch"), "other")
			patches, _ := filepath.Glob(filepath.Join(f.base, "patch", "*"))
			f.fails(append([]string{"am", "-q"}, patches...)...)
		}, operation("am")},
		{"detached head", func(f *fixture) { f.git("checkout", "-q", "--detach"); f.commit("second") }, func(t *testing.T, g *reprise.Git) {
			if !g.Detached || g.Branch != "" || g.Head == "" || len(g.Commits) != 2 || !g.Commits[0].OnHead || g.Commits[0].Branch != "" || g.Commits[1].Branch != "main" {
				t.Errorf("%+v", g)
			}
		}},
		{"unborn branch", func(f *fixture) {
			f.git("checkout", "-q", "--orphan", "new")
			f.git("rm", "-rfq", ".")
			f.write("new.txt", "")
		}, func(t *testing.T, g *reprise.Git) {
			if g.Head != "" || g.Branch != "new" || g.Detached || len(g.Commits) != 1 || g.Commits[0].OnHead || g.Commits[0].Branch != "main" {
				t.Errorf("%+v", g)
			}
		}},
		{"nothing committed at all", func(f *fixture) {
			if err := os.RemoveAll(filepath.Join(f.dir, ".git")); err != nil {
				f.t.Fatal(err)
			}
			f.git("init", "-q", "-b", "main")
		}, func(t *testing.T, g *reprise.Git) {
			if g.Head != "" || g.Branch != "main" || len(g.Commits) != 0 || !g.Complete || len(g.Changed) != 1 || !g.Changed[0].Untracked {
				t.Errorf("%+v", g)
			}
		}},
		{"lock on the index", func(f *fixture) { f.write(".git/index.lock", "") }, func(t *testing.T, g *reprise.Git) {
			if g.IndexLock == nil || g.IndexLock.Path != ".git/index.lock" || g.IndexLock.Since.IsZero() || len(g.Commits) != 1 {
				t.Errorf("%+v", g.IndexLock)
			}
		}},
		{"changes of all kinds", func(f *fixture) {
			f.write("gone.txt", "")
			f.write("staged.txt", "")
			f.commit("second")
			f.write("staged.txt", "x")
			f.git("add", "staged.txt")
			f.write("file.txt", "x")
			f.write("new/a", "")
			f.write("new/b", "")
			if err := os.Remove(filepath.Join(f.dir, "gone.txt")); err != nil {
				f.t.Fatal(err)
			}
		}, func(t *testing.T, g *reprise.Git) {
			want := []reprise.Change{{Path: "file.txt"}, {Path: "gone.txt", Deleted: true}, {Path: "staged.txt", Staged: true}, {Path: "new/", Untracked: true}}
			for i := range g.Changed {
				if c := &g.Changed[i]; c.At.IsZero() != c.Deleted {
					t.Errorf("%s was last written at %v", c.Path, c.At)
				}
				g.Changed[i].At = time.Time{}
			}
			if !g.Listed || !slices.Equal(g.Changed, want) {
				t.Errorf("%+v", g.Changed)
			}
		}},
		{"worktrees: linked, locked, gone", func(f *fixture) {
			f.git("worktree", "add", "-q", "-b", "a", "../a")
			f.git("worktree", "add", "-q", "--detach", "sub/b")
			f.git("worktree", "lock", "--reason", "on a stick", "sub/b")
			f.git("worktree", "add", "-q", "-b", "c", "../c")
			if err := os.RemoveAll(filepath.Join(f.base, "c")); err != nil {
				f.t.Fatal(err)
			}
			f.in("repo/sub/b").commit("on no branch")
		}, func(t *testing.T, g *reprise.Git) {
			if len(g.Worktrees) != 4 {
				t.Fatalf("%+v", g.Worktrees)
			}
			main, a, b, c := g.Worktrees[0], find(g, "../a"), find(g, "sub/b"), find(g, "../c")
			if !main.Main || main.Path != "." || main.Branch != "main" {
				t.Errorf("main %+v", main)
			}
			if a.Branch != "a" || a.Gone || a.Locked || a.Main {
				t.Errorf("a %+v", a)
			}
			if !b.Locked || b.LockWhy != "on a stick" || !b.Detached || b.Gone {
				t.Errorf("b %+v", b)
			}
			if !c.Gone || c.Branch != "c" {
				t.Errorf("c %+v", c)
			}
			if len(g.Commits) != 2 || g.Commits[0].Subject != "on no branch" || g.Commits[0].OnHead || g.Commits[0].Branch != "" {
				t.Errorf("commits %+v", g.Commits)
			}
		}},
		{"submodule with changes of its own", func(f *fixture) {
			sub := f.in("lib")
			if err := os.Mkdir(sub.dir, 0o755); err != nil {
				f.t.Fatal(err)
			}
			sub.git("init", "-q", "-b", "main")
			sub.write("lib.txt", "")
			sub.commit("lib")
			f.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", sub.dir, "lib")
			f.commit("with a submodule")
			f.write("lib/lib.txt", "changed")
		}, func(t *testing.T, g *reprise.Git) {
			if len(g.Changed) != 0 {
				t.Errorf("the submodule was entered: %+v", g.Changed)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newRepo(t)
			c.setup(f)
			before := snapshot(t, f.base)
			g := f.all(Ask{Paths: []string{"."}})
			sameSnapshot(t, before, snapshot(t, f.base))
			c.check(t, g)
			// What the plain files tell is the same as what git tells.
			peek, _, err := Peek(t.Context(), f.dir, Ask{Paths: []string{"."}}, Options{Environ: f.environ()})
			if err != nil {
				t.Fatal(err)
			}
			sameSnapshot(t, before, snapshot(t, f.base))
			if peek.Head != g.Head || peek.Branch != g.Branch || peek.Detached != g.Detached || peek.Operation != g.Operation || peek.Shallow != g.Shallow || (peek.IndexLock == nil) != (g.IndexLock == nil) {
				t.Errorf("files tell\n%+v\ngit tells\n%+v", peek, g)
			}
			for _, w := range g.Worktrees {
				if got := find(peek, w.Path); got != w {
					t.Errorf("worktree from files\n%+v\nfrom git\n%+v", got, w)
				}
			}
			var onHead []reprise.Commit
			for _, c := range g.Commits {
				if c.OnHead && len(c.Files) > 0 {
					onHead = append(onHead, c)
				}
			}
			if len(peek.Commits) < len(onHead) {
				t.Errorf("%d commits with files by a log, %d by a full look", len(peek.Commits), len(onHead))
			}
		})
	}
}

func find(g *reprise.Git, path string) reprise.Worktree {
	for _, w := range g.Worktrees {
		if w.Path == path {
			return w
		}
	}
	return reprise.Worktree{}
}

func TestGather_in_a_linked_worktree(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.conflict()
	f.git("worktree", "add", "-q", "-b", "a", "../a")
	a := f.in("a")
	a.fails("merge", "other")
	a.write(".git.keep", "")
	git := a.all(Ask{})
	if git.Branch != "a" || git.Operation != "merge" || find(git, "../repo").Branch != "main" || find(git, ".").Branch != "a" {
		t.Errorf("%+v", git)
	}
	if main := f.all(Ask{}); main.Operation != "" {
		t.Errorf("the merge in the worktree is told of the main checkout: %+v", main)
	}
	// Asked for, its changes are told from the main checkout.
	git = f.all(Ask{Worktrees: []string{"../a"}})
	want := []reprise.Change{{Path: "../a/file.txt", Conflict: true, Worktree: "../a"}, {Path: "../a/.git.keep", Untracked: true, Worktree: "../a"}}
	if !slices.Equal(git.Changed, want) {
		t.Errorf("%+v", git.Changed)
	}
	// A folder that lost its .git file must not be answered for by another
	// repository around it.
	inside := filepath.Join(f.dir, "inside")
	f.git("worktree", "add", "-q", "-b", "i", inside)
	if err := os.WriteFile(filepath.Join(inside, ".git"), []byte("gitdir: "+filepath.Join(f.base, "elsewhere")), 0o644); err != nil {
		t.Fatal(err)
	}
	_, skipped := f.gather(Ask{Worktrees: []string{"inside"}})
	if len(skipped) != 0 { // git calls it prunable, so it is gone and not looked at
		t.Logf("left out: %q", skipped)
	}
	git, _ = f.gather(Ask{Worktrees: []string{"inside"}})
	for _, c := range git.Changed {
		if c.Worktree == "inside" {
			t.Errorf("told of a worktree that leads elsewhere: %+v", c)
		}
	}
}

func TestOpen_tells_of_a_moved_worktree(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.git("worktree", "add", "-q", "-b", "a", "../a")
	if out, err := exec.Command("cp", "-r", filepath.Join(f.base, "a"), filepath.Join(f.base, "copy")).CombinedOutput(); err != nil {
		t.Fatal(string(out))
	}
	_, skipped := f.in("copy").gather(Ask{})
	if len(skipped) != 1 || !strings.Contains(skipped[0], "moved or copied") {
		t.Errorf("%q", skipped)
	}
}

func TestGather_shallow_clone(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	first := f.git("rev-parse", "HEAD")
	f.commit("second")
	f.git("clone", "-q", "--depth=1", "file://"+f.dir, "../shallow")
	g := f.in("shallow").all(Ask{Hashes: []string{first}})
	if !g.Shallow || g.Complete || len(g.Commits) != 1 || g.Known[first] || !g.HasRemote {
		t.Errorf("%+v", g)
	}
}

func TestOpen_refuses_with_a_reason(t *testing.T) {
	t.Parallel()
	t.Run("no repository", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		if _, err := f.open(); !errors.Is(err, ErrNone) {
			t.Errorf("%v", err)
		}
	})
	t.Run("a damaged repository on a volume of its own", func(t *testing.T) {
		t.Parallel()
		dir, err := os.MkdirTemp("/dev/shm", "gitx-test-") // a mount point everywhere where it exists
		if err != nil {
			t.Skip("there is no second file system here:", err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		f := newRepo(t)
		if err := os.CopyFS(filepath.Join(dir, ".git"), os.DirFS(filepath.Join(f.dir, ".git"))); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, ".git/HEAD"), make([]byte, 20), 0o600); err != nil {
			t.Fatal(err)
		}
		var refused *RefusedError
		if _, err := Open(t.Context(), dir, Options{}); !errors.As(err, &refused) {
			t.Errorf("%v", err)
		}
	})
	t.Run("no git program", func(t *testing.T) {
		t.Parallel()
		f := newRepo(t)
		for _, path := range []string{"PATH=", "PATH=" + f.base, "PATH=.:bin", "PATH=" + filepath.Join(f.dir, "bin")} {
			f.write("bin/git", "#!/bin/sh\ntouch ran\n")
			if err := os.Chmod(filepath.Join(f.dir, "bin/git"), 0o755); err != nil {
				t.Fatal(err)
			}
			_, err := Open(t.Context(), f.dir, Options{Environ: []string{path}})
			if !errors.Is(err, ErrNoGit) {
				t.Errorf("%s: %v", path, err)
			}
		}
	})
	t.Run("a git that does not answer", func(t *testing.T) {
		t.Parallel()
		f := newRepo(t)
		bin := t.TempDir()
		for _, does := range []string{"kill -9 $$", "exec sleep 100", "echo 1; echo 2; echo 3; echo 4; echo 5; kill -9 $$", "exit 0"} {
			if err := os.WriteFile(filepath.Join(bin, "git"), []byte("#!/bin/sh\n"+does+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			_, err := Open(t.Context(), f.dir, Options{Environ: []string{"PATH=" + bin + ":" + os.Getenv("PATH")}, Timeout: 200 * time.Millisecond})
			var silent *NoAnswerError
			if !errors.As(err, &silent) || Absent(err) || silent.Hint() == "" {
				t.Errorf("%s: %v", does, err)
			}
		}
	})
	t.Run("bare repository nobody named", func(t *testing.T) {
		t.Parallel()
		f := newRepo(t)
		f.git("clone", "-q", "--bare", ".", "../bare")
		_, err := f.in("bare").open()
		var refused *RefusedError
		if !errors.As(err, &refused) || !refused.Bare {
			t.Errorf("%v", err)
		}
		_, _, err = Peek(t.Context(), f.in("bare").dir, Ask{}, Options{Environ: f.environ()})
		if !errors.As(err, &refused) || !refused.Bare {
			t.Errorf("%v", err)
		}
	})
	t.Run("bare repository behind a .git file", func(t *testing.T) {
		t.Parallel()
		f := newRepo(t)
		f.git("clone", "-q", "--bare", ".", "../all/.bare")
		all := f.in("all")
		all.write(".git", "gitdir: ./.bare\n")
		all.git("worktree", "add", "-q", "main")
		g := all.all(Ask{})
		if !g.Bare || g.Branch != "main" || len(g.Commits) != 1 || find(g, "main").Branch != "main" {
			t.Errorf("%+v", g)
		}
	})
	t.Run("files said to be elsewhere", func(t *testing.T) {
		t.Parallel()
		f := newRepo(t)
		f.git("config", "core.worktree", f.in("home").dir)
		_, err := f.open()
		var refused *RefusedError
		if !errors.As(err, &refused) || !strings.Contains(refused.Reason, "another folder") {
			t.Errorf("%v", err)
		}
	})
	t.Run("a .git file that leads nowhere", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.write(".git", "gitdir: ../gone\n")
		_, err := f.open()
		var refused *RefusedError
		if !errors.As(err, &refused) {
			t.Errorf("%v", err)
		}
	})
	t.Run("a FIFO in the place of .git", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		if err := syscall.Mkfifo(filepath.Join(f.dir, ".git"), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Peek(t.Context(), f.dir, Ask{}, Options{Environ: f.environ()}); err == nil {
			t.Error("no error")
		}
	})
	t.Run("owned by another user", func(t *testing.T) {
		t.Parallel()
		if os.Getuid() != 0 {
			t.Skip("only root can give a folder to another user")
		}
		f := newRepo(t)
		if out, err := exec.Command("chown", "-R", "12345", f.dir).CombinedOutput(); err != nil {
			t.Fatal(string(out))
		}
		_, err := f.open()
		var refused *RefusedError
		if !errors.As(err, &refused) || !strings.Contains(refused.Reason, "another user") {
			t.Errorf("%v", err)
		}
		_, skipped, err := Peek(t.Context(), f.dir, Ask{Paths: []string{"."}}, Options{Environ: f.environ()})
		if err != nil || len(skipped) != 1 || !strings.Contains(skipped[0], "another user") {
			t.Errorf("%q %v", skipped, err)
		}
		// The user's own word counts.
		home := filepath.Join(f.base, "home")
		if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[safe]\n\tdirectory = "+f.dir+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := f.open(); err != nil {
			t.Errorf("trusted, and yet: %v", err)
		}
	})
}

func TestGather_leaves_a_split_index_alone(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.git("update-index", "--split-index")
	before := snapshot(t, f.dir)
	_, skipped := f.gather(Ask{Paths: []string{"."}})
	sameSnapshot(t, before, snapshot(t, f.dir))
	if len(skipped) != 1 || !strings.Contains(skipped[0], "index is split") {
		t.Errorf("%q", skipped)
	}
	f.git("status")
	if same := snapshot(t, f.dir); func() bool {
		for p, line := range before {
			if same[p] != line {
				return false
			}
		}
		return true
	}() {
		t.Log("this git does not touch the shared index; the precaution is not needed here")
	}
}

func TestGather_tells_where_git_refuses_to_say_what_is_not_committed(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	if err := os.Truncate(filepath.Join(f.dir, ".git", "index"), 0); err != nil {
		t.Fatal(err)
	}
	git, _ := f.gather(Ask{Paths: []string{"."}})
	if !strings.Contains(git.Untold["."], "index") {
		t.Errorf("%q", git.Untold)
	}
}
