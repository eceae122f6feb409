package engine

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"reprise"
)

// maxDepth bounds how deep runs may be nested: state that names itself as its own child
// must come to an end.
const maxDepth = 4

// saidAgain is when a person wanted a step done again, or the whole run, zero if it has
// ended since.
func (w *work) saidAgain(step string) (at time.Time) {
	at = w.hist.Renewed
	for i := range w.events {
		ev := &w.events[i]
		if ev.Step != step {
			continue
		}
		switch ev.Kind {
		case reprise.StepReset:
			if ev.Actor == person {
				at = ev.At
			}
		case reprise.StepFinished, reprise.StepSkipped, reprise.StepFailed, reprise.StepBlocked:
			at = time.Time{}
		}
	}
	return at
}

// forgive resets the steps that failed or were cut off for good before a person wanted
// the whole run tried again, and those whose end the files no longer have since then.
func (w *work) forgive(ctx context.Context, said time.Time) error {
	if err := w.load(); err != nil {
		return err
	}
	last := map[string]time.Time{}
	for i := range w.events {
		switch ev := &w.events[i]; ev.Kind {
		case reprise.StepFailed, reprise.StepBlocked, reprise.StepResolved:
			last[ev.Step] = ev.At
		}
	}
	var events []reprise.Event
	for _, step := range slices.Sorted(mapKeys(last)) {
		if (w.tired(step) || w.halted(step)) && last[step].Before(said) {
			events = append(events, resetBy(step))
		}
	}
	for i := range w.run.Steps {
		// What is recorded elsewhere may be ahead of the clock by a second.
		if end := w.view.Reopened(&w.run.Steps[i]); end != nil && !end.At.After(said.Add(time.Second)) {
			events = append(events, resetBy(end.Step))
		}
	}
	if err := w.recordAll(ctx, events...); err != nil {
		return err
	}
	return w.load()
}

// runChild works on the child run that does the unit of an attempt.
func (e *Engine) runChild(ctx context.Context, parent *work, f Attempt) (*Summary, error) {
	ref := *f.Child
	child, err := parent.open(context.WithoutCancel(ctx), ref, nil)
	if err != nil {
		return nil, err
	}
	child.depth, child.within, child.cast, child.Air.Again = parent.depth+1, ref, f.Cast, true
	// Only the outermost run asks: several at once would confuse a person.
	quiet := *child.Engine
	quiet.Ask = nil
	child.Engine = &quiet
	if _, err := fs.Stat(child.led.Files(), ref.Path); errors.Is(err, fs.ErrNotExist) {
		_, events, err := child.playbook.Begin(child.led.Files(), reprise.Goal{ID: ref.ID, Path: ref.Path, Text: f.Unit.Title, Now: e.Now(), Mode: string(e.Mode)})
		if err != nil {
			return nil, err
		}
		if err := child.recordAll(ctx, e.begun(events)...); err != nil {
			return nil, err
		}
	}
	if !f.Again.IsZero() {
		if err := child.forgive(ctx, f.Again); err != nil {
			return nil, err
		}
	}
	if err := child.rejoin(ctx); err != nil {
		return nil, err
	}
	defer child.carry()
	return child.sum, child.loop(ctx)
}
