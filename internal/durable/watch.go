package durable

import (
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"

	"reprise"
)

// Watch is the project for one reading of it, which keeps in mind what was read:
// Same tells later whether reading again would give anything else. It is safe for
// concurrent use.
type Watch struct {
	s    *Store
	mu   sync.Mutex
	seen map[string]sight
}

// Watch begins a reading.
func (s *Store) Watch() *Watch { return &Watch{s: s, seen: map[string]sight{}} }

// sight is what a name stood for before it was read.
type sight struct {
	err  string // why it could not be looked at, "" if it could
	info Info
	// content is the hash of a file whose times cannot tell whether it changes
	// from now on, and of the list of a folder.
	content reprise.Hash
	hashed  bool
}

// settled is how old the last change of a file must be for its times to tell of
// the next one: the system's clock for them ticks every few milliseconds, and two
// changes within a tick look like one.
const settled = 100 * time.Millisecond

// Open implements fs.FS.
func (w *Watch) Open(name string) (fs.File, error) {
	w.note(name)
	return w.s.Open(name)
}

// Stat implements fs.StatFS.
func (w *Watch) Stat(name string) (fs.FileInfo, error) {
	w.note(name)
	return w.s.Stat(name)
}

// ReadFile implements fs.ReadFileFS.
func (w *Watch) ReadFile(name string) ([]byte, error) {
	w.note(name)
	return w.s.ReadFile(name)
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

// Same reports whether everything that was read is as it was.
func (w *Watch) Same() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, was := range w.seen {
		if now := w.s.sight(name, was.hashed); now != was {
			return false
		}
	}
	return true
}

// sight looks at a name. The content is looked at only where the times do not
// tell enough, or where that is asked for.
func (s *Store) sight(name string, content bool) sight {
	if !fs.ValidPath(name) {
		return sight{err: "not a name"}
	}
	info, err := s.fs.Stat(name)
	if err != nil {
		return sight{err: err.Error()}
	}
	out := sight{info: info}
	switch {
	case info.Mode.IsDir():
		out.content, out.hashed = s.listed(name)
		out.info = Info{Mode: info.Mode, Ino: info.Ino} // the rest is about the list
	case content || s.o.AllowNetwork || info.Changed.IsZero() || time.Since(info.Changed) < settled:
		b, _, err := s.readFile(name)
		if err != nil {
			return sight{err: err.Error()}
		}
		out.content, out.hashed = reprise.HashOf(b), true
		out.info = Info{Mode: info.Mode, ModTime: info.ModTime}
	}
	return out
}

// listed is the hash of what a folder lists, sizes and times included: whoever
// lists it sees those too.
func (s *Store) listed(name string) (reprise.Hash, bool) {
	var b strings.Builder
	entries, err := s.fs.List(name)
	for _, e := range entries {
		fmt.Fprintf(&b, "%q %v %d %d\n", e.Name, e.Mode, e.Size, e.ModTime.UnixNano())
	}
	if err != nil {
		b.WriteString(err.Error())
	}
	return reprise.HashOf([]byte(b.String())), true
}
