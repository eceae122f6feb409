//go:build unix

package tree

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"reprise/internal/doc"
	"reprise/internal/link"
)

// Every way of opening keeps the same promises.
func TestX9_every_root_stays_below(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(string) (root, error){"kernel": openRoot, "portable": openPortable} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := t.TempDir()
			dir := filepath.Join(base, "in")
			if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o755); err != nil {
				t.Fatal(err)
			}
			for p, text := range map[string]string{filepath.Join(base, "secret"): "s", filepath.Join(dir, "sub/f"): "content"} {
				if err := os.WriteFile(p, []byte(text), 0o640); err != nil {
					t.Fatal(err)
				}
			}
			for link, target := range map[string]string{"out": "../secret", "abs": filepath.Join(base, "secret"), "up": "..", "in": "sub/f", "loop": "loop", "dead": "nowhere"} {
				if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
					t.Fatal(err)
				}
			}
			if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o644); err != nil {
				t.Fatal(err)
			}
			r, err := open(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer r.close()
			for _, p := range []string{"out", "abs", "up/secret"} {
				if _, _, err := r.open(p); !errors.Is(err, doc.ErrOutside) {
					t.Errorf("open %s: %v", p, err)
				}
				if _, _, err := r.stat(p); !errors.Is(err, doc.ErrOutside) {
					t.Errorf("stat %s: %v", p, err)
				}
			}
			if _, _, err := r.list("up"); !errors.Is(err, doc.ErrOutside) {
				t.Errorf("list up: %v", err)
			}
			if _, _, err := r.open("fifo"); !errors.Is(err, doc.ErrNotRegular) {
				t.Errorf("fifo: %v", err)
			}
			if _, _, err := r.open("loop"); err == nil {
				t.Error("a link to itself was opened")
			}
			if _, _, err := r.open("dead"); !errors.Is(err, link.ErrNowhere) || errors.Is(err, fs.ErrNotExist) {
				t.Errorf("dead: %v", err)
			}
			if _, _, err := r.open("none"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("none: %v", err)
			}
			for _, p := range []string{"in", "sub/f"} {
				f, info, err := r.open(p)
				if err != nil {
					t.Fatal(err)
				}
				data, err := io.ReadAll(f)
				if err != nil || string(data) != "content" || info.Size() != 7 || info.Mode() != 0o640 || info.ModTime().IsZero() {
					t.Errorf("%s: %q %v %v", p, data, info, err)
				}
				if err := f.Close(); err != nil {
					t.Error(err)
				}
			}
			entries, _, err := r.list("sub")
			if err != nil || len(entries) != 1 {
				t.Fatal(entries, err)
			}
			if info, err := entries[0].Info(); err != nil || info.Name() != "f" || info.Size() != 7 {
				t.Errorf("info %v %v", info, err)
			}
		})
	}
}
