package durable

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"reprise"
)

// Rewrite changes a file that belongs to another program, its settings for one. change
// gets what stands there, nil if there is no file, and returns what shall; nil removes
// it. If it returns the same, nothing is written. A link is followed; mode and owner of
// the file stay, and a new one has perm; a read-only file is not changed. name is
// absolute, missing folders are made.
//
// If the process dies here, the file is the old or the new one, whole. A file that
// someone changed meanwhile is not replaced: a *reprise.ChangedError.
func Rewrite(name string, perm fs.FileMode, change func(old []byte) ([]byte, error)) error {
	if err := rewrite(name, perm, change); err != nil {
		return fmt.Errorf("change %s: %w", name, err)
	}
	return nil
}

func rewrite(name string, perm fs.FileMode, change func(old []byte) ([]byte, error)) error {
	if !filepath.IsAbs(name) {
		return errors.New("the path is not absolute")
	}
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real
	}
	dir, base := filepath.Dir(name), filepath.Base(name)
	old, err := ReadPrivate(name)
	if err != nil {
		return err
	}
	content, err := change(old)
	if err != nil || bytes.Equal(content, old) && (content == nil) == (old == nil) {
		return err
	}
	if err := makePrivate(dir); err != nil {
		return err
	}
	disk, err := OpenFS(dir)
	if err != nil {
		return err
	}
	s := OpenOn(disk, Options{})
	defer s.Release()
	s.swept["."] = true // what lies there is not ours to clean up
	now, info, err := s.readFile(base)
	like := &info
	switch {
	case missing(err):
		like, now = &Info{Mode: perm, UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}, nil
	case err != nil:
		return err
	case info.Mode.Perm()&0o200 == 0: // replacing it would get round what its owner forbade
		return &fs.PathError{Op: "write", Path: name, Err: fs.ErrPermission}
	}
	if want, got := reprise.HashOf(old), reprise.HashOf(now); want != got || (old == nil) != (now == nil) {
		return &reprise.ChangedError{Path: base, Want: want, Got: got}
	}
	if content == nil {
		if err := disk.Remove(base); err != nil {
			return err
		}
		return disk.SyncDir(".")
	}
	temp, err := s.stage(base, content, like)
	if err != nil {
		return err
	}
	return s.rename(temp, base)
}
