package durable

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"sync"
	"syscall"
	"time"

	"reprise"
	"reprise/internal/link"
)

// Watch is the project for one reading of it, which keeps in mind what was read:
// Same tells later whether reading again would give anything else. It is safe for
// concurrent use.
type Watch struct {
	s    *Store
	mu   sync.Mutex
	seen map[string]sight
	// wrote are files that were changed on purpose since, and what they are to be;
	// grown the folders above them.
	wrote map[string]reprise.Hash
	grown map[string]bool
	// unsure is set once a reading failed for a reason that may pass: what stands
	// under the name does not tell whether it has.
	unsure bool
}

// Watch begins a reading.
func (s *Store) Watch() *Watch {
	return &Watch{s: s, seen: map[string]sight{}, wrote: map[string]reprise.Hash{}, grown: map[string]bool{}}
}

// sight is what a name stood for before it was read.
type sight struct {
	err  string // why it could not be looked at, "" if it could
	real string // where the links on the way led
	info Info
	// content is the hash of a file whose times cannot tell whether it changes
	// from now on.
	content reprise.Hash
	hashed  bool
	list    []Info // of a folder
}

// How old the last change of a file must be for its times to tell of the next one:
// the system's clock for them ticks every few milliseconds, and two changes within
// a tick look like one. Some disks keep whole seconds, or every other one.
const (
	settled       = 100 * time.Millisecond
	settledCoarse = 3 * time.Second
)

// recent reports whether the next change of a file may leave its times as they are.
func recent(changed time.Time) bool {
	if changed.Nanosecond() == 0 {
		return time.Since(changed) < settledCoarse
	}
	return time.Since(changed) < settled
}

// Open implements fs.FS.
func (w *Watch) Open(name string) (fs.File, error) {
	w.note(name)
	f, err := w.s.Open(name)
	return f, w.failed(err)
}

// ReadDir implements fs.ReadDirFS.
func (w *Watch) ReadDir(name string) ([]fs.DirEntry, error) {
	w.note(name)
	list, err := w.s.ReadDir(name)
	return list, w.failed(err)
}

// Stat implements fs.StatFS.
func (w *Watch) Stat(name string) (fs.FileInfo, error) {
	w.note(name)
	info, err := w.s.Stat(name)
	return info, w.failed(err)
}

// ReadFile implements fs.ReadFileFS.
func (w *Watch) ReadFile(name string) ([]byte, error) {
	w.note(name)
	b, err := w.s.ReadFile(name)
	return b, w.failed(err)
}

// failed gives the error back, and keeps in mind if it is one that may pass.
func (w *Watch) failed(err error) error {
	if err != nil && !missing(err) && !tells(err) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.unsure = true
	}
	return err
}

// tells reports whether an error is one that stays as long as what stands at the
// names on the way does.
func tells(err error) bool {
	var odd *NotRegularError
	return errors.As(err, &odd) || errors.Is(err, link.ErrOutside) || errors.Is(err, link.ErrNowhere) || errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENOTDIR) ||
		errors.Is(err, fs.ErrInvalid) || errors.Is(err, ErrTooLarge)
}

// note keeps what stands under a name. That is done before it is read: a change
// after this moment shows, whichever of the two the reading saw.
func (w *Watch) note(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, known := w.seen[name]; !known {
		w.seen[name] = w.s.sight(name, false)
	}
}

// Wrote tells that a file was changed to this content by whoever keeps the watch,
// and that what it was read for is known without reading it again.
func (w *Watch) Wrote(name string, content reprise.Hash) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrote[name] = content
	for _, dir := range parents(name) {
		w.grown[dir] = true
	}
}

// Same reports whether everything that was read is as it was, or as Wrote told.
func (w *Watch) Same() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.unsure {
		return false
	}
	for name, want := range w.wrote {
		if now := w.s.sight(name, true); !now.hashed || now.content != want || now.real != name {
			return false
		}
	}
	for name, was := range w.seen {
		if _, ours := w.wrote[name]; ours {
			continue
		}
		now := w.s.sight(name, was.hashed)
		if w.grown[name] && now.info.Mode.IsDir() {
			now.info.ModTime, was.info.ModTime = time.Time{}, time.Time{} // ours
		}
		created := w.grown[name] && was.err != "" && now.info.Mode.IsDir()
		if !created && (now.err != was.err || now.real != was.real || now.info != was.info || now.content != was.content || now.hashed != was.hashed) {
			return false
		}
		if !w.sameList(name, was.list, now.list) {
			return false
		}
	}
	return true
}

// sameList compares what a folder lists, sizes and times included: whoever lists
// it sees those too. What was written on purpose may be new in it or other.
func (w *Watch) sameList(dir string, was, now []Info) bool {
	ours := func(e Info) bool {
		name := path.Join(dir, e.Name)
		_, wrote := w.wrote[name]
		return wrote && e.Regular() || w.grown[name] && e.Mode.IsDir()
	}
	for _, e := range now {
		// A folder that came with what was written: nobody has looked into it, so
		// there may be nothing else in it.
		name := path.Join(dir, e.Name)
		if w.grown[name] && e.Mode.IsDir() && !slices.ContainsFunc(was, func(o Info) bool { return o.Name == e.Name }) {
			if in := w.s.sight(name, false); in.err != "" || !w.sameList(name, nil, in.list) {
				return false
			}
		}
	}
	was, now = slices.DeleteFunc(slices.Clone(was), ours), slices.DeleteFunc(now, ours)
	return slices.EqualFunc(was, now, func(a, b Info) bool {
		return a.Name == b.Name && a.Mode == b.Mode && a.Size == b.Size && a.ModTime.Equal(b.ModTime)
	})
}

// sight looks at a name. The content of a file is looked at only where the times
// do not tell enough, or where that is asked for.
func (s *Store) sight(name string, content bool) sight {
	if !fs.ValidPath(name) {
		return sight{err: "not a name"}
	}
	real, info, err := s.lead("look at", name)
	if err != nil {
		return sight{err: err.Error()}
	}
	switch {
	case info.Mode.IsDir():
		list, err := s.entries(name, real)
		if err != nil {
			return sight{err: err.Error()}
		}
		return sight{real: real, info: Info{Mode: info.Mode, Ino: info.Ino, ModTime: info.ModTime}, list: list}
	case content || s.o.AllowNetwork || info.Changed.IsZero() || recent(info.Changed):
		if info.Size > maxFile {
			return sight{err: ErrTooLarge.Error()}
		}
		hash, err := s.hashFile(real)
		if err != nil {
			return sight{err: err.Error()}
		}
		return sight{real: real, info: Info{Mode: info.Mode, ModTime: info.ModTime}, content: hash, hashed: true}
	}
	return sight{real: real, info: info}
}
