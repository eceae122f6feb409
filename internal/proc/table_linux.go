package proc

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// table is the process table as /proc shows it. Tests put a folder of their own
// in its place.
type table struct {
	root   string // "/proc"
	host   string
	exists func(pid int) error // nil, ESRCH, or EPERM: there, but another's
}

func system() table {
	host, _ := os.Hostname()
	return table{root: "/proc", host: host, exists: func(pid int) error { return syscall.Kill(pid, 0) }}
}

// file is the path of something that is told about a process.
func (t table) file(pid int, name ...string) string {
	return filepath.Join(t.root, strconv.Itoa(pid), filepath.Join(name...))
}

// initialNamespace is the fixed number of the first pid namespace
// (PROC_PID_INIT_INO). A process in it sees every process of the machine.
const initialNamespace = "pid:[4026531836]"

func (t table) seesAll() bool {
	ns, err := os.Readlink(filepath.Join(t.root, "self", "ns", "pid"))
	return err == nil && ns == initialNamespace
}

func (t table) bootID() string {
	b, _ := os.ReadFile(filepath.Join(t.root, "sys", "kernel", "random", "boot_id")) // "" where it is not told
	return strings.TrimSpace(string(b))
}

// bootTime is when the machine was started, by today's clock; zero if unknown.
func (t table) bootTime() time.Time {
	b, _ := os.ReadFile(filepath.Join(t.root, "stat")) // nothing is found in nothing
	for line := range bytes.Lines(b) {
		if rest, ok := bytes.CutPrefix(line, []byte("btime ")); ok {
			if n, err := strconv.ParseInt(string(bytes.TrimSpace(rest)), 10, 64); err == nil {
				return time.Unix(n, 0)
			}
		}
	}
	return time.Time{}
}

// ticksPerSecond is USER_HZ, which is 100 on every Linux that Go runs on.
const ticksPerSecond = 100

// stat is what /proc/PID/stat says.
type stat struct {
	name    string
	state   byte
	threads int
	ticks   uint64

	parent, group, session, tty int
}

func (s stat) started(boot time.Time) time.Time {
	return boot.Add(time.Duration(s.ticks) * (time.Second / ticksPerSecond))
}

// gone reports a process that has ended and only waits for its parent. A
// leader that has ended while other threads continue has the same letter.
func (s stat) gone() bool {
	return (s.state == 'Z' || s.state == 'X' || s.state == 'x') && s.threads <= 1
}

// read looks a process up. The error is fs.ErrNotExist if there is none, and
// fs.ErrPermission if there is one that may not be examined.
func (t table) read(pid int) (stat, error) {
	b, err := os.ReadFile(t.file(pid, "stat"))
	if err == nil {
		return parseStat(b)
	}
	// With hidepid the folder of another user's process is not there.
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		switch err := t.exists(pid); {
		case err == nil, errors.Is(err, syscall.EPERM):
			return stat{}, fs.ErrPermission
		case errors.Is(err, syscall.ESRCH):
			return stat{}, fs.ErrNotExist
		}
	}
	return stat{}, err
}

// parseStat reads the line of /proc/PID/stat. The name stands in brackets and
// may itself hold brackets, spaces and line breaks: the last bracket counts.
func parseStat(b []byte) (stat, error) {
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || end < open {
		return stat{}, fmt.Errorf("process line %.40q is not understood", b)
	}
	f := bytes.Fields(b[end+1:])
	const state, parent, threads, start = 0, 1, 17, 19 // fields 3, 4 and on, 20 and 22 of proc(5)
	if len(f) <= start || len(f[state]) != 1 {
		return stat{}, fmt.Errorf("process line %.40q is not understood", b)
	}
	ticks, err := strconv.ParseUint(string(f[start]), 10, 64)
	if err != nil {
		return stat{}, fmt.Errorf("process line %.40q: %w", b, err)
	}
	s := stat{name: string(b[open+1 : end]), state: f[state][0], ticks: ticks}
	for i, n := range map[int]*int{threads: &s.threads, parent: &s.parent, parent + 1: &s.group, parent + 2: &s.session, parent + 3: &s.tty} {
		if *n, err = strconv.Atoi(string(f[i])); err != nil {
			return stat{}, fmt.Errorf("process line %.40q: %w", b, err)
		}
	}
	return s, nil
}

// pids lists the processes that can be seen.
func (t table) pids() []int {
	dir, err := os.Open(t.root)
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var out []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && pid > 0 {
			out = append(out, pid)
		}
	}
	return out
}

// innerPID is the pid a process has in its own namespace, the last of NSpid.
func (t table) innerPID(pid int) (inner int, nested bool) {
	b, err := os.ReadFile(t.file(pid, "status"))
	if err != nil {
		return 0, false
	}
	for line := range bytes.Lines(b) {
		if rest, ok := bytes.CutPrefix(line, []byte("NSpid:")); ok {
			f := bytes.Fields(rest)
			if len(f) < 2 {
				return 0, false
			}
			n, err := strconv.Atoi(string(f[len(f)-1]))
			return n, err == nil
		}
	}
	return 0, false
}

// Self identifies this process.
func Self() (Identity, error) { return Of(os.Getpid()) }

// Running identifies a process of this machine that has not ended: to it, one
// that only waits to be collected is not there. The error is fs.ErrNotExist if
// there is none.
func Running(pid int) (Identity, error) {
	s, err := system().read(pid)
	if err == nil && s.gone() {
		err = fs.ErrNotExist
	}
	if err != nil {
		return Identity{}, fmt.Errorf("identify process %d: %w", pid, err)
	}
	return Of(pid)
}

// Of identifies a process of this machine. The error is fs.ErrNotExist if there
// is none.
func Of(pid int) (Identity, error) {
	t := system()
	s, err := t.read(pid)
	if err != nil {
		return Identity{}, fmt.Errorf("identify process %d: %w", pid, err)
	}
	id := Identity{Host: t.host, BootID: t.bootID(), PID: pid, StartTicks: s.ticks}
	id.Namespace, _ = os.Readlink(t.file(pid, "ns", "pid"))
	return id, nil
}
