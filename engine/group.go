package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"reprise"
)

// recordAll records events that belong together. If the process dies between two
// of them, whoever opens the run next records the rest before anything else.
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

// followed keeps what is still to follow. Anything else than the next of it means
// that the rest was given up.
func (w *work) followed(ev *reprise.Event) {
	w.orderly = ev.Kind == reprise.EngineLeft
	w.renewal.Add(ev)
	if len(w.follows) > 0 && ev.Same(w.follows[0]) {
		w.follows = w.follows[1:]
		return
	}
	w.follows = ev.Then
}

// follow records what an earlier process said would follow and did not get to.
// What the files refuse by now is given up and said.
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
			Message: fmt.Sprintf("%s was to follow before a crash and cannot be recorded any more: %v", ev.Kind, err),
		})
	}
	return nil
}
