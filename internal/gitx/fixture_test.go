//go:build unix

package gitx

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/internal/gitx/gittest"
	"reprise/internal/proc"
)

// fixture is a folder with a home of its own, in which plain git is run the way
// a person runs it.
type fixture struct {
	t    testing.TB
	base string
	dir  string // where git runs
	env  []string
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	base := gittest.Folder(t)
	f := &fixture{t: t, base: base, dir: filepath.Join(base, "repo")}
	home := filepath.Join(base, "home")
	for _, dir := range []string{home, f.dir} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	f.env = gittest.Environ(home)
	return f
}

// newRepo is a fixture with a repository that has one commit on main.
func newRepo(t testing.TB) *fixture {
	t.Helper()
	f := newFixture(t)
	f.git("init", "-q", "-b", "main")
	f.write("file.txt", "one\n")
	f.commit("first")
	return f
}

func (f *fixture) in(dir string) *fixture {
	g := *f
	g.dir = filepath.Join(f.base, dir)
	return &g
}

// try runs plain git and tells how it went.
func (f *fixture) try(args ...string) (string, error) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env = f.dir, f.env
	proc.Group(cmd)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (f *fixture) git(args ...string) string {
	f.t.Helper()
	out, err := f.try(args...)
	if err != nil {
		f.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return out
}

func (f *fixture) write(name, text string) {
	f.t.Helper()
	gittest.Write(f.t, f.dir, name, text)
}

func (f *fixture) commit(message string) string {
	f.t.Helper()
	return gittest.Commit(f.t, f.dir, f.env, message)
}

// conflict makes two branches that cannot be merged, main being checked out.
func (f *fixture) conflict() {
	f.t.Helper()
	f.git("checkout", "-q", "-b", "other")
	f.write("file.txt", "theirs\n")
	f.commit("theirs")
	f.git("checkout", "-q", "main")
	f.write("file.txt", "ours\n")
	f.commit("ours")
}

// fails runs git and wants it to stop in the middle.
func (f *fixture) fails(args ...string) {
	f.t.Helper()
	if out, err := f.try(args...); err == nil {
		f.t.Fatalf("git %q went through\n%s", args, out)
	}
}

// environ is what a program started by this person would see, with variables
// that would lead git astray if they were passed on.
func (f *fixture) environ() []string {
	return append([]string{
		"GIT_DIR=/nowhere", "GIT_WORK_TREE=/nowhere", "GIT_INDEX_FILE=/nowhere", "GIT_EXTERNAL_DIFF=false", "GIT_OBJECT_DIRECTORY=/nowhere",
	}, f.env...)
}

func (f *fixture) open() (*Repo, error) {
	return Open(f.t.Context(), f.dir, Options{Environ: f.environ(), Timeout: 20 * time.Second})
}

func (f *fixture) gather(ask Ask) (*reprise.Git, []string) {
	f.t.Helper()
	r, err := f.open()
	if err != nil {
		f.t.Fatal(err)
	}
	return r.Gather(f.t.Context(), ask)
}

// all is gather where nothing may be left out.
func (f *fixture) all(ask Ask) *reprise.Git {
	f.t.Helper()
	git, skipped := f.gather(ask)
	if len(skipped) > 0 {
		f.t.Errorf("left out: %q", skipped)
	}
	return git
}

// snapshot lists every file below a folder with all that a write would change.
func snapshot(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		line := fmt.Sprintf("%v %d %d", info.Mode(), info.Size(), info.ModTime().UnixNano())
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %x", sha256.Sum256(data))
		}
		out[p] = line
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// sameSnapshot reports every difference.
func sameSnapshot(t testing.TB, before, after map[string]string) {
	t.Helper()
	for p, line := range before {
		if after[p] != line {
			t.Errorf("%s was changed:\n%s\n%s", p, line, after[p])
		}
	}
	for p := range after {
		if _, ok := before[p]; !ok {
			t.Errorf("%s was made", p)
		}
	}
}
