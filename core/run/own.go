//go:build unix

package run

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"reprise/core"
	"reprise/core/world"
)

// place gives the repository as an attempt sees it.
func (e *Engine) place(ctx context.Context, p core.Place) (*world.Repo, error) {
	if p == core.Here {
		return e.Repo, nil
	}
	return e.Repo.Slot(ctx, strings.TrimPrefix(string(p), string(core.Own)+"/"))
}

// startOwn begins an attempt in a worktree of its own. It begins with what is committed: what
// the user has not committed is not in the way of steps side by side. An attempt that was cut
// off there is continued there.
func (e *Engine) startOwn(ctx, stop context.Context, step core.Step, past *core.Past) error {
	head, err := e.Repo.Head()
	if err != nil {
		return err
	}
	s := core.Start{Step: step.ID, Title: step.Title, Attempt: past.Attempts + 1, Head: head.Head, Place: past.First.Place, Boot: e.Boot, Again: past.Done}
	var repo *world.Repo
	if s.Place != core.Here {
		s.Before, s.Head = past.First.Before, past.First.Head
		if repo, err = e.place(ctx, s.Place); err != nil {
			return err
		}
	} else {
		s.Place = e.freePlace()
		if repo, err = e.place(ctx, s.Place); err != nil {
			return err
		}
		if err = repo.Reset(ctx, head, e.Repo); err != nil {
			return fmt.Errorf("the worktree for %s: %w", step.ID, err)
		}
		if s.Before, err = repo.Take(ctx); err != nil {
			return err
		}
	}
	now, err := e.Repo.Take(ctx)
	if err != nil {
		return err
	}
	return e.begin(ctx, stop, step, &s, now, filepath.Join(repo.Top, filepath.FromSlash(e.below)))
}

// freePlace gives the first place that no attempt is in, and in which none left half of a step.
func (e *Engine) freePlace() core.Place {
	used := map[core.Place]bool{}
	for _, o := range e.state().Open {
		used[o.Place] = true
	}
	for _, p := range e.state().Steps {
		used[p.First.Place] = true
	}
	for i := 1; ; i++ {
		if p := core.Place(fmt.Sprintf("%s/%d", core.Own, i)); !used[p] {
			return p
		}
	}
}

// landing says what becomes of the project if an attempt from a place of its own is brought
// into it: the plan is marked by us, when that is done, and not before.
func (e *Engine) landing(ctx context.Context, l *core.Look, open *core.Start) (err error) {
	if l.From, err = e.Repo.Take(ctx); err != nil {
		return err
	}
	plans := slices.DeleteFunc(slices.Clone(e.Repo.Always), func(name string) bool {
		return slices.ContainsFunc(e.Leaves, func(left string) bool { return name == path.Join(e.below, left) })
	})
	l.To, l.Torn, err = e.Repo.Merge(ctx, l.Base, l.From, l.Now, plans...)
	return err
}
