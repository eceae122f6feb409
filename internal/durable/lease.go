package durable

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"time"
)

// LockPath is the file that is locked, below the project.
const LockPath = StateDir + "/lock"

// Holder says who holds the lease, in a form that no later process can share: a
// pid is used again, a pid with its start time and the boot it belongs to is not.
// It is for people and for fencing; only the lock excludes.
type Holder struct {
	Host       string `json:"host"`
	BootID     string `json:"boot,omitempty"`
	PID        int    `json:"pid"`
	StartTicks uint64 `json:"ticks,omitempty"`
	Command    string `json:"cmd,omitempty"`
	Generation uint64 `json:"gen"`
}

// String gives one line for a person.
func (h Holder) String() string {
	text := fmt.Sprintf("process %d on %s", h.PID, h.Host)
	if h.Command != "" {
		text += " (" + h.Command + ")"
	}
	return text
}

// lease is the lock as we hold it.
type lease struct {
	file   File
	ino    uint64
	holder Holder
}

// released holds the leases this process has given back. A child that another
// goroutine was starting at that moment has a copy of the descriptor until its exec
// is over, and so keeps the lock a little longer.
var released sync.Map // of leaseID

type leaseID struct {
	ino    uint64
	holder Holder
}

// releaseWait is how long a taker waits for such a child.
const releaseWait = 2 * time.Second

func (l *lease) release() error {
	released.Store(leaseID{l.ino, l.holder}, nil)
	return l.file.Close()
}

// maxCommand keeps the body of the lock within its place.
const maxCommand = 160

// LockFile is the descriptor that holds the lease, for exec.Cmd.ExtraFiles: a
// child that inherits it keeps the lease from being taken while it lives. It is
// nil without a lease and in memory. It must not be closed.
func (s *Store) LockFile() *os.File {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease == nil {
		return nil
	}
	if f, ok := s.lease.file.(interface{ OS() *os.File }); ok {
		return f.OS()
	}
	return nil
}

// Who tells who holds or last held the lease, from the body of the lock. It
// takes no lock, changes nothing and proves nothing about life.
func (s *Store) Who() (Holder, error) {
	f, err := s.fs.Open(lockFile, os.O_RDONLY, 0)
	if err != nil {
		return Holder{}, err
	}
	defer f.Close()
	body, err := readSlots(f)
	return holderOf(body), err
}

func holderOf(body slots) (h Holder) {
	if body.data != nil && json.Unmarshal(body.data, &h) != nil {
		return Holder{}
	}
	return h
}

// takeLock locks, counts up and makes it durable. On any error nothing is held.
func (s *Store) takeLock(rep *Report) error {
	if err := s.makeDirs(StateDir, 0o700); err != nil {
		return err
	}
	f, info, err := s.lockOnce()
	if err != nil {
		return err
	}
	// crash: lock-held
	if err := s.recordHolder(f, info, rep); err != nil {
		f.Close()
		s.lease = nil
		return err
	}
	return nil
}

// lockOnce opens and locks the file and makes sure that it still is the one at
// its name: a lock on an unlinked or replaced file excludes no one.
func (s *Store) lockOnce() (File, Info, error) {
	deadline := time.Now().Add(releaseWait)
	for tries := 0; tries < 8; tries++ {
		f, err := s.fs.Open(lockFile, os.O_RDWR, 0)
		if missing(err) {
			f, err = s.fs.Open(lockFile, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
			if errors.Is(err, fs.ErrExist) {
				continue // another taker made it just now
			}
		}
		if err != nil {
			return nil, Info{}, fmt.Errorf("take the lease: %w", err)
		}
		held, err := f.TryLock()
		if err != nil {
			f.Close()
			return nil, Info{}, err
		}
		opened, err := f.Stat()
		if !held {
			body, _ := readSlots(f)
			f.Close()
			holder := holderOf(body)
			if _, ours := released.Load(leaseID{opened.Ino, holder}); ours && time.Now().Before(deadline) {
				tries--
				time.Sleep(time.Millisecond)
				continue
			}
			return nil, Info{}, &HeldError{Path: lockFile, Holder: holder}
		}
		now, err2 := s.fs.Stat(lockFile)
		if err == nil && err2 == nil && now.Ino == opened.Ino {
			return f, opened, nil
		}
		f.Close()
	}
	return nil, Info{}, fmt.Errorf("take the lease %s: %w", lockFile, ErrFenced)
}

// recordHolder writes the body. The lease counts only when it is durable:
// otherwise a cut would let two takings have one number.
func (s *Store) recordHolder(f File, info Info, rep *Report) error {
	// A process before us may have been killed between write and fsync. What
	// it left in the cache is about to be read: it must be on the disk first.
	if err := s.fail("flush", s.fs.Flush()); err != nil {
		return err
	}
	body, err := readSlots(f)
	if err != nil {
		return fmt.Errorf("read the lease: %w", err)
	}
	rep.Previous = holderOf(body)
	released.Delete(leaseID{info.Ino, rep.Previous})
	next := max(rep.Previous.Generation, s.generationFloor()) + 1
	if body.damaged {
		// The place that cannot be read may have held one number more.
		next++
		rep.note(lockFile, "one of its two places cannot be read")
	}
	h := self()
	h.Generation = next
	h.Command, h.Host = clip(h.Command, maxCommand), clip(h.Host, 64)
	if err := s.putHolder(body, h, info.Size == 0); err != nil {
		return s.fail("take the lease", err)
	}
	// crash: generation-written
	if err := s.fail("take the lease", f.Sync()); err != nil {
		return err
	}
	if err := s.syncDirs(lockFile); err != nil {
		return err
	}
	// crash: generation-durable
	s.lease = &lease{file: f, ino: info.Ino, holder: h}
	rep.Generation = next
	return nil
}

func (s *Store) putHolder(body slots, h Holder, fresh bool) error {
	if !fresh {
		return body.put(h)
	}
	b, err := blankSlots(h)
	if err != nil {
		return err
	}
	_, err = body.f.WriteAt(b, 0)
	return err
}

// clip shortens a text so that its JSON form fits.
func clip(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == '"' || r == '\\' || r == '<' || r == '>' || r == '&' || r >= 0x7f {
			return '?'
		}
		return r
	}, text)
	return text[:min(len(text), limit)]
}

