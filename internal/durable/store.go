package durable

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"reprise"
	"reprise/internal/link"
)

// StateDir is the folder in the project that holds everything of this package.
const StateDir = link.StateDir

// Places in the state folder.
const (
	lockFile    = LockPath
	stampFile   = StateDir + "/stamp"
	intentFile  = StateDir + "/intent"
	reserveFile = StateDir + "/reserve"
	stoppedFile = StateDir + "/stopped"
	undoFile    = StateDir + "/undo"
	journalDir  = StateDir + "/journal"
	objectDir   = StateDir + "/objects"
	archiveDir  = StateDir + "/archive"
	snapshotDir = StateDir + "/snapshots"
	conflictDir = StateDir + "/conflicts"
	maxFile     = 64 << 20 // the largest file that is read into memory
	defaultRoom = 1 << 20
	// What is opened is written anew, and a commit of the fleet has the last file whole.
	defaultBlock = 128 << 10
)

// Options are the conditions under which a project is opened.
type Options struct {
	// AllowNetwork accepts a file system whose locks cannot be trusted.
	AllowNetwork bool
	// Adopt accepts a state folder that was copied with its project.
	Adopt bool
	// Reserve is the size of the file that is freed to record a full disk;
	// zero stands for 1 MiB, a negative value for none.
	Reserve int64
	// SegmentSize is when a log continues in a new file; zero stands for 128 KiB.
	SegmentSize int64
	// Disk, if set, is put between the store and the disk: crash here, trace.
	Disk func(FS) FS
	// Rand names temporary files and Now dates what is kept; nil stands for
	// the real ones. No decision depends on the time.
	Rand io.Reader
	Now  func() time.Time
}

// Store is one project's door to the disk. It is safe for use by several
// goroutines. Until Take has succeeded it only reads and creates nothing.
//
// After any failed operation that changes the disk it is poisoned: everything
// that writes returns a *PoisonedError until a new Store is opened.
type Store struct {
	fs  FS
	dir string // absolute path of the project, "" in memory
	o   Options

	mu       sync.Mutex
	lease    *lease
	logs     map[string]*Log
	poisoned *PoisonedError
	swept    map[string]bool // folders whose leftover temporary files are gone
	closed   bool
	changes  atomic.Uint64
}

// Changes counts how often this store may have changed files of the project beside its own
// folder.
func (s *Store) Changes() uint64 { return s.changes.Load() }

var _ reprise.Store = (*Store)(nil)

// Open opens the project in dir. It reads nothing yet and creates nothing.
func Open(dir string, o Options) (*Store, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return nil, err
	}
	disk, err := OpenFS(abs)
	if err != nil {
		return nil, err
	}
	if o.Disk != nil {
		disk = o.Disk(disk)
	}
	s := OpenOn(disk, o)
	s.dir = abs
	return s, nil
}

// Dir is the project's folder, links resolved; "" in memory.
func (s *Store) Dir() string { return s.dir }

// OpenOn opens a project on any FS, for tests. What needs the real disk (git,
// free space, the kind of file system) is left out.
func OpenOn(disk FS, o Options) *Store {
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Reserve == 0 {
		o.Reserve = defaultRoom
	}
	if o.SegmentSize <= 0 {
		o.SegmentSize = defaultBlock
	}
	return &Store{fs: disk, o: o, logs: map[string]*Log{}, swept: map[string]bool{}}
}

// fail poisons the store. Every failed write, fsync, close and rename comes
// through here.
func (s *Store) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, ErrPoisoned) {
		return err
	}
	if s.poisoned == nil {
		s.poisoned = &PoisonedError{Op: op, Cause: err}
	}
	return &PoisonedError{Op: op, Cause: err}
}

// writable reports why nothing may be written now, nil if it may. It also looks
// whether the lock still is the file we locked.
func (s *Store) writable() error {
	switch {
	case s.closed:
		return ErrClosed
	case s.poisoned != nil:
		return s.poisoned
	case s.lease == nil:
		return ErrNoLease
	}
	return s.checkFence()
}

// Poisoned returns the failure that closed this store for writing, nil if
// there was none.
func (s *Store) Poisoned() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.poisoned == nil {
		return nil
	}
	return s.poisoned
}

// token gives a random name.
func (s *Store) token() (string, error) {
	var b [6]byte
	if _, err := io.ReadFull(s.o.Rand, b[:]); err != nil {
		return "", fmt.Errorf("draw a random name: %w", err)
	}
	return hex.EncodeToString(b[:]), nil
}

