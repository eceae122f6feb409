package journal

import (
	"maps"
	"sync"

	"reprise"
	"reprise/internal/durable"
)

// Still is for a project that no one changes but this process: what was read of its runs
// counts until it changes their files, through a store or in a way that it tells with Moved.
// It outlives the store. The zero value has read nothing.
type Still struct {
	mu      sync.Mutex
	store   *durable.Store // that it was last asked with
	changes uint64         // of the store, that what was read knows of
	runs    map[string]*reprise.Run
}

// Moved tells that files were changed.
func (s *Still) Moved() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs = nil
}

// Copy is for another folder with the very same files.
func (s *Still) Copy() *Still {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look(nil)
	return &Still{runs: maps.Clone(s.runs)}
}

// look forgets what does not count any more.
func (s *Still) look(store *durable.Store) {
	if s.store != nil && s.store.Changes() != s.changes {
		s.runs, s.changes = nil, s.store.Changes()
	}
	if s.store != store {
		s.store, s.changes = store, 0
	}
	if store != nil && store.Changes() != s.changes {
		s.runs, s.changes = nil, store.Changes()
	}
}

// load is reprise.Load, unless the run was read and nothing has changed.
func (s *Still) load(store *durable.Store, layout reprise.Layout, ref reprise.Ref) (*reprise.Run, error) {
	if s == nil {
		return reprise.Load(layout, store, ref)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look(store)
	name := Name(ref)
	if run := s.runs[name]; run != nil {
		return run, nil
	}
	run, err := reprise.Load(layout, store, ref)
	if err != nil {
		return nil, err
	}
	run.Step("") // many may read it: what is looked up first is made now
	if s.runs == nil {
		s.runs = map[string]*reprise.Run{}
	}
	s.runs[name] = run
	return run, nil
}
