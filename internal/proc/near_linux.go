package proc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const unseen = "only the processes of our own pid namespace can be seen from here"

// Working lists the processes whose working folder is one of these or below.
// The folders are compared as the kernel knows them, links resolved.
func Working(dirs ...string) Workers { return system().working(dirs) }

func (t table) working(dirs []string) Workers {
	var out Workers
	if !t.seesAll() {
		out.Blind = unseen
	}
	above := t.above()
	boot := t.bootTime()
	out.Booted = boot
	for _, pid := range t.pids() {
		// Most work elsewhere, which costs a tenth of what asking for the rest does.
		cwd, err := os.Readlink(t.file(pid, "cwd"))
		hidden := errors.Is(err, os.ErrPermission)
		if !hidden && (err != nil || !inAny(cwd, dirs)) {
			continue
		}
		s, err := t.read(pid)
		if err != nil || s.gone() {
			continue
		}
		p := Process{PID: pid, Name: s.name, StartTicks: s.ticks}
		if hidden {
			out.Hidden = append(out.Hidden, p)
			continue
		}
		p.Command = t.commandLine(pid, 16<<10)
		w := Worker{Process: p, Dir: cwd, Parent: s.parent, Detached: s.session == pid && s.tty == 0, Above: above[pid]}
		if !boot.IsZero() {
			w.Started = s.started(boot)
		}
		out.Found = append(out.Found, w)
	}
	slices.SortStableFunc(out.Found, func(a, b Worker) int { return a.PID - b.PID })
	return out
}

// above are this process and those it was started from.
func (t table) above() map[int]bool {
	out := map[int]bool{}
	for pid := os.Getpid(); pid > 0 && !out[pid]; {
		out[pid] = true
		s, err := t.read(pid)
		if err != nil {
			break
		}
		pid = s.parent
	}
	return out
}

// IsAbove reports whether a process is this one or one it was started from.
func IsAbove(pid int) bool { return system().above()[pid] }

// LockOf tells whether someone holds a lock on a file, by the kernel's list of
// locks: nothing is opened, and no one who tries for it meanwhile is turned
// away. Where the list may lack it, the lock is tried as well, for an instant:
// from inside a pid namespace, and where there are many locks. The kernel hands
// the list out by the page, and a lock slips past when one before it is released
// between two pages.
func LockOf(file string) (Lock, error) { return system().lockOf(file) }

func (t table) lockOf(file string) (Lock, error) {
	var info unix.Stat_t
	if err := unix.Stat(file, &info); err != nil {
		return Lock{}, &os.PathError{Op: "stat", Path: file, Err: err}
	}
	list, err := os.ReadFile(filepath.Join(t.root, "locks"))
	if err != nil {
		return Lock{Blind: "the locks of this system cannot be seen"}, nil
	}
	device := fmt.Sprintf("%02x:%02x:", unix.Major(uint64(info.Dev)), unix.Minor(uint64(info.Dev)))
	for line := range strings.Lines(string(list)) {
		// 1: FLOCK  ADVISORY  WRITE 9052 fe:00:10298428 0 EOF
		f := strings.Fields(line)
		if len(f) < 6 || f[1] == "->" {
			continue
		}
		at := strings.LastIndexByte(f[5], ':')
		if at < 0 || f[5][at+1:] != strconv.FormatUint(info.Ino, 10) {
			continue
		}
		pid, _ := strconv.Atoi(f[4])
		if f[5][:at+1] == device {
			return Lock{Held: true, PID: max(pid, 0)}, nil
		}
		// Some file systems have another device number in the list.
		return Lock{Blind: fmt.Sprintf("process %d holds a lock on a file with this number, perhaps on another disk", pid)}, nil
	}
	if t.seesAll() && len(list) < os.Getpagesize() {
		return Lock{}, nil
	}
	return tryLock(file)
}

// commandLine is the command line of a process, at most so many bytes of it.
func (t table) commandLine(pid, most int) string {
	f, err := os.Open(t.file(pid, "cmdline"))
	if err != nil {
		return ""
	}
	defer f.Close()
	b := make([]byte, most)
	n, _ := f.Read(b)
	return string(bytes.TrimSpace(bytes.ReplaceAll(b[:n], []byte{0}, []byte{' '})))
}
