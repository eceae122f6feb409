package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"reprise"
	"reprise/internal/gitx"
	"reprise/worktree"
)

// Home implements Hands: it puts the run's own checkout on the run's branch again where an agent left that
// for a branch of its own, or for none, and went on from it. It is an error where that
// cannot be done: what is on another branch is not part of the run.
func (w *local) Home(ctx context.Context, f *attempt) error {
	if w.repo == nil || f.inside == "" {
		return nil
	}
	repo, err := w.repoAt(ctx, f.dir)
	if err != nil {
		return err
	}
	branch := worktree.Branch(w.run)
	from, err := repo.Return(ctx, branch)
	if err == nil && from != "" {
		w.notice(reprise.Finding{
			Code: reprise.CodeWorktreeForeign, Severity: reprise.Info, Subject: f.a.Step,
			Message: fmt.Sprintf("the agent had %s checked out in the place of %s; what it committed there was brought to %s", from, branch, branch),
		})
	}
	return err
}

// astray tells of a commit that an attempt made and that is not on the run's branch, nil
// if there is none.
func (w *local) astray(ctx context.Context, f *attempt) error {
	if f.inside == "" || f.key == "" {
		return nil
	}
	repo, err := w.repoAt(ctx, f.dir)
	if err != nil {
		return err
	}
	commit, found, err := repo.StrayTrailer(ctx, "HEAD", reprise.TrailerKey, f.key)
	if err != nil || !found {
		return err
	}
	return &strayError{commit, worktree.Branch(w.run)}
}

// commit makes a commit of what the attempt left uncommitted and nobody else
// can have: all of it in a checkout of the run's own, in the project's what was
// not changed before the attempt began. It gives the commit that holds the work, of
// an earlier attempt where this one made none, "" if there is none. The trailer makes
// it at most one for each attempt. In a checkout of the run's own it is an error where
// work of the attempt is not on the run's branch.
func (w *local) commit(ctx context.Context, f *attempt) (string, error) {
	if w.repo == nil || f.dir == "" {
		return "", nil
	}
	w.folders.commit.Lock()
	defer w.folders.commit.Unlock()
	if err := w.Home(ctx, f); err != nil {
		return "", err
	}
	if made := w.commitOf(ctx, f, f.key+accepted); made != "" {
		return made, nil
	}
	if f.a.Commit {
		made, err := w.commitRest(ctx, f)
		if err == nil {
			w.tellNested(ctx, f)
		}
		if made != "" || err != nil {
			return made, err
		}
	}
	if own := w.commitOf(ctx, f, f.key); own != "" {
		return own, nil
	}
	if err := w.astray(ctx, f); err != nil {
		return "", err
	}
	if now := w.head(ctx, f.dir); f.head != "" && now != f.head && !w.folders.shared(f) {
		return now, nil
	}
	return w.commitBefore(ctx, f), nil
}

// lockedFor is how long the index of a checkout may be locked before that is taken
// for what a killed git left.
const lockedFor = 30 * time.Second

// Commit implements Hands: it is commit for an attempt whose work is whole. The first time that
// git cannot commit it, that is put on record, so that the attempt is not made again
// if we are killed or stopped from then on. A git of somebody else that has the index
// or a ref for a moment is waited for, unless a person wants it to stop.
func (w *local) Commit(stop context.Context, f *attempt) (string, error) {
	ctx := context.WithoutCancel(stop)
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for last, waits := time.Now().Add(lockedFor), false; ; {
		commit, err := w.commit(ctx, f)
		if err == nil || w.itsOwn(f, err) {
			return commit, err
		}
		if !waits {
			if err := w.recordHeld(ctx, f, err); err != nil {
				return "", err
			}
			// A kill from here on costs nothing of it.
		}
		busy, locked := errors.AsType[*gitx.NotReadyError](err)
		locked = locked && busy.Locked
		if now := time.Now(); !locked || now.After(last) || !busy.Since.IsZero() && now.Sub(busy.Since) > lockedFor {
			return commit, err
		}
		if !waits {
			waits = true
			w.tell(Progress{Kind: Noticed, Step: f.a.Step, Text: "done; before that is committed, another git is waited for: " + err.Error()})
		}
		select {
		case <-stop.Done():
			return "", err
		case <-w.Hard:
			return "", err
		case <-look.C:
		}
	}
}

func (w *local) commitRest(ctx context.Context, f *attempt) (string, error) {
	repo, err := w.repoAt(ctx, f.dir)
	if err != nil {
		return "", err
	}
	changed, err := repo.Changes(ctx)
	if err != nil {
		return "", err
	}
	trailer := reprise.TrailerKey + ": " + f.key + accepted
	if f.inside != "" && w.folders.alone(f) {
		return repo.Commit(ctx, w.message(f), trailer)
	}
	var mine, others []string
	for _, name := range changed {
		switch {
		case w.commits(f, name):
			mine = append(mine, name)
		case !w.isState(name) && !gitx.Kept(name):
			others = append(others, name)
		}
	}
	w.tellUncommitted(ctx, f, others)
	return repo.CommitPaths(ctx, mine, w.message(f), trailer)
}

// maxHeld bounds how many files are kept of an attempt that cannot be committed;
// those of a larger one are left to a person.
const maxHeld = 20_000

// recordHeld puts on record that an attempt ended with all it was to leave, and what
// that is, unless the journal has it. From then on it is not made again as long as
// that stays as it is.
func (w *local) recordHeld(ctx context.Context, f *attempt, why error) error {
	if f.held != nil {
		return nil
	}
	ev := w.about(ctx, f, reprise.StepHeld)
	ev.Text, ev.Key = why.Error(), f.key
	for _, e := range f.a.Expect {
		if now, err := w.hash(e.Path); err == nil && !now.IsZero() {
			ev.Expect = append(ev.Expect, reprise.Expected{Path: e.Path, Before: now})
		}
	}
	repo, err := w.repoAt(ctx, f.dir)
	var changed []string
	if err == nil {
		changed, err = repo.Changes(ctx)
	}
	if err == nil {
		changed = slices.DeleteFunc(changed, func(name string) bool { return !w.commits(f, name) })
	}
	if err != nil || len(changed) > maxHeld {
		changed = nil // only what it was to leave can be looked at, and nothing is committed of the rest
	}
	ev.Work = w.printed(ctx, f, changed) // the rest is nothing that is committed
	return w.record(ctx, ev)
}
