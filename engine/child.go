package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/agent"
)

// maxDepth bounds how deep runs may lie in each other: state that names itself
// as its own child must come to an end.
const maxDepth = 4

// startChild lets a run of its own do a unit. It goes on where it stands,
// whatever was cut off before.
func (w *work) startChild(ctx context.Context, a reprise.Assignment) error {
	if w.depth >= maxDepth {
		w.refuse(a, fmt.Errorf("work on %s: it lies %d runs deep", a.Child.ID, w.depth))
		return nil
	}
	f := &attempt{a: a, attempt: w.hist.Step(a.Step).Attempts + 1, began: w.Now(), answers: w.toldTo(a)}
	started := w.about(ctx, f, reprise.StepStarted)
	started.Answers, started.Policy, started.Key = f.answers, reprise.Rerun, w.keyOf(a.Step, f.attempt)
	if err := w.record(ctx, started); err != nil {
		return err
	}
	ctx, f.cancel = context.WithCancel(ctx)
	w.atWork[a.Step] = f
	w.tell(Progress{Kind: Began, Step: a.Step, Title: a.Unit.Title, Role: a.Role, Attempt: f.attempt})
	again := w.saidAgain(a.Step)
	w.hands.Child(ctx, f, again)
	return nil
}

// saidAgain is when a person said that a step is to be done again, zero if it has
// ended since.
func (w *work) saidAgain(step string) (at time.Time) {
	for i := range w.told {
		ev := &w.told[i]
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

// forgive lets the steps be tried again that failed or were cut off for good before
// a person said so of the whole run.
func (w *work) forgive(ctx context.Context, said time.Time) error {
	last := map[string]time.Time{}
	for i := range w.told {
		switch ev := &w.told[i]; ev.Kind {
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
	if err := w.recordAll(ctx, events...); err != nil {
		return err
	}
	return w.load()
}

// runChild works on a run within a run. again is when a person said that it is to be
// tried again, zero if nobody did.
func (e *Engine) runChild(ctx context.Context, parent *work, a reprise.Assignment, again time.Time) (*Summary, error) {
	ref := *a.Child
	child, err := parent.hands.Open(ctx, ref, nil)
	if err != nil {
		return nil, err
	}
	child.depth, child.cast = parent.depth+1, a.Cast
	// Only the outermost run talks to a person: several at once would talk
	// across each other.
	quiet := *child.Engine
	quiet.Ask = nil
	child.Engine = &quiet
	if _, err := fs.Stat(child.led.Files(), ref.Path); errors.Is(err, fs.ErrNotExist) {
		_, events, err := child.book.Begin(child.led.Files(), reprise.Goal{ID: ref.ID, Path: ref.Path, Text: a.Unit.Title, Now: e.Now(), Mode: string(e.Mode)})
		if err != nil {
			return nil, err
		}
		if err := child.recordAll(ctx, e.allBegun(events)...); err != nil {
			return nil, err
		}
	}
	if !again.IsZero() {
		if err := child.forgive(ctx, again); err != nil {
			return nil, err
		}
	}
	return child.sum, child.loop(ctx)
}

// takeChildEnd takes in what came of a child run.
func (w *work) takeChildEnd(ctx context.Context, f *attempt, child *Summary) error {
	if err := w.load(); err != nil {
		return err
	}
	w.sum.Launches += child.Launches
	w.sum.Commands += child.Commands
	w.sum.Finished = append(w.sum.Finished, child.Finished...)
	w.sum.Failed = append(w.sum.Failed, child.Failed...)
	w.sum.Findings = append(w.sum.Findings, child.Findings...)
	w.sum.Refused = append(w.sum.Refused, child.Refused...)
	w.sum.Skipped = append(w.sum.Skipped, child.Skipped...)
	f.child = child
	why := first(append(child.Reasons, "it stopped")...)
	for _, reason := range child.Reasons {
		if len(child.Parked) > 0 && strings.HasPrefix(reason, child.Parked[0]+": ") {
			why = reason // rather than where it stands
		}
	}
	switch {
	case child.State == reprise.Complete || child.Action == reprise.Finish:
		c := w.book.Conclude(w.led.Files(), w.run, f.a, reprise.Reply{Outcome: "done"})
		if c.Problem != "" {
			return w.lied(ctx, f, agent.Result{}, c.Problem)
		}
		return w.finish(ctx, f, c, reprise.Reply{}, "")
	case ctx.Err() == nil && len(child.Held) == 0 && len(child.Questions) == 0 && child.Until.IsZero() && (len(child.Failed) > 0 || len(child.Parked) > 0 || len(child.Refused) > 0):
		return w.fail(ctx, f, agent.Result{Outcome: agent.Failed, Reason: why})
	}
	w.sum.Questions = append(w.sum.Questions, child.Questions...)
	if len(child.Held) > 0 {
		w.held[f.a.Step] = true
		for _, reason := range child.Reasons {
			if strings.HasPrefix(reason, child.Held[0]+": ") {
				why = reason
			}
		}
	}
	if !child.Until.IsZero() && ctx.Err() == nil && len(child.Questions) == 0 {
		ev := w.about(ctx, f, reprise.StepDeferred)
		ev.Until, ev.Account, ev.Text = child.Until, child.Account, why
		return w.postpone(ctx, f, "waiting", ev)
	}
	if ctx.Err() == nil {
		w.parked[f.a.Step] = "waits: " + why
	}
	reset := w.about(ctx, f, reprise.StepReset)
	reset.Outcome, reset.Text, reset.Actor = "waiting", why, actor
	return w.endWith(ctx, f, "waiting", why, reset)
}
