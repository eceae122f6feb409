//go:build unix

package gitx

import (
	"io/fs"
	"os"
	"syscall"
)

func lookExecutable(file string) (string, error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	if info.IsDir() || info.Mode()&0o111 == 0 {
		return "", fs.ErrPermission
	}
	return file, nil
}

// openFlags keep a FIFO or a device in the place of a file from blocking us.
const openFlags = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOCTTY
