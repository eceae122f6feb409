package tree

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"time"

	"golang.org/x/sys/unix"

	"reprise/internal/doc"
	"reprise/internal/link"
)

// beneathRoot lets the kernel keep us below the folder: openat2 resolves a whole
// path in one call and refuses to leave, or to follow a link: where one is on the
// way, its name is resolved first, and what it leads to is opened by that. That is
// several times faster than walking the elements, and a project may have tens of
// thousands of folders.
type beneathRoot struct{ fd int }

// openRoot uses openat2 where the kernel has it and lets us.
func openRoot(dir string) (root, error) {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	r := beneathRoot{fd}
	if probe, err := r.openat(".", unix.O_PATH); err == nil {
		unix.Close(probe)
		return r, nil
	}
	unix.Close(fd)
	return openPortable(dir)
}

func (r beneathRoot) close() error { return unix.Close(r.fd) }

func (r beneathRoot) openat(name string, flags uint64) (int, error) {
	how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_SYMLINKS}
	for {
		fd, err := unix.Openat2(r.fd, name, &how)
		// EAGAIN: something was renamed on the way while the kernel looked.
		if err != unix.EINTR && err != unix.EAGAIN {
			return fd, err
		}
	}
}

// reach opens what a name leads to, and tells where that is.
func (r beneathRoot) reach(op, name string, flags uint64) (fd int, real string, err error) {
	real = name
	for range maxMoved {
		// Whatever has become a link since is not followed.
		if fd, err = r.openat(real, flags); err != unix.ELOOP {
			if err != nil {
				err = pathError(op, name, err)
			}
			return fd, real, err
		}
		if real, err = link.Resolve(over{r}, op, name); err != nil && !errors.Is(err, link.ErrMoved) {
			return -1, "", err
		} else if err != nil {
			real = name
		}
	}
	return -1, "", &fs.PathError{Op: op, Path: name, Err: link.ErrMoved}
}

func pathError(op, name string, err error) error {
	switch {
	case errors.Is(err, unix.EXDEV):
		err = doc.ErrOutside
	case errors.Is(err, unix.ENXIO): // a socket
		err = doc.ErrNotRegular
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

func (r beneathRoot) lstat(name string) (fs.FileInfo, error) {
	fd, err := r.openat(name, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return nil, pathError("lstat", name, err)
	}
	defer unix.Close(fd)
	return fstat(fd, name)
}

func (r beneathRoot) readlink(name string) (string, error) {
	fd, err := r.openat(name, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return "", pathError("readlink", name, err)
	}
	defer unix.Close(fd)
	var buf [unix.PathMax]byte
	n, err := unix.Readlinkat(fd, "", buf[:])
	if err != nil {
		return "", pathError("readlink", name, err)
	}
	return string(buf[:n]), nil
}

func (r beneathRoot) open(name string) (fs.File, fs.FileInfo, error) {
	// Without O_NONBLOCK, opening a FIFO would wait for a writer.
	fd, _, err := r.reach("open", name, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return nil, nil, err
	}
	info, err := fstat(fd, name)
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: name, Err: doc.ErrNotRegular}
	}
	if err != nil {
		unix.Close(fd)
		return nil, nil, err
	}
	return &file{fd: fd, info: info}, info, nil
}

func (r beneathRoot) stat(name string) (fs.FileInfo, string, error) {
	fd, real, err := r.reach("stat", name, unix.O_PATH)
	if err != nil {
		return nil, "", err
	}
	defer unix.Close(fd)
	info, err := fstat(fd, name)
	return info, real, err
}

func (r beneathRoot) list(name string) ([]fs.DirEntry, string, error) {
	fd, real, err := r.reach("readdir", name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, name, err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	entries, err := f.ReadDir(-1)
	if err != nil {
		return entries, real, err
	}
	for i, e := range entries {
		// The entries of a file opened by descriptor look for their details
		// under the name given here, so each gets its own way back.
		entries[i] = entry{DirEntry: e, root: r, dir: real}
	}
	return entries, real, nil
}

// entry is a listed name that asks the root for its details.
type entry struct {
	fs.DirEntry
	root beneathRoot
	dir  string
}

// Info implements fs.DirEntry without following a link.
func (e entry) Info() (fs.FileInfo, error) {
	return e.root.lstat(path.Join(e.dir, e.Name()))
}

// file is an open file by its descriptor: os.File would first try to put it
// under the poller, which costs more than reading most state files.
type file struct {
	fd   int
	info fs.FileInfo
}

// Stat implements fs.File; it tells what was opened.
func (f *file) Stat() (fs.FileInfo, error) { return f.info, nil }

// Read implements fs.File.
func (f *file) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for {
		n, err := unix.Read(f.fd, p)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return 0, &fs.PathError{Op: "read", Path: f.info.Name(), Err: err}
		case n == 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

// Close implements fs.File.
func (f *file) Close() error {
	if f.fd < 0 {
		return fs.ErrClosed
	}
	fd := f.fd
	f.fd = -1
	return unix.Close(fd)
}

// info is what a stat call told.
type info struct {
	name string
	stat unix.Stat_t
}

func fstat(fd int, name string) (fs.FileInfo, error) {
	i := &info{name: path.Base(name)}
	if err := unix.Fstat(fd, &i.stat); err != nil {
		return nil, pathError("stat", name, err)
	}
	return i, nil
}

// Name and the rest implement fs.FileInfo.
func (i *info) Name() string       { return i.name }
func (i *info) Size() int64        { return i.stat.Size }
func (i *info) ModTime() time.Time { return time.Unix(i.stat.Mtim.Unix()) }
func (i *info) IsDir() bool        { return i.Mode().IsDir() }
func (i *info) Sys() any           { return &i.stat }
func (i *info) Mode() fs.FileMode {
	mode := fs.FileMode(i.stat.Mode & 0o777)
	switch i.stat.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	case unix.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		mode |= fs.ModeSocket
	case unix.S_IFBLK:
		mode |= fs.ModeDevice
	case unix.S_IFCHR:
		mode |= fs.ModeDevice | fs.ModeCharDevice
	}
	if i.stat.Mode&unix.S_ISUID != 0 {
		mode |= fs.ModeSetuid
	}
	if i.stat.Mode&unix.S_ISGID != 0 {
		mode |= fs.ModeSetgid
	}
	if i.stat.Mode&unix.S_ISVTX != 0 {
		mode |= fs.ModeSticky
	}
	return mode
}
