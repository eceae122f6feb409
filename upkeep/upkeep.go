// Package upkeep holds the operations that tend a project's state apart from
// running it: repair, clean, undo and the log. Each is planned first, as data a
// person can look at, and carried out only then.
//
// Everything that is changed goes through internal/durable under the project's
// lease; nothing is deleted. If a process dies in the middle, planning and
// carrying out again comes to the same end.
package upkeep

import (
	"context"
	"fmt"
	"time"

	"reprise"
	"reprise/internal/durable"
	"reprise/layout"
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
}

// open opens the store without taking the lease: for looking.
func (t Tender) open() (*durable.Store, error) {
	return durable.Open(t.Dir, durable.Options{
		AllowNetwork: t.AllowNetwork, Adopt: t.Adopt, Disk: t.Disk, Now: func() time.Time { return t.Now },
	})
}

// take opens the store and takes the lease. The caller releases it.
func (t Tender) take(ctx context.Context) (*durable.Store, *durable.Report, error) {
	store, err := t.open()
	if err != nil {
		return nil, nil, err
	}
	report, err := store.Take(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("take the project: %w", err)
	}
	return store, report, nil
}

// runs judges the project fully.
func (t Tender) judge(ctx context.Context) (*project.Judgement, error) {
	return project.Judge(ctx, t.Dir, project.JudgeOptions{Options: project.Options{Now: t.Now}, Full: true})
}

// layoutOf finds the layout of a run.
func layoutOf(r *reprise.Run) (reprise.Layout, error) {
	if l := layout.Find(r.Layout); l != nil {
		return l, nil
	}
	return nil, fmt.Errorf("no layout is called %q", r.Layout)
}
