package durable_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reprise/internal/durable"
	"reprise/internal/durable/crashfs"
)

func TestScratch_and_logs_of_attempts(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	s, err := durable.Open(dir, durable.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	if _, err := s.Scratch("a"); !errors.Is(err, durable.ErrNoLease) {
		t.Errorf("without the lease: %v", err)
	}
	if _, _, err := s.CreateLog("a"); !errors.Is(err, durable.ErrNoLease) {
		t.Errorf("without the lease: %v", err)
	}
	if _, err := s.Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", ".", "..", "a/b", "../a", ".hidden", "-x", "a b", "ü", "a\x00", strings.Repeat("x", 201)} {
		if _, err := s.Scratch(name); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%q: %v", name, err)
		}
		if _, _, err := s.CreateLog(name); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for range 2 {
		work, err := s.Scratch("run-1.step_2.3")
		if err != nil || work != filepath.Join(dir, ".reprise", "work", "run-1.step_2.3") {
			t.Fatal(work, err)
		}
		if info, err := os.Lstat(work); err != nil || info.Mode() != fs.ModeDir|0o700 {
			t.Errorf("%v %v", info, err)
		}
		w, rel, err := s.CreateLog("run-1.step_2.3")
		if err != nil || rel != ".reprise/logs/run-1.step_2.3.log" {
			t.Fatal(rel, err)
		}
		if _, err := w.Write([]byte("line\n")); err != nil {
			t.Error(err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
	file := filepath.Join(dir, ".reprise", "logs", "run-1.step_2.3.log")
	b, err := os.ReadFile(file)
	if info, err2 := os.Lstat(file); err != nil || err2 != nil || string(b) != "line\nline\n" || info.Mode() != 0o600 {
		t.Errorf("%q %v %v", b, info, err)
	}
	for _, place := range []string{"work/link", "logs/link.log"} {
		if err := os.Symlink(t.TempDir(), filepath.Join(dir, ".reprise", place)); err != nil {
			t.Fatal(err)
		}
	}
	var odd *durable.NotRegularError
	if _, err := s.Scratch("link"); !errors.As(err, &odd) {
		t.Errorf("a link for a folder: %v", err)
	}
	if _, _, err := s.CreateLog("link"); !errors.As(err, &odd) {
		t.Errorf("a link for a log: %v", err)
	}
}

func TestScratch_in_memory(t *testing.T) {
	t.Parallel()
	s := durable.OpenOn(crashfs.New(), durable.Options{})
	if _, err := s.Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Scratch("a"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%v", err)
	}
	w, _, err := s.CreateLog("a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("x")); err != nil {
		t.Error(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}
