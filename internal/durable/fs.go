package durable

import (
	"io"
	"io/fs"
	"time"
)

// FS is the seam between this package and the disk: the few operations that all
// of it is made of. Names are slash paths below the project, as in io/fs. No
// operation leaves the project, whatever links lie in it.
//
// Each call that changes something is one operation of the operating system and
// promises no more than that: nothing but Sync, SyncDir and Flush outlives a
// power cut.
type FS interface {
	// Open opens a regular file. flag is made of the os.O_ constants. A link, a
	// FIFO or a folder in its place gives a *NotRegularError; Open never waits.
	Open(name string, flag int, perm fs.FileMode) (File, error)
	// Stat tells about a name itself, never about what a link points to.
	Stat(name string) (Info, error)
	// List gives the entries of a folder, sorted by name.
	List(name string) ([]Info, error)
	Mkdir(name string, perm fs.FileMode) error
	// Rename replaces what stands at to, in one step.
	Rename(from, to string) error
	Remove(name string) error
	Symlink(target, name string) error
	Readlink(name string) (string, error)
	// SyncDir makes the entries of a folder durable.
	SyncDir(name string) error
	// Flush makes durable all that anyone has written to the project's file
	// system before, except what an earlier failed fsync has already dropped.
	Flush() error
}

// File is an open regular file.
type File interface {
	io.ReaderAt
	// Write is one write(2) at the place the flags of Open say: the end with
	// O_APPEND, else behind the last Write. A short count is an error.
	Write(p []byte) (int, error)
	// WriteAt overwrites; the file must not be open with O_APPEND.
	WriteAt(p []byte, off int64) (int, error)
	// SetLike gives the file the mode and, where we may, the owner of another.
	SetLike(of Info) error
	Stat() (Info, error)
	Sync() error
	Close() error
	// TryLock takes an exclusive flock, without waiting. It ends when the last
	// descriptor of this opening is closed, also an inherited one.
	TryLock() (bool, error)
}

// Info is what is known of a name.
type Info struct {
	Name    string
	Mode    fs.FileMode
	Size    int64
	Ino     uint64 // identity of the file as long as it exists
	Links   uint64
	UID     uint32
	GID     uint32
	ModTime time.Time
}

// Regular reports whether it is a plain file.
func (i Info) Regular() bool { return i.Mode.IsRegular() }
