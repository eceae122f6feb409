package splice

import (
	"bytes"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/internal/doc"
)

// Over shows a file system with edits in place that have not been made, so that
// what was written can be read back before it counts. Of several edits of one
// file the last one counts.
func Over(fsys fs.FS, edits []reprise.Edit) fs.FS { return overlay{fsys, edits} }

// overlay is a file system with edits in place.
type overlay struct {
	fs.FS
	edits []reprise.Edit
}

func (o overlay) edited(name string) (*written, bool) {
	for _, e := range slices.Backward(o.edits) {
		if e.Path != name {
			continue
		}
		content := e.Content
		if e.Append {
			// What cannot be read now is refused by the edit's base hash later.
			before, _ := fs.ReadFile(o.FS, name)
			content = slices.Concat(before, content)
		}
		return &written{bytes.NewReader(content), created{name: path.Base(name)}}, true
	}
	return nil, false
}

// Open implements fs.FS.
func (o overlay) Open(name string) (fs.File, error) {
	if w, ok := o.edited(name); ok {
		return w, nil
	}
	return o.FS.Open(name)
}

// Stat implements fs.StatFS: to look at a file is not to open it, which waits for a writer
// where it is a pipe.
func (o overlay) Stat(name string) (fs.FileInfo, error) {
	if w, ok := o.edited(name); ok {
		return w, nil
	}
	return fs.Stat(o.FS, name)
}

// OpenRegular is asked for by doc.
func (o overlay) OpenRegular(name string) (fs.File, fs.FileInfo, error) {
	if w, ok := o.edited(name); ok {
		return w, w, nil
	}
	return doc.OpenRegular(o.FS, name)
}

// ReadDir lists a folder with the files that are new in it.
func (o overlay) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(o.FS, name)
	for _, e := range o.edits {
		base, below := e.Path, name == "."
		if !below {
			base, below = strings.CutPrefix(e.Path, name+"/")
		}
		if !below {
			continue
		}
		base, _, folder := strings.Cut(base, "/")
		if slices.ContainsFunc(list, func(d fs.DirEntry) bool { return d.Name() == base }) {
			continue
		}
		err = nil
		list = append(list, fs.FileInfoToDirEntry(created{base, folder}))
	}
	slices.SortStableFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, err
}

// written is a file as it will be.
type written struct {
	*bytes.Reader
	created
}

func (w *written) Stat() (fs.FileInfo, error) { return w, nil }
func (w *written) Close() error               { return nil }
func (w *written) Size() int64                { return w.Reader.Size() }

// created is a new file or folder in a listing.
type created struct {
	name   string
	folder bool
}

func (c created) Name() string { return c.name }
func (c created) Size() int64  { return 0 }
func (c created) Mode() fs.FileMode {
	if c.folder {
		return fs.ModeDir | 0o755
	}
	return 0o644
}
func (c created) ModTime() time.Time { return time.Time{} }
func (c created) IsDir() bool        { return c.folder }
func (c created) Sys() any           { return nil }
