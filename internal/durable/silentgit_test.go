//go:build unix

package durable_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"reprise/internal/durable"
	"reprise/internal/gitx"
	"reprise/internal/gitx/gittest"
)

// A git that is killed says nothing: not that there is no repository, no commit or no
// branch. A snapshot that took it for that would have undo remove the branch.
func TestSnapshot_and_undo_fail_where_git_does_not_answer(t *testing.T) {
	real, err := exec.LookPath("git")
	if err != nil {
		t.Skip("there is no git program")
	}
	path := os.Getenv("PATH")
	// What a snapshot asks, and undo with it, as it takes one first; then what undo alone asks.
	questions := []string{"*--show-object-format*", "*ls-files*", "*fast-import*", "*'--verify --quiet HEAD'*", "*'symbolic-ref --quiet HEAD'*"}
	for i, unanswered := range questions {
		for _, does := range []string{"kill -9 $$", "exit 128", "cat > /dev/null; exit 0"} {
			if strings.HasPrefix(does, "cat") && unanswered != "*fast-import*" {
				continue // it says that it kept what it did not
			}
			t.Run(fmt.Sprint(unanswered, does), func(t *testing.T) {
				dir := tempDir(t)
				gitIn(t, dir, "init", "-q", "-b", "main")
				write(t, dir, "a", "one", 0o644)
				gitIn(t, dir, "add", "a")
				gitIn(t, dir, "commit", "-q", "-m", "one")
				s, err := durable.Open(dir, durable.Options{})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Release()
				if _, err := s.Take(t.Context()); err != nil {
					t.Fatal(err)
				}
				good, err := s.Snapshot(t.Context(), durable.SnapshotOptions{Tree: true})
				if err != nil {
					t.Fatal(err)
				}
				write(t, dir, "a", "two", 0o644)
				gitIn(t, dir, "commit", "-q", "-a", "-m", "two")
				head := gitIn(t, dir, "rev-parse", "main")

				bin := tempDir(t)
				gittest.Program(t, filepath.Join(bin, "git"), "#!/bin/sh\ncase \"$*\" in "+unanswered+") "+does+" ;; esac\nexec "+real+" \"$@\"\n")
				t.Setenv("PATH", bin+":"+path)
				asked := i < 3 && !(i == 0 && does == "exit 128")
				if snap, err := s.Snapshot(t.Context(), durable.SnapshotOptions{Tree: true}); (err == nil) == asked {
					t.Errorf("a snapshot was taken: %+v, %v", snap, err)
				}
				if _, err := s.Undo(t.Context(), good.ID); err == nil {
					t.Error("undo says that it is done")
				}
				t.Setenv("PATH", path)
				if now := gitIn(t, dir, "rev-parse", "main"); now != head {
					t.Errorf("main was moved from %s to %s", head, now)
				}
			})
		}
	}
}

// A git that ended well has answered, though something it left behind still holds the pipe
// of its complaints: on a busy machine even its own end may be seen late.
func TestGit_that_ended_well_has_answered(t *testing.T) {
	real, err := exec.LookPath("git")
	if err != nil {
		t.Skip("there is no git program")
	}
	dir := tempDir(t)
	gitIn(t, dir, "init", "-q", "-b", "main")
	write(t, dir, "a", "one", 0o644)
	gitIn(t, dir, "add", "a")
	gitIn(t, dir, "commit", "-q", "-m", "one")
	bin := tempDir(t)
	gittest.Program(t, filepath.Join(bin, "git"), "#!/bin/sh\ncase \"$*\" in *ls-files*|*--list*) sleep 5 >/dev/null & ;; esac\nexec "+real+" \"$@\"\n")
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	if _, err := gitx.Open(t.Context(), dir, gitx.Options{}); err != nil {
		t.Error(err)
	}
	s, err := durable.Open(dir, durable.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	if _, err := s.Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Snapshot(t.Context(), durable.SnapshotOptions{Tree: true}); err != nil {
		t.Error(err)
	}
}
