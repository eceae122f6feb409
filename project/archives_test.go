package project_test

import (
	"path/filepath"
	"strings"
	"testing"

	"reprise"
	"reprise/convention"
)

// layoutOf is the convention of a scenario archive: the folder it lies in is named
// after it. The families of task lists share a folder, and the archive's own name
// begins with the family's.
func layoutOf(t testing.TB, archive string) reprise.Layout {
	t.Helper()
	name := filepath.Base(filepath.Dir(filepath.Dir(filepath.Dir(archive))))
	if name == "checklist" {
		name, _, _ = strings.Cut(filepath.Base(archive), "-")
	}
	l := convention.Find(name)
	if l == nil {
		t.Fatalf("%s: no convention is called %q", archive, name)
	}
	return l
}
