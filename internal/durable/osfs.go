package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// osFS is the real disk below one folder. os.Root keeps every path inside.
type osFS struct {
	root *os.Root
	dir  string // absolute, links resolved
}

var _ FS = (*osFS)(nil)

// OpenFS opens a folder of the real disk.
func OpenFS(dir string) (FS, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &osFS{root: root, dir: dir}, nil
}

func (d *osFS) Open(name string, flag int, perm fs.FileMode) (File, error) {
	for try := 1; ; try++ {
		f, err := d.open(name, flag, perm)
		// A regular file that took the place of another one meanwhile is as good.
		var odd *NotRegularError
		if !errors.As(err, &odd) || !odd.Mode.IsRegular() || try == maxReplaced {
			return f, err
		}
	}
}

// maxReplaced is how often a file may be replaced while it is opened.
const maxReplaced = 10

func (d *osFS) open(name string, flag int, perm fs.FileMode) (File, error) {
	if flag&(os.O_CREATE|os.O_EXCL) == os.O_CREATE|os.O_EXCL {
		// The kernel makes a new file or none; there is nothing to follow.
		f, err := d.root.OpenFile(name, flag, perm)
		if err != nil {
			return nil, err
		}
		return &osFile{f: f, name: name}, nil
	}
	before, err := d.Stat(name)
	switch {
	case err == nil && !before.Regular():
		return nil, &NotRegularError{Path: name, Mode: before.Mode}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	f, err := d.root.OpenFile(name, flag|openNonblock, perm)
	if err != nil {
		return nil, err
	}
	file := &osFile{f: f, name: name}
	// What was opened must be what stands at the name now: a link that was put
	// there in between would otherwise be followed.
	opened, err := file.Stat()
	if err == nil && !opened.Regular() {
		err = &NotRegularError{Path: name, Mode: opened.Mode}
	}
	if err == nil {
		var now Info
		if now, err = d.Stat(name); err == nil && now.Ino != opened.Ino {
			err = &NotRegularError{Path: name, Mode: now.Mode}
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return file, nil
}

func (d *osFS) Stat(name string) (Info, error) {
	info, err := d.root.Lstat(name)
	if err != nil {
		return Info{}, err
	}
	return infoOf(info), nil
}

func (d *osFS) List(name string) ([]Info, error) {
	f, err := d.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.Readdir(-1)
	out := make([]Info, 0, len(entries))
	for _, e := range entries {
		out = append(out, infoOf(e))
	}
	slices.SortFunc(out, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	return out, err
}

func (d *osFS) Mkdir(name string, perm fs.FileMode) error { return d.root.Mkdir(name, perm) }
func (d *osFS) Rename(from, to string) error              { return d.root.Rename(from, to) }
func (d *osFS) Remove(name string) error                  { return d.root.Remove(name) }
func (d *osFS) Symlink(target, name string) error         { return d.root.Symlink(target, name) }
func (d *osFS) Readlink(name string) (string, error)      { return d.root.Readlink(name) }

func (d *osFS) SyncDir(name string) error {
	f, err := d.root.Open(name)
	if err != nil {
		return err
	}
	err = syncFile(f)
	return errors.Join(err, f.Close())
}

func (d *osFS) Flush() error {
	f, err := d.root.Open(".")
	if err != nil {
		return err
	}
	err = syncFileSystem(f)
	return errors.Join(err, f.Close())
}

// osFile is a file of the real disk.
type osFile struct {
	f    *os.File
	name string
}

func (f *osFile) ReadAt(p []byte, off int64) (int, error)  { return f.f.ReadAt(p, off) }
func (f *osFile) WriteAt(p []byte, off int64) (int, error) { return f.f.WriteAt(p, off) }
func (f *osFile) Sync() error                              { return syncFile(f.f) }
func (f *osFile) Close() error                             { return f.f.Close() }

// OS gives the descriptor itself, for a child that must keep the lock alive.
func (f *osFile) OS() *os.File { return f.f }

func (f *osFile) Write(p []byte) (int, error) {
	n, err := writeOnce(f.f, p)
	if err == nil && n < len(p) {
		// The rest tells why: a full disk takes what fits and complains at the
		// next call. Whatever it says, this record is torn.
		if _, err = writeOnce(f.f, p[n:]); err == nil {
			err = io.ErrShortWrite
		}
	}
	return n, err // the caller knows the name; ours may be that of a temporary file
}

func (f *osFile) Stat() (Info, error) {
	info, err := f.f.Stat()
	if err != nil {
		return Info{}, err
	}
	return infoOf(info), nil
}

func (f *osFile) SetLike(of Info) error {
	now, err := f.Stat()
	if err != nil {
		return err
	}
	if now.UID != of.UID || now.GID != of.GID {
		// Only root may give a file away; the mode counts more than the owner.
		if err := f.f.Chown(int(of.UID), int(of.GID)); err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	const bits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky
	if now.Mode&bits == of.Mode&bits {
		return nil
	}
	return f.f.Chmod(of.Mode & bits)
}

func (f *osFile) TryLock() (bool, error) {
	held, err := tryLock(f.f)
	if err != nil {
		return false, fmt.Errorf("lock %s: %w", f.name, err)
	}
	return held, nil
}
