//go:build unix

package gitx

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// openFlags keep a FIFO or a device in the place of a file from blocking us.
const openFlags = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOCTTY

// folderFlags open a folder, and nothing that is put in its place.
const folderFlags = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_DIRECTORY | syscall.O_NOFOLLOW

// hold locks a folder that was made just now. ours is false where another process was faster; where
// folders cannot be locked it is ours, and held is nil.
func hold(dir string) (held *os.File, ours bool) {
	f, err := os.OpenFile(dir, folderFlags, 0)
	if err != nil {
		return nil, !errors.Is(err, fs.ErrNotExist)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil && same(f, dir) {
		return f, true
	}
	f.Close()
	return nil, err != nil && !errors.Is(err, syscall.EWOULDBLOCK)
}

// abandoned locks a folder of this user that nobody holds.
func abandoned(dir string) (held *os.File, left bool) {
	f, err := os.OpenFile(dir, folderFlags, 0)
	if err != nil {
		return nil, false
	}
	if info, err := f.Stat(); err == nil {
		owner, known := info.Sys().(*syscall.Stat_t)
		if known && int(owner.Uid) == os.Geteuid() && syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil && same(f, dir) {
			return f, true
		}
	}
	f.Close()
	return nil, false
}
