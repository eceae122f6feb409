package engine_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"reprise"
	"reprise/engine"
	"reprise/internal/durable"
)

// files reads all files of a project but git's and ours.
func files(t testing.TB, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == ".reprise") {
			return fs.SkipDir
		}
		if !d.Type().IsRegular() {
			return nil
		}
		data, err := os.ReadFile(p)
		rel, _ := filepath.Rel(dir, p)
		out[filepath.ToSlash(rel)] = data
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// stamps tells of everything below a folder what a change of any kind would
// change, git's files too.
func stamps(t testing.TB, dir string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		size := info.Size()
		if d.IsDir() {
			size = 0
		}
		fmt.Fprintf(&out, "%s %s %d %d\n", p, info.Mode(), size, info.ModTime().UnixNano())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// difference is what became of files, one diff for each that changed.
func difference(before, after map[string][]byte) []string {
	names := slices.Sorted(maps.Keys(after))
	var out []string
	for _, name := range names {
		now := after[name]
		if now == nil {
			now = []byte{}
		}
		if was, there := before[name]; !there {
			out = append(out, durable.Diff(name, nil, now))
		} else if !bytes.Equal(was, now) {
			out = append(out, durable.Diff(name, was, now))
		}
	}
	for name := range before {
		if _, there := after[name]; !there {
			out = append(out, "gone: "+name)
		}
	}
	slices.Sort(out)
	return out
}

// X10: a start that would be unsafe is refused before anything is made, and its preview
// says why.
func TestA_start_that_is_unsafe_makes_nothing_and_its_preview_says_why(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	put(t, dir, ".git/MERGE_HEAD", strings.TrimSpace(git(t, dir, "rev-parse", "HEAD"))+"\n")
	e := newEngine(dir)
	goal := reprise.Goal{ID: "one", Text: "CSV export"}
	p, err := e.PreviewBegin(t.Context(), "eventrun", reprise.KindGraph, goal, engine.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	was := stamps(t, dir)
	_, err = e.Begin(t.Context(), "eventrun", reprise.KindGraph, goal, engine.Choice{})
	var unsafe *engine.UnsafeError
	if refused := errors.As(err, &unsafe); !refused || len(p.Starts) > 0 {
		t.Fatalf("begin: %v; preview: %q, %d starts", err, p.Would, len(p.Starts))
	}
	if stamps(t, dir) != was {
		t.Error("something was made before it was refused")
	}
	for _, reason := range unsafe.Reasons {
		if !slices.Contains(p.Would, reason) {
			t.Errorf("the preview does not say %q: %q", reason, p.Would)
		}
	}
}