// readFile reads a regular file, and none behind a link: a *LinkError. A file
// that is missing is fs.ErrNotExist.
func (s *Store) readFile(name string) ([]byte, Info, error) {
	f, err := s.fs.Open(name, 0, 0)
	if err != nil {
		return nil, Info{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, Info{}, err
	}
	if info.Size > maxFile {
		return nil, info, fmt.Errorf("read %s: %d bytes: %w", name, info.Size, ErrTooLarge)
	}
	// A file can grow while it is read: one byte more shows it.
	buf := make([]byte, 0, info.Size+1)
	for {
		n, err := f.ReadAt(buf[len(buf):cap(buf)], int64(len(buf)))
		buf = buf[:len(buf)+n]
		if errors.Is(err, io.EOF) {
			return buf, info, nil
		}
		if err != nil {
			return nil, info, err
		}
		if len(buf) > maxFile {
			return nil, info, fmt.Errorf("read %s: %w", name, ErrTooLarge)
		}
		buf = append(buf, 0)[:len(buf)]
	}
}

// CanWrite tells why Apply would refuse to change a file, whatever is in it, and
// nil if it would not: for whoever records first that it will be changed.
func (s *Store) CanWrite(name string) error {
	if err := checkPath(name); err != nil {
		return err
	}
	info, err := s.fs.Stat(name)
	switch {
	case missing(err):
		return nil
	case err != nil:
		return err
	case info.Mode&fs.ModeSymlink != 0:
		target, _ := s.fs.Readlink(name) // only to be told
		return &LinkError{Path: name, Link: name, Target: target}
	case !info.Regular():
		return &NotRegularError{Path: name, Mode: info.Mode}
	}
	return nil
}

// missing reports whether an error means that a file is not there.
func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// Release gives the lease back and closes what is open. The lock file stays.
// The error is one of closing; all that was acknowledged is durable before.
func (s *Store) Release() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	var err error
	for _, l := range s.logs {
		err = errors.Join(err, l.close())
	}
	if s.lease != nil {
		err = errors.Join(err, s.lease.release())
	}
	s.closed, s.lease = true, nil
	if disk, ok := s.fs.(*osFS); ok {
		err = errors.Join(err, disk.close())
	}
	return err
}

// Note is something a person should know about what was found.
type Note struct {
	Path string
	Text string // one sentence
}

// Report is what taking the lease found and did.
type Report struct {
	Generation uint64
	// Previous is who held it before, zero if no one is on record.
	Previous Holder
	// RolledForward are the files whose change had begun before a crash and was now
	// finished; Conflicts those for which that was impossible.
	RolledForward []string
	Conflicts     []Conflict
	// Stopped is what the last process left to say when the disk was full.
	Stopped string
	// PendingUndo is what `reprise undo` was begun with and did not end: the snapshot,
	// and the flags as they were typed.
	PendingUndo string
	Notes       []Note
	// Found is for who takes the lease, to add what a person should know.
	Found []reprise.Finding
}

func (r *Report) note(path, format string, args ...any) {
	r.Notes = append(r.Notes, Note{Path: path, Text: fmt.Sprintf(format, args...)})
}

// Take takes the lease of the project, makes durable what is about to be read, and
// finishes what an earlier process had begun. Nothing may be read for a decision before
// it has returned.
//
// The error is a *HeldError if another process holds the lease, a *CopiedError or a
// *NetworkError if this place must not be trusted, an *UnusableError if nothing could be
// recorded here; in these cases no byte was changed. A *DamageError means that a state
// file needs repair; the lease is not held then. If the process dies here, the next Take
// does the same again.
func (s *Store) Take(ctx context.Context) (*Report, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, ErrClosed
	case s.poisoned != nil:
		return nil, s.poisoned
	case s.lease != nil:
		return &Report{Generation: s.lease.holder.Generation}, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := s.checkPlace(); err != nil {
		return nil, err
	}
	rep := &Report{}
	if err := s.takeLock(rep); err != nil {
		return nil, err
	}
	if err := s.settle(rep); err != nil {
		_ = s.lease.release()
		s.lease = nil
		return nil, err
	}
	return rep, nil
}

// settle is all that happens between holding the lock and being ready.
func (s *Store) settle(rep *Report) error {
	if err := s.writeStamp(rep); err != nil {
		return err
	}
	if err := s.sweep(StateDir); err != nil {
		return err
	}
	if err := s.rollForward(rep); err != nil {
		return err
	}
	if err := s.readStopped(rep); err != nil {
		return err
	}
	var err error
	if rep.PendingUndo, err = s.pendingUndo(); err != nil {
		return err
	}
	s.ensureReserve(rep)
	return s.exclude(rep)
}

// checkPlace looks, without changing anything, whether this is a place to work in.
func (s *Store) checkPlace() error {
	if s.dir != "" && !s.o.AllowNetwork {
		kind, network, err := fileSystemKind(s.dir)
		if err != nil {
			return err
		}
		if network {
			return &NetworkError{Path: s.dir, Kind: kind}
		}
	}
	info, err := s.fs.Stat(StateDir)
	switch {
	case missing(err):
		return nil
	case err != nil:
		return err
	case !info.Mode.IsDir():
		return &NotRegularError{Path: StateDir, Mode: info.Mode}
	}
	if err := s.Usable(); err != nil || s.o.Adopt {
		return err
	}
	return s.checkStamp(info)
}

// place names the project in stamps.
func (s *Store) place() string {
	if s.dir == "" {
		return "/"
	}
	return s.dir
}

// Flush makes durable everything on the project's file system, for effects that
// other programs made: after a git command, before its effect is recorded.
func (s *Store) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writable(); err != nil {
		return err
	}
	return s.fail("flush", s.fs.Flush())
}

// parents lists the folders above a name, the project itself last.
func parents(name string) []string {
	var out []string
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		out = append(out, dir)
		if dir == "." {
			return out
		}
	}
}
