package durable_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reprise/internal/durable"
)

// Issue 15: what no work could be recorded with is refused before anything is written.
func TestA_state_folder_that_cannot_be_used_is_refused_before_a_byte_is_written(t *testing.T) {
	t.Parallel()
	folder := func(at string) error { return os.MkdirAll(at, 0o700) }
	file := func(at string) error { return os.WriteFile(at, nil, 0o600) }
	for name, put := range map[string]func(string) error{
		"journal": file, "objects": file, "snapshots": file, "work": file, "logs": file,
		"lock": folder, "stamp": folder, "intent": folder, "journal/r-000001.log": folder, "journal/r.anchor": folder,
	} {
		dir := t.TempDir()
		at := filepath.Join(dir, durable.StateDir, name)
		if err := errors.Join(folder(filepath.Dir(at)), put(at)); err != nil {
			t.Fatal(err)
		}
		s, err := durable.Open(dir, durable.Options{Adopt: true})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Take(context.Background())
		bad, ok := errors.AsType[*durable.UnusableError](err)
		if !ok || bad.Path != durable.StateDir+"/"+name || !strings.Contains(bad.Hint(), "mv "+bad.Path+" ") {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := os.ReadDir(filepath.Join(dir, durable.StateDir)); err != nil || len(left) != 1 {
			t.Errorf("%s: something was written: %v %v", name, left, err)
		}
		if err := s.Release(); err != nil {
			t.Error(err)
		}
	}
}

func TestDenied_is_what_a_user_surely_may_not_use(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode fs.FileMode
		user int
		want bool
	}{
		{fs.ModeDir | 0o700, 7, false},
		{fs.ModeDir | 0o500, 7, true},
		{fs.ModeDir, 7, true},
		{fs.ModeDir, 0, false}, // root may
		{0o600, 7, false},
		{0o400, 7, true},
		{0o600, 8, true},
		{0o660, 8, false}, // a group that the user may be in
		{fs.ModeDir | 0o755, 8, true},
		{fs.ModeDir | 0o777, 8, false},
	} {
		if got := durable.Denied(durable.Info{Mode: c.mode, UID: 7}, c.user); got != c.want {
			t.Errorf("%v for user %d: %v", c.mode, c.user, got)
		}
	}
}
