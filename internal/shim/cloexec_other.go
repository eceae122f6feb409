//go:build !unix

package shim

import "syscall"

func closeOnExec(int) {}

var ownSession *syscall.SysProcAttr
