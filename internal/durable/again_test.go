package durable_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"reprise/internal/durable"
)

// A log that was read before is read only where it may differ, and what is wrong with it is
// found wherever it stands. (issue 19)
func TestOpenLogAfter_reads_only_what_may_differ(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	open := func(dir string, after durable.Mark, write ...string) (known bool, got int, mark durable.Mark, err error) {
		t.Helper()
		s, err := durable.Open(dir, durable.Options{SegmentSize: 600, Adopt: true})
		if err == nil {
			_, err = s.Take(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		defer s.Release()
		l, err := s.OpenLogAfter("log", after, func(is bool) func(durable.Record) error {
			known = is
			return func(durable.Record) error { got++; return nil }
		})
		if err != nil {
			return known, got, mark, err
		}
		for _, body := range write {
			if _, err := l.Append("step", []byte(body)); err != nil {
				t.Fatal(err)
			}
		}
		return known, got, l.Opened(), nil
	}
	copied := func(name string) string {
		t.Helper()
		if err := os.CopyFS(filepath.Join(root, name), os.DirFS(filepath.Join(root, "first"))); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(root, name)
	}
	first := filepath.Join(root, "first")
	if err := os.Mkdir(first, 0o700); err != nil {
		t.Fatal(err)
	}
	var bodies []string
	for i := range 30 {
		bodies = append(bodies, fmt.Sprintf(`{"n":%d,"text":"something that takes room"}`, i))
	}
	open(first, durable.Mark{}, bodies...)
	files, err := filepath.Glob(filepath.Join(first, ".reprise", "journal", "log-*.log"))
	if err != nil || len(files) < 5 {
		t.Fatalf("%v, %v", files, err)
	}
	file := func(dir string, n int) string {
		return filepath.Join(dir, ".reprise", "journal", filepath.Base(files[n]))
	}
	known, got, mark, err := open(first, durable.Mark{})
	if known || got != 30 || err != nil {
		t.Fatalf("%t, %d, %v", known, got, err)
	}
	damaged, gone, other := copied("damaged"), copied("gone"), copied("other")
	text, err := os.ReadFile(file(damaged, 1))
	if err == nil {
		err = os.WriteFile(file(damaged, 1), bytes.Replace(text, []byte("room"), []byte("rook"), 1), 0o600)
	}
	if err := errors.Join(err, os.Remove(file(gone, 2))); err != nil {
		t.Fatal(err)
	}
	if known, got, _, err := open(first, mark, `{"n":30}`, `{"n":31}`); !known || got != 0 || err != nil {
		t.Errorf("the same: %t, %d, %v", known, got, err)
	}
	if known, got, _, err := open(first, mark); !known || got != 2 || err != nil {
		t.Errorf("more of it: %t, %d, %v", known, got, err)
	}
	_, _, ahead, _ := open(first, mark)
	if known, got, _, err := open(other, ahead); known || got != 30 || err != nil {
		t.Errorf("one that has less: %t, %d, %v", known, got, err)
	}
	for _, dir := range []string{damaged, gone} {
		var damage *durable.DamageError
		if _, _, _, err := open(dir, mark); !errors.As(err, &damage) {
			t.Errorf("%s: %v", filepath.Base(dir), err)
		}
	}
}
