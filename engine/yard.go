package engine

import "sync"

// yard keeps who works in which folder, for a run and its children: they share
// the project's checkout, and git lets one at a time change its index.
type yard struct {
	commit sync.Mutex // held while a commit is made
	mu     sync.Mutex
	busy   map[string]int
}

func newYard() *yard { return &yard{busy: map[string]int{}} }

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
