package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/durable"
)

// Rebuilt is what is known of the files of a run that are gone or damaged.
type Rebuilt struct {
	// Edits make files that are not there and write those again that are damaged; they
	// change no other. Where a folder stands in the place of a file, Base is zero.
	Edits []reprise.Edit
	// From is what they are made of, in words.
	From string
	// Other are files that are not, or not all of, what was lost: something else wrote
	// there, too.
	Other []string
	// Files shows the project as it would be once they are made.
	Files *durable.DryRun
}

// base is a state of a run's files, and where in the journal it was that.
type base struct {
	snap *durable.Snapshot // nil for nothing at all
	from int               // the first entry that it does not hold
}

// Rebuild makes the files of a run that are gone, and the damaged ones, as the journal
// tells them: from the latest state that was kept, or from nothing where the run was
// begun here, and by the events since, each recorded by the layout as it was then. So
// nothing is more done there than was accepted. It changes nothing.
//
// The journal has the hash of every file that it wrote: a rebuilt file that has it is
// the file that was lost. Where not all have it, because something else wrote there
// too, the latest state is taken, and Other says so. The error tells why nothing can
// be made.
func (a *Account) Rebuild(ctx context.Context, store *durable.Store, layout reprise.Layout, ref reprise.Ref, damaged ...string) (*Rebuilt, error) {
	bases, err := a.bases(store, ref)
	if err != nil {
		return nil, err
	}
	var latest *Rebuilt
	why := errors.New("it was not begun here, and no state of it was kept")
	// Other files that agents left may have influenced what was recorded.
	var beside reprise.Store = store
	for name := range a.trail.own {
		beside = durable.Without(beside, name)
	}
	for i := range 2 * len(bases) {
		b, under := bases[i/2], beside
		if i%2 == 0 {
			under = durable.Without(store, ref.Path)
		}
		made, err := a.rebuild(ctx, store, under, layout, ref, b, damaged)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			why = err
		case len(made.Other) == 0:
			return made, nil
		case latest == nil:
			latest = made
		}
	}
	if latest == nil {
		return nil, fmt.Errorf("rebuild %s: %w", ref.ID, why)
	}
	return latest, nil
}

// bases lists the states that a run can be rebuilt from, the latest first.
func (a *Account) bases(store *durable.Store, ref reprise.Ref) ([]base, error) {
	life := LifeOf(a.Entries)
	snaps, err := store.Snapshots()
	if err != nil && len(snaps) == 0 {
		return nil, err
	}
	var out []base
	for i := range slices.Backward(snaps) {
		snap := &snaps[i]
		switch {
		case !Holds(snap, ref):
		case life.restored >= 0 && snap.ID == life.Restored:
			out = append(out, base{snap, life.restored + 1})
		case life.restored >= 0 && snap.Gen <= a.Entries[life.restored].Generation:
			// What it holds was taken back.
		default:
			at := slices.IndexFunc(a.Entries, func(e Entry) bool { return e.after(snap) })
			if at < 0 {
				at = len(a.Entries)
			}
			if at > life.start {
				out = append(out, base{snap, at})
			}
		}
	}
	if life.start >= 0 {
		out = append(out, base{nil, life.start})
	}
	return out, nil
}

// Holds reports whether a snapshot holds files of a run.
func Holds(snap *durable.Snapshot, ref reprise.Ref) bool {
	return slices.ContainsFunc(snap.Files, func(f durable.FileState) bool { return !f.Hash.IsZero() && below(f.Path, ref.Path) })
}

// rebuild plays what happened since a state was kept on that state.
func (a *Account) rebuild(ctx context.Context, store *durable.Store, under reprise.Store, layout reprise.Layout, ref reprise.Ref, b base, damaged []string) (*Rebuilt, error) {
	dry := durable.NewDryRun(under)
	out := &Rebuilt{From: "the journal"}
	if b.snap != nil {
		out.From = fmt.Sprintf("snapshot %s and the journal since", b.snap.ID)
		if err := putKept(ctx, dry, store, b.snap, func(name string) bool { return below(name, ref.Path) }); err != nil {
			return nil, err
		}
	}
	var events []reprise.Event
	for _, e := range a.Entries[b.from:] {
		if !e.Nowhere {
			events = append(events, e.Event)
		}
	}
	if err := playAll(ctx, dry, layout, ref, events); err != nil {
		return nil, err
	}
	return out, a.takeLost(ctx, store, dry, ref, b, damaged, out)
}

