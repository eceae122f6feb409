package engine

import (
	"slices"
	"strings"
	"sync"
)

// folders keeps what a run and its children share: who works in which folder, since
// git lets one at a time change the index of a checkout, and what was said already.
type folders struct {
	commit sync.Mutex // held while a commit is made
	mu     sync.Mutex
	busy   map[string][]*use
	told   map[string]bool // what was said of files that they share
	states []string        // where the state of each lies, in the project
}

func newFolders() *folders { return &folders{busy: map[string][]*use{}, told: map[string]bool{}} }

// keeps tells where the state of one of them lies.
func (y *folders) keeps(state string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.states = append(y.states, state)
}

// isState reports whether a file of the project is of the state of one of them.
func (y *folders) isState(name string) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	return slices.ContainsFunc(y.states, func(at string) bool { return name == at || strings.HasPrefix(name, at+"/") })
}

// tells reports whether something is to be said: it is, once.
func (y *folders) tells(what string) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.told[what] {
		return false
	}
	y.told[what] = true
	return true
}

// use is an attempt's time in a folder, from before it can change anything there
// until what it left is committed.
type use struct {
	dir    string
	beside bool // somebody else was there at some time of it
	// leaves reports whether a file of the repository is one that the attempt is to
	// leave; nil where that is not known yet.
	leaves func(name string) bool
}

// expects tells what the attempt is to leave.
func (y *folders) expects(s *use, leaves func(name string) bool) {
	y.mu.Lock()
	defer y.mu.Unlock()
	s.leaves = leaves
}

// expected reports whether a file is one that somebody else in the folder of an
// attempt is to leave.
func (y *folders) expected(f *attempt, name string) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	return slices.ContainsFunc(y.busy[f.dir], func(other *use) bool { return other != f.use && other.leaves != nil && other.leaves(name) })
}

// enter begins the use of a folder.
func (y *folders) enter(dir string) *use {
	y.mu.Lock()
	defer y.mu.Unlock()
	s := &use{dir: dir, beside: len(y.busy[dir]) > 0}
	for _, other := range y.busy[dir] {
		other.beside = true
	}
	y.busy[dir] = append(y.busy[dir], s)
	return s
}

// leave ends the use of a folder; nil is none.
func (y *folders) leave(s *use) {
	if s == nil {
		return
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	y.busy[s.dir] = slices.DeleteFunc(y.busy[s.dir], func(other *use) bool { return other == s })
}

// alone reports whether nobody else is in the folder of an attempt now.
func (y *folders) alone(f *attempt) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	return !slices.ContainsFunc(y.busy[f.dir], func(other *use) bool { return other != f.use })
}

// shared reports whether somebody else was in the folder of an attempt at any time
// of its use. Of an attempt whose use nobody saw only what is now can be told.
func (y *folders) shared(f *attempt) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	if f.use != nil {
		return f.use.beside
	}
	return len(y.busy[f.dir]) > 0
}
