package engine

import (
	"reprise"
)

// followed keeps what is left of a group. Any other event means that the rest was given
// up.
func (r *Recalled) followed(ev *reprise.Event) {
	r.leftInOrder = ev.Kind == reprise.EngineLeft
	r.renewal.Add(ev)
	if len(r.follows) > 0 && ev.Same(r.follows[0]) {
		r.follows = r.follows[1:]
		return
	}
	r.follows = ev.Then
}
