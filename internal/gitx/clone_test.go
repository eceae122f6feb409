//go:build unix

package gitx

import (
	"os"
	"path/filepath"
	"testing"
)

func TestCloneTo_makes_a_checkout_and_runs_nothing(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.filtered("filter=s")
	f.git("config", "filter.s.smudge", f.trap("smudge"))
	f.git("config", "core.fsmonitor", f.trap("fsmonitor"))
	f.git("config", "uploadpack.packObjectsHook", f.trap("pack"))
	f.write(".git/hooks/post-checkout", "#!/bin/sh\n: > "+filepath.Join(f.base, "mark-hook")+"\n")
	if err := os.Chmod(filepath.Join(f.dir, ".git/hooks/post-checkout"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, m := range f.marks() {
		if err := os.Remove(m); err != nil {
			t.Fatal(err)
		}
	}
	before := snapshot(t, f.dir)
	r, err := f.open()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(f.base, "copy")
	if err := r.CloneTo(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	sameSnapshot(t, before, snapshot(t, f.dir))
	if text, err := os.ReadFile(filepath.Join(dir, "a.x")); err != nil || string(text) != "text\n" {
		t.Errorf("%q %v", text, err)
	}
	if marks := f.marks(); len(marks) > 0 {
		t.Errorf("code of the repository was run: %q", marks)
	}
}
