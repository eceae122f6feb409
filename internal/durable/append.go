package durable

import (
	"bytes"
	"os"
)

// appendAt adds to the end of a file with one write, as everyone else who
// appends to it does. The intent is durable before, so that a torn write can be
// completed.
func (s *Store) appendAt(p planned) error {
	f, err := s.fs.Open(p.Path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(p.Content)
	// crash: edit-appended
	return s.fail("append to "+p.Path, finish(f, err))
}

// appended says what has become of an append that was begun before a crash.
type appended uint8

const (
	appendDone    appended = iota + 1 // the content is there, whole
	appendPending                     // nothing, a part, or unwritten blocks of it are there
	appendForeign                     // something else is there
)

// howAppended compares the end of a file with what should have been appended.
func howAppended(have []byte, p planned) appended {
	if int64(len(have)) < p.Offset {
		return appendForeign
	}
	rest := have[p.Offset:]
	if bytes.Contains(rest, p.Content) {
		// Also behind what someone else appended just before us.
		return appendDone
	}
	if len(rest) > len(p.Content) {
		return appendForeign
	}
	for i, b := range rest {
		if b != p.Content[i] && b != 0 {
			return appendForeign
		}
	}
	return appendPending
}

// completeAppend writes the content where it belongs, also over what is there
// of it already: those pages may never have reached the disk.
func (s *Store) completeAppend(p planned) error {
	f, err := s.fs.Open(p.Path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(p.Content, p.Offset)
	return s.fail("append to "+p.Path, finish(f, err))
}
