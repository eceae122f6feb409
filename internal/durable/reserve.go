package durable

import (
	"bytes"
	"fmt"
	"os"
)

// ensureReserve makes the reserve file if there is none. That there is no room
// for it is a note: the rest may still work.
func (s *Store) ensureReserve(rep *Report) {
	if s.o.Reserve < 0 {
		return
	}
	if info, err := s.fs.Stat(reserveFile); err == nil && info.Size >= s.o.Reserve {
		return
	}
	err := s.writeReserve()
	if err != nil {
		_ = s.fs.Remove(reserveFile)
		rep.note(reserveFile, "there is no room for it: %v", err)
	}
}

// writeReserve writes the file itself: what it holds and whether it survives a
// cut does not matter, only that its blocks are taken.
func (s *Store) writeReserve() error {
	f, err := s.fs.Open(reserveFile, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	block := bytes.Repeat([]byte("reserve\n"), 8<<10)
	for left := s.o.Reserve; left > 0 && err == nil; left -= int64(len(block)) {
		_, err = f.Write(block[:min(int64(len(block)), left)])
	}
	return finish(f, err)
}

// RecordFull is for the moment when the disk is full and the store is poisoned:
// it frees the reserve and leaves text for the next Take, which reports it. It
// writes to no log and to no file of the project.
func (s *Store) RecordFull(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease == nil || s.closed {
		return ErrNoLease
	}
	if err := s.fs.Remove(reserveFile); err != nil && !missing(err) {
		return fmt.Errorf("free the reserve: %w", err)
	}
	// A store of its own: this one stays poisoned.
	side := &Store{fs: s.fs, dir: s.dir, o: s.o, lease: s.lease, swept: map[string]bool{}}
	return side.install(stoppedFile, []byte(text), nil)
}

// readStopped reports what RecordFull left. It stays until ForgetStopped.
func (s *Store) readStopped(rep *Report) error {
	b, _, err := s.readFile(stoppedFile)
	if err == nil {
		rep.Stopped = string(b)
	}
	if missing(err) {
		return nil
	}
	return err
}

// ForgetStopped removes what RecordFull left, when a person or a log has it.
func (s *Store) ForgetStopped() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writable(); err != nil {
		return err
	}
	if _, err := s.fs.Stat(stoppedFile); missing(err) {
		return nil
	}
	return s.remove("remove "+stoppedFile, stoppedFile)
}
