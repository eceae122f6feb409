package engine

import (
	"iter"
	"maps"
	"slices"

	"reprise"
	"reprise/journal"
)

// actor is what our own events are signed with, person what a person decided.
const (
	actor  = "reprise"
	person = reprise.Person
)

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

func mapKeys[V any](m map[string]V) iter.Seq[string] { return maps.Keys(m) }
