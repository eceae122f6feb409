package cli

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// If the reader of our output is gone, as in `reprise run x
//
// head -1`, the system ends a program that keeps writing. For a command that only reads,
// that is right, and quiet. For one that changes something it is not: an attempt would be
// cut off in the middle, as by a crash.
//
// Work is then stopped as by Ctrl-C, recorded, and ends with exitUnread: as with every
// program in a pipe, a reader that leaves wants no more, and no one would see what is
// asked or spent. To let it continue, write to a file. Changes by `repair`, `clean` and
// `undo` are completed: they were agreed to as a whole.

// outlive lets the process survive when no one reads its output; unread is then closed.
// It applies for the rest of the process.
func (a *app) outlive() {
	if a.unread != nil {
		return
	}
	a.unread = make(chan struct{})
	gone := sync.OnceFunc(func() { close(a.unread) })
	// Being notified of the signal keeps it from ending us. Ignoring it would do so for
	// the agents as well, which inherit ignored signals. The signal does not say whose
	// pipe is closed (it may be an agent's standard input), so no one listens.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	a.out, a.err = a.heard(a.out, gone), a.heard(a.err, gone)
}

// heard calls gone when the reader of w is gone. A terminal does not count: its end is a
// hang-up.
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

// outlet is an output that may be closed at the other end, or lead to a full disk.
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
	case <-a.unread: // nil, and never ready, if we do not outlive it
		return true
	default:
		return false
	}
}
