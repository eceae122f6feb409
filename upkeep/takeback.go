package upkeep

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"slices"

	"reprise"
	"reprise/internal/durable"
	"reprise/journal"
)

// takeBack plans to take back what the runs of a snapshot wrote to state files that others
// changed as well, and only that: the journal tells how a run left a file, the snapshot how
// it was before. Where both changed the same place, the steps that the run finished since are
// opened again as the layout does it; where it cannot, the file stays, and the plan says what
// that means.
func (p *UndoPlan) takeBack(ctx context.Context, store *durable.Store, snap *durable.Snapshot, runs []*reprise.Run) error {
	for i := range p.Kept {
		k := &p.Kept[i]
		at := slices.IndexFunc(snap.Files, func(f durable.FileState) bool { return f.Path == k.Path && !f.Hash.IsZero() })
		if !k.Too || at < 0 {
			continue
		}
		then, err := store.Kept(snap.Files[at].Hash)
		if err != nil {
			return err
		}
		now, err := store.ReadFile(k.Path)
		if err != nil {
			continue // it cannot be read, so it stays
		}
		run, account := writer(store, snap, runs, k.Path)
		if run != nil {
			k.merged = without(ctx, store, snap, run, account, k.Path, then, now)
		}
		if k.merged == nil {
			p.Missing = append(p.Missing, fmt.Sprintf("the run's changes in %s cannot be told from others' changes: what it marked done stays marked done", k.Path))
			continue
		}
		k.Diff = durable.Diff(k.Path, now, k.merged)
	}
	return ctx.Err()
}

// writer is the run of the snapshot that wrote a state file which is not as it left it, with
// its journal before an undo that was cut off; nil if no journal tells of one.
func writer(store *durable.Store, snap *durable.Snapshot, runs []*reprise.Run, name string) (*reprise.Run, *journal.Account) {
	for _, r := range runs {
		if !isOf(snap, journal.Name(r.Ref)) {
			continue
		}
		account, err := journal.ReadUndone(store, journal.Name(r.Ref))
		if err == nil && account.Differs(store, r.Ref, name) {
			return r, account
		}
	}
	return nil, nil
}

// without is a state file without what its run wrote there since the snapshot, nil where
// that cannot be told.
func without(ctx context.Context, store *durable.Store, snap *durable.Snapshot, r *reprise.Run, account *journal.Account, name string, then, now []byte) []byte {
	l, err := layoutOf(r)
	if err != nil {
		return nil
	}
	if made, err := account.Rebuild(ctx, store, l, r.Ref, name); err == nil && !slices.Contains(made.Other, name) {
		at := slices.IndexFunc(made.Edits, func(e reprise.Edit) bool { return e.Path == name })
		if at >= 0 {
			if merged, ok := durable.Merge(made.Edits[at].Content, then, now); ok {
				return merged
			}
		}
	}
	dry := durable.NewDryRun(store)
	for _, e := range account.Entries {
		since := e.Generation > snap.Gen || e.Generation == snap.Gen && !e.Event.At.Before(snap.At)
		if !since || e.Event.Kind != reprise.StepFinished {
			continue
		}
		run, err := reprise.Load(l, dry, r.Ref)
		if err != nil {
			return nil
		}
		if s := run.Step(e.Event.Step); s == nil || !s.Status.Closed() {
			continue // others took it out, or opened it again
		}
		reset := reprise.Event{Kind: reprise.StepReset, At: e.Event.At, Step: e.Event.Step, Phase: e.Event.Phase, Actor: reprise.Person}
		if err := journal.PlayOn(ctx, dry, l, run, reset); err != nil {
			return nil
		}
	}
	opened, err := fs.ReadFile(dry, name)
	if err != nil || bytes.Equal(opened, now) {
		return nil
	}
	return opened
}
