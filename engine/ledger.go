package engine

import (
	"context"
	"errors"

	"reprise"
	"reprise/internal/durable"
	"reprise/journal"
)

// Ledger is where a run is read and recorded: its journal with the files behind
// it, or files that keep every change to themselves.
type Ledger interface {
	// Files shows the project with the run's files as they stand now.
	Files() reprise.Store
	// Current gives the run as its files tell it now; the caller must not change it.
	Current() (*reprise.Run, error)
	// Gone names a file of the run that somebody took away, "" if all are there.
	Gone() (string, error)
	// Record makes an event durable, first in the journal and then in the files.
	// If the process dies in between, the next one brings the files up to it.
	Record(ctx context.Context, ev reprise.Event) error
	// Archive moves a file or folder out of the way and tells where it is now.
	Archive(name string) (string, error)
}

// journalOnly are events that no layout has a place for.
var journalOnly = map[reprise.EventKind]bool{
	reprise.StepResolved: true, reprise.StepHeld: true, reprise.StepDeferred: true, reprise.WorktreeReady: true, reprise.SessionKnown: true, reprise.EngineLeft: true,
	reprise.RunRenewed: true, reprise.AnswerWithdrawn: true,
}

// journaled is the ledger of whoever works on a run and holds the project's lease.
type journaled struct {
	*journal.Journal
	store  *durable.Store
	layout reprise.Layout
	ref    reprise.Ref
}

// Files implements Ledger.
func (l *journaled) Files() reprise.Store { return l.store }

// Archive implements Ledger.
func (l *journaled) Archive(name string) (string, error) { return l.store.Archive(name) }

// Record implements Ledger.
func (l *journaled) Record(ctx context.Context, ev reprise.Event) error {
	// What has happened is recorded also while we are being stopped.
	ctx = context.WithoutCancel(ctx)
	if journalOnly[ev.Kind] {
		return l.Note(ev)
	}
	_, err := l.Journal.Record(ctx, ev)
	if errors.Is(err, reprise.ErrChanged) {
		// An agent wrote the same file just now; the event is in the journal.
		return projectTo(ctx, l.store, l.layout, l.ref, ev)
	}
	return err
}

// projectTo writes an event that is in the journal to the layout's files, as they
// are by now.
func projectTo(ctx context.Context, store reprise.Store, layout reprise.Layout, ref reprise.Ref, ev reprise.Event) (err error) {
	if journalOnly[ev.Kind] {
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
