package crashfs

import (
	"io/fs"
	"os"
	"sync/atomic"

	"reprise/internal/durable"
)

// StopBefore calls stop before the n-th operation that changes the disk, counted
// from 0: the crash-here decorator of the seam itself. stop must not return if
// the operation is not to happen.
func StopBefore(under durable.FS, n int, stop func()) durable.FS {
	return BeforeEach(under, func(at int) {
		if at == n {
			stop()
		}
	})
}

// BeforeEach calls look before every operation that changes the disk, with its
// number, counted from 0.
func BeforeEach(under durable.FS, look func(n int)) durable.FS { return &stopFS{FS: under, look: look} }

type stopFS struct {
	durable.FS
	seen atomic.Int64
	look func(int)
}

func (s *stopFS) count() { s.look(int(s.seen.Add(1)) - 1) }

func (s *stopFS) Open(name string, flag int, perm fs.FileMode) (durable.File, error) {
	if flag&(os.O_CREATE|os.O_TRUNC) != 0 {
		s.count()
	}
	f, err := s.FS.Open(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &stopFile{File: f, s: s}, nil
}

func (s *stopFS) Mkdir(name string, perm fs.FileMode) error { s.count(); return s.FS.Mkdir(name, perm) }
func (s *stopFS) Rename(from, to string) error              { s.count(); return s.FS.Rename(from, to) }
func (s *stopFS) Remove(name string) error                  { s.count(); return s.FS.Remove(name) }
func (s *stopFS) Symlink(target, name string) error {
	s.count()
	return s.FS.Symlink(target, name)
}
func (s *stopFS) SyncDir(name string) error { s.count(); return s.FS.SyncDir(name) }
func (s *stopFS) Flush() error              { s.count(); return s.FS.Flush() }

type stopFile struct {
	durable.File
	s *stopFS
}

func (f *stopFile) Write(p []byte) (int, error) { f.s.count(); return f.File.Write(p) }
func (f *stopFile) WriteAt(p []byte, off int64) (int, error) {
	f.s.count()
	return f.File.WriteAt(p, off)
}
func (f *stopFile) Sync() error  { f.s.count(); return f.File.Sync() }
func (f *stopFile) Close() error { f.s.count(); return f.File.Close() }

// OS gives the file of the operating system below, for the lease that is passed
// on to processes.
func (f *stopFile) OS() *os.File {
	if under, ok := f.File.(interface{ OS() *os.File }); ok {
		return under.OS()
	}
	return nil
}
