package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"reprise"
	"reprise/journal"
)

// actor is what our own events are signed with, person what a person decided.
const (
	actor  = "reprise"
	person = reprise.Person
)

// maxBackoff is the longest pause between two attempts.
const maxBackoff = 5 * time.Minute

// IsLimit reports whether a run that is not looked at again before a time waits for a limit
// or an outage, and not for the pause between two attempts.
func IsLimit(until, now time.Time) bool { return until.Sub(now) > maxBackoff }

// mayStart is from when on a step may be started, or why only a person can have it
// started. It rests on the journal and the files alone, so it is the same after a
// restart.
func (w *work) mayStart(a reprise.Assignment) (at time.Time, never string) {
	h := w.hist.Step(a.Step)
	if why := h.Spent(journal.Budget{Attempts: pick(a.Attempts, w.Settings.Attempts), Cutoffs: w.Settings.Cutoffs}); why != "" {
		return at, why
	}
	if h.LastFailure != nil {
		pause := pick(a.Backoff, w.Settings.Backoff) << min(h.Failures-1, 20)
		at = h.LastFailure.At.Add(min(pause, maxBackoff))
		if h.LastFailure.At.After(w.Now()) {
			at = time.Time{} // the clock was set back since; no one knows how long ago it was
		}
	}
	for _, until := range []time.Time{w.deferred(a), w.files.Until} {
		if until = w.believed(until); until.After(at) {
			at = until
		}
	}
	return at, ""
}

// budget is how often each step of a run is tried before a person is asked.
func (w *work) budget(ref reprise.Ref) (func(step string) journal.Budget, error) {
	usual := journal.Budget{Attempts: w.Settings.Attempts, Cutoffs: w.Settings.Cutoffs}
	o, is := w.playbook.(workflowPlaybook)
	return func(step string) journal.Budget {
		b := usual
		if is && ref == w.ref {
			b.Attempts = pick(o.wf.Attempts(step), b.Attempts)
		}
		return b
	}, nil
}

// park leaves a step to a person.
func (w *work) park(a reprise.Assignment, why string) {
	w.Parked[a.Step] = why
	w.tell(Progress{Kind: Noticed, Step: a.Step, Title: a.Unit.Title, Text: why})
}

// tired reports whether attempts at a step failed or were cut off since a person last
// decided about it.
func (w *work) tired(step string) bool {
	return w.hist.Step(step).Tired()
}

// halted reports whether the last attempt at a step was blocked by something outside.
func (w *work) halted(step string) bool { return w.lastOf(step) == reprise.StepBlocked }

// lastOf is the kind of the last event about the status of a step, "" if there is none or
// an earlier state was restored since.
func (s *state) lastOf(step string) reprise.EventKind {
	for i := len(s.events) - 1; i >= 0; i-- {
		switch ev := &s.events[i]; ev.Kind {
		case reprise.StateRestored:
			return ""
		case reprise.StepStarted, reprise.StepFinished, reprise.StepSkipped, reprise.StepFailed, reprise.StepBlocked, reprise.StepReset:
			if ev.Step == step {
				return ev.Kind
			}
		}
	}
	return ""
}

// tiredStages lists the stages that the files do not keep and that are tired.
func (w *work) tiredStages() []string {
	var out []string
	for _, step := range slices.Sorted(mapKeys(w.hist.Steps)) {
		if w.run.Step(step) == nil && w.tired(step) {
			out = append(out, step)
		}
	}
	return out
}

// givenUp lists the steps that only a person has tried again: those of the files in their
// order, then stages that the files do not keep.
func (w *work) givenUp() []string {
	var out []string
	for i := range w.run.Steps {
		s := &w.run.Steps[i]
		if s.Status.Closed() && w.Parked[s.ID] == "" {
			continue
		}
		failed := w.tired(s.ID) && (w.Parked[s.ID] != "" || s.Status == reprise.Failed)
		if failed || (s.Status == reprise.Blocked || w.Parked[s.ID] != "") && w.halted(s.ID) {
			out = append(out, s.ID)
		}
	}
	for _, step := range slices.Sorted(mapKeys(w.Parked)) {
		if w.run.Step(step) == nil && (w.tired(step) || w.halted(step)) {
			out = append(out, step)
		}
	}
	return out
}

// cause is the fingerprint of a failure: how it ended, and the tree it left.
func (w *work) cause(ctx context.Context, s *Seen, failed *reprise.Event) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s %d %s %s\n", failed.Outcome, s.Result.Exit, s.Result.Signal, failed.Text)
	// Not the state it was told: every failure adds to that.
	fmt.Fprintf(h, "%q %q\n", s.Command, s.Told)
	state, err := w.worldState(ctx, s.Dir)
	if err != nil {
		return "" // what cannot be compared is never the same
	}
	fmt.Fprintln(h, state)
	return hex.EncodeToString(h.Sum(nil))[:24]
}

func mapKeys[V any](m map[string]V) iter.Seq[string] { return maps.Keys(m) }
