package reprise

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
)

// Hash is the SHA-256 of a file's content. The zero Hash stands for a file that
// does not exist.
type Hash [sha256.Size]byte

// HashOf returns the hash of a content.
func HashOf(content []byte) Hash { return sha256.Sum256(content) }

// IsZero reports whether the hash stands for a file that does not exist.
func (h Hash) IsZero() bool { return h == Hash{} }

// String returns the hash as sha256sum prints it, "-" for no file.
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

// Edit is a change to one file. It is applied only if the file still is what
// was read: Base is the hash of what the change was made for.
type Edit struct {
	Path string // slash path inside the project
	Base Hash
	// Content is the whole new content or, with Append, what is added at the
	// end. A file that does not exist is created; Base is zero then.
	Content []byte
	Append  bool
	// Why says what the change is for, in words, for logs and previews.
	Why string
}

// Store is the one door to the disk. It is implemented by internal/durable and
// wrapped for dry runs, traces and crashes.
type Store interface {
	fs.FS
	// Apply makes all the changes or none of them, also over a crash: what
	// was begun is finished when the store is next opened. It
	// returns a *ChangedError, and changes nothing, if a file is not what its
	// edit was made for.
	Apply(ctx context.Context, edits []Edit) error
}

// ErrChanged is the cause of every refusal to write over what another program
// changed.
var ErrChanged = errors.New("changed under us")

// ChangedError tells which file was not what its edit was made for.
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
