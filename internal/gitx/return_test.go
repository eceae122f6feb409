//go:build unix

package gitx

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The branch of a run is put back under its checkout only where nothing of it is lost and
// no other folder works on it.
func TestReturn_moves_a_branch_forward_only(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	r, dir := f.repo(), filepath.Join(f.base, "wt")
	if err := r.AddWorktree(t.Context(), dir, "b", r.Head()); err != nil {
		t.Fatal(err)
	}
	in, err := r.In(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	w := f.in("wt")
	refused := func(name, why string) {
		t.Helper()
		before := f.git("rev-parse", "b")
		var not *NotReadyError
		if _, err := in.Return(t.Context(), "b"); !errors.As(err, &not) || !strings.Contains(not.Reason, why) {
			t.Errorf("%s: %v", name, err)
		}
		if now := f.git("rev-parse", "b"); now != before {
			t.Errorf("%s: the branch moved from %s to %s", name, before, now)
		}
	}
	w.git("checkout", "-q", "--detach")
	w.write("new", "work\n")
	made := w.commit("work")
	if from, err := in.Return(t.Context(), "b"); err != nil || from != "no branch" || f.git("rev-parse", "b") != made || w.git("symbolic-ref", "HEAD") != "refs/heads/b" {
		t.Fatalf("%q %v", from, err)
	}
	w.git("checkout", "-q", "--detach", "main")
	refused("another history", "does not hold all of it")
	w.git("checkout", "-q", "--detach", "b")
	w.write("more", "work\n")
	w.commit("more")
	f.git("checkout", "-q", "b")
	refused("checked out in the project", "checked out in another folder")
}

// Only the record of a checkout that git never finished is cleared, and only if it holds
// nothing but what git puts there.
func TestA_record_with_work_in_it_is_not_cleared(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	r := f.repo()
	if err := r.AddWorktree(t.Context(), filepath.Join(f.base, "wt"), "b", r.Head()); err != nil {
		t.Fatal(err)
	}
	record := ".git/worktrees/wt/"
	stays := func(name string) {
		t.Helper()
		linked := r.Linked()
		if len(linked) != 1 {
			t.Fatalf("%s: %+v", name, linked)
		}
		if err := r.ClearLinked(linked[0]); err == nil {
			t.Errorf("%s: it was cleared", name)
		}
		if _, err := os.Stat(filepath.Join(f.dir, record, "HEAD")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	stays("a finished checkout")
	f.write(record+"locked", "initializing")
	f.write(record+"MERGE_MSG", "work\n")
	stays("one with a merge in it")
	if err := os.Remove(filepath.Join(f.dir, record, "MERGE_MSG")); err != nil {
		t.Fatal(err)
	}
	if err := r.ClearLinked(r.Linked()[0]); err != nil || len(r.Linked()) > 0 {
		t.Errorf("one that was only begun: %v, %+v", err, r.Linked())
	}
}
