package engine

import (
	"context"
	"errors"
	"fmt"

	"reprise"
	"reprise/convention"
	"reprise/flow"
	"reprise/internal/durable"
	"reprise/journal"
)

// Preview is Resume with a ledger and hands that keep everything to themselves. It takes
// no lease and changes nothing.
func (e *Engine) Preview(ctx context.Context, ref reprise.Ref, c Choice) (*Preview, error) {
	store, err := e.look()
	if err != nil {
		return nil, err
	}
	defer store.Release()
	return e.previewWorlds(ctx, store, ref, c)
}

// PreviewBegin shows what Begin, and then Resume, would do. It takes no lease and changes
// nothing. A run that exists is previewed as it is.
func (e *Engine) PreviewBegin(ctx context.Context, layout string, kind reprise.Kind, g reprise.Goal, c Choice) (*Preview, error) {
	playbook, err := convention.Playbook(layout, kind)
	if err != nil {
		return nil, err
	}
	return e.previewBegin(ctx, playbook, g, c)
}

// PreviewFlow is PreviewBegin for a workflow file, as BeginFlow takes it.
func (e *Engine) PreviewFlow(ctx context.Context, wf *flow.Workflow, file string, hash reprise.Hash, g reprise.Goal, c Choice) (*Preview, error) {
	playbook, err := e.beginsFlow(wf, file, hash, &g)
	if err != nil {
		return nil, err
	}
	return e.previewBegin(ctx, playbook, g, c)
}

func (e *Engine) previewBegin(ctx context.Context, playbook reprise.Playbook, g reprise.Goal, c Choice) (*Preview, error) {
	store, err := e.look()
	if err != nil {
		return nil, err
	}
	defer store.Release()
	g.Now, g.Mode = e.Now(), string(e.Mode)
	ref, events, err := beginAt(playbook, store, g)
	if err != nil {
		return nil, err
	}
	if len(events) == 0 {
		return e.Preview(ctx, ref, c)
	}
	return e.previewNew(ctx, store, ref, playbook, c, events)
}

// look opens the project without a lease. The error is the one that taking the lease
// would give.
func (e *Engine) look() (*durable.Store, error) {
	store, err := durable.Open(e.Dir, durable.Options{AllowNetwork: e.AllowNetwork, Adopt: e.Adopt, Now: e.Now})
	if err != nil {
		return nil, err
	}
	if err = store.Usable(); err == nil && !e.Adopt {
		err = store.Copied()
	}
	if half := store.Whole(); err == nil && half != nil {
		err = halfUndone(half)
	}
	if err != nil {
		return nil, errors.Join(err, store.Release())
	}
	return store, nil
}

// looking is a work without the lease and without a journal to write to.
func (e *Engine) looking(store *durable.Store, ref reprise.Ref, playbook reprise.Playbook) (*work, error) {
	l := convention.Find(ref.Layout)
	if l == nil {
		return nil, fmt.Errorf("work on %s: no convention is called %q", ref.ID, ref.Layout)
	}
	w := e.newWork(store, ref, playbook, l)
	account, err := journal.ReadAccount(store, journal.Name(ref))
	for i := range account.Entries {
		w.learn(&account.Entries[i])
	}
	return w, err
}

func stepIDs(r *reprise.Run) []string {
	var ids []string
	for i := range r.Steps {
		ids = append(ids, r.Steps[i].ID)
	}
	return ids
}
