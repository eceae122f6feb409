package tree

import (
	"errors"
	"io/fs"
	"path"

	"reprise/internal/doc"
	"reprise/internal/link"
)

// Links are read by the rule of internal/link. What cannot be read by it is an error
// that says so, and never that nothing is there.

var errLinkedFolder = errors.New("a link to a folder is not looked into here")

const maxMoved = 10 // how often a link may change while it is followed

// names is what links are resolved over. Neither call follows a link, also not
// on the way.
type names interface {
	lstat(name string) (fs.FileInfo, error)
	readlink(name string) (string, error)
}

// over is names as internal/link wants them.
type over struct{ names }

// Lstat implements link.Names.
func (o over) Lstat(name string) (fs.FileMode, error) {
	info, err := o.lstat(name)
	if err != nil {
		return 0, err
	}
	return info.Mode(), nil
}

// Readlink implements link.Names.
func (o over) Readlink(name string) (string, error) { return o.readlink(name) }

// shown is a link as what it leads to.
type shown struct {
	fs.FileInfo
	name string
}

// Name implements fs.FileInfo.
func (s shown) Name() string { return s.name }

// through gives a listed link as what it leads to. in is the folder that is
// listed and real where it is. One that is not followed is given as it is, and
// said where state can be.
func (t *FS) through(in, real string, e fs.DirEntry) fs.DirEntry {
	name := path.Join(in, e.Name())
	info, target, err := t.root.stat(path.Join(real, e.Name()))
	other := false
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return e // gone since
	case info.Mode().IsRegular():
		return fs.FileInfoToDirEntry(shown{info, e.Name()})
	case !info.IsDir():
		err = &fs.PathError{Op: "stat", Path: name, Err: doc.ErrNotRegular}
	default:
		var is bool
		if is, other = link.Listed(in, real, e.Name(), target); is {
			return fs.FileInfoToDirEntry(shown{info, e.Name()})
		}
		// Outside of state folders it is listed at its own place.
		if !other && (link.Hidden(name) || t.mark(e.Name())) {
			err = &fs.PathError{Op: "readdir", Path: name, Err: errLinkedFolder}
		}
	}
	if err != nil && t.marked(name) {
		t.note(func() { t.problems = append(t.problems, Problem{Path: name, Err: err}) })
	}
	return e
}

// Real gives the name of what a name leads to, one without a link on the way, and
// the name itself where it leads to nothing that is read.
func (t *FS) Real(name string) string {
	if _, real, err := t.root.stat(name); err == nil {
		return real
	}
	return name
}
