package durable

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"reprise"
)

// without is a store as it would be if something were archived.
type without struct {
	reprise.Store
	gone string
}

// Without shows a store as it would be without a file or a folder. What is
// changed through it goes to the store itself.
func Without(under reprise.Store, name string) reprise.Store { return without{under, name} }

// Open finds nothing of what is gone.
func (w without) Open(name string) (fs.File, error) {
	if w.hides(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	f, err := w.Store.Open(name)
	if dir, ok := f.(fs.ReadDirFile); ok && name == path.Dir(w.gone) {
		f = withoutEntry{dir, path.Base(w.gone)}
	}
	return f, err
}

// Stat finds nothing of what is gone.
func (w without) Stat(name string) (fs.FileInfo, error) {
	if w.hides(name) {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return fs.Stat(w.Store, name)
}

// CanWrite finds nothing in the way of what is gone.
func (w without) CanWrite(name string) error {
	if w.hides(name) {
		return nil
	}
	return canWrite(w.Store, name)
}

func (w without) hides(name string) bool {
	return name == w.gone || strings.HasPrefix(name, w.gone+"/")
}

// withoutEntry is a folder that does not list one of its entries.
type withoutEntry struct {
	fs.ReadDirFile
	gone string
}

// ReadDir leaves out what is gone.
func (f withoutEntry) ReadDir(n int) ([]fs.DirEntry, error) {
	list, err := f.ReadDirFile.ReadDir(n)
	// The list may be one that others are shown, too.
	return slices.DeleteFunc(slices.Clone(list), func(e fs.DirEntry) bool { return e.Name() == f.gone }), err
}