// left are the files of a run that agents were to leave and that nothing was recorded in
// since: what stands in them is their work, which no journal has.
func (a *Account) left(ref reprise.Ref, from int) map[string]bool {
	expect, out := map[string][]reprise.Expected{}, map[string]bool{}
	for i, e := range a.Entries {
		switch ev := &e.Event; {
		case ev.Kind == reprise.StepStarted:
			expect[ev.Step] = ev.Expect
		case ev.Kind == reprise.StepFinished && i >= from:
			for _, f := range expect[ev.Step] {
				if below(f.Path, ref.Path) {
					out[f.Path] = true
				}
			}
		}
		for _, f := range e.Files {
			delete(out, f.Path) // its hash tells
		}
	}
	return out
}

// putKept puts those of the state files that a snapshot holds into a store.
func putKept(ctx context.Context, into reprise.Store, store *durable.Store, snap *durable.Snapshot, those func(name string) bool) error {
	var edits []reprise.Edit
	for _, f := range snap.Files {
		if f.Hash.IsZero() || !those(f.Path) {
			continue
		}
		content, err := store.Kept(f.Hash)
		if err != nil {
			return err
		}
		// Something of it may be there.
		var have reprise.Hash
		if now, err := fs.ReadFile(into, f.Path); err == nil {
			have = reprise.HashOf(now)
		}
		edits = append(edits, reprise.Edit{Path: f.Path, Base: have, Content: content})
	}
	return into.Apply(ctx, edits)
}

// playAll plays events, many at once where the layout can move a run on in memory.
func playAll(ctx context.Context, on reprise.Store, layout reprise.Layout, ref reprise.Ref, events []reprise.Event) error {
	tracker, tracks := layout.(reprise.Tracker)
	for len(events) > 0 && ctx.Err() == nil {
		run, err := reprise.Load(layout, on, ref)
		if err != nil {
			return err
		}
		if tracks {
			t, n := tracker.Track(on, run), 0
			for n < len(events) && t.Advance(events[n]) {
				n++
			}
			if n > 0 {
				edits, err := t.Edits(on)
				if err != nil {
					return err
				}
				if err := on.Apply(ctx, edits); err != nil {
					return err
				}
				events = events[n:]
				continue
			}
		}
		if err := Play(ctx, on, layout, ref, events[0]); err != nil && !errors.Is(err, reprise.ErrCannotRecord) {
			return fmt.Errorf("%s: %w", words(events[0]), err)
		}
		events = events[1:]
	}
	return ctx.Err()
}

// takeLost takes of what was played the files that are not there or damaged.
func (a *Account) takeLost(ctx context.Context, store *durable.Store, dry *durable.DryRun, ref reprise.Ref, b base, damaged []string, out *Rebuilt) error {
	var under reprise.Store = store
	for _, e := range dry.Edits() {
		if !below(e.Path, ref.Path) || slices.ContainsFunc(out.Edits, func(have reprise.Edit) bool { return have.Path == e.Path }) {
			continue
		}
		base, err := hash(store, e.Path)
		if err != nil || !base.IsZero() && !slices.Contains(damaged, e.Path) {
			continue
		}
		content, err := fs.ReadFile(dry, e.Path)
		if err != nil {
			return err
		}
		what := "it is damaged"
		if base.IsZero() {
			what, under = "it is gone", durable.Without(under, e.Path) // a folder may be there
		}
		out.Edits = append(out.Edits, reprise.Edit{Path: e.Path, Base: base, Content: content, Why: what + ", and " + out.From + " has its contents"})
		if was, known := a.trail.own[e.Path]; known && !was.hash.IsZero() && was.hash != reprise.HashOf(content) {
			out.Other = append(out.Other, e.Path)
		}
	}
	gone, err := a.trail.gone(store, ref)
	if err != nil {
		return err
	}
	for _, name := range damaged {
		gone = append(gone, Gone{Path: name})
	}
	for _, g := range gone {
		if !slices.ContainsFunc(out.Edits, func(e reprise.Edit) bool { return e.Path == g.Path }) {
			out.Other = append(out.Other, g.Path)
		}
	}
	for name := range a.left(ref, b.from) {
		if is, err := isThere(store, name); err == nil && !is {
			out.Other = append(out.Other, name)
		}
	}
	slices.Sort(out.Other)
	out.Other = slices.Compact(out.Other)
	slices.SortStableFunc(out.Edits, func(x, y reprise.Edit) int { return strings.Compare(x.Path, y.Path) })
	out.Files = durable.NewDryRun(under)
	return out.Files.Apply(ctx, out.Edits)
}
