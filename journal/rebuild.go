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

// Rebuilt is what is known of the files of a run that are gone.
type Rebuilt struct {
	// Edits make files that are not there, and change no other.
	Edits []reprise.Edit
	// From is what they are made of, in words.
	From string
	// Files shows the project as it would be once they are made.
	Files *durable.DryRun
}

// Rebuild makes the files of a run that are gone as they were kept: in the last world of its records
// or, where none has them, in the latest snapshot. It changes nothing. The error tells why nothing can
// be made.
func Rebuild(ctx context.Context, store *durable.Store, ref reprise.Ref) (*Rebuilt, error) {
	if OnWorlds(store, Name(ref)) {
		if made, err := rebuildKept(ctx, store, ref); made != nil || err != nil {
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
		return takeLost(ctx, store, dry, ref, "snapshot "+snap.ID)
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

// takeLost takes of what was kept the files that are not there.
func takeLost(ctx context.Context, store *durable.Store, dry *durable.DryRun, ref reprise.Ref, from string) (*Rebuilt, error) {
	var under reprise.Store = store
	out := &Rebuilt{From: from}
	for _, e := range dry.Edits() {
		if !below(e.Path, ref.Path) || slices.ContainsFunc(out.Edits, func(have reprise.Edit) bool { return have.Path == e.Path }) {
			continue
		}
		if have, err := hash(store, e.Path); err != nil || !have.IsZero() {
			continue
		}
		content, err := fs.ReadFile(dry, e.Path)
		if err != nil {
			return nil, err
		}
		under = durable.Without(under, e.Path) // a folder may be there
		out.Edits = append(out.Edits, reprise.Edit{Path: e.Path, Content: content, Why: "it is gone, and " + from + " has its contents"})
	}
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
