package engine

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"reprise"
	"reprise/convention"
	"reprise/internal/durable"
	"reprise/journal"
	"reprise/upkeep"
)

// A fresh start is one event that says all of it, in the journal before anything
// is changed: statuses that are taken back elsewhere, and the events that begin
// the run again. What it asks for can be done again: a status that is reset stays
// reset, a state is archived once because it is moved, and an event that is on
// record is not recorded a second time. So a process that dies on the way leaves
// the decision as the last word of the journal, and the next one goes on there.

// beginnings tells where a run begins again and with which events. The error tells
// why it cannot; nothing is changed.
func (w *work) beginnings(l look, store reprise.Store) (reprise.Ref, []reprise.Event, error) {
	if err := w.store.CanArchive(w.ref.Path); err != nil {
		return w.ref, nil, err
	}
	goal, err := w.goalOf(l)
	if err != nil {
		return w.ref, nil, err
	}
	left := durable.Without(store, w.ref.Path)
	ref, events, err := w.book.Begin(left, goal)
	if err != nil {
		return ref, nil, err
	}
	if strings.HasPrefix(ref.Path, w.ref.Path+"/") {
		return ref, nil, fmt.Errorf("it would begin again in %s, which is archived", ref.Path)
	}
	if len(events) == 0 && ref.Path == w.ref.Path {
		return ref, nil, reprise.ErrNotFromNothing
	}
	if len(events) == 0 && len(w.choice.Skip) > 0 {
		return ref, nil, fmt.Errorf("%s is there already, and nothing of it is left out by this", ref.Path)
	}
	for _, step := range w.choice.Skip {
		events = append(events, leftOut(step))
	}
	events = w.allBegun(events)
	return ref, events, rehearse(left, ref, events, w.choice.Skip)
}

// decideRenewal makes the decision durable, in the journal of the run that begins
// again, and goes on from that run. Where that run is there already, the old one is
// given up, and nothing else is to be done.
func (w *work) decideRenewal(ctx context.Context, l look, ref reprise.Ref, events []reprise.Event) error {
	place, was := reprise.Place(ref), reprise.Place(w.ref)
	decided := reprise.Event{Kind: reprise.RunRenewed, Actor: person, Text: "to be started afresh, says a person; the state is archived", Run: &place}
	resets := upkeep.Resets(l.run, w.Now())
	if ref.Path == w.ref.Path {
		decided.Then = append(resets, events...)
		return w.record(ctx, decided)
	}
	next, err := w.hands.Open(ctx, ref, w.book)
	if err != nil {
		return err
	}
	if len(events) == 0 {
		if _, err := w.hands.GiveUp(ctx, l.run); err != nil {
			return err
		}
	} else {
		// What is taken back stands in the old journal, and can be done again.
		for _, ev := range resets {
			if err := w.record(ctx, ev); err != nil {
				return err
			}
		}
		decided.Old, decided.Then = &was, events
		if err := next.record(ctx, decided); err != nil {
			return err
		}
	}
	next.sum.Snapshot, next.choice = w.sum.Snapshot, w.choice
	*w = *next
	w.hands = w.hands.of(w)
	return nil
}

// rehearse tells why events would not make a run without some of its steps, nil if
// they would.
func rehearse(store reprise.Store, ref reprise.Ref, events []reprise.Event, without []string) error {
	l := convention.Find(ref.Layout)
	if l == nil {
		return fmt.Errorf("no layout is called %q", ref.Layout)
	}
	dry := durable.NewDryRun(store)
	for _, ev := range events {
		if err := journal.Play(context.Background(), dry, l, ref, ev); err != nil {
			return err
		}
	}
	if len(without) == 0 {
		return nil
	}
	run, err := l.Load(dry, ref)
	if err != nil {
		return err
	}
	return mustBeOut(run, without, nil)
}

