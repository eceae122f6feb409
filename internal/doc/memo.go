package doc

import (
	"slices"
	"sync"

	"reprise"
)

const (
	memoFrom = 16 << 10 // what is smaller is read faster than it is looked up
	memoMost = 4
)

// Memo remembers what was made of the last large texts, for a process that reads the same
// ones over and over. What it gives is shared and must not be changed.
type Memo[T any] struct {
	mu   sync.Mutex
	last []remembered[T]
}

type remembered[T any] struct {
	name  string
	hash  reprise.Hash
	value T
}

// Of gives what read makes of a text under a name. It is remembered if read says so: its
// value must come from the two alone, and nothing else may come of reading.
func (m *Memo[T]) Of(name string, data []byte, read func() (value T, keep bool)) T {
	if len(data) < memoFrom {
		value, _ := read()
		return value
	}
	hash := reprise.HashOf(data)
	same := func(r remembered[T]) bool { return r.name == name && r.hash == hash }
	m.mu.Lock()
	if i := slices.IndexFunc(m.last, same); i >= 0 {
		defer m.mu.Unlock()
		return m.last[i].value
	}
	m.mu.Unlock()
	value, keep := read()
	if keep {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.last = slices.Insert(slices.DeleteFunc(m.last, same), 0, remembered[T]{name, hash, value})
		m.last = m.last[:min(len(m.last), memoMost)]
	}
	return value
}

// Parsed remembers what was made of files, for a command that meets the same content in several
// places: in each checkout, in git's history, and again when it is loaded. What is reported while a
// file is read is reported each time. A value is shared and must not be changed, and comes from the
// name and the content of its file alone.
type Parsed[T any] struct {
	mu   sync.Mutex
	size int // of the contents
	all  map[contentKey]parsed[T]
}

type contentKey struct {
	kind, name string
	hash       reprise.Hash
	ok, lost   bool
}

type parsed[T any] struct {
	value T
	after File // the file once it was read
	tape  []taped
}

// taped is what was reported, or is unknown.
type taped struct {
	reprise.Finding
	unread bool
}

type tape struct{ all []taped }

// Unread implements witness.
func (t *tape) Unread(f reprise.Finding) { t.all = append(t.all, taped{f, true}) }

// parsedMost bounds the contents that are remembered, in bytes.
const parsedMost = 16 << 20

// Of gives what read makes of a file, as a list of this kind.
func (p *Parsed[T]) Of(kind string, f *File, read func(*File) T) T {
	key := contentKey{kind, f.Path, reprise.HashOf(f.Data), f.ok, f.lost}
	p.mu.Lock()
	was, known := p.all[key]
	p.mu.Unlock()
	if !known {
		t, twin := &tape{}, *f
		twin.r = &Reader{tape: t, witness: t}
		was.value = read(&twin)
		was.after, was.tape = File{ok: twin.ok, lost: twin.lost}, t.all
		p.mu.Lock()
		if p.size += len(f.Data); p.size > parsedMost || p.all == nil {
			p.size, p.all = len(f.Data), map[contentKey]parsed[T]{}
		}
		p.all[key] = was
		p.mu.Unlock()
	}
	for _, said := range was.tape {
		switch {
		case !said.unread:
			f.r.Report(said.Finding)
		case f.r.witness != nil:
			f.r.witness.Unread(said.Finding)
		}
	}
	if f.ok && !was.after.ok {
		f.Data = nil // too large
	}
	f.ok, f.lost = was.after.ok, was.after.lost
	return was.value
}
