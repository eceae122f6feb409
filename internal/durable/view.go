package durable

import (
	"bytes"
	"io"
	"io/fs"
	"time"
)

// Open opens a file or a folder of the project for reading, as io/fs has it.
// What is neither gives a *NotRegularError; a FIFO does not stop us. A file is
// read when it is opened, so that its bytes belong together.
func (s *Store) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	info, err := s.fs.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.Mode.IsDir() {
		entries, err := s.fs.List(name)
		if err != nil {
			return nil, err
		}
		return &viewDir{view: view{info: info}, entries: entries}, nil
	}
	b, info, err := s.readFile(name)
	if err != nil {
		return nil, err
	}
	return newView(info, b), nil
}

// Stat tells of a file or a folder of the project without reading it. What is
// neither gives a *NotRegularError, as Open does.
func (s *Store) Stat(name string) (fs.FileInfo, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrInvalid}
	}
	info, err := s.fs.Stat(name)
	if err == nil && !info.Mode.IsDir() && !info.Regular() {
		err = &NotRegularError{Path: name, Mode: info.Mode}
	}
	if err != nil {
		return nil, err
	}
	return statOf{info}, nil
}

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
	entries []Info
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
	out := make([]fs.DirEntry, len(left))
	for i, e := range left {
		out[i] = fs.FileInfoToDirEntry(statOf{e})
	}
	return out, nil
}

// statOf is an Info as io/fs wants it.
type statOf struct{ info Info }

func (s statOf) Name() string       { return s.info.Name }
func (s statOf) Size() int64        { return s.info.Size }
func (s statOf) Mode() fs.FileMode  { return s.info.Mode }
func (s statOf) ModTime() time.Time { return s.info.ModTime }
func (s statOf) IsDir() bool        { return s.info.Mode.IsDir() }
func (s statOf) Sys() any           { return nil }
