package gitx

import (
	"os"
	"path/filepath"
	"testing"
)

// A lock on any of what a commit changes is told before anything is started: on the index,
// the head or the branch.
func TestEvery_lock_that_keeps_git_from_committing_is_seen(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"index.lock": true, "HEAD.lock": true, "refs/heads/feat/x.lock": true,
		"refs/heads/other.lock": false, "config.lock": false,
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		for path, text := range map[string]string{file: "", filepath.Join(dir, "HEAD"): "ref: refs/heads/feat/x\n"} {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		lock := lockOf(dir, dir, func(p string) string { return p })
		if got := lock != nil && lock.Path == file; got != want {
			t.Errorf("%s: %+v", name, lock)
		}
	}
}
