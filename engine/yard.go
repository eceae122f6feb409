package engine

import (
	"slices"
	"strings"
	"sync"
)

// yard keeps what a run and its children share: who works in which folder, since
// git lets one at a time change the index of a checkout, and what was said already.
type yard struct {
	commit sync.Mutex // held while a commit is made
	mu     sync.Mutex
	busy   map[string][]*stay
	told   map[string]bool // what was said of files that they share
	states []string        // where the state of each lies, in the project
}

func newYard() *yard { return &yard{busy: map[string][]*stay{}, told: map[string]bool{}} }

// keeps tells where the state of one of them lies.
func (y *yard) keeps(state string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.states = append(y.states, state)
}

// isState reports whether a file of the project is of the state of one of them.
func (y *yard) isState(name string) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	return slices.ContainsFunc(y.states, func(at string) bool { return name == at || strings.HasPrefix(name, at+"/") })
}

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

// stay is an attempt's time in a folder, from before it can change anything there
// until what it left is committed.
type stay struct {
	dir    string
	beside bool // somebody else was there at some time of it
	// leaves reports whether a file of the repository is one that the attempt is to
	// leave; nil where that is not known yet.
	leaves func(name string) bool
}

// expects tells what the attempt of a stay is to leave.
func (y *yard) expects(s *stay, leaves func(name string) bool) {
	y.mu.Lock()
	defer y.mu.Unlock()
	s.leaves = leaves
}

// expected reports whether a file is one that somebody else in the folder of an
// attempt is to leave.
func (y *yard) expected(f *flight, name string) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	return slices.ContainsFunc(y.busy[f.dir], func(other *stay) bool { return other != f.stay && other.leaves != nil && other.leaves(name) })
}

// enter begins a stay in a folder.
func (y *yard) enter(dir string) *stay {
	y.mu.Lock()
	defer y.mu.Unlock()
	s := &stay{dir: dir, beside: len(y.busy[dir]) > 0}
	for _, other := range y.busy[dir] {
		other.beside = true
	}
	y.busy[dir] = append(y.busy[dir], s)
	return s
}

// leave ends a stay; nil is none.
func (y *yard) leave(s *stay) {
	if s == nil {
		return
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	y.busy[s.dir] = slices.DeleteFunc(y.busy[s.dir], func(other *stay) bool { return other == s })
}

// alone reports whether nobody else is in the folder of an attempt now.
func (y *yard) alone(f *flight) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	return !slices.ContainsFunc(y.busy[f.dir], func(other *stay) bool { return other != f.stay })
}

// shared reports whether somebody else was in the folder of an attempt at any time
// of its stay. Of one whose stay nobody saw only what is now can be told.
func (y *yard) shared(f *flight) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	if f.stay != nil {
		return f.stay.beside
	}
	return len(y.busy[f.dir]) > 0
}
