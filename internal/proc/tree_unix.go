//go:build unix && !linux

package proc

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Tree is a command and its process group. On this system nobody inherits
// orphans: what leaves the group outlives the command unseen.
type Tree struct {
	cmd   *os.Process
	exit  Exit
	ended chan struct{}
}

// Adopt can do nothing on this system.
func Adopt() error { return nil }

// StartTree starts a command in a process group of its own.
func StartTree(s Spec) (*Tree, error) {
	p, err := os.StartProcess(s.Path, s.Argv, &os.ProcAttr{Env: s.Env, Files: s.Files, Sys: &syscall.SysProcAttr{Setpgid: true}})
	if err != nil {
		return nil, err
	}
	t := &Tree{cmd: p, ended: make(chan struct{})}
	go func() {
		defer close(t.ended)
		state, err := p.Wait()
		if err != nil {
			t.exit.Code = -1
			return
		}
		t.exit.Code = state.ExitCode()
		if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			t.exit.Signal = unix.SignalName(status.Signal())
		}
	}()
	return t, nil
}

// PID is the command's own.
func (t *Tree) PID() int { return t.cmd.Pid }

// Ended is closed when the command itself has ended; Exit then says how.
func (t *Tree) Ended() <-chan struct{} { return t.ended }

// Exit says how the command ended.
func (t *Tree) Exit() Exit { return t.exit }

// Ask asks the process group to stop.
func (t *Tree) Ask() {
	_ = unix.Kill(-t.cmd.Pid, unix.SIGTERM)
	_ = unix.Kill(-t.cmd.Pid, unix.SIGCONT)
}

// Kill ends the process group.
func (t *Tree) Kill() { _ = unix.Kill(-t.cmd.Pid, unix.SIGKILL) }

// Sweep ends what is left of the process group after the command. It cannot say
// what that was, and what left the group it does not see.
func (t *Tree) Sweep(settle, grace time.Duration, now <-chan struct{}) []Process {
	<-t.ended
	deadline := time.Now().Add(grace)
	for unix.Kill(-t.cmd.Pid, unix.SIGTERM) == nil && time.Now().Before(deadline) {
		select {
		case <-now:
			deadline = time.Time{}
		case <-time.After(20 * time.Millisecond):
		}
	}
	t.Kill()
	return nil
}
