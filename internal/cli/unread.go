package cli

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// Where the reader of our output is gone, as in `reprise run x | head -1`, the
// system ends a program that writes on. For a command that only looks that is right,
// and quiet. It is not for one that changes something: an attempt would be cut off
// in the middle, as by a crash.
//
// Work is stopped then as Ctrl-C stops it, recorded, and ends with exitUnread: as
// with every program in a pipe, who takes no more wants no more, and no one would see
// what is asked or spent. To let it continue, write to a file. What is about
// to be changed by `repair`, `clean` and `undo` is changed completely: it was agreed
// to as a whole.

// outlive lets the process live on when no one reads what it writes; unread is closed
// then. It counts for the rest of the process.
func (a *app) outlive() {
	if a.unread != nil {
		return
	}
	a.unread = make(chan struct{})
	gone := sync.OnceFunc(func() { close(a.unread) })
	// To be told of the signal keeps it from ending us; to ignore it would do that
	// for the agents as well, which inherit what is ignored. It says nothing of whose
	// pipe is closed, an agent's standard input perhaps, so no one listens.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	a.out, a.err = a.heard(a.out, gone), a.heard(a.err, gone)
}

// heard calls gone when the reader of w is gone. A terminal stays what it is:
// its end is a hang-up.
func (a *app) heard(w io.Writer, gone func()) io.Writer {
	if _, is := a.terminal(w); is {
		return w
	}
	return &outlet{w: w, lost: func(err error) {
		if errors.Is(err, syscall.EPIPE) {
			gone()
		}
	}}
}

// outlet is a way out that may be closed at its other end, or lead to a full disk.
type outlet struct {
	w    io.Writer
	lost func(error) // called with every error
}

// Write implements io.Writer.
func (o *outlet) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err != nil {
		o.lost(err)
	}
	return n, err
}

// lostError says that our output could not be written.
type lostError struct{ error }

// Error implements error.
func (e *lostError) Error() string { return "write the output: " + e.error.Error() }

// Unwrap gives the cause.
func (e *lostError) Unwrap() error { return e.error }

// Hint says what a person can do.
func (e *lostError) Hint() string {
	return "free some space or write it elsewhere, and run it again; what was done is on record"
}

// isUnread reports whether the reader of our output is gone.
func (a *app) isUnread() bool {
	select {
	case <-a.unread: // nil, and never ready, where we do not outlive it
		return true
	default:
		return false
	}
}
