package proc

import (
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Tree is a command and everything it starts, at whatever depth and in whatever
// session: what loses its parent becomes a child of this process, so that
// nothing gets away.
type Tree struct {
	pid  int
	exit Exit

	ended chan struct{} // the command itself has ended
	empty chan struct{} // and nothing of it is left

	left []Process
}

// Adopt makes this process the one that inherits the orphans among its
// descendants.
func Adopt() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// StartTree starts a command in a process group of its own. The process that
// calls it must have no other children: it collects every child there is. If it
// dies, the command is killed by the kernel; what the command started is not.
func StartTree(s Spec) (*Tree, error) {
	if err := Adopt(); err != nil {
		return nil, os.NewSyscallError("prctl", err)
	}
	files := make([]uintptr, len(s.Files))
	for i, f := range s.Files {
		files[i] = f.Fd()
	}
	t := &Tree{ended: make(chan struct{}), empty: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// The kernel sends the death signal when the thread that forked ends:
		// it must live as long as this process.
		runtime.LockOSThread()
		pid, err := syscall.ForkExec(s.Path, s.Argv, &syscall.ProcAttr{
			Env: s.Env, Files: files,
			Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
		})
		t.pid = pid
		started <- err
		if err == nil {
			t.collect()
			select {}
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return t, nil
}

// collect waits for every child until there is none: then no descendant is left
// either, because each would have one of our children above it.
func (t *Tree) collect() {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WALL, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			close(t.empty)
			return
		case pid == t.pid && (status.Exited() || status.Signaled()):
			t.exit.Code = status.ExitStatus()
			if status.Signaled() {
				t.exit.Signal = unix.SignalName(status.Signal())
			}
			close(t.ended)
		}
	}
}

// PID is the command's own.
func (t *Tree) PID() int { return t.pid }

// Ended is closed when the command itself has ended; Exit then says how.
func (t *Tree) Ended() <-chan struct{} { return t.ended }

// Exit says how the command ended.
func (t *Tree) Exit() Exit { return t.exit }

// Ask asks the command and its process group to stop.
func (t *Tree) Ask() { t.group(unix.SIGTERM); t.group(unix.SIGCONT) }

// Kill ends the command and its process group; the rest is Sweep's.
func (t *Tree) Kill() { t.group(unix.SIGKILL) }

func (t *Tree) group(sig unix.Signal) {
	select {
	case <-t.ended: // its number may be another's by now
	default:
		_ = unix.Kill(-t.pid, sig)
	}
}

// Sweep ends everything that outlived the command and returns what that was,
// once nothing is left. What ends by itself within settle is not counted; then
// all are asked to stop, and killed after grace or as soon as now is closed.
func (t *Tree) Sweep(settle, grace time.Duration, now <-chan struct{}) []Process {
	<-t.ended
	if t.within(settle, now) {
		return nil
	}
	t.signal(unix.SIGTERM, unix.SIGCONT)
	t.within(grace, now)
	for pause := 2 * time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		if t.within(0, nil) {
			return t.left
		}
		t.signal(unix.SIGKILL)
		t.within(pause, nil)
	}
}

// within waits until nothing is left and reports whether that came to pass.
func (t *Tree) within(d time.Duration, now <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-t.empty:
		return true
	case <-timer.C:
	case <-now:
	}
	select {
	case <-t.empty:
		return true
	default:
		return false
	}
}

// signal sends to every descendant there is now, and remembers them.
func (t *Tree) signal(signals ...unix.Signal) {
	table := system()
	self, own := os.Getpid(), unix.Getpgrp()
	groups := map[int]bool{}
	for _, p := range table.below(func(_ int, s stat) bool { return s.parent == self }) {
		if s, err := table.read(p.PID); err == nil {
			groups[s.group] = true
		}
		t.remember(p)
		for _, sig := range signals {
			_ = send(p, sig)
		}
	}
	// One that forks faster than the table can be read is reached by its group,
	// which the kernel signals as a whole. A group with one of ours in it has
	// only ours, as long as it is not the one we are in ourselves.
	if signals[0] != unix.SIGKILL {
		return
	}
	for group := range groups {
		if group > 1 && group != own && ownSession() {
			_ = unix.Kill(-group, unix.SIGKILL)
		}
	}
}

// ownSession reports whether we lead our session, so that no group in it has
// members that are not our descendants.
func ownSession() bool {
	sid, err := unix.Getsid(0)
	return err == nil && sid == os.Getpid()
}

func (t *Tree) remember(p Process) {
	const most = 64 // for people: more names tell nothing more
	for _, old := range t.left {
		if old.PID == p.PID && old.StartTicks == p.StartTicks {
			return
		}
	}
	if len(t.left) < most {
		t.left = append(t.left, p)
	}
}
