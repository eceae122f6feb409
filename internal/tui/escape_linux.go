package tui

import (
	"os"
	"regexp"
	"time"

	"golang.org/x/sys/unix"
)

// EndAtEscape lets the Escape key end a line that is typed on a terminal, as Enter does,
// until restore is called. Everything else about the terminal stays as it is.
func EndAtEscape(tty *os.File) (restore func()) {
	return setTerminal(tty, func(t *unix.Termios) { t.Cc[unix.VEOL] = Escape })
}

// keyWithin is how soon what a key sends follows the Escape that it begins with.
const keyWithin = 50 * time.Millisecond

// AfterEscape tells whether an Escape that ended a line was the key itself. Another key
// sends more: what was typed after that is given back.
func AfterEscape(tty *os.File) (alone bool, typed []byte) {
	time.Sleep(keyWithin)
	// What is not a whole line yet can only be read while lines do not count.
	defer setTerminal(tty, func(t *unix.Termios) { t.Lflag &^= unix.ICANON })()
	n, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCINQ)
	if err != nil || n == 0 {
		return true, nil
	}
	sent := make([]byte, n)
	if n, err = unix.Read(int(tty.Fd()), sent); err != nil {
		return true, nil
	}
	return false, ofKey.ReplaceAll(sent[:max(n, 0)], nil)
}

// ofKey is what a key sends after an Escape.
var ofKey = regexp.MustCompile(`^(\[[0-?]*[ -/]*[@-~]|O?.)`)

// setTerminal changes how a terminal works until restore is called. What is no terminal
// stays as it is.
func setTerminal(tty *os.File, change func(*unix.Termios)) (restore func()) {
	was, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	if err != nil {
		return func() {}
	}
	now := *was
	change(&now)
	_ = unix.IoctlSetTermios(int(tty.Fd()), unix.TCSETS, &now)
	return func() { _ = unix.IoctlSetTermios(int(tty.Fd()), unix.TCSETS, was) }
}
