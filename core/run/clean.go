//go:build unix

package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"reprise/core"
	"reprise/core/journal"
	"reprise/core/world"
)

// Clean takes a run that is over away, with all that only it needs. It is refused while an
// attempt or a move of it is open. Killed in here, the run is there or gone; what is left of
// its objects goes when the store is packed next.
func Clean(ctx context.Context, dir, id string) error {
	repo, err := world.Open(ctx, dir)
	if err != nil {
		return err
	}
	defer repo.Close()
	runs := filepath.Join(repo.Top, world.Folder, "runs")
	state, err := journal.Peek(filepath.Join(runs, id))
	if err != nil {
		return err
	}
	if state.Ended == nil || len(state.Open) > 0 || state.Due != nil {
		return fmt.Errorf("run %s is not over", id)
	}
	gone := filepath.Join(repo.Top, world.Folder, "worlds", "tmp", "run") // which is emptied at a start
	if err := errors.Join(os.Rename(filepath.Join(runs, id), gone), os.RemoveAll(gone)); err != nil {
		return err
	}
	return pack(ctx, repo, runs)
}

// pack packs our store if it has become large. That it cannot is said once, and costs space.
func (e *Engine) pack(ctx context.Context) {
	if e.full || !e.Repo.Crowded() {
		return
	}
	if err := pack(ctx, e.Repo, filepath.Dir(e.dir), e.at); err != nil {
		e.full = true
		e.Tell(Progress{Kind: Noticed, Text: "the worlds of this project are not packed: " + err.Error()})
	}
}

// pack bounds our store: what the journals of this checkout name is kept, in one file.
func pack(ctx context.Context, repo *world.Repo, runs string, also ...core.World) error {
	list, err := os.ReadDir(runs)
	if err != nil {
		return err
	}
	for _, entry := range list {
		err := journal.Read(filepath.Join(runs, entry.Name()), func(r core.Record) error {
			also = append(also, r.Worlds()...)
			return nil
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("run %s: %w", entry.Name(), err)
		}
	}
	return repo.Pack(ctx, also)
}
