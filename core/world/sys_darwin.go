package world

import (
	"errors"
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

func device(info fs.FileInfo) uint64 { return uint64(sys(info).Dev) }

// Boot names the time since the machine was started, and gives when that was.
func Boot() (id string, at time.Time) {
	id, _ = unix.Sysctl("kern.bootsessionuuid")
	if tv, err := unix.SysctlTimeval("kern.boottime"); err == nil {
		at = time.Unix(tv.Unix())
	}
	return id, at
}

// syncAll makes durable all that was written to a file system: the writes are begun, and the
// drive is waited for.
func syncAll(f *os.File) error { return errors.Join(unix.Sync(), f.Sync()) }
