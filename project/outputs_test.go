package project_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"reprise"
	"reprise/internal/tree"
	"reprise/project"
)

// How an output stands is told by its content, and where that is not read by its size and
// time: what was not compared is never the same as something that was.
func TestAn_output_that_is_not_read_is_never_taken_for_the_same(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "out")
	then := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	standing := func() (reprise.Hash, string) {
		fsys, err := tree.Open(dir, tree.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer fsys.Close()
		return project.Standing(fsys, "out")
	}
	seen := map[reprise.Hash]string{}
	for _, c := range []struct {
		what   string
		change func() error
		unread bool
	}{
		{"gone", func() error { return nil }, false},
		{"small", func() error { return os.WriteFile(name, []byte("a"), 0o644) }, false},
		{"of the same size", func() error { return os.WriteFile(name, []byte("b"), 0o644) }, false},
		{"large", func() error { return os.Truncate(name, 65<<20) }, true},
		{"larger", func() error { return os.Truncate(name, 66<<20) }, true},
		{"touched", func() error { return os.Chtimes(name, then, then) }, true},
		{"a link out of the project", func() error { return errors.Join(os.Remove(name), os.Symlink(os.DevNull, name)) }, true},
	} {
		if err := c.change(); err != nil {
			t.Fatal(err)
		}
		now, unread := standing()
		if before, same := seen[now]; same || (unread != "") != c.unread || now.IsZero() != (c.what == "gone") {
			t.Errorf("%s: like %q, not read: %q", c.what, before, unread)
		}
		if again, _ := standing(); again != now {
			t.Errorf("%s: it stands otherwise when it is asked for again", c.what)
		}
		seen[now] = c.what
	}
}
