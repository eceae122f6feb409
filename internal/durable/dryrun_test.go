package durable_test

import (
	"errors"
	"io/fs"
	"slices"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/internal/durable"
)

// TestX10_a_dry_run_lists_what_it_would_make reads a project through a dry run:
// every file that would be made is listed, once, in folders that are there or
// would be.
func TestX10_a_dry_run_lists_what_it_would_make(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	write(t, dir, "docs/a.md", "old\n", 0o644)
	write(t, dir, "docs/b.md", "stays\n", 0o644)
	store, err := durable.Open(dir, durable.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Release()
	dry := durable.NewDryRun(store)
	if _, err := dry.Open("specs"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("a folder nobody made: %v", err)
	}
	edits := []reprise.Edit{
		{Path: "docs/a.md", Base: reprise.HashOf([]byte("old\n")), Content: []byte("newer\n")},
		{Path: "docs/c.md", Content: []byte("c")},
		{Path: "specs/001/.workflow/index.md", Content: []byte("index")},
		{Path: "specs/001/spec.md", Content: []byte("spec")},
	}
	if err := dry.Apply(t.Context(), edits); err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string][]string{
		".": {"docs", "specs"}, "docs": {"a.md", "b.md", "c.md"}, "specs": {"001"}, "specs/001": {".workflow", "spec.md"},
	} {
		entries, err := fs.ReadDir(dry, folder)
		if err != nil {
			t.Fatal(err)
		}
		var have []string
		for _, e := range entries {
			have = append(have, e.Name())
		}
		if !slices.Equal(have, want) {
			t.Errorf("%s holds %q, want %q", folder, have, want)
		}
	}
	if info, err := fs.Stat(dry, "docs/a.md"); err != nil || info.Size() != 6 || info.IsDir() {
		t.Errorf("docs/a.md: %v %v", info, err)
	}
	if info, err := fs.Stat(dry, "specs/001"); err != nil || !info.IsDir() {
		t.Errorf("specs/001: %v %v", info, err)
	}
	if err := fstest.TestFS(dry, "docs/a.md", "docs/b.md", "docs/c.md", "specs/001/.workflow/index.md", "specs/001/spec.md"); err != nil {
		t.Error(err)
	}
	// What is a file cannot hold files.
	if err := dry.Apply(t.Context(), []reprise.Edit{{Path: "docs/b.md/x", Content: []byte("x")}}); err == nil {
		if _, err := fs.ReadDir(dry, "docs/b.md"); err == nil {
			t.Error("a file is listed as a folder")
		}
	}
}
