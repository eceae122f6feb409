package engine

import (
	"bytes"
	"context"
	"errors"
	"io/fs"

	"reprise"
	"reprise/journal"
)

// Every agent can write the files of a run. For a run of a workflow file, what it
// consists of and what was done is in the journal first: what only the files say is a
// claim, and a person is asked about it.

// made is what the run consists of, by the journal.
type made struct {
	text    string
	undone  bool
	file    string
	content []byte
	own     bool // no one else is to change it
	stands  bool
}

// definition is what the run consists of, by what is on record now.
func (w *work) definition() *made {
	if m := w.defined; m == nil || m.text != w.hist.Made || m.undone != w.hist.Undone {
		m = &made{text: w.hist.Made, undone: w.hist.Undone}
		m.file, m.content, m.own, m.stands = w.hist.Defined(w.layout, w.ref)
		w.defined = m
	}
	return w.defined
}

// own reports whether only the journal says what was done.
func (w *work) own() bool { return w.definition().own }

// putBack restores the steps that the run was begun with, if something changed them. It
// takes a snapshot first.
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
	w.mustRead()
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
