package engine

import (
	"sync"
)

// folders is what a run and its child runs share: who works in which folder, because only
// one git at a time can change the index of a checkout, and what was reported already.
type folders struct {
	commit sync.Mutex // held while a commit is made
	mu     sync.Mutex
	uses   map[string]*use // by the keys of their attempts
	told   map[string]bool // what was said of files that they share
	states []string        // where the state of each lies, in the project
}

func newFolders() *folders { return &folders{uses: map[string]*use{}, told: map[string]bool{}} }

// tells reports whether something has not been reported yet; from then on it has.
func (y *folders) tells(what string) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.told[what] {
		return false
	}
	y.told[what] = true
	return true
}

// use is an attempt's time in a folder, from before it can change anything there until
// its work is committed.
type use struct {
	dir    string
	beside bool // someone else was there at some time of it
	// leaves reports whether the attempt is to leave a file of the repository; nil while
	// that is unknown.
	leaves func(name string) bool
}
