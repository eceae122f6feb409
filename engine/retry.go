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
	"reprise/agent"
	"reprise/journal"
)

// actor is what our own events are signed with, person what a person decided.
const (
	actor  = "reprise"
	person = reprise.Person
)

// maxBackoff is the longest pause between two attempts.
const maxBackoff = 5 * time.Minute

// mayStart says from when on a step may be started, or why it may not be at all
// before a person had a say. Everything it rests on is in the journal, so it is
// the same after a restart.
func (w *work) mayStart(a reprise.Assignment) (at time.Time, never string) {
	h := w.hist.Step(a.Step)
	if why := h.Spent(journal.Budget{Attempts: pick(a.Attempts, w.Settings.Attempts), Cutoffs: w.Settings.Cutoffs}); why != "" {
		return at, why
	}
	if h.LastFailure != nil {
		pause := pick(a.Backoff, w.Settings.Backoff) << min(h.Failures-1, 20)
		at = h.LastFailure.At.Add(min(pause, maxBackoff))
		if h.LastFailure.At.After(w.Now()) {
			at = time.Time{} // the clock was set back since; nobody knows how long ago it was
		}
	}
	if until := w.believed(h.DeferredUntil); until.After(at) {
		at = until
	}
	return at, ""
}

// budget says how often each step of a run is tried, for whoever judges it.
func (w *work) budget(ref reprise.Ref) (func(step string) journal.Budget, error) {
	usual := journal.Budget{Attempts: w.Settings.Attempts, Cutoffs: w.Settings.Cutoffs}
	o, is := w.book.(workflowBook)
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
	w.parked[a.Step] = why
	w.tell(Progress{Kind: Noticed, Step: a.Step, Title: a.Unit.Title, Text: why})
}

// tired reports whether attempts at a step failed or were cut off since a person
// last had a say.
func (w *work) tired(step string) bool {
	return w.hist.Step(step).Tired()
}

// halted reports whether the last attempt at a step ended with that it cannot go on
// without something from outside.
func (w *work) halted(step string) bool {
	for i := len(w.told) - 1; i >= 0; i-- {
		switch ev := &w.told[i]; ev.Kind {
		case reprise.StateRestored:
			return false
		case reprise.StepBlocked:
			if ev.Step == step {
				return true
			}
		case reprise.StepStarted, reprise.StepFinished, reprise.StepSkipped, reprise.StepFailed, reprise.StepReset:
			if ev.Step == step {
				return false
			}
		}
	}
	return false
}

// tiredStages lists the stages that the files do not keep and that failed or were cut
// off since a person last had a say.
func (w *work) tiredStages() []string {
	var out []string
	for _, step := range slices.Sorted(mapKeys(w.hist.Steps)) {
		if w.run.Step(step) == nil && w.tired(step) {
			out = append(out, step)
		}
	}
	return out
}

// givenUp lists the steps that nothing but a person has tried again: those of the
// files in their order, then stages that the files do not keep.
func (w *work) givenUp() []string {
	var out []string
	for i := range w.run.Steps {
		s := &w.run.Steps[i]
		if s.Status.Closed() && w.parked[s.ID] == "" {
			continue
		}
		failed := w.tired(s.ID) && (w.parked[s.ID] != "" || s.Status == reprise.Failed)
		if failed || (s.Status == reprise.Blocked || w.parked[s.ID] != "") && w.halted(s.ID) {
			out = append(out, s.ID)
		}
	}
	for _, step := range slices.Sorted(mapKeys(w.parked)) {
		if w.run.Step(step) == nil && (w.tired(step) || w.halted(step)) {
			out = append(out, step)
		}
	}
	return out
}

// cause is the fingerprint of a failure: how it ended and the world it left.
func (w *work) cause(ctx context.Context, f *attempt, r agent.Result) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s %d %s %s\n", r.Outcome, r.Exit, r.Signal, r.Reason)
	// Not what it was told of the state: every failure adds to that.
	fmt.Fprintf(h, "%q %q\n", f.a.Command, f.answers)
	state, err := w.worldState(ctx, f.dir)
	if err != nil {
		return "" // what cannot be compared is never the same
	}
	fmt.Fprintln(h, state)
	return hex.EncodeToString(h.Sum(nil))[:24]
}

func mapKeys[V any](m map[string]V) iter.Seq[string] { return maps.Keys(m) }
