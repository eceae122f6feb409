//go:build unix

package journal

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"

	"reprise"
	"reprise/core"
	records "reprise/core/journal"
	"reprise/core/world"
	"reprise/internal/durable"
)

// rebuildKept is Rebuild for a run on worlds: the last world of its records that has what is lost
// has it to the byte. nil if none has.
func rebuildKept(ctx context.Context, store *durable.Store, ref reprise.Ref) (*Rebuilt, error) {
	var worlds []core.World
	apart := map[string]bool{} // steps in a place of their own, where the plan does not move
	err := records.Read(filepath.Join(runsOf(store), Name(ref)), func(r core.Record) error {
		switch m := r.Move(); {
		case m != nil:
			worlds = append(worlds, m.To)
		case r.Start != nil:
			if apart[r.Start.Step] = r.Start.Place != core.Here; !apart[r.Start.Step] {
				worlds = append(worlds, r.Start.Before)
			}
		case r.End != nil && !apart[r.End.Step]:
			worlds = append(worlds, r.End.After)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	repo, err := world.Look(ctx, store.Dir())
	if err != nil {
		return nil, err
	}
	defer repo.Close()
	below, err := repo.Below(store.Dir())
	if err != nil {
		return nil, err
	}
	for i, w := range slices.Backward(worlds) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if i < len(worlds)-1 && w == worlds[i+1] {
			continue
		}
		files, err := fs.Sub(repo.FS(w), path.Join(".", below))
		if err != nil {
			return nil, err
		}
		edits, err := keptOf(files, ref)
		if err != nil {
			return nil, err
		}
		if edits == nil {
			continue
		}
		dry := durable.NewDryRun(durable.Without(store, ref.Path))
		if err := dry.Apply(ctx, edits); err != nil {
			return nil, err
		}
		return takeLost(ctx, store, dry, ref, "what was kept of it with its last step")
	}
	return nil, nil
}

// keptOf gives the files of a run in a world; nil if it has none.
func keptOf(files fs.FS, ref reprise.Ref) (out []reprise.Edit, err error) {
	err = fs.WalkDir(files, ref.Path, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !d.Type().IsRegular() {
			return err
		}
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		out = append(out, reprise.Edit{Path: name, Content: data})
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return out, err
}
