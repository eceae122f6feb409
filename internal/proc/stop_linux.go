package proc

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Orphans finds what lives of attempts whose engine is dead: the processes that
// have one of these values as REPRISE_TOKEN in their environment, and all below
// them. Our own process and those above it are never among them. A process that
// cleared its environment and lost its parents is not seen: Holders finds it, if
// it did not close its files as well.
func Orphans(tokens ...string) []Process {
	tokens = slices.DeleteFunc(slices.Clone(tokens), func(token string) bool { return token == "" })
	if len(tokens) == 0 {
		return nil
	}
	t := system()
	return t.below(func(pid int, _ stat) bool { return slices.Contains(tokens, t.variable(pid, "REPRISE_TOKEN")) })
}

// variable is the value of a variable in the environment that a process was started
// with, "" if it has none or may not be examined.
func (t table) variable(pid int, name string) string {
	env, err := os.ReadFile(t.file(pid, "environ"))
	if err != nil {
		return ""
	}
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		if value, ok := bytes.CutPrefix(entry, []byte(name+"=")); ok {
			return string(value)
		}
	}
	return ""
}

// Adopted finds the processes that became ours because all above them ended:
// children of this process in a session other than its own that were started no
// earlier than since, and all below them. except tells which children we
// started in a session of their own ourselves. Those that have ended are
// collected.
func Adopted(since uint64, except func(pid int) bool) []Process {
	t, self := system(), os.Getpid()
	own, err := unix.Getsid(0)
	if err != nil {
		return nil
	}
	return t.below(func(pid int, s stat) bool {
		if s.parent != self || s.session == own || s.ticks < since || except(pid) {
			return false
		}
		if s.gone() {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG|unix.WALL, nil)
			return false
		}
		return true
	})
}

// below gives the live processes that are chosen, and all that have one of them
// above them. This process and those above it are not asked about and left out.
func (t table) below(chosen func(pid int, s stat) bool) []Process {
	all := map[int]stat{}
	for _, pid := range t.pids() {
		if s, err := t.read(pid); err == nil {
			all[pid] = s
		}
	}
	spared, in := t.above(), map[int]bool{}
	for pid, s := range all {
		in[pid] = !spared[pid] && chosen(pid, s)
	}
	for changed := true; changed; {
		changed = false
		for pid, s := range all {
			if !in[pid] && !spared[pid] && in[s.parent] {
				in[pid], changed = true, true
			}
		}
	}
	var out []Process
	for pid, s := range all {
		if in[pid] && !s.gone() {
			out = append(out, Process{PID: pid, Name: s.name, Command: ending(s.name, t.commandLine(pid, 16<<10)), StartTicks: s.ticks})
		}
	}
	slices.SortStableFunc(out, func(a, b Process) int { return a.PID - b.PID })
	return out
}

// ending shortens a command line to the name of its program and its end: what a wrapper
// runs stands behind what it prepares.
func ending(name, line string) string {
	const most = 150
	if len(line) <= most {
		return line
	}
	return name + " … " + strings.ToValidUTF8(line[len(line)-most:], "")
}

// send signals exactly this process, never a later one with its number.
func send(p Process, sig unix.Signal) error {
	fd, err := unix.PidfdOpen(p.PID, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	// The descriptor stands for one process, whichever; now it cannot change.
	if !there(p) {
		return unix.ESRCH
	}
	return unix.PidfdSendSignal(fd, sig, nil, 0)
}

// there reports whether the process still is.
func there(p Process) bool {
	s, err := system().read(p.PID)
	if errors.Is(err, fs.ErrPermission) {
		return true
	}
	return err == nil && s.ticks == p.StartTicks && !s.gone()
}

// Stop asks the processes to stop, kills those that are there after grace, and
// returns those that are left in spite of it: of another user, or stuck in the
// kernel. Each is signalled only if it still is the one that was found. Our own
// process and those above it are never touched.
func Stop(grace time.Duration, found ...Process) (left []Process) {
	spared := system().above()
	found = slices.DeleteFunc(slices.Clone(found), func(p Process) bool { return spared[p.PID] || p.StartTicks == 0 })
	for _, p := range found {
		_ = send(p, unix.SIGTERM)
		_ = send(p, unix.SIGCONT)
	}
	if left = remaining(found, grace); len(left) == 0 {
		return nil
	}
	for _, p := range left {
		_ = send(p, unix.SIGKILL)
	}
	return remaining(left, 2*time.Second)
}

// remaining waits until none of the processes is there any more. Those that
// are our own children are collected.
func remaining(ps []Process, d time.Duration) []Process {
	deadline := time.Now().Add(d)
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		ps = slices.DeleteFunc(slices.Clone(ps), func(p Process) bool {
			if there(p) {
				return false
			}
			if s, err := system().read(p.PID); err == nil && s.ticks == p.StartTicks && s.parent == os.Getpid() {
				_, _ = unix.Wait4(p.PID, nil, unix.WNOHANG|unix.WALL, nil)
			}
			return true
		})
		if len(ps) == 0 || !time.Now().Before(deadline) {
			return ps
		}
		time.Sleep(pause)
	}
}
