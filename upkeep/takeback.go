package upkeep

import (
	"context"
	"fmt"
	"slices"

	"reprise"
	"reprise/internal/durable"
	"reprise/journal"
)

// takeBack plans to take back what the runs of a snapshot wrote to state files that others
// changed as well, and only that: the journal tells how a run left a file, the snapshot how
// it was before. Where both changed the same place, the file stays, and the plan says what
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
		if left := leftBy(ctx, store, snap, runs, k.Path); left != nil {
			k.merged, _ = durable.Merge(left, then, now)
		}
		if k.merged == nil {
			p.Missing = append(p.Missing, fmt.Sprintf("what the run wrote in %s cannot be told from what others wrote there: what it marked done stays marked done", k.Path))
			continue
		}
		k.Diff = durable.Diff(k.Path, now, k.merged)
	}
	return ctx.Err()
}

// leftBy is a state file as a run of the snapshot left it, nil if its journal does not tell.
func leftBy(ctx context.Context, store *durable.Store, snap *durable.Snapshot, runs []*reprise.Run, name string) []byte {
	for _, r := range runs {
		if !isOf(snap, journal.Name(r.Ref)) {
			continue
		}
		l, err := layoutOf(r)
		if err != nil {
			continue
		}
		account, err := journal.ReadAccount(store, journal.Name(r.Ref))
		if err != nil || !account.Differs(store, r.Ref, name) {
			continue
		}
		made, err := account.Rebuild(ctx, store, l, r.Ref, name)
		if err != nil || slices.Contains(made.Other, name) {
			continue
		}
		for _, e := range made.Edits {
			if e.Path == name {
				return e.Content
			}
		}
	}
	return nil
}
