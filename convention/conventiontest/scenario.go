package conventiontest

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"reprise"
)

var update = flag.Bool("update", false, "rewrite the expected part of scenarios and goldens")

// Epoch is the modification time of every file in a scenario.
var Epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// now is the clock for ranking in scenarios, in the time of most fixtures.
var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Scenarios runs every archive of a folder. An archive holds a comment whose
// first line names the requirements it shows, a file tree, and as its last file
// `want`: what the layout makes of the tree. -update rewrites `want`; read the
// difference before it is committed.
func Scenarios(t *testing.T, l reprise.Layout, dir string) {
	t.Helper()
	RankedScenarios(t, l, dir, func([]*reprise.Run, reprise.Observed) {})
}

// RankedScenarios is Scenarios for a layout whose runs are ordered by a rule of its own.
func RankedScenarios(t *testing.T, l reprise.Layout, dir string, rank func([]*reprise.Run, reprise.Observed)) {
	t.Helper()
	Archives(t, dir, func(t *testing.T, fsys fstest.MapFS) string {
		runs, err := Read(l, fsys)
		if err != nil {
			t.Fatal(err)
		}
		rank(runs, reprise.Observed{Now: now})
		return describeAll(runs)
	})
}

// Archives gives the tree of every archive of a folder to make and compares what
// it makes of it with the archive's `want`, or rewrites that with -update.
func Archives(t *testing.T, dir string, make func(t *testing.T, fsys fstest.MapFS) string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatalf("no archives in %s", dir)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			fsys, want := archiveFS(ar)
			got := make(t, fsys)
			if *update {
				writeWant(t, file, ar, got)
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", strings.TrimSpace(firstLine(ar.Comment)), diff)
			}
		})
	}
}

// LoadFS reads an archive's tree without its `want`.
func LoadFS(t testing.TB, file string) fstest.MapFS {
	t.Helper()
	ar, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	fsys, _ := archiveFS(ar)
	return fsys
}

func archiveFS(ar *txtar.Archive) (fsys fstest.MapFS, want string) {
	fsys = fstest.MapFS{}
	for _, f := range ar.Files {
		if f.Name == "want" {
			want = string(f.Data)
			continue
		}
		if name, ok := strings.CutSuffix(f.Name, "/"); ok {
			fsys[name] = &fstest.MapFile{Mode: fs.ModeDir | 0o755, ModTime: Epoch}
			continue
		}
		data := f.Data
		name := f.Name
		// A file that must not end in a newline, or holds bytes that text
		// archives cannot, says so in its name.
		if n, ok := strings.CutSuffix(name, "?no-newline"); ok {
			name, data = n, bytes.TrimSuffix(data, []byte("\n"))
		}
		if n, ok := strings.CutSuffix(name, "?crlf"); ok {
			name, data = n, bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))
		}
		if n, ok := strings.CutSuffix(name, "?bom"); ok {
			name, data = n, append([]byte("\xef\xbb\xbf"), data...)
		}
		fsys[name] = &fstest.MapFile{Data: data, Mode: 0o644, ModTime: Epoch}
	}
	return fsys, want
}

func writeWant(t *testing.T, file string, ar *txtar.Archive, got string) {
	t.Helper()
	kept := ar.Files[:0]
	for _, f := range ar.Files {
		if f.Name != "want" {
			kept = append(kept, f)
		}
	}
	ar.Files = append(kept, txtar.File{Name: "want", Data: []byte(got)})
	if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
		t.Fatal(err)
	}
}

func firstLine(b []byte) string {
	line, _, _ := bytes.Cut(b, []byte("\n"))
	return string(line)
}
