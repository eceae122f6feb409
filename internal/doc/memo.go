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
