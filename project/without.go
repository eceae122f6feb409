package project

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// without is a project without some of its files and folders.
type without struct {
	fs.FS
	names map[string]bool
	in    map[string]bool // the folders that they are in
}

// hiding gives a project without some of its files, and without the folders in which nothing else
// is: git keeps none that is empty.
func hiding(fsys fs.FS, names map[string]bool) *without {
	w := &without{fsys, names, map[string]bool{}}
	for name := range names {
		for dir := path.Dir(name); !w.in[dir]; dir = path.Dir(dir) {
			w.in[dir] = true
		}
	}
	deepest := func(a, b string) int { return strings.Count(b, "/") - strings.Count(a, "/") }
	for _, dir := range slices.SortedFunc(maps.Keys(w.in), deepest) {
		if left, err := fs.ReadDir(w, dir); err == nil && len(left) == 0 && dir != "." {
			w.names[dir] = true
		}
	}
	return w
}

// Open implements fs.FS.
func (w *without) Open(name string) (fs.File, error) {
	if w.names[name] {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	f, err := w.FS.Open(name)
	if dir, is := f.(fs.ReadDirFile); is && err == nil && w.in[name] {
		return &folderWithout{dir, name, w.names}, nil
	}
	return f, err
}

// folderWithout lists what is in a folder, without some names.
type folderWithout struct {
	fs.ReadDirFile
	name  string
	names map[string]bool
}

// ReadDir implements fs.ReadDirFile.
func (d *folderWithout) ReadDir(n int) ([]fs.DirEntry, error) {
	for {
		list, err := d.ReadDirFile.ReadDir(n)
		left := slices.DeleteFunc(slices.Clone(list), func(e fs.DirEntry) bool { return d.names[path.Join(d.name, e.Name())] })
		if len(left) > 0 || err != nil || n <= 0 || len(list) == 0 {
			return left, err
		}
	}
}
