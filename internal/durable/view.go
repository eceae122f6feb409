package durable

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"reprise"
	"reprise/internal/link"
)

// What is read through a Store may lie behind links, what is written may not. A
// link is read as the file or folder of the project that it leads to, by the rule
// of internal/link, so that whoever looks and whoever works see the same; it stays
// what it is, and so does what it leads to: a *LinkError tells who wants to write.

// LinkError tells that something is to be done behind a link, where it is not.
type LinkError struct {
	Path   string
	Link   string // the link: Path itself or a folder above it
	Target string // what the link says, "" if that is not known
}

// Error implements error.
func (e *LinkError) Error() string {
	what := "it"
	if e.Link != e.Path {
		what = e.Link
	}
	to := ""
	if e.Target != "" {
		to = fmt.Sprintf(" (to %q)", e.Target)
	}
	return fmt.Sprintf("open %s: %s is a symbolic link%s", e.Path, what, to)
}

// Hint says what a person can do.
func (e *LinkError) Hint() string {
	link, to := reprise.Pasted(e.Link, "LINK"), path.Join(path.Dir(e.Link), e.Target)
	if path.IsAbs(e.Target) {
		to = e.Target
	}
	return fmt.Sprintf("state behind a link is read and never changed: `rm %s && cp -R %s %s` puts a copy in its place", link, reprise.Pasted(to, "TARGET"), link)
}

// Unwrap tells that there is no regular file.
func (e *LinkError) Unwrap() error { return &NotRegularError{Path: e.Link, Mode: fs.ModeSymlink} }

// SharedError tells that a file is to be written in place that has another name too:
// what is behind that may lie anywhere, and belongs to someone else.
type SharedError struct{ Path string }

// Error implements error.
func (e *SharedError) Error() string {
	return fmt.Sprintf("open %s: the file has another name too (a hard link)", e.Path)
}

// Hint says what a person can do.
func (e *SharedError) Hint() string {
	return fmt.Sprintf("state with two names is read and never changed: put a copy of %q in its place, then start again", e.Path)
}

// oddError is what a *NotRegularError is to a reader; the path stands beside it.
type oddError struct{ *NotRegularError }

// Error implements error.
func (e oddError) Error() string { return link.ErrNotRegular.Error() }

// Unwrap gives the kind, and what readers know it by.
func (e oddError) Unwrap() []error { return []error{e.NotRegularError, link.ErrNotRegular} }

// lead gives the name of what a name leads to, one without a link on the way, and
// what that is.
func (s *Store) lead(op, name string) (real string, info Info, err error) {
	if !fs.ValidPath(name) {
		return "", Info{}, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	real = name
	for range maxReplaced {
		info, err = s.fs.Stat(real)
		var behind *LinkError
		if err == nil && info.Mode&fs.ModeSymlink == 0 || err != nil && !errors.As(err, &behind) {
			info.Name = path.Base(name)
			return real, info, err
		}
		if real, err = link.Resolve(names{s.fs}, op, name); errors.Is(err, link.ErrMoved) {
			real = name
		} else if err != nil {
			return "", Info{}, err
		}
	}
	return "", Info{}, &fs.PathError{Op: op, Path: name, Err: link.ErrMoved}
}

// names is the store's disk as internal/link wants it.
type names struct{ FS }

// Lstat implements link.Names.
func (n names) Lstat(name string) (fs.FileMode, error) {
	info, err := n.Stat(name)
	var above *LinkError
	if errors.As(err, &above) {
		err = &fs.PathError{Op: "stat", Path: name, Err: syscall.ELOOP}
	}
	return info.Mode, err
}

// entries lists a folder, without git's and our own, as internal/tree does: what
// is in the archive is no longer state. in is its name and real where it is. A
// link is listed as the file that it leads to, and as the folder in hidden folders;
// others are listed as links.
func (s *Store) entries(in, real string) (out []fs.DirEntry, err error) {
	list, err := s.fs.List(real)
	for _, e := range list {
		if e.Mode&fs.ModeSymlink != 0 {
			target, info, err := s.lead("stat", path.Join(real, e.Name))
			if shown, _ := link.Listed(in, real, e.Name, target); err == nil && (info.Regular() || info.Mode.IsDir() && shown) {
				e = info
			}
		}
		if !e.Mode.IsDir() || e.Name != ".git" && e.Name != StateDir {
			out = append(out, entryOf(e))
		}
	}
	return out, err
}

// Open opens a file or a folder of the project for reading, as io/fs has it, also
// behind links inside of the project. What is neither gives a *NotRegularError; a
// FIFO does not stop us. A file is read when it is opened, so that its bytes belong
// together.
func (s *Store) Open(name string) (fs.File, error) {
	real, info, err := s.lead("open", name)
	if err != nil {
		return nil, err
	}
	if info.Mode.IsDir() {
		entries, err := s.entries(name, real)
		if err != nil {
			return nil, err
		}
		return &viewDir{view: view{info: info}, entries: entries}, nil
	}
	if !info.Regular() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: oddError{&NotRegularError{Path: name, Mode: info.Mode}}}
	}
	b, info, err := s.readFile(real)
	if err != nil {
		return nil, err
	}
	info.Name = path.Base(name)
	return newView(info, b), nil
}

