package durable_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/internal/durable"
)

// watched is a small project, and a reading of it.
func watched(t *testing.T) (dir string, w *durable.Watch) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{"run/state.json": "{}", "run/log/a.jsonl": "one\n", "run/log/b.jsonl": "two\n", "other.md": "x"} {
		place(t, dir, name, text)
	}
	store, err := durable.Open(dir, durable.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return dir, store.Watch()
}

func place(t *testing.T, dir, name, text string) {
	t.Helper()
	name = filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// readAll reads through a file system as a layout does, and gives all it saw.
func readAll(fsys fs.FS) string {
	var b strings.Builder
	see := func(what string, err error) { fmt.Fprintf(&b, "%s %v\n", what, err != nil) }
	_ = fs.WalkDir(fsys, "run", func(p string, d fs.DirEntry, err error) error {
		see(p, err)
		if err != nil || d.IsDir() {
			return nil
		}
		data, err := fs.ReadFile(fsys, p)
		see(string(data), err)
		return nil
	})
	_, err := fs.Stat(fsys, "run/missing.json")
	see("missing", err)
	return b.String()
}

// X8: a reading is the same exactly as long as reading again gives the same, also
// where a change leaves size and times as they were.
func TestX8_a_watch_sees_every_change(t *testing.T) {
	t.Parallel()
	at := func(dir, name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	for name, tc := range map[string]struct {
		old    bool // the files are older than a tick of the clock
		same   bool
		change func(t *testing.T, dir string)
	}{
		"nothing":        {same: true, change: func(*testing.T, string) {}},
		"nothing, later": {old: true, same: true, change: func(*testing.T, string) {}},
		"a file that nobody read": {same: true, old: true, change: func(t *testing.T, dir string) {
			place(t, dir, "other.md", "y")
		}},
		"a line more":              {change: func(t *testing.T, dir string) { place(t, dir, "run/log/a.jsonl", "one\ntwo\n") }},
		"the same size":            {change: func(t *testing.T, dir string) { place(t, dir, "run/log/a.jsonl", "eno\n") }},
		"the same size, old":       {old: true, change: func(t *testing.T, dir string) { place(t, dir, "run/log/a.jsonl", "eno\n") }},
		"a new file":               {change: func(t *testing.T, dir string) { place(t, dir, "run/log/c.jsonl", "") }},
		"a new file where none is": {change: func(t *testing.T, dir string) { place(t, dir, "run/missing.json", "{}") }},
		"a file is gone": {old: true, change: func(t *testing.T, dir string) {
			if err := os.Remove(at(dir, "run/state.json")); err != nil {
				t.Fatal(err)
			}
		}},
		"another file in its place": {old: true, change: func(t *testing.T, dir string) {
			place(t, dir, "new", "{ }")
			if err := os.Rename(at(dir, "new"), at(dir, "run/state.json")); err != nil {
				t.Fatal(err)
			}
		}},
		"the same size and time": {old: true, change: func(t *testing.T, dir string) {
			was, err := os.Stat(at(dir, "run/state.json"))
			if err != nil {
				t.Fatal(err)
			}
			place(t, dir, "run/state.json", "[]")
			if err := os.Chtimes(at(dir, "run/state.json"), was.ModTime(), was.ModTime()); err != nil {
				t.Fatal(err)
			}
		}},
		"a folder in its place": {change: func(t *testing.T, dir string) {
			if err := os.Rename(at(dir, "run/log"), at(dir, "old")); err != nil {
				t.Fatal(err)
			}
			place(t, dir, "run/log/a.jsonl", "one\n")
		}},
		"a link in its place": {old: true, change: func(t *testing.T, dir string) {
			if err := os.Rename(at(dir, "run/state.json"), at(dir, "moved.json")); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("../moved.json", at(dir, "run/state.json")); err != nil {
				t.Fatal(err)
			}
		}},
		"it cannot be read any more": {old: true, change: func(t *testing.T, dir string) {
			if os.Getuid() == 0 {
				if err := os.Chmod(at(dir, "run/state.json"), 0); err != nil {
					t.Fatal(err)
				}
			}
		}, same: os.Getuid() != 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, w := watched(t)
			if tc.old {
				time.Sleep(150 * time.Millisecond)
			}
			readAll(w)
			tc.change(t, dir)
			if w.Same() != tc.same {
				t.Errorf("same: %v", !tc.same)
			}
		})
	}
}

// X8: what was written on purpose is no change, as long as it is what was written.
func TestX8_a_watch_excuses_what_was_told(t *testing.T) {
	t.Parallel()
	dir, w := watched(t)
	readAll(w)
	place(t, dir, "run/log/a.jsonl", "one\nmore\n")
	place(t, dir, "run/log/new/deep/c.jsonl", "three\n")
	if w.Same() {
		t.Fatal("nobody told of it yet")
	}
	w.Wrote("run/log/a.jsonl", reprise.HashOf([]byte("one\nmore\n")))
	w.Wrote("run/log/new/deep/c.jsonl", reprise.HashOf([]byte("three\n")))
	if !w.Same() {
		t.Fatal("it is what was told")
	}
	place(t, dir, "run/log/a.jsonl", "one\nless\n")
	if w.Same() {
		t.Error("somebody else wrote it since")
	}
	place(t, dir, "run/log/a.jsonl", "one\nmore\n")
	if !w.Same() {
		t.Error("it is what was told again")
	}
	place(t, dir, "run/log/d.jsonl", "four\n")
	if w.Same() {
		t.Error("a file more beside it")
	}
}

// X8: whatever is done to a folder, a reading that is called the same gives the
// same again.
func TestX8_a_watch_is_never_wrong_about_the_same(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 3))
		dir, first := watched(t)
		store, err := durable.Open(dir, durable.Options{})
		if err != nil {
			t.Fatal(err)
		}
		names := []string{"run/state.json", "run/log/a.jsonl", "run/log/b.jsonl", "run/missing.json", "run/log/x/y"}
		w, saw := first, readAll(first)
		spared := 0
		for i := range 300 {
			name := filepath.Join(dir, filepath.FromSlash(names[r.IntN(len(names))]))
			switch r.IntN(8) {
			case 0:
				_ = os.Remove(name)
			case 1:
				_ = os.Rename(name, filepath.Join(dir, filepath.FromSlash(names[r.IntN(len(names))])))
			case 2:
				_ = os.MkdirAll(filepath.Dir(name), 0o755)
				_ = os.WriteFile(name, []byte{'a' + byte(r.IntN(3))}, 0o644)
			case 3:
				if f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0); err == nil {
					_, _ = f.WriteString("z")
					_ = f.Close()
				}
			case 4:
				time.Sleep(time.Duration(r.IntN(60)) * time.Millisecond)
			}
			same := w.Same()
			now := readAll(store)
			if same && now != saw {
				t.Fatalf("seed %d, change %d: called the same, was\n%s\nis\n%s", seed, i, saw, now)
			}
			if same {
				spared++
				continue
			}
			w = store.Watch()
			saw = readAll(w)
		}
		if spared < 50 {
			t.Errorf("seed %d: only %d readings of 300 were spared", seed, spared)
		}
	}
}
