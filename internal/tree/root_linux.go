package tree

import (
	"errors"
	"io/fs"
	"os"
	"path"

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
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	return f.Stat()
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
	return regular(os.NewFile(uintptr(fd), name), name)
}

func (r beneathRoot) stat(name string) (fs.FileInfo, string, error) {
	fd, real, err := r.reach("stat", name, unix.O_PATH)
	if err != nil {
		return nil, "", err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	info, err := f.Stat()
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
