package durable

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"reprise"
)

// objectPath is where a content lies: its hash is its name.
func objectPath(h reprise.Hash) string {
	text := h.String()
	return path.Join(objectDir, text[:2], text[2:])
}

// putObject makes a content durable under its hash. What is there already and
// whole is left alone.
func (s *Store) putObject(h reprise.Hash, content []byte) error {
	name := objectPath(h)
	if have, _, err := s.readFile(name); err == nil && bytes.Equal(have, content) {
		return nil
	}
	if info, err := s.fs.Stat(name); err == nil && !info.Regular() {
		return &NotRegularError{Path: name, Mode: info.Mode}
	}
	return s.install(name, content, nil)
}

// getObject reads a content and makes sure that it is the one.
func (s *Store) getObject(h reprise.Hash) ([]byte, error) {
	name := objectPath(h)
	b, _, err := s.readFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &DamageError{Path: name, Cause: "the file is missing"}
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if reprise.HashOf(b) != h {
		return nil, &DamageError{Path: name, Cause: "its content is not what its name says"}
	}
	return b, nil
}
