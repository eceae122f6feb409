package engine

import (
	"context"
	"errors"
	"strings"

	"reprise"
	"reprise/internal/durable"
	"reprise/journal"
)

// Ledger is where a run is read and recorded: its journal with the files behind it, or
// files that keep every change to themselves.
type Ledger interface {
	// Files is the project, with the run's files as they are now.
	Files() reprise.Store
	// Current is the run as its files are now. It must not be changed.
	Current() (*reprise.Run, error)
	// Gone is a file of the run that was removed, "" if none was.
	Gone() (string, error)
	// Record makes an event durable, first in the journal and then in the files.
	// If the process dies in between, the next one brings the files up to it.
	Record(ctx context.Context, ev reprise.Event) error
	// Note records an event in the journal alone.
	Note(ev reprise.Event) error
	// Defer records an event of a run that is moved on in memory, and leaves the files to
	// Project. It reports false, and has recorded nothing, where only the files can tell
	// what follows. Deferred counts what the files have not been told of.
	Defer(ctx context.Context, t reprise.Track, ev reprise.Event) (bool, error)
	Deferred() int
	Project(ctx context.Context) error
	// Archive moves a file or folder to the archive and returns its place there.
	Archive(name string) (string, error)
	// Inbox is the text of the inbox. TakeOut removes lines from it once their answers are
	// on record.
	Inbox() ([]byte, error)
	TakeOut(lines [][]byte) error
}

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

// journaled is the ledger of a run in a project whose lease we hold.
type journaled struct {
	*journal.Journal
	store  *durable.Store
	layout reprise.Layout
	ref    reprise.Ref
	inbox  string // where it is, absolute
	commit func(context.Context, *reprise.Event)
}

// Files implements Ledger.
func (l *journaled) Files() reprise.Store { return l.store }

// Archive implements Ledger.
func (l *journaled) Archive(name string) (string, error) { return l.store.Archive(name) }

// Inbox implements Ledger.
func (l *journaled) Inbox() ([]byte, error) { return durable.ReadPrivate(l.inbox) }

// TakeOut implements Ledger.
func (l *journaled) TakeOut(lines [][]byte) error {
	return durable.UpdatePrivate(l.inbox, func(old []byte) ([]byte, error) { return withoutLines(old, lines), nil })
}

// Record implements Ledger.
func (l *journaled) Record(ctx context.Context, ev reprise.Event) error {
	// What has happened is recorded even while we are being stopped.
	ctx = context.WithoutCancel(ctx)
	if journalOnly(ev) {
		return l.Note(ev)
	}
	_, err := l.Journal.Record(ctx, ev, func() {
		if ev.Attempt == 0 {
			l.commit(ctx, &ev)
		}
	})
	if errors.Is(err, reprise.ErrChanged) {
		// An agent wrote the same file just now; the event is in the journal.
		return projectTo(ctx, l.store, l.layout, l.ref, ev)
	}
	return err
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
