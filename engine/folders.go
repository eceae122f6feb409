package engine

import (
	"slices"
	"strings"
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

// keeps adds the place of a run's state.
func (y *folders) keeps(state string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.states = append(y.states, state)
}

// isState reports whether a project file belongs to the state of one of the runs.
func (y *folders) isState(name string) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	return slices.ContainsFunc(y.states, func(at string) bool { return name == at || strings.HasPrefix(name, at+"/") })
}

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

// others are the uses of an attempt's folder by other attempts. The caller holds mu.
func (y *folders) others(f *Attempt) (out []*use) {
	for key, u := range y.uses {
		if key != f.Key && u.dir == f.Dir {
			out = append(out, u)
		}
	}
	return out
}

// enter registers an attempt in its folder.
func (y *folders) enter(f *Attempt) {
	y.mu.Lock()
	defer y.mu.Unlock()
	others := y.others(f)
	for _, other := range others {
		other.beside = true
	}
	y.uses[f.Key] = &use{dir: f.Dir, beside: len(others) > 0}
}

// leave ends it.
func (y *folders) leave(f *Attempt) {
	y.mu.Lock()
	defer y.mu.Unlock()
	delete(y.uses, f.Key)
}

// expects says which files an attempt is to leave.
func (y *folders) expects(f *Attempt, leaves func(name string) bool) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.uses[f.Key].leaves = leaves
}

// expected reports whether another attempt in the same folder is to leave a file.
func (y *folders) expected(f *Attempt, name string) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	return slices.ContainsFunc(y.others(f), func(other *use) bool { return other.leaves != nil && other.leaves(name) })
}

// alone reports whether no other attempt is in the folder now.
func (y *folders) alone(f *Attempt) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	return len(y.others(f)) == 0
}

// shared reports whether another attempt was in the folder at any time. For an attempt of
// an earlier process only the present is known.
func (y *folders) shared(f *Attempt) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	if own := y.uses[f.Key]; own != nil {
		return own.beside
	}
	return len(y.others(f)) > 0
}
