package tree

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"syscall"

	"reprise/internal/doc"
)

// root opens names below one folder and never above it.
type root interface {
	// open opens a regular file or a folder for reading. Links are followed as
	// long as they stay below; doc.ErrOutside is the cause where one does not.
	// Nothing else is opened: doc.ErrNotRegular.
	open(name string) (fs.File, fs.FileInfo, error)
	// stat tells of what a name leads to.
	stat(name string) (fs.FileInfo, error)
	// list reads a folder, unsorted.
	list(name string) ([]fs.DirEntry, error)
	close() error
}

// portableRoot is os.Root with our errors. It opens a path one element at a
// time, on every system.
type portableRoot struct{ dir *os.Root }

func openPortable(dir string) (root, error) {
	r, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return portableRoot{r}, nil
}

func (r portableRoot) close() error { return r.dir.Close() }

func (r portableRoot) open(name string) (fs.File, fs.FileInfo, error) {
	// Without O_NONBLOCK, opening a FIFO would wait for a writer.
	f, err := r.dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, r.explain("open", name, err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: name, Err: doc.ErrNotRegular}
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

func (r portableRoot) stat(name string) (fs.FileInfo, error) {
	info, err := r.dir.Stat(name)
	if err != nil {
		return nil, r.explain("stat", name, err)
	}
	return info, nil
}

func (r portableRoot) list(name string) ([]fs.DirEntry, error) {
	f, err := r.dir.Open(name)
	if err != nil {
		return nil, r.explain("readdir", name, err)
	}
	defer f.Close()
	return f.ReadDir(-1)
}

// explain tells a link that leaves the tree from other errors: os.Root has no
// error value for it.
func (r portableRoot) explain(op, name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return err
	}
	for p := name; p != "." && p != "/"; p = path.Dir(p) {
		if info, lerr := r.dir.Lstat(p); lerr == nil && info.Mode()&fs.ModeSymlink != 0 {
			return &fs.PathError{Op: op, Path: name, Err: doc.ErrOutside}
		}
	}
	return err
}