// maxDeep is how many folders deep the store lists. Each costs a look at all those above it.
const maxDeep = 100

// ReadDir lists a folder of the project.
func (s *Store) ReadDir(name string) ([]fs.DirEntry, error) {
	if strings.Count(name, "/") > maxDeep {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: ErrTooLarge}
	}
	f, err := s.Open(name)
	if dir, ok := f.(fs.ReadDirFile); ok {
		return dir.ReadDir(-1)
	}
	if odd := (*NotRegularError)(nil); err == nil || errors.As(err, &odd) {
		err = &fs.PathError{Op: "readdir", Path: name, Err: syscall.ENOTDIR}
	}
	return nil, err
}

// Stat tells of what stands at a name of the project, or behind the link there,
// without reading it.
func (s *Store) Stat(name string) (fs.FileInfo, error) {
	_, info, err := s.lead("stat", name)
	if err != nil {
		return nil, err
	}
	return statOf{info}, nil
}

// ReadFile reads a whole file of the project, at most 64 MiB of it, also behind
// links inside of the project.
func (s *Store) ReadFile(name string) ([]byte, error) {
	real, _, err := s.lead("read", name)
	if err != nil {
		return nil, err
	}
	b, _, err := s.readFile(real)
	return b, err
}

// HashFile gives the hash of what ReadFile would read, and of what else is to stand
// behind it, as HashOf has it: what a step leaves behind may be an image or a model.
func (s *Store) HashFile(name string, behind ...[]byte) (reprise.Hash, error) {
	real, _, err := s.lead("read", name)
	if err != nil {
		return reprise.Hash{}, err
	}
	f, err := s.fs.Open(real, 0, 0)
	if err != nil {
		return reprise.Hash{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return reprise.Hash{}, err
	}
	return HashOf(f, info.Size, info.ModTime, behind...)
}

// maxHashed is the largest file of which all is hashed: one of a terabyte takes a second to make and
// half an hour to read.
const maxHashed = 256 << 20

// HashOf gives the hash of a file of a size and with a time of change, and of what else is to stand
// behind it, in a bounded time and amount of memory. That of a larger file than maxHashed is made from
// these and from its first and its last block.
func HashOf(f io.ReaderAt, size int64, changed time.Time, behind ...[]byte) (reprise.Hash, error) {
	h, block := sha256.New(), make([]byte, min(hashBlock, max(size, 0)+4096)) // most files are small
	parts := []*io.SectionReader{io.NewSectionReader(f, 0, maxHashed)}
	if size > maxHashed {
		fmt.Fprintln(h, size, changed.UnixNano())
		parts = []*io.SectionReader{io.NewSectionReader(f, 0, hashBlock), io.NewSectionReader(f, size-hashBlock, hashBlock)}
	}
	for _, part := range parts {
		if _, err := io.CopyBuffer(h, part, block); err != nil {
			return reprise.Hash{}, err
		}
	}
	for _, more := range behind {
		h.Write(more)
	}
	return reprise.Hash(h.Sum(nil)), nil
}

// hashBlock is how much of a file is in memory while it is hashed.
const hashBlock = 256 << 10

func newView(info Info, b []byte) *view {
	info.Size = int64(len(b))
	return &view{info: info, Reader: bytes.NewReader(b)}
}

// view is a file as it was when it was opened.
type view struct {
	*bytes.Reader
	info Info
}

func (v *view) Stat() (fs.FileInfo, error) { return statOf{v.info}, nil }
func (v *view) Close() error               { return nil }

func (v *view) Read(p []byte) (int, error) {
	if v.Reader == nil {
		return 0, &fs.PathError{Op: "read", Path: v.info.Name, Err: fs.ErrInvalid}
	}
	return v.Reader.Read(p)
}

type viewDir struct {
	view
	entries []fs.DirEntry
	at      int
}

func (d *viewDir) ReadDir(n int) ([]fs.DirEntry, error) {
	left := d.entries[d.at:]
	if n > 0 && len(left) == 0 {
		return nil, io.EOF
	}
	if n > 0 && len(left) > n {
		left = left[:n]
	}
	d.at += len(left)
	return slices.Clone(left), nil
}

func entryOf(info Info) fs.DirEntry { return fs.FileInfoToDirEntry(statOf{info}) }

// statOf is an Info as io/fs wants it.
type statOf struct{ info Info }

func (s statOf) Name() string       { return s.info.Name }
func (s statOf) Size() int64        { return s.info.Size }
func (s statOf) Mode() fs.FileMode  { return s.info.Mode }
func (s statOf) ModTime() time.Time { return s.info.ModTime }
func (s statOf) IsDir() bool        { return s.info.Mode.IsDir() }
func (s statOf) Sys() any           { return nil }
