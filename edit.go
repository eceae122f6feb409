package reprise

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
)

// Hash is the SHA-256 of a file's content. The zero Hash stands for a file that does not
// exist.
type Hash [sha256.Size]byte

// HashOf returns the hash of content.
func HashOf(content []byte) Hash { return sha256.Sum256(content) }

// IsZero reports whether the hash stands for a file that does not exist.
func (h Hash) IsZero() bool { return h == Hash{} }

// String returns the hash in the form sha256sum prints, or "-" for no file.
func (h Hash) String() string {
	if h.IsZero() {
		return "-"
	}
	return hex.EncodeToString(h[:])
}

// MarshalText writes the form of String.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads the form of String.
func (h *Hash) UnmarshalText(b []byte) error {
	if string(b) == "-" {
		*h = Hash{}
		return nil
	}
	raw, err := hex.DecodeString(string(b))
	if err != nil || len(raw) != len(h) {
		return fmt.Errorf("parse hash: %q is none", b)
	}
	copy(h[:], raw)
	return nil
}

// Edit is a change to one file. It applies only if the file's hash is still Base.
type Edit struct {
	Path string // slash path inside the project
	Base Hash
	// Content is the whole new content or, with Append, the text added at the end. If
	// Base is zero the file is created.
	Content []byte
	Append  bool
	// Why explains the change in logs and previews.
	Why string
}

// Store is the only way to write to disk. internal/durable implements it; wrappers add
// dry runs, traces and crashes.
type Store interface {
	fs.FS
	// Apply makes all the changes or none, even across a crash: a change that was begun
	// is finished when the store is next opened. If a file does not match the Base of its
	// edit, Apply changes nothing and returns a *ChangedError.
	Apply(ctx context.Context, edits []Edit) error
}

// ErrChanged is the cause of every refusal to overwrite another program's change.
var ErrChanged = errors.New("changed under us")

// ChangedError reports a file that does not match the Base of its edit.
type ChangedError struct {
	Path      string
	Want, Got Hash
}

// Error implements error.
func (e *ChangedError) Error() string { return fmt.Sprintf("edit %s: %s", e.Path, ErrChanged) }

// Unwrap gives ErrChanged.
func (e *ChangedError) Unwrap() error { return ErrChanged }

// Hint says what a person can do.
func (e *ChangedError) Hint() string {
	return "another program wrote to it since it was read; look at it and try again"
}
