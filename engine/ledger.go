package engine

import (
	"context"
	"errors"
	"strings"

	"reprise"
	"reprise/journal"
)

// unfiled are the events that no layout records.
var unfiled = map[reprise.EventKind]bool{
	reprise.StepResolved: true, reprise.StepHeld: true, reprise.StepDeferred: true, reprise.WorktreeReady: true, reprise.SessionKnown: true, reprise.EngineLeft: true,
	reprise.RunRenewed: true, reprise.AnswerWithdrawn: true, reprise.SessionCheckpoint: true, reprise.StepReported: true,
	reprise.StepOverstepped: true, reprise.CallSettled: true,
}

// journalOnly reports whether no layout records an event. What a budget allows is between
// the engine and the person; the files of a run have no part in it. What is asked about the
// files is not written into them.
func journalOnly(ev reprise.Event) bool {
	return unfiled[ev.Kind] || strings.HasPrefix(ev.Question, journal.BudgetPrefix)
}

// projectTo writes an event that is in the journal to the layout's files as they are now.
func projectTo(ctx context.Context, store reprise.Store, layout reprise.Layout, ref reprise.Ref, ev reprise.Event) (err error) {
	if journalOnly(ev) {
		return nil
	}
	for range 8 {
		err = journal.Play(ctx, store, layout, ref, ev)
		switch {
		case errors.Is(err, reprise.ErrCannotRecord):
			return nil // the journal alone holds it
		case !errors.Is(err, reprise.ErrChanged):
			return err
		}
	}
	return err
}
