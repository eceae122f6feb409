//go:build unix && !linux

package proc

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func signalOf(state *os.ProcessState) string {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return unix.SignalName(status.Signal())
	}
	return ""
}

func ask(p *os.Process) {
	_ = unix.Kill(-p.Pid, unix.SIGTERM)
	_ = unix.Kill(-p.Pid, unix.SIGCONT)
}

func kill(p *os.Process) { _ = unix.Kill(-p.Pid, unix.SIGKILL) }

// left asks what is left of the group to stop, and reports whether there is any.
func left(p *os.Process) bool { return unix.Kill(-p.Pid, unix.SIGTERM) == nil }
