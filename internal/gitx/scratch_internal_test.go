//go:build unix

package gitx

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// T8: what a process that was killed left in the folder for temporary files is removed by the next
// one; what a process has, or a git that outlives the one that started it, stays, and so does
// whatever is not ours.
func TestWhat_a_killed_process_left_is_swept(t *testing.T) {
	t.Parallel()
	base, out := t.TempDir(), t.TempDir()
	there := func(name string) bool {
		_, err := os.Lstat(filepath.Join(base, name))
		return err == nil
	}
	const left, ours, child, other, link, file = scratchName + "left", scratchName + "ours", scratchName + "child", "somebody-else", scratchName + "link", scratchName + "file"
	for _, name := range []string{left, ours, child, other} {
		if err := os.Mkdir(filepath.Join(base, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	err := errors.Join(os.Symlink(out, filepath.Join(base, link)), os.WriteFile(filepath.Join(base, file), nil, 0o600),
		os.WriteFile(filepath.Join(out, "kept"), nil, 0o600), os.Symlink(out, filepath.Join(base, left, "refs")))
	if err != nil {
		t.Fatal(err)
	}
	mine, ok := hold(filepath.Join(base, ours))
	if !ok || mine == nil {
		t.Skip("folders cannot be locked here")
	}
	defer mine.Close()
	theirs, _ := hold(filepath.Join(base, child))
	cmd := exec.Command("sleep", "1000")
	cmd.ExtraFiles = []*os.File{theirs}
	if err := errors.Join(cmd.Start(), theirs.Close()); err != nil {
		t.Fatal(err)
	}
	dir, _, drop, err := scratch(base)
	if err != nil {
		t.Fatal(err)
	}
	drop()
	for _, name := range []string{ours, child, other, link, file} {
		if !there(name) {
			t.Errorf("%s was removed", name)
		}
	}
	if _, err := os.Lstat(filepath.Join(out, "kept")); err != nil || there(left) || there(filepath.Base(dir)) {
		t.Errorf("%v, what was left is still there: %t", err, there(left))
	}
	_ = errors.Join(cmd.Process.Kill(), cmd.Wait())
	for end := time.Now().Add(time.Minute); there(child) && time.Now().Before(end); time.Sleep(time.Millisecond) {
		sweep(base) // another test that is about to start a program may have it open for a moment
	}
	if there(child) || !there(ours) {
		t.Error("what a git of a killed process left stays, or what we have is gone")
	}
}
