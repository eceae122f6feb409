package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// Places in the state folder that hold no state: nothing is decided by them.
const (
	workDir = StateDir + "/work"
	logDir  = StateDir + "/logs"
)

// checkWord asks that a name is one plain word: letters, digits, dots, dashes.
func checkWord(name string) error {
	ok := name != "" && len(name) <= 200 && name[0] != '.' && name[0] != '-'
	for _, r := range name {
		ok = ok && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-')
	}
	if !ok {
		return &fs.PathError{Op: "name", Path: name, Err: fs.ErrInvalid}
	}
	return nil
}

// ScratchPath is where the folder of an attempt is, or would be, below the project.
func ScratchPath(name string) string { return path.Join(workDir, name) }

// Scratch makes a folder for one attempt in the state folder, for its owner
// alone, and gives its absolute path. One that is there already is given again
// as it is. It needs the lease. If the process dies here, the folder is there or
// not; nothing depends on it.
func (s *Store) Scratch(name string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := checkWord(name); err != nil {
		return "", err
	}
	if err := s.writable(); err != nil {
		return "", err
	}
	if s.dir == "" {
		return "", fmt.Errorf("make a work folder %s: this store is not on the disk: %w", name, errors.ErrUnsupported)
	}
	dir := ScratchPath(name)
	if err := s.makeDirs(dir, 0o700); err != nil {
		return "", err
	}
	// A link in its place would lead an agent out of the state folder.
	if info, err := s.fs.Stat(dir); err != nil {
		return "", err
	} else if !info.Mode.IsDir() {
		return "", &NotRegularError{Path: dir, Mode: info.Mode}
	}
	return filepath.Join(s.dir, filepath.FromSlash(dir)), nil
}

// CreateLog opens the log file of one attempt for appending, readable by its
// owner only, and gives its path below the project. It needs the lease to be
// made, and none to be written: it holds what an agent printed, and a write that
// fails closes nothing but this file. What was written survives a kill of this
// process, and a power cut once Close has returned nil.
func (s *Store) CreateLog(name string) (w io.WriteCloser, rel string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := checkWord(name); err != nil {
		return nil, "", err
	}
	if err := s.writable(); err != nil {
		return nil, "", err
	}
	if err := s.makeDirs(logDir, 0o700); err != nil {
		return nil, "", err
	}
	rel = path.Join(logDir, name+".log")
	f, err := s.fs.Open(rel, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, "", fmt.Errorf("make the log %s: %w", rel, err)
	}
	return &attemptLog{s: s, f: f, name: rel}, rel, nil
}

// attemptLog is an open log of an attempt.
type attemptLog struct {
	s    *Store
	f    File
	name string
}

// Write implements io.Writer.
func (l *attemptLog) Write(p []byte) (int, error) {
	n, err := l.f.Write(p)
	if err != nil {
		return n, fmt.Errorf("write %s: %w", l.name, err)
	}
	return n, nil
}

// Close makes durable what was written.
func (l *attemptLog) Close() error {
	err := l.f.Sync()
	if err == nil {
		err = l.s.fs.SyncDir(logDir)
	}
	if err = errors.Join(err, l.f.Close()); err != nil {
		return fmt.Errorf("close %s: %w", l.name, err)
	}
	return nil
}
