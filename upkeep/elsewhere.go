package upkeep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"reprise"
	"reprise/internal/durable"
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

// neighbours are the other state folders whose leases are held beside the project's own.
type neighbours []*durable.Store

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
			held = append(held, store)
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
		err = errors.Join(err, one.Release())
	}
	return err
}
