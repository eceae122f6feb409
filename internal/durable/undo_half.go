package durable

import (
	"errors"
	"fmt"
	"io/fs"
)

// HalfUndoneError tells that an undo was begun here and did not end: the files are in part
// of another time.
type HalfUndoneError struct {
	As string // how it is ended: the snapshot and the flags, as typed behind `reprise undo`
}

// Error implements error. Some readers see only this, without the hint.
func (e *HalfUndoneError) Error() string {
	return "an undo was started here and not finished; " + e.Hint()
}

// Hint says what a person can do.
func (e *HalfUndoneError) Hint() string { return fmt.Sprintf("`reprise undo %s` finishes it", e.As) }

// Whole looks whether an undo was begun here and did not end: a *HalfUndoneError, or why
// that cannot be told. It changes nothing.
func (s *Store) Whole() error {
	as, err := s.pendingUndo()
	if err == nil && as != "" {
		return &HalfUndoneError{As: as}
	}
	return err
}

// pendingUndo is how an undo that did not end was asked for; "" where there is none.
func (s *Store) pendingUndo() (string, error) {
	b, _, err := s.readFile(undoFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(b), err
}
