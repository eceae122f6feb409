//go:build unix

package run

import (
	"context"
	"errors"
	"path"
	"path/filepath"
	"slices"

	"reprise"
	"reprise/agent"
	"reprise/core"
	"reprise/core/hands"
	"reprise/core/journal"
)

// A step may be done by a run of its own, with a journal of its own. Its attempt has no agent and no
// end of its own: it is open until that run is complete, and a kill in between leaves what the next
// engine goes on with.

// workInner works on the run that does a step until it is over, or rests. Where a person wanted the
// step again, what that run asks about a step that fails is answered so.
func (e *Engine) workInner(stop context.Context, step string) error {
	open := e.state().OpenOf(step)
	c, err := e.Inner(core.Step{ID: step, InPlan: step, Title: open.Title, Inner: open.Inner})
	if err != nil {
		e.stop = "step " + step + " cannot be started: " + err.Error()
		return nil //nolint:nilerr // it is why the run rests
	}
	in, err := e.within(c)
	if err != nil {
		return err
	}
	defer in.Journal.Close()
	if in.state().Seq == 0 {
		if err := in.beginRun(context.WithoutCancel(stop)); err != nil {
			return err
		}
	}
	if q := in.Asked(); q != nil && q.Of == nil && e.state().Step(step).Wanted && slices.Contains(q.Options, core.Onto) {
		if err := in.Answer(q.ID, core.Onto.Key); err != nil {
			return err
		}
	}
	rest, err := in.Work(stop)
	if err != nil {
		return err
	}
	if e.inner == nil {
		e.inner = map[string]*core.Inner{}
	}
	ended := in.state().Ended
	e.inner[step] = &core.Inner{Over: ended != nil && ended.Complete, Rest: &rest}
	e.at = ""
	if q := in.Asked(); q != nil {
		rest.Why = open.Inner + " waits for an answer: " + q.Shows
	}
	if c.Rests != nil {
		c.Rests(in.Asked())
	}
	return in.Left(reprise.Start.String(), rest.Why)
}

// within gives an engine for another run in the project that this one has.
func (e *Engine) within(c Config) (_ *Engine, err error) {
	if c.Now == nil {
		c.Now = e.Now
	}
	if c.Tell == nil {
		c.Tell = func(Progress) {}
	}
	if c.Tries == 0 {
		c.Tries = e.Tries
	}
	c.Boot, c.Booted = e.Boot, e.Booted
	in := &Engine{Config: c, Repo: e.Repo, below: e.below, child: map[hands.Attempt]*hands.Child{}, seen: map[hands.Attempt]bool{}}
	in.dir = filepath.Join(filepath.Dir(e.dir), c.Run)
	if in.Journal, err = journal.Open(in.dir); err != nil {
		return nil, err
	}
	if plan := path.Join(e.below, c.Plan); !slices.Contains(e.Repo.Always, plan) {
		e.Repo.Always = append(e.Repo.Always, plan)
	}
	if err := in.findOthers(); err != nil {
		return nil, errors.Join(err, in.Journal.Close())
	}
	return in, nil
}

// lookInto looks at a step that a run of its own does. What that run did is committed by it: no
// difference is left for this one.
func (e *Engine) lookInto(ctx context.Context, open *core.Start) (*core.Look, error) {
	now, err := e.Repo.Take(ctx)
	if err != nil {
		return nil, err
	}
	l := &core.Look{Step: open.Step, Now: now, Base: now, End: core.Well, Inner: e.inner[open.Step]}
	if l.Inner == nil {
		l.Inner = &core.Inner{}
	}
	if l.Inner.Over && e.Judge != nil {
		done := hands.Result{Result: agent.Result{Outcome: agent.Done, Reply: &reprise.Reply{Outcome: "done"}}}
		return l, e.judge(e.Repo, l, open, done)
	}
	return l, nil
}
