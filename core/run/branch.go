//go:build unix

package run

import (
	"context"
	"errors"
	"io/fs"
	"path"

	"reprise/core"
	"reprise/core/world"
)

// A run may be worked on in a checkout on a branch of its own. Where it is, is on record before
// anything begins there; from then on the run's worlds are pairs, and all else is as in the project.

// settleIn goes to where the run is worked on by its records. A checkout that is gone is made again
// if something was begun there, and otherwise when a step needs it.
func (e *Engine) settleIn(ctx context.Context) error {
	s := e.state()
	if s.Site.Place != core.Branch {
		e.Repo.Keep(e.always())
		return nil
	}
	at := path.Join(e.below, s.Site.At)
	repo, err := e.Repo.Beside(ctx, at)
	if errors.Is(err, fs.ErrNotExist) && !e.Repo.Looking() && e.Site != nil && (len(s.Open) > 0 || s.Due != nil) {
		if _, _, err = e.Site(ctx); err == nil {
			repo, err = e.Repo.Beside(ctx, at)
		}
	}
	switch {
	case err == nil:
		e.Repo, e.site = repo, at
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	e.Repo.Keep(e.always())
	return nil
}

// goTo goes to where a step is done, and records that. Where that cannot be, the run rests, and
// nothing happened.
func (e *Engine) goTo(ctx context.Context, step core.Step) error {
	site, in := &core.Site{}, ""
	repo, why := e.Repo.Project(), "it is worked on in the project"
	if step.Place == core.Branch {
		at, base, err := e.Site(ctx)
		if err != nil {
			e.stop = "step " + step.ID + " cannot be started: " + err.Error()
			return nil //nolint:nilerr // it is why the run rests
		}
		site, in = &core.Site{Place: core.Branch, At: at, Base: base}, path.Join(e.below, at)
		if repo, err = e.Repo.Beside(ctx, in); err != nil {
			return err
		}
		why = "it is worked on in " + at
	}
	head, err := repo.Head()
	if err != nil {
		return err
	}
	site.Head = head.Head
	if _, err := e.append(core.Record{Plan: &core.Plan{Why: why, Site: site}}); err != nil {
		return err
	}
	e.Repo, e.site, e.at = repo, in, ""
	e.Repo.Keep(e.always())
	return nil
}

// workDir gives where an agent of the run works.
func (e *Engine) workDir() string {
	if e.site == "" {
		return e.Dir
	}
	return e.Repo.Dir(e.below)
}

// aside gives what is not committed of a difference, and why.
func (e *Engine) aside(ctx context.Context, changes []world.Change) (files, why []string, err error) {
	if files, why, err = e.Repo.Aside(ctx, changes); err != nil || !e.Uncommitted {
		return files, why, err
	}
	for _, c := range changes {
		if e.inPlan(c.Path) {
			files = append(files, c.Path)
		}
	}
	return files, why, nil
}

// home puts the checkout of the run back on its branch, where an agent that is over left it on another
// one that goes on from there. Only what is on the branch counts: that is what is merged.
func (e *Engine) home(ctx context.Context) error {
	branch := e.state().Site.Head.Branch
	if e.site == "" || branch == "" || e.Repo.Looking() || len(e.state().Open) == 0 {
		return nil
	}
	for _, open := range e.state().Open {
		a := e.attempt(open)
		if _, ended := a.Result(); !ended && a.Alive() {
			return nil
		}
	}
	done, err := e.Repo.Home(ctx, branch)
	if done {
		e.notice(e.state().Open[0].Step, "its agent left "+e.state().Site.At+" on another branch than "+core.BranchName(branch)+", which has its commits now and is checked out there again", nil)
	}
	return err
}
