package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

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

// claimedPrefix begins the names of questions about steps that the files alone call
// done.
const claimedPrefix = "claimed-"

// claimedOpen is the answer that nothing has been done of a step.
const claimedOpen = "do it"

// doubted reports whether a step is not started before a person had a say: its files
// and the journal do not tell the same of it.
func (w *work) doubted(s *reprise.Step) bool {
	return s != nil && (s.Claimed || w.lost(s) != nil)
}

// settleClaimed asks a person about steps that the files alone call done, and does what
// they said. Until then nothing is started that needs one of them.
func (w *work) settleClaimed(ctx context.Context) error {
	d := doubt{prefix: claimedPrefix, done: lostDone, again: claimedOpen}
	for i := range w.run.Steps {
		if s := &w.run.Steps[i]; s.Claimed && w.flights[s.ID] == nil {
			d.ends = append(d.ends, reprise.Event{Kind: reprise.StepFinished, Step: s.ID, Phase: s.Phase, Actor: person, Text: "it is done, says a person"})
		}
	}
	d.ask = func(names []string) string {
		if len(names) > 1 {
			return fmt.Sprintf("%s are called done by the files of the run, and nothing here did them. Are they done?", strings.Join(names, ", "))
		}
		return names[0] + " is called done by the files of the run, and nothing here did it. Is it done?"
	}
	d.tell = func(names []string) reprise.Finding {
		return reprise.Finding{
			Code: reprise.CodeUnrecordedEnd, Severity: reprise.Warning, Subject: names[0], Source: reprise.Source{File: w.ref.Path},
			Message: fmt.Sprintf("something else wrote that %s finished: nothing goes on from that before a person had a say", are(names)),
			Hint:    "`reprise log` shows what was recorded",
		}
	}
	if asked, err := w.settleDoubt(ctx, d); err != nil || !asked {
		return err
	}
	return w.settleClaimed(ctx)
}
