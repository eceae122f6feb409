//go:build unix

package durable_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"reprise"
	"reprise/internal/durable"
	"reprise/internal/durable/crashfs"
)

// cutOff begins a group of edits and stops where all of it is in the intent and
// nothing in its place yet, as a kill does.
func cutOff(t *testing.T, dir string, edits []reprise.Edit) {
	t.Helper()
	intent := filepath.Join(dir, ".reprise/intent")
	type stop struct{}
	stopped := false
	s, err := durable.Open(dir, durable.Options{Reserve: -1, Disk: func(under durable.FS) durable.FS {
		return crashfs.BeforeEach(under, func(int) {
			if _, err := os.Stat(intent); err == nil && !stopped {
				stopped = true
				panic(stop{})
			}
		})
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if _, ok := recover().(stop); !ok {
				t.Fatal("it was not cut off")
			}
		}()
		_ = s.Apply(t.Context(), edits)
	}()
	s.Release()
}

// O1 X9: what stands in the place of a folder does not keep a project from being
// taken for ever: the rest is carried to its end, what cannot be is kept and told.
func TestO1_X9_a_folder_that_is_none_any_more_stops_nobody(t *testing.T) {
	t.Parallel()
	const before, after = "before\n", "after\n"
	large := strings.Repeat("large ", 20_000)
	for what, put := range map[string]func(at string) error{
		"a link to where it is now": func(at string) error { return errors.Join(os.Rename(at, at+".moved"), os.Symlink("run.moved", at)) },
		"a link to nothing":         func(at string) error { return errors.Join(os.Rename(at, at+".moved"), os.Symlink("nowhere", at)) },
		"a file":                    func(at string) error { return errors.Join(os.Rename(at, at+".moved"), os.WriteFile(at, nil, 0o644)) },
		"a FIFO":                    func(at string) error { return errors.Join(os.Rename(at, at+".moved"), syscall.Mkfifo(at, 0o644)) },
	} {
		for how, more := range map[string]reprise.Edit{
			"replaced": {Path: "run/a.md", Base: reprise.HashOf([]byte(before)), Content: []byte(after)},
			"appended": {Path: "run/a.md", Base: reprise.HashOf([]byte(before)), Content: []byte(after), Append: true},
			"new":      {Path: "run/sub/new.md", Content: []byte(after)},
			"large":    {Path: "run/a.md", Base: reprise.HashOf([]byte(before)), Content: []byte(large)},
		} {
			t.Run(what+"/"+how, func(t *testing.T) {
				t.Parallel()
				dir := tempDir(t)
				write(t, dir, "run/a.md", before, 0o644)
				write(t, dir, "beside.md", before, 0o644)
				cutOff(t, dir, []reprise.Edit{more, {Path: "beside.md", Base: reprise.HashOf([]byte(before)), Content: []byte(after)}})
				if err := put(filepath.Join(dir, "run")); err != nil {
					t.Fatal(err)
				}
				s, err := durable.Open(dir, durable.Options{Reserve: -1})
				if err != nil {
					t.Fatal(err)
				}
				rep := takeSoon(t, s)
				if err := s.Release(); err != nil {
					t.Error(err)
				}
				if len(rep.Conflicts) != 1 || rep.Conflicts[0].Path != more.Path {
					t.Fatalf("conflicts: %+v", rep.Conflicts)
				}
				f := rep.Conflicts[0].Finding()
				if f.Code != reprise.CodeMovedOn || f.Subject != more.Path || !strings.Contains(f.Hint, "run") || f.Source.File != rep.Conflicts[0].Kept {
					t.Errorf("finding: %+v", f)
				}
				if b, err := os.ReadFile(filepath.Join(dir, "beside.md")); err != nil || string(b) != after {
					t.Errorf("the rest was not carried to its end: %q %v", b, err)
				}
				if b, err := os.ReadFile(filepath.Join(dir, "run.moved/a.md")); err != nil || string(b) != before {
					t.Errorf("what was moved away: %q %v", b, err)
				}
				kept, err := os.ReadFile(filepath.Join(dir, f.Source.File))
				want := base64.StdEncoding.EncodeToString(more.Content)
				if how == "large" {
					want = fmt.Sprint(reprise.HashOf(more.Content))
				}
				if err != nil || !strings.Contains(string(kept), want) {
					t.Errorf("the change is not kept: %s %v", kept, err)
				}
				again := opened(t, dir)
				if err := again.CanWrite("beside.md"); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// takeSoon takes a lease that is free: a process that another test is just starting can
// hold the lock of this one for the moment before it becomes another program.
func takeSoon(t *testing.T, s *durable.Store) *durable.Report {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		rep, err := s.Take(t.Context())
		if _, held := errors.AsType[*durable.HeldError](err); held && time.Now().Before(end) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		return rep
	}
}
