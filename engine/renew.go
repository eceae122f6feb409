package engine

import (
	"context"
	"fmt"
	"strings"

	"reprise"
	"reprise/convention"
	"reprise/internal/durable"
	"reprise/journal"
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
