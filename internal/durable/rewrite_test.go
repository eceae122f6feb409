package durable_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"reprise"
	"reprise/internal/durable"
)

func TestRewrite_keeps_mode_and_link_and_removes_what_is_nil(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	real, name := filepath.Join(dir, "dotfiles"), filepath.Join(dir, "home", "tool", "settings.json")
	set := func(text string) func([]byte) ([]byte, error) {
		return func([]byte) ([]byte, error) { return []byte(text), nil }
	}
	if err := durable.Rewrite(name, 0o644, set("new")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(name, real); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chmod(real, 0o640), os.Symlink(real, name)); err != nil {
		t.Fatal(err)
	}
	if err := durable.Rewrite(name, 0o644, set("newer")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(name)
	if err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info, err)
	}
	text, err := os.ReadFile(real)
	if info, no := os.Stat(real); err != nil || no != nil || string(text) != "newer" || info.Mode().Perm() != 0o640 {
		t.Errorf("the file is %q %v, %v %v", text, info, err, no)
	}
	changed := durable.Rewrite(real, 0o644, func([]byte) ([]byte, error) { return []byte("mine"), os.WriteFile(real, []byte("theirs"), 0o640) })
	if text, _ := os.ReadFile(real); !errors.Is(changed, reprise.ErrChanged) || string(text) != "theirs" {
		t.Errorf("a change of somebody else gave %v and %q", changed, text)
	}
	if err := os.Chmod(real, 0o400); err != nil {
		t.Fatal(err)
	}
	if err := durable.Rewrite(real, 0o644, set("forbidden")); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a read-only file is changed: %v", err)
	}
	if err := os.Chmod(real, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := durable.Rewrite(real, 0o644, func([]byte) ([]byte, error) { return nil, nil }); err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}
