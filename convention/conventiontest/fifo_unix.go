//go:build unix

package conventiontest

import "syscall"

// mkfifo makes a FIFO, which a careless reader waits for.
func mkfifo(path string) error { return syscall.Mkfifo(path, 0o644) }
