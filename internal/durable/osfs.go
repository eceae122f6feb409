package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
)

// osFS is the real disk below one folder. os.Root keeps every path inside, and
// no operation goes through a link: what is to be read behind one is named by
// what it leads to (view.go).
type osFS struct {
	root *os.Root
	at   *os.File // the folder, for atOnce; nil where it has no use for it
}

var _ FS = (*osFS)(nil)

// OpenFS opens a folder of the real disk.
func OpenFS(dir string) (FS, error) {
	// With a separator at its end a name leads to a folder or to nothing: a FIFO would hang us.
	root, err := os.OpenRoot(strings.TrimRight(dir, string(os.PathSeparator)) + string(os.PathSeparator))
	if err != nil {
		return nil, err
	}
	d := &osFS{root: root}
	if d.at, err = openWay(root); err != nil {
		root.Close()
		return nil, err
	}
	return d, nil
}

func (d *osFS) close() error {
	if d.at != nil {
		d.at.Close() // nothing was written through it
	}
	return d.root.Close()
}

// plain gives a *LinkError if there is a link on the way to a name; the name
// itself may be one.
func (d *osFS) plain(name string) error {
	dir := path.Dir(name)
	if dir == "." || !fs.ValidPath(name) {
		return nil // a name that is none is for os.Root to refuse
	}
	if f, err := d.atOnce(dir, folderFlags); f != nil || err != nil {
		if f != nil {
			f.Close()
		}
		return nil // that there is none is for the operation to tell
	}
	above := parents(name)
	for i := len(above) - 2; i >= 0; i-- {
		info, err := d.root.Lstat(above[i])
		if err != nil {
			return nil // the operation itself tells
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return d.linkError(name, above[i])
		}
	}
	return nil
}

func (d *osFS) linkError(name, link string) error {
	target, _ := d.root.Readlink(link) // only to be told
	return &LinkError{Path: name, Link: link, Target: target}
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
		if err := d.plain(name); err != nil {
			return nil, err
		}
		f, err := d.root.OpenFile(name, flag, perm)
		if err != nil {
			return nil, err
		}
		return &osFile{f: f, name: name}, nil
	}
	before, err := d.Stat(name)
	switch {
	case err == nil && before.Mode&fs.ModeSymlink != 0:
		return nil, d.linkError(name, name)
	case err == nil && !before.Regular():
		return nil, &NotRegularError{Path: name, Mode: before.Mode}
	case err == nil && before.Links > 1 && flag&(os.O_WRONLY|os.O_RDWR) != 0:
		return nil, &SharedError{Path: name}
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
	var info fs.FileInfo
	f, err := d.atOnce(name, lookFlags)
	switch {
	case err != nil:
		return Info{}, err
	case f != nil:
		defer f.Close()
		info, err = f.Stat()
	default:
		if err := d.plain(name); err != nil {
			return Info{}, err
		}
		info, err = d.root.Lstat(name)
	}
	if err != nil {
		return Info{}, err
	}
	return infoOf(info), nil
}

// folder opens a folder that is one itself.
func (d *osFS) folder(name string) (*os.File, error) {
	info, err := d.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.Mode&fs.ModeSymlink != 0 {
		return nil, d.linkError(name, name)
	}
	if !info.Mode.IsDir() { // opening a FIFO would wait for ever
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.ENOTDIR}
	}
	return d.root.Open(name)
}

func (d *osFS) List(name string) ([]Info, error) {
	f, err := d.folder(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.Readdir(-1)
	out := make([]Info, 0, len(entries))
	for _, e := range entries {
		out = append(out, infoOf(e))
	}
	slices.SortStableFunc(out, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	return out, err
}

func (d *osFS) Mkdir(name string, perm fs.FileMode) error {
	if err := d.plain(name); err != nil {
		return err
	}
	return d.root.Mkdir(name, perm)
}

func (d *osFS) Rename(from, to string) error {
	if err := errors.Join(d.plain(from), d.plain(to)); err != nil {
		return err
	}
	return d.root.Rename(from, to)
}

func (d *osFS) Remove(name string) error {
	if err := d.plain(name); err != nil {
		return err
	}
	return d.root.Remove(name)
}

func (d *osFS) Symlink(target, name string) error {
	if err := d.plain(name); err != nil {
		return err
	}
	return d.root.Symlink(target, name)
}

func (d *osFS) Readlink(name string) (string, error) {
	if err := d.plain(name); err != nil {
		return "", err
	}
	return d.root.Readlink(name)
}

func (d *osFS) SyncDir(name string) error {
	f, err := d.folder(name)
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
