package project

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"

	"reprise"
	"reprise/convention"
	"reprise/internal/tree"
)

// Places gives where the runs of a project are, as a run sees it.
func Places(dir string, own reprise.Ref) (out []string, err error) {
	fsys, err := openBeside(dir, own)
	if err != nil {
		return nil, err
	}
	defer fsys.Close()
	for _, e := range convention.All() {
		refs, err := e.Find(fsys)
		if err != nil {
			return nil, fmt.Errorf("look for runs: %w", err)
		}
		for _, ref := range refs {
			out = append(out, ref.Path)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// openBeside opens a project to look for the runs beside one. A folder beside its own counts
// though git ignores it.
func openBeside(dir string, own reprise.Ref) (*tree.FS, error) {
	marks := convention.Marks()
	if in := path.Dir(path.Dir(own.Path)); in != "." {
		beside, _ := os.ReadDir(filepath.Join(dir, filepath.FromSlash(in))) // the tree reports it
		for _, e := range beside {
			marks = append(marks, e.Name())
		}
	}
	return tree.Open(dir, tree.Options{Marks: marks})
}
