//go:build !unix

package proc

import (
	"os"
	"time"
)

// Tree is a command alone: on this system nothing it starts is seen.
type Tree struct {
	cmd   *os.Process
	exit  Exit
	ended chan struct{}
}

// Adopt can do nothing on this system.
func Adopt() error { return nil }

// StartTree starts a command.
func StartTree(s Spec) (*Tree, error) {
	p, err := os.StartProcess(s.Path, s.Argv, &os.ProcAttr{Env: s.Env, Files: s.Files})
	if err != nil {
		return nil, err
	}
	t := &Tree{cmd: p, ended: make(chan struct{})}
	go func() {
		defer close(t.ended)
		t.exit.Code = -1
		if state, err := p.Wait(); err == nil {
			t.exit.Code = state.ExitCode()
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

// Ask ends the command: there is no way to ask on this system.
func (t *Tree) Ask() { t.Kill() }

// Kill ends the command.
func (t *Tree) Kill() { _ = t.cmd.Kill() }

// Sweep waits for the command; what it started is not seen.
func (t *Tree) Sweep(settle, grace time.Duration, now <-chan struct{}) []Process {
	<-t.ended
	return nil
}
