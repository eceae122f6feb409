package journal

import (
	"context"

	"reprise"
)

// Play changes the files of a run as recording an event would, and no journal: on
// a store that keeps its changes to itself it tells what would come of the event.
// The error is reprise.ErrCannotRecord where the files have no place for it.
func Play(ctx context.Context, store reprise.Store, layout reprise.Layout, ref reprise.Ref, ev reprise.Event) error {
	run, err := reprise.Load(layout, store, ref)
	if err != nil {
		return err
	}
	return PlayOn(ctx, store, layout, run, ev)
}

// PlayOn is Play for a run that was read already, and whose files have not changed since.
func PlayOn(ctx context.Context, store reprise.Store, layout reprise.Layout, run *reprise.Run, ev reprise.Event) error {
	edits, err := layout.Record(store, run, filed(ev))
	if err != nil {
		return err
	}
	return store.Apply(ctx, edits)
}

// filed is an event with the time that the run's files get.
func filed(ev reprise.Event) reprise.Event {
	if !ev.Ended.IsZero() {
		ev.At = ev.Ended
	}
	return ev
}
