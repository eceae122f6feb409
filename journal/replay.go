package journal

import (
	"context"
	"io/fs"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/durable"
)

// Since lists the events that were recorded since the first of these snapshots was taken and
// that count: an undo goes back to those that counted when its own snapshot was taken. The
// oldest is first.
func (a *Account) Since(snaps []durable.Snapshot) (counts []reprise.Event) {
	then := make([][]reprise.Event, len(a.Entries)) // what counted before each entry
	for i := range a.Entries {
		then[i] = counts
		e := &a.Entries[i]
		switch {
		case !e.after(&snaps[0]):
		case e.Event.Kind == reprise.StateRestored:
			id := strings.TrimPrefix(e.Event.Text, restoredText)
			to := slices.IndexFunc(snaps, func(s durable.Snapshot) bool { return s.ID == id })
			if to < 0 {
				counts = nil // from before the first
				continue
			}
			at := slices.IndexFunc(a.Entries[:i+1], func(e Entry) bool { return e.after(&snaps[to]) })
			counts = slices.Clone(then[max(at, 0)])
		case !e.Nowhere:
			counts = append(counts, e.Event)
		}
	}
	return counts
}

// Doubts gives the events that put steps in doubt and that nothing had settled when a snapshot
// was taken, and those that nothing has settled now.
func (a *Account) Doubts(snap *durable.Snapshot) (then, now []reprise.Event) {
	var before, all []reprise.Event
	for i := range a.Entries {
		if all = append(all, a.Entries[i].Event); !a.Entries[i].after(snap) {
			before = append(before, a.Entries[i].Event)
		}
	}
	return reprise.Doubts(before), reprise.Doubts(all)
}

// after reports whether an entry was recorded after a snapshot was taken.
func (e *Entry) after(snap *durable.Snapshot) bool {
	return e.Generation > snap.Gen || e.Generation == snap.Gen && !e.Event.At.Before(snap.At)
}

// Replay shows the files of a run as a snapshot holds them and these events change them: what
// they would be if no one else had written there. It changes nothing.
func Replay(ctx context.Context, store *durable.Store, layout reprise.Layout, ref reprise.Ref, snap *durable.Snapshot, events []reprise.Event) (fs.FS, error) {
	dry := durable.NewDryRun(durable.Without(store, ref.Path))
	if err := putKept(ctx, dry, store, snap, func(string) bool { return true }); err != nil {
		return nil, err
	}
	return dry, playAll(ctx, dry, layout, ref, events)
}
