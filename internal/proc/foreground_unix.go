//go:build unix

package proc

import (
	"os"

	"golang.org/x/sys/unix"
)

// Foreground reports whether this process may use a terminal freely: it belongs to the
// group that the terminal listens to. One in the background is stopped when it reads from
// the terminal or changes how it works. True where that cannot be told, as for what is no
// terminal or not ours.
func Foreground(tty *os.File) bool {
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}
