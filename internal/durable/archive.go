package durable

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"syscall"
)

// SecretError tells that something was not archived because it is, or holds, a
// file of secrets that its owner keeps by hand.
type SecretError struct{ Path string }

// Error implements error.
func (e *SecretError) Error() string {
	return fmt.Sprintf("archive %s: files with secrets stay where they are", e.Path)
}

// Hint says what a person can do.
func (e *SecretError) Hint() string { return "move it by hand if it is no longer needed" }

// Archive moves a file, a link or a folder of the project to the archive in the
// state folder, in one step, and gives its new place. Nothing is ever deleted.
// .env files under .auto-claude are never moved: *SecretError.
//
// If the process dies here, it is in one of the two places; a box that was made for
// it may stay empty.
func (s *Store) Archive(name string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writable(); err != nil {
		return "", err
	}
	return s.archive(name)
}

func (s *Store) archive(name string) (string, error) {
	if err := s.CanArchive(name); err != nil {
		return "", err
	}
	return s.archiveTo(name, path.Base(name))
}

// archiveTo moves a name of any bytes to a box called after something.
func (s *Store) archiveTo(name, after string) (string, error) {
	box, err := s.archiveBox(after)
	if err != nil {
		return "", err
	}
	to := path.Join(box, path.Base(name))
	s.changes.Add(1)
	if err := s.fs.Rename(name, to); err != nil {
		if errors.Is(err, syscall.EXDEV) {
			return "", fmt.Errorf("archive %s: it lies on another file system", name)
		}
		return "", s.fail("archive "+name, err)
	}
	// crash: archived
	// The new place first: the entry must not be durably gone before.
	if err := s.syncDirs(to); err != nil {
		return "", err
	}
	return to, s.syncDirs(name)
}

// CanArchive tells why Archive would refuse to move something, nil if it would
// not. It changes nothing.
func (s *Store) CanArchive(name string) error {
	if err := checkPath(name); err != nil {
		return err
	}
	info, err := s.fs.Stat(name)
	if err != nil {
		return err
	}
	return s.checkSecrets(name, info)
}

// archiveBox makes a folder of its own for one thing that is archived.
func (s *Store) archiveBox(base string) (string, error) {
	stem := path.Join(archiveDir, s.o.Now().UTC().Format("20060102T150405Z")+"-"+base)
	if len(base) > 100 {
		stem = path.Join(archiveDir, s.o.Now().UTC().Format("20060102T150405Z"))
	}
	for n := 0; n < 100_000; n++ {
		box := stem
		if n > 0 {
			box = fmt.Sprintf("%s-%d", stem, n)
		}
		if _, err := s.fs.Stat(box); missing(err) {
			return box, s.makeDirs(box, 0o700)
		}
	}
	return "", fmt.Errorf("archive %s: no free name", base)
}

// checkSecrets refuses what is or holds a file of secrets.
func (s *Store) checkSecrets(name string, info Info) error {
	// A checkout kept there is a project of its own: its files are not those of
	// the folder it is kept in.
	at := name
	if _, in, ok := strings.Cut(name, ".auto-claude/worktrees/tasks/"); ok {
		_, at, _ = strings.Cut(in, "/")
	}
	under := at == ".auto-claude" || strings.HasPrefix(at, ".auto-claude/") || strings.Contains(at, "/.auto-claude/")
	if under && strings.HasPrefix(path.Base(name), ".env") {
		return &SecretError{Path: name}
	}
	if !info.Mode.IsDir() {
		return nil
	}
	entries, err := s.fs.List(name)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := s.checkSecrets(path.Join(name, e.Name), e); err != nil {
			return err
		}
	}
	return nil
}
