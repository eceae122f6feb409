//go:build unix && !linux

package durable

import (
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

func openWay(*os.Root) (*os.File, error) { return nil, nil }

// atOnce can tell nothing here.
func (d *osFS) atOnce(string, uint64) (*os.File, error) { return nil, nil }

const lookFlags, folderFlags = 0, 0

// syncFile uses what the runtime does here: F_FULLFSYNC on macOS, which is the
// only call there that waits for the drive.
func syncFile(f *os.File) error {
	err := f.Sync()
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EINVAL) {
		err = unix.Fsync(int(f.Fd()))
	}
	return err
}

// syncFileSystem has no call of its own here; sync starts all writes and does
// not promise to wait for them.
func syncFileSystem(f *os.File) error {
	if err := unix.Sync(); err != nil {
		return err
	}
	return syncFile(f)
}

// fileSystemKind cannot tell here; locks are then trusted.
func fileSystemKind(string) (kind string, network bool, err error) { return "", false, nil }

func self() Holder {
	host, _ := os.Hostname()
	return Holder{Host: host, PID: os.Getpid(), Command: strings.Join(os.Args, " ")}
}
