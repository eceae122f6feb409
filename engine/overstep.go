package engine

import (
	"context"
	"slices"
	"strings"

	"reprise"
)

// others are the steps that are open while an attempt at one of them begins, where an
// attempt is to close its own step and no other; nil elsewhere. What the step is a part of
// its agent may close.
func (w *work) others(step string) (out []string) {
	if !w.ref.Kind.Facts().OneEach {
		return nil
	}
	for i := range w.run.Steps {
		if s := &w.run.Steps[i]; !s.Status.Closed() && s.ID != step && !strings.HasPrefix(step, s.ID+".") {
			out = append(out, s.ID)
		}
	}
	return out
}

// tellOverstepped records which other steps were marked done or taken out of the files
// while an attempt was at work, by none of their own: a person is asked about the former
// before anything builds on them, and told of the latter.
func (w *work) tellOverstepped(ctx context.Context, s *Seen) error {
	var events []reprise.Event
	for _, id := range s.Others {
		ev := reprise.Event{Kind: reprise.StepOverstepped, Step: id, By: s.Step, Actor: actor}
		now := w.run.Step(id)
		if now == nil {
			ev.Outcome = "removed"
		}
		known := slices.ContainsFunc(w.events, func(e reprise.Event) bool {
			own := e.Kind == reprise.StepFinished || e.Kind == reprise.StepSkipped || e.Kind == reprise.StepOverstepped
			return own && e.Step == id && !e.At.Before(s.Began)
		})
		if !known && w.atWork[id] == nil && (now == nil || now.Status.Closed()) {
			events = append(events, ev)
		}
	}
	if len(events) == 0 {
		return nil
	}
	if err := w.recordAll(ctx, events...); err != nil {
		return err
	}
	return w.load()
}
