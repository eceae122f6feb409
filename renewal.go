package reprise

import "slices"

// Place is a Ref as stored in a journal.
type Place struct {
	Layout string `json:"layout"`
	ID     string `json:"id"`
	Path   string `json:"path"`
	Kind   Kind   `json:"kind,omitempty"`
}

// Renewal tracks, through the events of a journal, a fresh start that was decided and may
// be unfinished: from RunRenewed on, as long as only the announced events follow.
type Renewal struct {
	// Run is what begins again, zero while no fresh start is in progress. Old is what
	// gets archived for it, usually the same.
	Run, Old Ref
	// Then are all the events that follow, Left those not yet recorded.
	Then, Left []Event
}

// Add processes one event.
func (n *Renewal) Add(ev *Event) {
	if ev.Kind == RunRenewed && ev.Run != nil {
		*n = Renewal{Run: Ref(*ev.Run), Old: Ref(*ev.Run), Then: ev.Then, Left: ev.Then}
		if ev.Old != nil {
			n.Old = Ref(*ev.Old)
		}
		return
	}
	if !n.Open() {
		return
	}
	// Some of them may have been skipped.
	next := slices.IndexFunc(n.Left, ev.Same)
	if next < 0 {
		*n = Renewal{}
		return
	}
	n.Left = n.Left[next+1:]
}

// Of reports whether this is the fresh start of the given run: a journal counts for no
// other.
func (n *Renewal) Of(ref Ref) bool { return n.Run.Layout == ref.Layout && n.Run.Path == ref.Path }

// Moves reports whether the run begins again in another place.
func (n *Renewal) Moves() bool { return n.Old.Layout != n.Run.Layout || n.Old.Path != n.Run.Path }

// Open reports whether the journal ends with a fresh start. Even if all its events are
// recorded, the run's files may not reflect them yet.
func (n *Renewal) Open() bool { return n.Run.Path != "" }

// Same reports whether an event is the announced one.
func (ev *Event) Same(announced Event) bool {
	return ev.Kind == announced.Kind && ev.Step == announced.Step && ev.Phase == announced.Phase && ev.Question == announced.Question
}
