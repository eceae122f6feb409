package upkeep

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"

	"reprise"
	"reprise/internal/durable"
	"reprise/internal/gitx"
	"reprise/journal"
	"reprise/project"
	"reprise/worktree"
)

// repository is the project's, opened when it is first asked for.
type repository func() (*gitx.Repo, error)

func repositoryOf(ctx context.Context, store *durable.Store) repository {
	return sync.OnceValues(func() (*gitx.Repo, error) { return gitx.Open(ctx, store.Dir(), gitx.Options{}) })
}

// stateOf tells the branch and the checkout that a run has for itself. Only builds
// have them; the others are worked on in the project.
func (g repository) stateOf(ctx context.Context, store *durable.Store, r *reprise.Run) durable.RunState {
	out := durable.RunState{Layout: r.Layout, ID: r.ID, Path: r.Path}
	if !r.Kind.Facts().Checkout || !inProject(r.Path) {
		return out
	}
	repo, err := g()
	if gitx.Absent(err) {
		return out
	}
	if err == nil {
		out.Checkout, err = worktree.Look(ctx, worktree.Project{Store: store, Repo: repo, Run: r})
	}
	if err != nil {
		out.Unknown = err.Error()
	}
	return out
}

// project is what is needed to look at, and to bring back, the checkout of a run of
// a snapshot.
func (g repository) project(ctx context.Context, store *durable.Store, r durable.RunState) (worktree.Project, error) {
	repo, err := g()
	run := &reprise.Run{Ref: reprise.Ref{Layout: r.Layout, ID: r.ID, Path: r.Path, Kind: reprise.KindBuild}, Branch: r.Checkout.Branch, Worktree: r.Checkout.Path}
	return worktree.Project{Store: store, Repo: repo, Run: run}, err
}

// present tells how the runs of a snapshot stand now, or why the branch and the
// checkout of one cannot be brought back.
func (g repository) present(ctx context.Context, store *durable.Store, snap *durable.Snapshot) ([]durable.RunState, error) {
	now := []durable.RunState{}
	for _, r := range snap.Runs {
		if r.Checkout == nil {
			now = append(now, r)
			continue
		}
		p, err := g.project(ctx, store, r)
		if err == nil {
			err = worktree.CanBringBack(ctx, p, r.Checkout)
		}
		if err != nil {
			return nil, fmt.Errorf("undo %s: %w", r.ID, err)
		}
		state := durable.RunState{Layout: r.Layout, ID: r.ID, Path: r.Path}
		if state.Checkout, err = worktree.Look(ctx, p); err != nil {
			return nil, fmt.Errorf("undo %s: %w", r.ID, err)
		}
		now = append(now, state)
	}
	return now, nil
}

// Undo brings a snapshot back: the files, HEAD and index of the project, and the
// branch and the checkout of each run it is about; unless all is chosen, only what its
// runs changed since. Where one of these cannot be brought back nothing is changed, and neither where files of it are worked on
// from another folder: the leases of all that cover them are held.
//
// If the process dies here, the same undo again comes to the same end.
func (t Tender) Undo(ctx context.Context, id string, c UndoChoice) (*durable.UndoReport, error) {
	store, err := t.take(ctx, "undo")
	if err != nil {
		return nil, err
	}
	defer store.Release()
	list, err := store.Snapshots()
	i := slices.IndexFunc(list, func(s durable.Snapshot) bool { return s.ID == id })
	if i < 0 {
		return nil, errors.Join(fmt.Errorf("undo %s: there is no such snapshot", id), err)
	}
	snap := &list[i]
	repo := repositoryOf(ctx, store)
	plan, err := t.planUndo(ctx, store, repo, snap, c)
	if err != nil {
		return nil, err
	}
	others, runs, err := t.holdTouched(ctx, store, snap)
	defer others.release()
	if err != nil {
		return nil, err
	}
	ev := reprise.Event{Kind: reprise.StateRestored, At: t.Now, Actor: "reprise", Text: restoredTo(id), Until: snap.At}
	var told func(log string) bool
	if !c.All {
		told = func(log string) bool { return isOf(snap, log) }
		runs = slices.DeleteFunc(runs, func(r *reprise.Run) bool { return !told(journal.Name(r.Ref)) })
	}
	doubts, err := plan.doubts(ctx, store, snap, told)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(others.restored(store.Dir(), runs, ev), journal.Restored(store, ev, told, doubts)); err != nil {
		return nil, err
	}
	o := plan.options(c)
	o.Checkouts = func(snap *durable.Snapshot) error {
		for _, r := range snap.Runs {
			if r.Checkout == nil {
				continue
			}
			p, err := repo.project(ctx, store, r)
			if err == nil {
				_, err = worktree.BringBack(ctx, p, r.Checkout)
			}
			if err != nil {
				return fmt.Errorf("undo %s: %w", r.ID, err)
			}
		}
		return nil
	}
	done, err := store.UndoRuns(ctx, id, o)
	if err == nil && !c.All {
		err = answerAgain(ctx, t, store, plan.answers)
	}
	return done, err
}

// restoredTo is the text of the event that tells which snapshot is brought back.
func restoredTo(id string) string { return "snapshot " + id }

// holdTouched takes the leases of the other projects that an undo changes files of,
// and gives the runs of this one.
func (t Tender) holdTouched(ctx context.Context, store *durable.Store, snap *durable.Snapshot) (neighbours, []*reprise.Run, error) {
	back, appeared, err := store.PlanUndo(ctx, snap)
	if err != nil {
		return nil, nil, err
	}
	res, err := project.Read(ctx, t.Dir, project.Options{Now: t.Now})
	if err != nil {
		return nil, nil, err
	}
	names := slices.Concat(back, appeared)
	for _, r := range res.Runs {
		names = append(names, r.Path)
	}
	for _, r := range snap.Runs {
		names = append(names, r.Path)
		if r.Checkout != nil && r.Checkout.Path != "" {
			names = append(names, path.Join(r.Checkout.Path, r.Path))
		}
	}
	held, err := t.holdAround(ctx, store.Dir(), names)
	return held, res.Runs, err
}
