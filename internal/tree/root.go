package tree

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"sync"
	"syscall"

	"reprise/internal/doc"
	"reprise/internal/link"
)

// root opens names below one folder and never above it.
type root interface {
	names
	// open opens a regular file or a folder for reading. Links are followed as
	// link.Resolve has it. Nothing else is opened: doc.ErrNotRegular.
	open(name string) (fs.File, fs.FileInfo, error)
	// stat tells of what a name leads to, and where that is.
	stat(name string) (info fs.FileInfo, real string, err error)
	// list reads a folder, unsorted, and tells where it is.
	list(name string) (entries []fs.DirEntry, real string, err error)
	close() error
}

// portableRoot is os.Root with our errors. It opens a path one element at a
// time, on every system.
type portableRoot struct {
	dir *os.Root
	// plain are folders that were seen to have no link on the way: os.Root does
	// not tell whether it followed one.
	plain *sync.Map
}

func openPortable(dir string) (root, error) {
	r, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return portableRoot{r, &sync.Map{}}, nil
}

func (r portableRoot) close() error { return r.dir.Close() }

func (r portableRoot) lstat(name string) (fs.FileInfo, error) {
	if dir := path.Dir(name); dir != "." {
		if _, ok := r.plain.Load(dir); !ok {
			info, err := r.lstat(dir)
			switch {
			case err != nil:
				return nil, err
			case info.Mode()&fs.ModeSymlink != 0:
				return nil, &fs.PathError{Op: "lstat", Path: name, Err: syscall.ELOOP}
			}
			r.plain.Store(dir, nil)
		}
	}
	return r.dir.Lstat(name)
}

func (r portableRoot) readlink(name string) (string, error) { return r.dir.Readlink(name) }

// reach opens what a name leads to, and tells where that is.
func (r portableRoot) reach(op, name string, open func(real string) (fs.FileInfo, error)) (real string, err error) {
	for range maxMoved {
		if real, err = link.Resolve(over{r}, op, name); errors.Is(err, link.ErrMoved) {
			r.plain.Clear()
			continue
		}
		if err != nil {
			return "", err
		}
		var before, now fs.FileInfo
		if before, err = r.lstat(real); err != nil {
			return "", err
		}
		if now, err = open(real); err != nil || os.SameFile(before, now) {
			return real, err
		}
		err = &fs.PathError{Op: op, Path: name, Err: link.ErrMoved}
	}
	return "", err
}

func (r portableRoot) open(name string) (fs.File, fs.FileInfo, error) {
	var f *os.File
	_, err := r.reach("open", name, func(real string) (_ fs.FileInfo, err error) {
		f.Close() // one of an earlier try, or nil
		// Without O_NONBLOCK, opening a FIFO would wait for a writer.
		if f, err = r.dir.OpenFile(real, os.O_RDONLY|syscall.O_NONBLOCK, 0); err != nil {
			return nil, err
		}
		return f.Stat()
	})
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return regular(f, name)
}

// regular gives a file that was opened, and what it is. It closes what is neither a
// regular file nor a folder: doc.ErrNotRegular.
func regular(f *os.File, name string) (fs.File, fs.FileInfo, error) {
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

func (r portableRoot) stat(name string) (info fs.FileInfo, real string, err error) {
	real, err = r.reach("stat", name, func(real string) (_ fs.FileInfo, err error) {
		info, err = r.dir.Lstat(real)
		return info, err
	})
	if err != nil {
		return nil, "", err
	}
	return shown{info, path.Base(name)}, real, nil
}

func (r portableRoot) list(name string) (entries []fs.DirEntry, real string, err error) {
	real, err = r.reach("readdir", name, func(real string) (fs.FileInfo, error) {
		f, err := r.dir.Open(real)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if entries, err = f.ReadDir(-1); err != nil {
			return nil, err
		}
		return f.Stat()
	})
	return entries, real, err
}
