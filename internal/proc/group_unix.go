//go:build unix

package proc

import (
	"errors"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// Group puts a command in a process group of its own and lets the end of its
// context kill all of it: for short questions to programs that may hang.
func Group(cmd *exec.Cmd) {
	cmd.SysProcAttr = ownGroup()
	cmd.Cancel = func() error {
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
}

func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// Foreground reports whether this process may use a terminal freely: it belongs to the
// group that the terminal listens to. One in the background is stopped when it reads from
// the terminal or changes how it works. True where that cannot be told, as for what is no
// terminal or not ours.
func Foreground(tty *os.File) bool {
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}
