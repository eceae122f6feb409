//go:build unix

package gitx

import (
	"os"
	"syscall"
)

// openFlags keep a FIFO or a device in the place of a file from blocking us.
const openFlags = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOCTTY
