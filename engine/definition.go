package engine

import (
	"bytes"
	"context"
	"errors"
	"io/fs"

	"reprise"
	"reprise/journal"
)

// A run of a workflow file is kept in files that every agent can write. What it is made
// of and what was done of it is in the journal first: what the files alone say of that
// is a claim, and nobody goes on from it unasked.

// made is what the run is made of, by the journal.
type made struct {
	text    string
	undone  bool
	file    string
	content []byte
	own     bool // nobody else is to change it
	stands  bool
}

// definition is what the run is made of, by what is on record now.
func (w *work) definition() *made {
	if m := w.defined; m == nil || m.text != w.hist.Made || m.undone != w.hist.Undone {
		m = &made{text: w.hist.Made, undone: w.hist.Undone}
		m.file, m.content, m.own, m.stands = w.hist.Defined(w.layout, w.ref)
		w.defined = m
	}
	return w.defined
}

// own reports whether only the journal says what was done of the run.
func (w *work) own() bool { return w.definition().own }

// putBack puts the steps back that the run was begun with, where something else has
// changed them. What it finds is kept first, so that nothing is lost by it.
func (w *work) putBack(ctx context.Context) error {
	m := w.definition()
	if !m.stands {
		return nil
	}
	have, err := fs.ReadFile(w.led.Files(), m.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // whoever loads it says so
	case err != nil:
		return err
	case bytes.Equal(have, m.content):
		return nil
	}
	found := journal.StepsChanged(w.ref, m.file)
	found.Message += ": they are put back"
	snap, err := w.hands.Keep(ctx, w.run, "before the steps of "+w.ref.ID+" are put back", true)
	if err != nil {
		return err
	}
	if snap != "" {
		found.Message += ", and what it made of them is kept in " + snap
	}
	w.notice(found)
	if err := w.record(ctx, reprise.Event{Kind: reprise.RunRevised, Actor: actor, Text: m.text}); err != nil {
		return err
	}
	return w.load()
}
