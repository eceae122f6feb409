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
func BeforeEach(under durable.FS, look func(n int)) durable.FS {
	return Failing(under, func(n int) error { look(n); return nil })
}

// Failing asks before every operation that changes the disk, with its number, counted
// from 0, whether it fails: an error is what it returns, and the disk is not changed.
func Failing(under durable.FS, fault func(n int) error) durable.FS {
	return &stopFS{FS: under, fault: fault}
}

type stopFS struct {
	durable.FS
	seen  atomic.Int64
	fault func(int) error
}

func (s *stopFS) count() error { return s.fault(int(s.seen.Add(1)) - 1) }

func (s *stopFS) Open(name string, flag int, perm fs.FileMode) (durable.File, error) {
	if flag&(os.O_CREATE|os.O_TRUNC) != 0 {
		if err := s.count(); err != nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
	}
	f, err := s.FS.Open(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &stopFile{File: f, s: s}, nil
}

// at does an operation on a name unless it fails.
func (s *stopFS) at(op, name string, do func() error) error {
	if err := s.count(); err != nil {
		return &fs.PathError{Op: op, Path: name, Err: err}
	}
	return do()
}

func (s *stopFS) Mkdir(name string, perm fs.FileMode) error {
	return s.at("mkdir", name, func() error { return s.FS.Mkdir(name, perm) })
}

func (s *stopFS) Rename(from, to string) error {
	return s.at("rename", from, func() error { return s.FS.Rename(from, to) })
}

func (s *stopFS) Remove(name string) error {
	return s.at("remove", name, func() error { return s.FS.Remove(name) })
}

func (s *stopFS) Symlink(target, name string) error {
	return s.at("symlink", name, func() error { return s.FS.Symlink(target, name) })
}

func (s *stopFS) SyncDir(name string) error {
	return s.at("sync", name, func() error { return s.FS.SyncDir(name) })
}

func (s *stopFS) Flush() error { return s.at("flush", ".", s.FS.Flush) }

type stopFile struct {
	durable.File
	s *stopFS
}

func (f *stopFile) Write(p []byte) (int, error) {
	if err := f.s.count(); err != nil {
		return 0, err
	}
	return f.File.Write(p)
}

func (f *stopFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.s.count(); err != nil {
		return 0, err
	}
	return f.File.WriteAt(p, off)
}

func (f *stopFile) Sync() error {
	if err := f.s.count(); err != nil {
		return err
	}
	return f.File.Sync()
}

// Close closes the file in any case, as close(2) does.
func (f *stopFile) Close() error {
	err := f.s.count()
	if closed := f.File.Close(); err == nil {
		err = closed
	}
	return err
}

// OS gives the file of the operating system below, for the lease that is passed
// on to processes.
func (f *stopFile) OS() *os.File {
	if under, ok := f.File.(interface{ OS() *os.File }); ok {
		return under.OS()
	}
	return nil
}
