//go:build unix

package proc

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock takes a lock that others may have too, and lets go at once.
func tryLock(file string) (Lock, error) {
	f, err := os.Open(file)
	if err != nil {
		return Lock{}, err
	}
	defer f.Close()
	switch err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		return Lock{Held: true}, nil
	case err != nil:
		return Lock{Blind: "the lock cannot be tried: " + err.Error()}, nil
	}
	return Lock{}, unix.Flock(int(f.Fd()), unix.LOCK_UN)
}
