package engine

import "sync"

// yard keeps what a run and its children share: who works in which folder, since
// git lets one at a time change the index of a checkout, and what was said already.
type yard struct {
	commit sync.Mutex // held while a commit is made
	mu     sync.Mutex
	busy   map[string]int
	told   map[string]bool // what was said of files that they share
}

func newYard() *yard { return &yard{busy: map[string]int{}, told: map[string]bool{}} }

// tells reports whether something is to be said: it is, once.
func (y *yard) tells(what string) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.told[what] {
		return false
	}
	y.told[what] = true
	return true
}

func (y *yard) enter(dir string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.busy[dir]++
}

func (y *yard) leave(dir string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.busy[dir]--
}

// shared reports whether an attempt is at work in a folder.
func (y *yard) shared(dir string) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.busy[dir] > 0
}
