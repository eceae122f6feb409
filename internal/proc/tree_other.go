//go:build !linux

package proc

import (
	"os"
	"time"
)

// Tree is a command and, where the system has them, its process group. No one here
// inherits orphans: what leaves the group outlives the command unseen.
type Tree struct {
	cmd   *os.Process
	exit  Exit
	ended chan struct{}
}

// Adopt can do nothing on this system.
func Adopt() error { return nil }

// StartTree starts a command, in a process group of its own where there are any.
func StartTree(s Spec) (*Tree, error) {
	p, err := os.StartProcess(s.Path, s.Argv, &os.ProcAttr{Env: s.Env, Files: s.Files, Sys: ownGroup()})
	if err != nil {
		return nil, err
	}
	t := &Tree{cmd: p, ended: make(chan struct{})}
	go func() {
		defer close(t.ended)
		t.exit.Code = -1
		if state, err := p.Wait(); err == nil {
			t.exit = Exit{Code: state.ExitCode(), Signal: signalOf(state)}
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

// Ask asks the process group to stop. Without groups there is no way to ask, and the
// command is ended.
func (t *Tree) Ask() { ask(t.cmd) }

// Kill ends the process group.
func (t *Tree) Kill() { kill(t.cmd) }

// Sweep ends what is left of the process group after the command. It cannot say
// what that was, and what left the group it does not see.
func (t *Tree) Sweep(settle, grace time.Duration, now <-chan struct{}) []Process {
	<-t.ended
	deadline := time.Now().Add(grace)
	for left(t.cmd) && time.Now().Before(deadline) {
		select {
		case <-now:
			deadline = time.Time{}
		case <-time.After(20 * time.Millisecond):
		}
	}
	t.Kill()
	return nil
}
