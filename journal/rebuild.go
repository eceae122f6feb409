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
	// Other are damaged files that nothing was kept of.
	Other []string
	// Files shows the project as it would be once they are made.
	Files *durable.DryRun
}

// Rebuild makes the files of a run that are gone, and the damaged ones, as they were kept: in the
// last world of its records that has them or, where none has, in the latest snapshot. Of a damaged
// file without such a copy Other tells. It changes nothing. The error tells why nothing can be made.
func (a *Account) Rebuild(ctx context.Context, store *durable.Store, ref reprise.Ref, damaged ...string) (*Rebuilt, error) {
	if OnWorlds(store, Name(ref)) {
		if made, err := rebuildKept(ctx, store, ref, damaged); made != nil || err != nil {
			return made, err
		}
	}
	snaps, err := store.Snapshots()
	if err != nil && len(snaps) == 0 {
		return nil, err
	}
	for _, snap := range slices.Backward(snaps) {
		if !Holds(&snap, ref) {
			continue
		}
		dry := durable.NewDryRun(durable.Without(store, ref.Path))
		if err := putKept(ctx, dry, store, &snap, ref); err != nil {
			return nil, err
		}
		return takeLost(ctx, store, dry, ref, "snapshot "+snap.ID, damaged)
	}
	return nil, fmt.Errorf("rebuild %s: no state of it was kept", ref.ID)
}

// Holds reports whether a snapshot holds files of a run.
func Holds(snap *durable.Snapshot, ref reprise.Ref) bool {
	return slices.ContainsFunc(snap.Files, func(f durable.FileState) bool { return !f.Hash.IsZero() && below(f.Path, ref.Path) })
}

// putKept puts the files of a run that a snapshot holds into a store.
func putKept(ctx context.Context, into reprise.Store, store *durable.Store, snap *durable.Snapshot, ref reprise.Ref) error {
	var edits []reprise.Edit
	for _, f := range snap.Files {
		if f.Hash.IsZero() || !below(f.Path, ref.Path) {
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

// takeLost takes of what was kept the files that are not there or damaged.
func takeLost(ctx context.Context, store *durable.Store, dry *durable.DryRun, ref reprise.Ref, from string, damaged []string) (*Rebuilt, error) {
	var under reprise.Store = store
	out := &Rebuilt{From: from}
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
			return nil, err
		}
		what := "it is damaged"
		if base.IsZero() {
			what, under = "it is gone", durable.Without(under, e.Path) // a folder may be there
		}
		out.Edits = append(out.Edits, reprise.Edit{Path: e.Path, Base: base, Content: content, Why: what + ", and " + out.From + " has its contents"})
	}
	for _, name := range damaged {
		if !slices.ContainsFunc(out.Edits, func(e reprise.Edit) bool { return e.Path == name }) {
			out.Other = append(out.Other, name)
		}
	}
	slices.Sort(out.Other)
	slices.SortStableFunc(out.Edits, func(x, y reprise.Edit) int { return strings.Compare(x.Path, y.Path) })
	out.Files = durable.NewDryRun(under)
	return out, out.Files.Apply(ctx, out.Edits)
}

// below reports whether a file is a run's path or lies in it.
func below(name, dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }

// hash returns the hash of a file as it is now, zero if there is none; a folder in its place is none.
func hash(store *durable.Store, name string) (reprise.Hash, error) {
	info, err := store.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return reprise.Hash{}, nil
	}
	if err != nil || info.IsDir() {
		return reprise.Hash{}, err
	}
	return store.HashFile(name)
}
