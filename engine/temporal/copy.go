package temporal

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // the sum at the end of git's index
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// copyFiles makes the files of a checkout in a folder that has none, and its index. Git
// takes a file for unchanged by its inode and times, which the index has, and reads it again
// where it is as young as the index: a checkout that git makes is read whole by each of the
// next commands. The copies keep their age and the new index knows their inodes, so that git
// reads only what was written last. An index of a form that is not known is an error.
func copyFiles(from, into string) error {
	file := filepath.Join(from, ".git", "index")
	written, err := os.Stat(file)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	body := len(text) - sha1.Size
	if body < 12 {
		return errIndex
	}
	if sum := sha1.Sum(text[:body]); !bytes.Equal(sum[:], text[body:]) {
		return errIndex
	}
	if string(text[:8]) != "DIRC\x00\x00\x00\x02" {
		return errIndex
	}
	rest, made := text[12:body], ""
	for range binary.BigEndian.Uint32(text[8:]) {
		name, next, err := indexEntry(rest)
		if err != nil {
			return err
		}
		path := filepath.FromSlash(name)
		if dir := filepath.Dir(path); dir != made {
			if err := os.MkdirAll(filepath.Join(into, dir), 0o755); err != nil {
				return err
			}
			made = dir
		}
		was, is, err := copyFile(filepath.Join(from, path), filepath.Join(into, path))
		if err != nil {
			return err
		}
		old := stamp(was)
		if bytes.Equal(old[:24], rest[:24]) && bytes.Equal(old[28:40], rest[28:40]) && int64(was.Mtim.Sec) < written.ModTime().Unix() {
			old = stamp(is) // it is what the index says, for sure
		} else {
			old = [40]byte{}
		}
		copy(rest[:24], old[:24])
		copy(rest[28:40], old[28:40]) // between them is the mode in the commit
		rest = next
	}
	for len(rest) > 0 { // of the rest, git must not need what is said elsewhere
		if len(rest) < 8 || rest[0] < 'A' || rest[0] > 'Z' || uint64(len(rest)) < 8+uint64(binary.BigEndian.Uint32(rest[4:])) {
			return errIndex
		}
		rest = rest[8+binary.BigEndian.Uint32(rest[4:]):]
	}
	sum := sha1.Sum(text[:body])
	copy(text[body:], sum[:])
	return os.WriteFile(filepath.Join(into, ".git", "index"), text, 0o600)
}

var errIndex = errors.New("copy a checkout: its index has another form")

// indexEntry is the name of the first of the entries of an index, and those after it. A
// name says how long it is, in the last twelve bits before it, and is filled up to eight.
func indexEntry(entries []byte) (name string, rest []byte, err error) {
	const fixed = 62
	if len(entries) < fixed {
		return "", nil, errIndex
	}
	flags := binary.BigEndian.Uint16(entries[fixed-2:])
	length := int(flags & 0xfff)
	end := (fixed + length + 8) &^ 7
	if flags&0x7000 != 0 || length == 0xfff || len(entries) < end {
		return "", nil, errIndex // a conflict, a name of another form
	}
	name = string(entries[fixed : fixed+length])
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return "", nil, errIndex
	}
	return name, entries[end:], nil
}

// stamp is what git compares a file with, as the index has it.
func stamp(s *unix.Stat_t) (out [40]byte) {
	for i, field := range []int64{
		int64(s.Ctim.Sec), int64(s.Ctim.Nsec), int64(s.Mtim.Sec), int64(s.Mtim.Nsec), int64(s.Dev), int64(s.Ino), 0, int64(s.Uid), int64(s.Gid), s.Size,
	} {
		binary.BigEndian.PutUint32(out[4*i:], uint32(field))
	}
	return out
}

// copyFile copies a file or a link, a file with its times, and returns what both are.
func copyFile(from, into string) (was, is *unix.Stat_t, err error) {
	was, is = &unix.Stat_t{}, &unix.Stat_t{}
	info, err := os.Lstat(from)
	if err == nil {
		err = unix.Lstat(from, was)
	}
	switch {
	case err != nil:
	case info.Mode().IsRegular():
		err = copyContent(from, into, info.Mode().Perm(), info.ModTime())
	case info.Mode().Type() == fs.ModeSymlink:
		var to string
		if to, err = os.Readlink(from); err == nil {
			err = os.Symlink(to, into)
		}
	default:
		err = fmt.Errorf("%w: %s is no file", errIndex, from)
	}
	if err == nil {
		err = unix.Lstat(into, is)
	}
	return was, is, err
}

func copyContent(from, into string, perm fs.FileMode, at time.Time) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(into, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close(), os.Chtimes(into, at, at))
}
