package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"reprise"
)

var (
	// ErrNoLease is returned by whatever changes the disk if the lease was not taken.
	ErrNoLease = errors.New("the lease of this project is not held")
	// ErrFenced is the cause when the lock or the log was replaced or changed by
	// someone else while we held the lease. Nothing more is written.
	ErrFenced error = fenced{}
	// ErrPoisoned is the cause of every refusal after a failed operation.
	ErrPoisoned = errors.New("an earlier write failed")
	// ErrTooLarge is returned for what exceeds a documented limit.
	ErrTooLarge = errors.New("too large")
	// ErrClosed is returned after Release.
	ErrClosed = errors.New("the store was released")
)

// fenced is ErrFenced.
type fenced struct{}

// Error implements error.
func (fenced) Error() string { return "the lock or the log was changed or replaced under us" }

// Hint says what a person can do.
func (fenced) Hint() string {
	return "something changed, removed or replaced files in " + StateDir + " while the work was under way; when it is gone, `reprise check` shows what that left"
}

// NotRegularError tells that a file is none: a link, a FIFO, a device, a folder.
type NotRegularError struct {
	Path string
	Mode fs.FileMode
}

// Error implements error.
func (e *NotRegularError) Error() string {
	return fmt.Sprintf("open %s: it is a %s, not a regular file", e.Path, kindOf(e.Mode))
}

// Hint says what a person can do.
func (e *NotRegularError) Hint() string { return "put a regular file in its place" }

func kindOf(m fs.FileMode) string {
	switch {
	case m&fs.ModeSymlink != 0:
		return "symbolic link"
	case m.IsDir():
		return "folder"
	case m&fs.ModeNamedPipe != 0:
		return "FIFO"
	case m&fs.ModeSocket != 0:
		return "socket"
	case m&fs.ModeDevice != 0:
		return "device"
	}
	return "file of an unknown kind"
}

// PoisonedError is returned by everything that writes after one operation
// failed: a page that could not be written may be gone, and a later success
// would hide it. It lasts for the life of the Store; open a new one.
type PoisonedError struct {
	Op    string // what failed first
	Cause error
}

// Error implements error.
func (e *PoisonedError) Error() string { return fmt.Sprintf("%s: %v", e.Op, e.Cause) }

// Unwrap gives the cause and ErrPoisoned.
func (e *PoisonedError) Unwrap() []error { return []error{e.Cause, ErrPoisoned} }

// Hint says what a person can do.
func (e *PoisonedError) Hint() string {
	if IsFull(e.Cause) {
		return "make room on the disk and start again; nothing that was reported as done is lost"
	}
	if errors.Is(e.Cause, ErrFenced) {
		return fenced{}.Hint()
	}
	return "find out why it could not be written, then start again; nothing that was reported as done is lost"
}

// HeldError tells who holds the lease.
type HeldError struct {
	Path   string
	Holder Holder // zero where the lock's body says nothing
}

// Error implements error.
func (e *HeldError) Error() string {
	if e.Holder.PID == 0 {
		return fmt.Sprintf("take the lease %s: it is held", e.Path)
	}
	return fmt.Sprintf("take the lease %s: held by %s", e.Path, e.Holder)
}

// Hint says what a person can do.
func (e *HeldError) Hint() string {
	return "wait for it, or stop that process; `reprise status` tells what it works on; if it is gone, a program that it started still runs"
}

// CopiedError tells that this project was copied from another place together
// with its state: two copies must not continue with the same run by accident. From is
// "" where no one can tell; then Cause says why.
type CopiedError struct {
	From, Here string
	Cause      error
}

// Unwrap gives what is wrong with the record of where it was made.
func (e *CopiedError) Unwrap() error { return e.Cause }

// Error implements error.
func (e *CopiedError) Error() string {
	if e.From == "" {
		return fmt.Sprintf("open the state of %s: nothing says that it was made here: %v", e.Here, e.Cause)
	}
	return fmt.Sprintf("open the state of %s: it is a copy of %s", e.Here, e.From)
}

// Hint says what a person can do.
func (e *CopiedError) Hint() string {
	return "continue in the original, or accept this copy as a project of its own with --adopt"
}

// NetworkError tells that the project lies on a file system whose locks and
// renames cannot be trusted.
type NetworkError struct {
	Path, Kind string
}

// Error implements error.
func (e *NetworkError) Error() string {
	return fmt.Sprintf("open the state of %s: it lies on %s", e.Path, e.Kind)
}

// Hint says what a person can do.
func (e *NetworkError) Hint() string {
	return "locks and renames are not reliable there; allow it explicitly if no one else uses it"
}

// DamageError tells that a file of the state cannot be trusted from Offset on.
// Nothing was dropped; Copy is a copy of the file as it was found.
type DamageError struct {
	Log    string // the log it belongs to, "" for other files
	Path   string
	Offset int64
	Cause  string
	Copy   string // "" if none was made
}

// Error implements error.
func (e *DamageError) Error() string {
	return fmt.Sprintf("read %s at byte %d: %s", e.Path, e.Offset, e.Cause)
}

// Hint says what a person can do.
func (e *DamageError) Hint() string {
	if e.Log == "" {
		return outOfTheWay(e.Path)
	}
	hint := "`reprise repair` shows what is lost and keeps the rest; the file stays as it is until then"
	if e.Copy != "" {
		hint += ", and a copy of it is in " + e.Copy
	}
	return hint
}

// FutureError tells that a newer version wrote a file.
type FutureError struct {
	Path    string
	Version string
}

// Error implements error.
func (e *FutureError) Error() string {
	return fmt.Sprintf("read %s: written in format %s, which this version does not know", e.Path, e.Version)
}

// Hint says what a person can do.
func (e *FutureError) Hint() string { return "use the version that wrote it, or a newer one" }

// Conflict is an edit that was begun before a crash and cannot be carried to
// its end, because its file is neither what it was nor what it should become.
// The file was not touched; Kept is where the edit is kept.
type Conflict struct {
	Path   string
	Reason string
	Kept   string
}

// Finding tells a person of it, and what they can do. Where the edit was one of an
// event in a journal, whoever continues with that run makes it again from there.
func (c Conflict) Finding() reprise.Finding {
	return reprise.Finding{
		Code: reprise.CodeMovedOn, Severity: reprise.Warning, Subject: c.Path, Source: reprise.Source{File: c.Kept},
		Message: "a change that was begun before a crash was not carried out: " + c.Reason,
		Hint:    fmt.Sprintf("the change is kept in %s; put %s back as it was, and what the journal knows of it is done when the run is resumed", c.Kept, c.Path),
	}
}

// IsFull reports whether an error means that there is no room: a full disk or
// quota, no inodes, the file size limit.
func IsFull(err error) bool {
	return isFullErrno(err) || errors.Is(err, io.ErrShortWrite)
}
