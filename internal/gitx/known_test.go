//go:build unix

package gitx_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reprise"
	"reprise/internal/gitx"
	"reprise/internal/gitx/gittest"
)

// What git said about where a repository is and how it is set up is not asked again, and
// never outlives what it rests on.
func TestGit_is_asked_again_once_something_changed(t *testing.T) {
	real, err := exec.LookPath("git")
	if err != nil {
		t.Skip("there is no git program")
	}
	for _, c := range []struct {
		name   string
		before []string // what is done before the repository is opened first, as arguments of git
		change []string
		asks   bool
	}{
		{name: "nothing"},
		{name: "a commit", change: []string{"commit", "-q", "--allow-empty", "-m", "two"}},
		{name: "another branch", change: []string{"checkout", "-q", "-b", "topic/two"}},
		{name: "no branch", change: []string{"checkout", "-q", "--detach"}},
		{name: "references are packed", change: []string{"pack-refs", "--all"}},
		{name: "a branch without a commit", change: []string{"checkout", "-q", "--orphan", "none"}, asks: true},
		{name: "a branch that stands for another", change: []string{"symbolic-ref", "refs/heads/main", "refs/heads/topic"}, before: []string{"branch", "topic"}, asks: true},
		{name: "a filter", change: []string{"config", "filter.x.clean", "cat"}, asks: true},
		{name: "settings of this checkout", before: []string{"config", "extensions.worktreeConfig", "true"}, change: []string{"config", "--worktree", "a.b", "c"}, asks: true},
		{name: "settings of the user", change: []string{"config", "--global", "a.b", "c"}, asks: true},
		{name: "settings of the same length", before: []string{"config", "filter.x.clean", "cat"}, change: []string{"config", "filter.x.clean", "tac"}, asks: true},
		{name: "settings that another file has", before: []string{"config", "include.path", "more"}, asks: true},
		{name: "a head that is damaged", change: nil, asks: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, home, bin := gittest.Folder(t), t.TempDir(), t.TempDir()
			environ := gittest.Environ(home)
			for i, v := range environ { // a user's own settings are in their home here
				environ[i] = strings.Replace(v, "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_GLOBAL="+filepath.Join(home, ".gitconfig"), 1)
			}
			gittest.Begin(t, dir, environ)
			if c.before != nil {
				gittest.Run(t, dir, environ, c.before...)
			}
			asked := filepath.Join(home, "asked")
			gittest.Program(t, filepath.Join(bin, "git"), "#!/bin/sh\necho \"$*\" >> '"+asked+"'\nexec "+real+" \"$@\"\n")
			opts := gitx.Options{Environ: []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + home}}
			if _, err := gitx.Open(t.Context(), dir, opts); err != nil {
				t.Fatal(err)
			}
			if c.change != nil {
				gittest.Run(t, dir, environ, c.change...)
			}
			damaged := strings.Contains(c.name, "damaged")
			if damaged {
				gittest.Write(t, dir, ".git/HEAD", "ref: ../../away\n")
			}
			if err := os.Remove(asked); err != nil {
				t.Fatal(err)
			}
			repo, err := gitx.Open(t.Context(), dir, opts)
			if _, missing := os.Stat(asked); (missing == nil) != c.asks {
				t.Errorf("git was asked: %t", missing == nil)
			}
			var refused *gitx.RefusedError
			if damaged {
				if !errors.As(err, &refused) {
					t.Errorf("a damaged head is taken: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), real, "rev-parse", "--revs-only", "HEAD")
			cmd.Dir, cmd.Env = dir, environ
			if want, err := cmd.Output(); err != nil || repo.Head() != strings.TrimSpace(string(want)) {
				t.Errorf("head is %q, git says %q (%v)", repo.Head(), want, err)
			}
		})
	}
}

// What git said of its history is not asked again until a reference changes, and then told anew.
func TestThe_history_is_asked_for_again_once_a_reference_changed(t *testing.T) {
	real, err := exec.LookPath("git")
	if err != nil {
		t.Skip("there is no git program")
	}
	for _, c := range []struct {
		name   string
		change []string
		asks   bool
	}{
		{name: "nothing"},
		{name: "a repository below it", change: []string{"init", "-q", "below"}},
		{name: "a tag", change: []string{"tag", "v1"}},
		{name: "a commit", change: []string{"commit", "-q", "--allow-empty", "-m", "two"}, asks: true},
		{name: "a commit in place of another", change: []string{"commit", "-q", "--amend", "--allow-empty", "-m", "two"}, asks: true},
		{name: "another branch", change: []string{"branch", "topic/two"}, asks: true},
		{name: "a branch less", change: []string{"branch", "-d", "side"}, asks: true},
		{name: "a remote branch", change: []string{"update-ref", "refs/remotes/origin/main", "HEAD"}, asks: true},
		{name: "references are packed", change: []string{"pack-refs", "--all"}, asks: true},
		{name: "a commit stands for another", change: []string{"replace", "HEAD", "HEAD~"}, asks: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, home, bin := gittest.Folder(t), t.TempDir(), t.TempDir()
			environ := gittest.Environ(home)
			gittest.Begin(t, dir, environ)
			gittest.Write(t, dir, "list.md", "- [ ] one\n")
			for _, args := range [][]string{{"add", "-A"}, {"commit", "-q", "-m", "list"}, {"branch", "side"}} {
				gittest.Run(t, dir, environ, args...)
			}
			asked := filepath.Join(home, "asked")
			gittest.Program(t, filepath.Join(bin, "git"), "#!/bin/sh\necho \"$2\" >> '"+asked+"'\nexec "+real+" \"$@\"\n")
			gather := func(path string) *reprise.Git {
				repo, err := gitx.Open(t.Context(), dir, gitx.Options{Environ: []string{"PATH=" + path + os.Getenv("PATH"), "HOME=" + home}})
				if err != nil {
					t.Fatal(err)
				}
				git, skipped := repo.Gather(t.Context(), gitx.Ask{Paths: []string{"list.md"}, Past: []string{"list.md"}})
				if len(skipped) > 0 {
					t.Fatal(skipped)
				}
				return git
			}
			gather(bin + ":")
			if c.change != nil {
				gittest.Run(t, dir, environ, c.change...)
			}
			if err := os.Remove(asked); err != nil {
				t.Fatal(err)
			}
			got, anew := gather(bin+":"), gather("")
			if diff := cmp.Diff(anew, got); diff != "" {
				t.Errorf("what is remembered differs from what git says (-git +remembered):\n%s", diff)
			}
			calls, err := os.ReadFile(asked)
			if err != nil {
				t.Fatal(err)
			}
			if again := strings.TrimSpace(string(calls)) != "status"; again != c.asks {
				t.Errorf("asked again: %q", calls)
			}
		})
	}
}