// renew carries a fresh start to its end that is the last word of the journal.
func (w *work) renew(ctx context.Context) error {
	for len(w.renewal.Left) > 0 && w.renewal.Left[0].Kind == reprise.StepReset {
		ev := w.renewal.Left[0]
		err := w.record(ctx, ev)
		if err != nil && w.store.Poisoned() != nil {
			return err
		}
		if err != nil {
			// Its file takes nothing in; that keeps nobody from beginning again.
			w.renewal.Left = w.renewal.Left[1:]
			w.notice(reprise.Finding{
				Code: reprise.CodeMovedOn, Severity: reprise.Warning, Subject: ev.Step,
				Message: fmt.Sprintf("it could not be taken back that it was begun: %v", err),
			})
		}
	}
	if err := w.putAway(); err != nil {
		return err
	}
	for len(w.renewal.Left) > 0 {
		if err := w.record(ctx, w.renewal.Left[0]); err != nil {
			return err
		}
	}
	return nil
}

// putAway archives the old state, if it is there. Where it has the place of the
// new one, it is there only as long as nothing of that is on record.
func (w *work) putAway() error {
	old := w.renewal.Old
	if !w.putsAway() {
		return nil
	}
	to, err := w.hands.PutAway(old)
	if err != nil {
		return err
	}
	w.notice(reprise.Finding{Code: reprise.CodeSuperseded, Severity: reprise.Info, Subject: w.ref.ID, Message: "the old state was archived", Source: reprise.Source{File: to}})
	return nil
}

// putsAway reports whether there is an old state to be archived.
func (w *work) putsAway() bool {
	old := w.renewal.Old
	if old.Path == w.ref.Path && (len(w.renewal.Left) == 0 || begins(w.renewal.Left) < begins(w.renewal.Then)) {
		return false
	}
	_, err := fs.Stat(w.led.Files(), old.Path)
	return err == nil
}

// begins counts the events that make the new state.
func begins(events []reprise.Event) (n int) {
	for i := range events {
		if events[i].Kind != reprise.StepReset {
			n++
		}
	}
	return n
}

// mayPutAway tells why what a journal names is not archived, nil if it is: only
// the state of a run is, whoever wrote the journal.
func (w *work) mayPutAway() error {
	old := w.renewal.Old
	if !w.renewal.Of(w.ref) {
		return fmt.Errorf("its journal speaks of another run, %s", w.renewal.Run.Path)
	}
	if w.renewal.Moves() {
		l := convention.Find(old.Layout)
		if l == nil {
			return fmt.Errorf("no layout is called %q", old.Layout)
		}
		refs, err := l.Find(w.store)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(refs, func(ref reprise.Ref) bool { return ref.Path == old.Path }) {
			return fmt.Errorf("%s is no run", old.Path)
		}
	}
	return w.store.CanArchive(old.Path)
}

// mayRenew tells why a fresh start that was cut off is not carried to its end, nil if
// it is.
func (w *work) mayRenew() error {
	if w.putsAway() || !w.renewal.Of(w.ref) {
		return w.mayPutAway()
	}
	return nil
}

// renewAgain carries a fresh start to its end that somebody else decided and did
// not get to. Where its state cannot be archived, or not any more, the fresh start
// is given up and said: the run is as it was.
func (w *work) renewAgain(ctx context.Context) error {
	err := w.mayRenew()
	if err == nil {
		if err = w.renew(ctx); err != nil && (w.store.Poisoned() != nil || !w.putsAway()) {
			return err
		}
	}
	if err != nil {
		w.renewal, w.follows = reprise.Renewal{}, nil
		w.notice(reprise.Finding{
			Code: reprise.CodeMovedOn, Severity: reprise.Warning, Subject: w.ref.ID,
			Message: fmt.Sprintf("it was to start afresh before a crash and cannot any more: %v", err),
		})
		return nil
	}
	w.renewed, w.follows = true, nil
	w.notice(reprise.Finding{
		Code: reprise.CodeRolledForward, Severity: reprise.Info, Subject: w.ref.ID,
		Message: "it was being started afresh when the work was cut off; that has been carried to its end",
	})
	// What its files say of how it is worked on was not there before.
	if w.book, err = w.bookOf(w.led.Files(), w.ref); err != nil {
		return err
	}
	return w.load()
}

// betweenError tells somebody who only looks that a run is between its old state
// and its new one.
type betweenError struct{ run string }

// Error implements error.
func (e *betweenError) Error() string {
	return "look at " + e.run + ": it was being started afresh when the work was cut off, its files are not there yet"
}

// Hint says what a person can do.
func (e *betweenError) Hint() string {
	return "`reprise resume " + e.run + "` carries the fresh start to its end; the old state is in the archive"
}
