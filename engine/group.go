package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"reprise"
)

// recordAll records a group of events. If the process dies in between, the next one to
// open the run records the rest before anything else.
func (w *work) recordAll(ctx context.Context, events ...reprise.Event) error {
	for i := range events {
		if i > 0 {
			events[i].At = time.Time{} // each has its own, once it is recorded
		}
	}
	if len(events) > 1 {
		events[0].Then = slices.Clone(events[1:])
	}
	for _, ev := range events {
		if err := w.record(ctx, ev); err != nil {
			return err
		}
		// crash: one-of-several
	}
	return nil
}

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

// follow records the rest of a group that an earlier process began. What the files no
// longer take is given up and reported.
func (w *work) follow(ctx context.Context) error {
	if w.renewal.Open() {
		return w.renewAgain(ctx)
	}
	for len(w.follows) > 0 {
		ev := w.follows[0]
		err := w.record(ctx, ev)
		if err == nil {
			continue
		}
		if w.store.Poisoned() != nil {
			return err
		}
		w.follows = nil
		w.notice(reprise.Finding{
			Code: reprise.CodeMovedOn, Severity: reprise.Warning, Subject: first(ev.Step, w.ref.ID),
			Message: fmt.Sprintf("%s was due before a crash and can no longer be recorded: %v", ev.Kind, err),
		})
	}
	return nil
}
