//go:build unix

package shim

import "syscall"

func closeOnExec(fd int) { syscall.CloseOnExec(fd) }

// ownSession keeps the signals of a terminal, and the terminal itself, from the
// attempt.
var ownSession = &syscall.SysProcAttr{Setsid: true}
