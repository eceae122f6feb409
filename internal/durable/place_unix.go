//go:build unix

package durable

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

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
