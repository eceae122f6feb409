package cli_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// console is a program on a terminal of its own, as a person would have it.
type console struct {
	t             *testing.T
	columns, rows int
	master        *os.File
	cmd           *exec.Cmd
	mu            sync.Mutex
	out           bytes.Buffer
	read          chan struct{}
}

// onTerminal starts the program in dir on a terminal of this size.
func onTerminal(t *testing.T, dir string, columns, rows int, env []string, args ...string) *console {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return commandOnTerminal(t, dir, columns, rows, env, exec.Command(self, args...))
}

// commandOnTerminal starts a command that starts the program.
func commandOnTerminal(t *testing.T, dir string, columns, rows int, env []string, cmd *exec.Cmd) *console {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals can be made here: %v", err)
	}
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(rows), Col: uint16(columns)}); err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals can be made here: %v", err)
	}
	defer tty.Close()
	c := &console{t: t, columns: columns, rows: rows, master: master, cmd: cmd, read: make(chan struct{})}
	c.cmd.Dir = dir
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = tty, tty, tty
	c.cmd.Env = append([]string{"REPRISE_TEST_PROGRAM=1", "TERM=xterm-256color", "PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_GLOBAL=" + os.DevNull}, env...)
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.read)
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			c.mu.Lock()
			c.out.Write(buf[:n])
			c.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		c.cmd.Process.Kill()
		c.cmd.Process.Wait()
		master.Close()
	})
	return c
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;?$]*[a-zA-Z]|\x1b[=>]|\x1b\\][^\x07]*\x07|\r")

var (
	escape    = regexp.MustCompile("^\x1b\\[[0-9;?$<>=]*[a-zA-Z]")
	title     = regexp.MustCompile("^\x1b(\\][^\x07]*\x07|[=>])")
	cutEscape = regexp.MustCompile("^\x1b(\\[[0-9;?$<>=]*|\\][^\x07]*)?$")
)

// patience is how long something may take on the busiest machine before a test says what
// it waited for in vain.
const patience = 5 * time.Minute

// text is everything shown so far without escapes.
func (c *console) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return escapes.ReplaceAllString(c.out.String(), "")
}

// raw is everything shown so far.
func (c *console) raw() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.String()
}

// lines are what is to be read on the terminal now, those that were scrolled away too.
// It knows the escapes that the live view and the picker use.
func (c *console) lines() []string {
	var screen [][]rune
	top, row, column := 0, 0, 0
	put := func(r rune) {
		for len(screen) <= row {
			screen = append(screen, nil)
		}
		for len(screen[row]) <= column {
			screen[row] = append(screen[row], ' ')
		}
		screen[row][column] = r
	}
	for raw := c.raw(); raw != ""; {
		if esc := escape.FindString(raw); esc != "" {
			raw = raw[len(esc):]
			n := 1
			fmt.Sscanf(strings.TrimLeft(esc, "\x1b["), "%d", &n)
			switch esc[len(esc)-1] {
			case 'A':
				row = max(top, row-n)
			case 'B':
				row += n
			case 'C':
				column += n
			case 'D':
				column = max(0, column-n)
			case 'G':
				column = n - 1
			case 'J', 'K':
				if len(screen) > row {
					screen[row] = screen[row][:min(column, len(screen[row]))]
					if esc[len(esc)-1] == 'J' {
						screen = screen[:row+1]
					}
				}
			case 'X':
				for i := range n {
					if len(screen) > row && column+i < len(screen[row]) {
						screen[row][column+i] = ' '
					}
				}
			case 'Z': // back to a tab stop
				for range n {
					column = max(0, column-1) / 8 * 8
				}
			case 'P':
				if len(screen) > row && column < len(screen[row]) {
					screen[row] = slices.Delete(screen[row], column, min(column+n, len(screen[row])))
				}
			case '@':
				if len(screen) > row && column < len(screen[row]) {
					screen[row] = slices.Insert(screen[row], column, slices.Repeat([]rune{' '}, n)...)
				}
			case 'L': // what is pushed below the last line is gone
				if len(screen) > row {
					screen = slices.Insert(screen, row, make([][]rune, n)...)
					screen = screen[:min(len(screen), top+c.rows)]
				}
			case 'M':
				if len(screen) > row {
					screen = slices.Delete(screen, row, min(row+n, len(screen)))
				}
			case 'm', 'h', 'l', 'u', 'p', 'W':
			default:
				c.t.Fatalf("an escape that is not known: %q", esc)
			}
			continue
		}
		r, n := utf8.DecodeRuneInString(raw)
		switch {
		case r == utf8.RuneError || cutEscape.MatchString(raw):
			n = len(raw) // the rest of it is not here yet
		case title.MatchString(raw):
			n = len(title.FindString(raw))
		case strings.HasPrefix(raw, "\x1bM"):
			row, n = max(top, row-1), 2
		case r == '\r':
			column = 0
		case r == '\n':
			row++
			if row-top >= c.rows {
				top++
			}
		case r == '\t':
			column = (column/8 + 1) * 8
		case r == '\b':
			column = max(0, column-1)
		case r < ' ':
			c.t.Fatalf("a control character that is not known: %q", raw[:min(20, len(raw))])
		default:
			if column == c.columns {
				row, column = row+1, 0
			}
			put(r)
			column++
		}
		raw = raw[n:]
	}
	var out []string
	for _, l := range screen {
		out = append(out, strings.TrimRight(string(l), " "))
	}
	return out
}

// waitFor waits until a text is shown. Only what changes of a line is drawn, so a text may
// be on the screen and never have been printed in one piece.
func (c *console) waitFor(want string) {
	c.t.Helper()
	c.wait(func() bool {
		return strings.Contains(c.text(), want) || strings.Contains(strings.Join(c.lines(), "\n"), want)
	}, want)
}

// wait waits until something holds of what is shown, while the program is there.
func (c *console) wait(holds func() bool, want string) {
	c.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		ended := false
		select {
		case <-c.read:
			ended = true
		default:
		}
		switch {
		case holds():
			return
		case ended || time.Now().After(deadline):
			c.t.Fatalf("never shown: %q\n%s", want, strings.Join(c.lines(), "\n"))
		}
	}
}

// send types.
func (c *console) send(keys string) {
	c.t.Helper()
	if _, err := io.WriteString(c.master, keys); err != nil {
		c.t.Fatal(err)
	}
}

// resize changes the size of the terminal.
func (c *console) resize(columns, rows int) {
	c.t.Helper()
	if err := unix.IoctlSetWinsize(int(c.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(rows), Col: uint16(columns)}); err != nil {
		c.t.Fatal(err)
	}
}

// end waits until the program is gone and gives its exit code.
func (c *console) end() int {
	c.t.Helper()
	var exit *exec.ExitError
	defer time.AfterFunc(patience, func() { c.cmd.Process.Kill() }).Stop()
	if err := c.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		c.t.Fatal(err)
	}
	<-c.read
	return c.cmd.ProcessState.ExitCode()
}

// eventually waits until something holds.
func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain")
		}
	}
}