// generationFloor is the highest generation that the stamp and the logs' anchors
// know: the lock may have been lost with its number.
func (s *Store) generationFloor() (floor uint64) {
	if st, err := s.readStamp(); err == nil {
		floor = st.Gen
	}
	entries, err := s.fs.List(journalDir)
	if err != nil {
		return floor
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name, anchorSuffix) || !e.Regular() {
			continue
		}
		if a, _, err := s.readAnchor(path.Join(journalDir, e.Name)); err == nil {
			floor = max(floor, a.Gen)
		}
	}
	return floor
}

// checkFence looks whether the lock still is the file that we locked.
func (s *Store) checkFence() error {
	now, err := s.fs.Stat(lockFile)
	if err == nil && now.Ino == s.lease.ino {
		return nil
	}
	return s.fail("check the lease", ErrFenced)
}

// stamp says where a state folder belongs. It also holds the generation, in
// case the lock is lost.
type stamp struct {
	Ino  uint64 `json:"ino"`
	Path string `json:"path"`
	Gen  uint64 `json:"gen"`
}

const stampVersion = "t1"

func (s *Store) readStamp() (st stamp, err error) {
	b, _, err := s.readFile(stampFile)
	if err != nil {
		return st, err
	}
	return st, openJSON(stampFile, stampVersion, b, &st)
}

// checkStamp returns a *CopiedError if the state folder was copied here: both
// its inode and its path are others than on record. Moving keeps the inode,
// restoring a backup keeps the path. The stamp is durable before there is a
// journal or an intent, so one of them without it was not made here.
func (s *Store) checkStamp(dir Info) error {
	st, err := s.readStamp()
	if missing(err) && s.begun() {
		st, err = s.readStamp() // whoever began just now has written it before
	}
	if err != nil {
		var future *FutureError
		if errors.As(err, &future) {
			return err
		}
		if missing(err) {
			err = &DamageError{Path: stampFile, Cause: "the file is missing"}
		}
		var damage *DamageError
		var odd *NotRegularError
		wrong := errors.As(err, &damage) || errors.As(err, &odd) && !odd.Mode.IsRegular()
		if !wrong || !s.begun() {
			return nil // someone writes it just now, or writeStamp reports what is wrong with it
		}
		return &CopiedError{Here: s.place(), Cause: err}
	}
	if st.Ino != dir.Ino && st.Path != s.place() {
		return &CopiedError{From: st.Path, Here: s.place()}
	}
	return nil
}

// begun reports whether something was ever decided with this state folder.
func (s *Store) begun() bool {
	if _, err := s.fs.Stat(intentFile); !missing(err) {
		return true
	}
	logs, err := s.fs.List(journalDir)
	return len(logs) > 0 || err != nil && !missing(err)
}

// Copied returns a *CopiedError if the state folder came from another place and
// no one has accepted it here yet, whatever the store was opened with. It changes
// nothing.
func (s *Store) Copied() error {
	info, err := s.fs.Stat(StateDir)
	if missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.checkStamp(info)
}

func (s *Store) writeStamp(rep *Report) error {
	dir, err := s.fs.Stat(StateDir)
	if err != nil {
		return err
	}
	want := stamp{Ino: dir.Ino, Path: s.place(), Gen: s.lease.holder.Generation}
	have, err := s.readStamp()
	switch {
	case err == nil && have.Ino == want.Ino && have.Path == want.Path:
	case err == nil && have.Path != want.Path:
		rep.note(stampFile, "the project was at %s before", have.Path)
	case err == nil:
		rep.note(stampFile, "the state folder is another one than before: it was restored or copied")
	case !missing(err):
		rep.note(stampFile, "it cannot be read and is written anew: %v", err)
	}
	return s.installJSON(stampFile, stampVersion, want)
}
