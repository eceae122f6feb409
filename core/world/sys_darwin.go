package world

import (
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// changed gives when a file was changed last, by the clock that nobody can set back.
func changed(path string) time.Time {
	info, err := os.Lstat(path)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(sys(info).Ctimespec.Unix())
}

func inode(info fs.FileInfo) uint64 { return sys(info).Ino }

func sys(info fs.FileInfo) *syscall.Stat_t {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st
	}
	return &syscall.Stat_t{}
}

// swap exchanges two files at once. File systems that cannot give an error.
func swap(a, b string) error { return unix.RenamexNp(a, b, unix.RENAME_SWAP) }

func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
