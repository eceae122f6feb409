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

// A fresh start is one event in the journal that says all of it before anything is
// changed: statuses to reset elsewhere, and the events that begin the run again. Each
// part can be repeated: a status stays reset, a state is archived once because it is
// moved, and an event on record is not recorded again. So after a crash the decision is
// the last event of the journal, and the next process completes it.

// beginnings says where a run begins again, and with which events. The error says why it
// cannot; nothing is changed.
func (w *work) beginnings(l look, store reprise.Store) (reprise.Ref, []reprise.Event, error) {
	if err := w.store.CanArchive(w.ref.Path); err != nil {
		return w.ref, nil, err
	}
	goal, err := w.goalOf(l)
	if err != nil {
		return w.ref, nil, err
	}
	left := durable.Without(store, w.ref.Path)
	ref, events, err := w.playbook.Begin(left, goal)
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
		return ref, nil, fmt.Errorf("%s already exists, so nothing of it can be skipped", ref.Path)
	}
	for _, step := range w.choice.Skip {
		events = append(events, leftOut(step))
	}
	events = w.begun(events)
	return ref, events, rehearse(left, ref, events, w.choice.Skip)
}

// decideRenewal makes the decision durable, in the journal of the run that begins again,
// and returns that run. If that run exists already, the old one is given up and nothing
// else has to be done.
func (w *work) decideRenewal(ctx context.Context, l look, ref reprise.Ref, events []reprise.Event) (*work, error) {
	place, was := reprise.Place(ref), reprise.Place(w.ref)
	decided := reprise.Event{Kind: reprise.RunRenewed, Actor: person, Text: "a person said to start from scratch; the state is archived", Run: &place}
	resets := upkeep.Resets(l.Run, w.Now())
	if ref.Path == w.ref.Path {
		decided.Then = append(resets, events...)
		return w, w.record(ctx, decided)
	}
	next, err := w.open(ctx, ref, w.playbook)
	if err != nil {
		return w, err
	}
	if len(events) == 0 {
		if _, err := w.archive.GiveUp(ctx, l.Run); err != nil {
			return w, err
		}
	} else {
		// The resets stand in the old journal, and can be repeated.
		for _, ev := range resets {
			if err := w.record(ctx, ev); err != nil {
				return w, err
			}
		}
		decided.Old, decided.Then = &was, events
		if err := next.record(ctx, decided); err != nil {
			return w, err
		}
	}
	next.sum.Snapshot, next.choice, w.became = w.sum.Snapshot, w.choice, next
	return next, nil
}

// last is the run that this one became by a fresh start elsewhere, or itself.
func (w *work) last() *work {
	for w.became != nil {
		w = w.became
	}
	return w
}

// rehearse says why events would not make a run without some of its steps, nil if they
// would.
func rehearse(store reprise.Store, ref reprise.Ref, events []reprise.Event, without []string) error {
	l := convention.Find(ref.Layout)
	if l == nil {
		return fmt.Errorf("no convention is called %q", ref.Layout)
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
	run, err := reprise.Load(l, dry, ref)
	if err != nil {
		return err
	}
	return mustBeOut(l, dry, run, without, nil)
}

// renew completes the fresh start that is the last event of the journal.
func (w *work) renew(ctx context.Context) error {
	for len(w.renewal.Left) > 0 && w.renewal.Left[0].Kind == reprise.StepReset {
		ev := w.renewal.Left[0]
		err := w.record(ctx, ev)
		if err != nil && w.store.Poisoned() != nil {
			return err
		}
		if err != nil {
			// A file that cannot be written does not keep the run from beginning again.
			w.renewal.Left = w.renewal.Left[1:]
			w.notice(reprise.Finding{
				Code: reprise.CodeMovedOn, Severity: reprise.Warning, Subject: ev.Step,
				Message: fmt.Sprintf("its beginning could not be undone: %v", err),
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

// putAway archives the old state, if it exists. Where the new state takes its place, the
// old one exists only until the first event of the new one.
func (w *work) putAway() error {
	old := w.renewal.Old
	if !w.putsAway() {
		return nil
	}
	to, err := w.archive.PutAway(old)
	if err != nil {
		return err
	}
	w.notice(reprise.Finding{Code: reprise.CodeSuperseded, Severity: reprise.Info, Subject: w.ref.ID, Message: "the old state was archived", Source: reprise.Source{File: to}})
	return nil
}

// putsAway reports whether there is an old state to archive.
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

// mayPutAway says why what a journal names is not archived, nil if it is. Only the state
// of a run is archived, whatever the journal says.
func (w *work) mayPutAway() error {
	old := w.renewal.Old
	if !w.renewal.Of(w.ref) {
		return fmt.Errorf("its journal is about another run, %s", w.renewal.Run.Path)
	}
	if w.renewal.Moves() {
		l := convention.Find(old.Layout)
		if l == nil {
			return fmt.Errorf("no convention is called %q", old.Layout)
		}
		refs, err := l.Find(w.store)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(refs, func(ref reprise.Ref) bool { return ref.Path == old.Path }) {
			return fmt.Errorf("%s is not a run", old.Path)
		}
	}
	return w.store.CanArchive(old.Path)
}

// mayRenew says why an interrupted fresh start is not completed, nil if it is.
func (w *work) mayRenew() error {
	if w.putsAway() || !w.renewal.Of(w.ref) {
		return w.mayPutAway()
	}
	return nil
}

// renewAgain completes a fresh start that an earlier process decided. Where the state
// cannot be archived, it gives the fresh start up and reports that: the run is as it was.
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
			Message: fmt.Sprintf("it was starting from scratch before a crash and no longer can: %v", err),
		})
		return nil
	}
	w.renewed, w.follows = true, nil
	w.notice(reprise.Finding{
		Code: reprise.CodeRolledForward, Severity: reprise.Info, Subject: w.ref.ID,
		Message: "it was being started from scratch when the work was cut off; that is finished now",
	})
	// The files that say how it is worked on are new.
	if w.playbook, err = w.playbookOf(w.led.Files(), w.ref); err != nil {
		return err
	}
	return w.load()
}

// betweenError says that a run is between its old state and its new one.
type betweenError struct{ run string }

// Error implements error.
func (e *betweenError) Error() string {
	return "look at " + e.run + ": it was being started from scratch when the work was cut off; its files do not exist yet"
}

// Hint says what a person can do.
func (e *betweenError) Hint() string {
	return "`reprise resume " + e.run + "` finishes the fresh start; the old state is in the archive"
}
