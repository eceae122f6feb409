package upkeep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"reprise"
	"reprise/internal/durable"
	"reprise/journal"
	"reprise/project"
)

// ElsewhereError tells that a run is not to be changed from this folder: another one
// around it has the journal and the lease.
type ElsewhereError struct {
	Op      string // what was asked for, as the command is called
	Finding reprise.Finding
}

// Error implements error.
func (e *ElsewhereError) Error() string {
	return fmt.Sprintf("%s %s: %s", e.Op, e.Finding.Subject, e.Finding.Message)
}

// Hint says what a person can do.
func (e *ElsewhereError) Hint() string {
	if e.Live() || e.Finding.Code != reprise.CodeElsewhere {
		return e.Finding.Hint
	}
	return fmt.Sprintf("do it there: `reprise %s -C %s`", e.Op, reprise.Pasted(e.Finding.Source.File, "DIR"))
}

// Live reports whether the run is being worked on right now.
func (e *ElsewhereError) Live() bool { return e.Finding.Code == reprise.CodeLiveOwner }

// neighbour is another state folder whose lease is held beside the project's own.
type neighbour struct {
	store *durable.Store
	above bool // it is that of a folder above the project
}

// neighbours are they all.
type neighbours []neighbour

// holdAround takes the lease of every other project that one of the names lies in:
// those above this one and those on the way down. None of it is worked on then. The
// caller releases them, also after an error.
func (t Tender) holdAround(ctx context.Context, root string, names []string) (held neighbours, err error) {
	known := map[string]bool{}
	for _, name := range append(names, "x") { // some name, for the folders above
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			continue // of a checkout that is not in the project: it is not changed
		}
		for _, dir := range project.Around(root, path.Clean(name)) {
			if known[dir] {
				continue
			}
			known[dir] = true
			if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(durable.LockPath))); errors.Is(err, fs.ErrNotExist) {
				continue // no work was ever done from there
			} else if err != nil {
				return held, err
			}
			store, err := durable.Open(dir, durable.Options{AllowNetwork: t.AllowNetwork, Adopt: t.Adopt})
			if err != nil {
				return held, err
			}
			in, err := filepath.Rel(dir, root)
			held = append(held, neighbour{store, err == nil && filepath.IsLocal(in)})
			report, err := store.Take(ctx)
			if err != nil {
				return held, fmt.Errorf("take the project %s, which has files in common: %w", dir, err)
			}
			t.tell(report)
		}
	}
	return held, nil
}

// release gives the leases back.
func (n neighbours) release() (err error) {
	for _, one := range n {
		err = errors.Join(err, one.store.Release())
	}
	return err
}

// restored tells the journals of the neighbours that an earlier state is about to be
// brought back: all of those below, and of those above the ones of our runs.
func (n neighbours) restored(root string, runs []*reprise.Run, ev reprise.Event) error {
	for _, one := range n {
		at, err := filepath.Rel(one.store.Dir(), root)
		if err != nil {
			return err
		}
		ours := func(log string) bool {
			return !one.above || slices.ContainsFunc(runs, func(r *reprise.Run) bool {
				return journal.Placed(log, reprise.Ref{Layout: r.Layout, Path: path.Join(filepath.ToSlash(at), r.Path)})
			})
		}
		if err := journal.Restored(one.store, ev, ours, nil); err != nil {
			return err
		}
	}
	return nil
}
