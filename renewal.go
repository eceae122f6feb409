package reprise

import "slices"

// Place is a Ref as it stands in a journal.
type Place struct {
	Layout string `json:"layout"`
	ID     string `json:"id"`
	Path   string `json:"path"`
	Kind   Kind   `json:"kind,omitempty"`
}

// Renewal follows the events of a journal for a fresh start that was decided and
// may not be finished: from RunRenewed on, as long as nothing is
// recorded but what that event said would follow.
type Renewal struct {
	// Run is what begins again, zero while no fresh start is under way. Old is
	// what is archived for that: as a rule the same, before.
	Run, Old Ref
	// Then are all events that follow, Left those that are not on record.
	Then, Left []Event
}

// Add moves on by one event.
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
	// Some of it may have been left out on the way.
	next := slices.IndexFunc(n.Left, ev.Same)
	if next < 0 {
		*n = Renewal{}
		return
	}
	n.Left = n.Left[next+1:]
}

// Of reports whether it is the fresh start of this run: a journal counts for no
// other.
func (n *Renewal) Of(ref Ref) bool { return n.Run.Layout == ref.Layout && n.Run.Path == ref.Path }

// Moves reports whether the run begins again in another place than it was.
func (n *Renewal) Moves() bool { return n.Old.Layout != n.Run.Layout || n.Old.Path != n.Run.Path }

// Open reports whether a fresh start is the last word. Where nothing of it is left
// to be recorded, the files of the run may still have to follow.
func (n *Renewal) Open() bool { return n.Run.Path != "" }

// Same reports whether an event is the one that another said would follow.
func (ev *Event) Same(announced Event) bool {
	return ev.Kind == announced.Kind && ev.Step == announced.Step && ev.Phase == announced.Phase && ev.Question == announced.Question
}
