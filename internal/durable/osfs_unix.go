//go:build unix

package durable

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openNonblock keeps a FIFO in the place of a file from stopping us.
const openNonblock = unix.O_NONBLOCK | unix.O_NOCTTY

func infoOf(info fs.FileInfo) Info {
	out := Info{Name: info.Name(), Mode: info.Mode(), Size: info.Size(), ModTime: info.ModTime()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		out.Ino, out.Links, out.UID, out.GID = st.Ino, uint64(st.Nlink), st.Uid, st.Gid
	}
	return out
}

// keeps reports whether a file cannot even be replaced: it may not be changed, or nothing on
// its file system.
func keeps(err error) bool { return errors.Is(err, unix.EPERM) || errors.Is(err, unix.EROFS) }

// writeOnce is a single write(2); os.File.Write would continue after a short one
// and could leave a hole in the middle of a record.
func writeOnce(f *os.File, p []byte) (int, error) {
	for {
		n, err := unix.Write(int(f.Fd()), p)
		if err != unix.EINTR {
			return max(n, 0), err
		}
	}
}

func tryLock(f *os.File) (bool, error) {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch err {
		case nil:
			return true, nil
		case unix.EWOULDBLOCK:
			return false, nil
		case unix.EINTR:
			continue
		}
		return false, err
	}
}

func isFullErrno(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG)
}

// mayWrite tells why nothing can be made in a folder, nil if nothing is known against
// it.
func mayWrite(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }

func freeSpace(dir string) (bytes uint64, files uint64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, 0, &fs.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return uint64(st.Bavail) * uint64(st.Bsize), uint64(st.Ffree), nil
}

// excludes reports whether a lock on a folder keeps a second one away.
func excludes(dir string) (bool, error) {
	first, err := os.Open(dir)
	if err != nil {
		return false, err
	}
	defer first.Close()
	second, err := os.Open(dir)
	if err != nil {
		return false, err
	}
	defer second.Close()
	switch err := unix.Flock(int(first.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		return true, nil // someone else's keeps us away
	case errors.Is(err, unix.ENOLCK), errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EBADF):
		return false, nil
	case err != nil:
		return false, &fs.PathError{Op: "flock", Path: dir, Err: err}
	}
	return errors.Is(unix.Flock(int(second.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK), nil
}
