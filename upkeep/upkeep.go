// Package upkeep holds the operations that tend a project's state apart from
// running it: repair, clean, undo and the log. Each is planned first, as data a
// person can look at, and carried out only then.
//
// Everything that is changed goes through internal/durable under the project's
// lease, and under every other one that covers what is changed, or it is refused;
// nothing is deleted. If a process dies in the middle, planning and
// carrying out again comes to the same end.
package upkeep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"reprise"
	"reprise/convention"
	"reprise/internal/durable"
	"reprise/project"
)

// Tender tends the state of one project.
type Tender struct {
	Dir string
	Now time.Time
	// AllowNetwork and Adopt are passed on to the store.
	AllowNetwork, Adopt bool
	// Disk, if set, is put between the store and the disk: crash here, trace.
	Disk func(durable.FS) durable.FS
	// Tell, if set, hears what taking a lease found that a person should know.
	Tell func(reprise.Finding)
}

// tell passes on what taking a lease found.
func (t Tender) tell(report *durable.Report) {
	for _, c := range report.Conflicts {
		report.Found = append(report.Found, c.Finding())
	}
	for _, f := range report.Found {
		if t.Tell != nil {
			t.Tell(f)
		}
	}
}

// open opens the store without taking the lease: for looking.
func (t Tender) open() (*durable.Store, error) {
	return durable.Open(t.Dir, durable.Options{
		AllowNetwork: t.AllowNetwork, Adopt: t.Adopt, Disk: t.Disk, Now: func() time.Time { return t.Now },
	})
}

// take opens the store, takes the lease, and makes sure that none of the runs is
// to be changed from another folder: an *ElsewhereError. The caller releases it.
func (t Tender) take(ctx context.Context, op string, runs ...*reprise.Run) (*durable.Store, error) {
	store, err := t.open()
	if err != nil {
		return nil, err
	}
	report, err := store.Take(ctx)
	if err != nil {
		return nil, fmt.Errorf("take the project: %w", err)
	}
	t.tell(report)
	// Only now: who works on one of them from another folder looks for us, too.
	elsewhere := project.Elsewhere(store.Dir(), runs, t.Now)
	for _, r := range runs {
		if f, is := elsewhere[r]; is {
			return nil, errors.Join(&ElsewhereError{Op: op, Finding: f}, store.Release())
		}
	}
	return store, nil
}

// load reads a run anew, as the files stand in store, and gives its layout.
func load(store fs.FS, r *reprise.Run) (reprise.Layout, *reprise.Run, error) {
	l, err := layoutOf(r)
	if err != nil {
		return nil, nil, err
	}
	run, err := reprise.Load(l, store, r.Ref)
	return l, run, err
}

// layoutOf finds the layout of a run.
func layoutOf(r *reprise.Run) (reprise.Layout, error) {
	if l := convention.Find(r.Layout); l != nil {
		return l, nil
	}
	return nil, fmt.Errorf("no convention is called %q", r.Layout)
}
