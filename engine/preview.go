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
	"reprise/project"
)

// Preview tells what Resume would do. It takes no lease and changes nothing.
func (e *Engine) Preview(ctx context.Context, ref reprise.Ref, c Choice) (*Preview, error) {
	store, err := e.look()
	if err != nil {
		return nil, err
	}
	defer store.Release()
	w, err := e.looking(store, ref, nil)
	if err != nil {
		return nil, err
	}
	w.choice = c
	begins, err := w.cutOffBeginning()
	if err != nil {
		return nil, err
	}
	under := &shelf{begins.Before(store)}
	r := newRehearsal(ctx, w, under, durable.NewDryRun(under), &Preview{Run: ref})
	looks, caught := w, false
	if begins.Open() {
		if err := r.beginAgain(ctx, begins); err != nil {
			return nil, err
		}
		w.renewed = begins.Afresh()
		// What there is to be looked at has not followed the journal yet.
		looks = e.newWork(store, ref, nil, w.layout)
	} else if caught, err = r.catchUp(ctx); err != nil {
		return nil, err
	}
	if w.book, err = e.bookOf(r.dry, ref); err != nil {
		return nil, err
	}
	look, err := looks.judge(ctx)
	if err != nil {
		return nil, err
	}
	if caught {
		digest := look.digest
		if look, err = w.judgeHeld(ctx); err != nil {
			return nil, err
		}
		look.digest = digest
	}
	if c.If != "" && look.digest != c.If {
		return nil, &StaleError{Want: c.If, Have: look.digest}
	}
	r.p.Decision, r.p.Steps = look.d, stepIDs(look.run)
	return r.told(r.choose(ctx, look))
}

// cutOffBeginning finds a beginning of the run that was cut off and that opening it
// would carry to its end before anything else.
func (w *work) cutOffBeginning() (project.Beginning, error) {
	b, err := project.BeginningOf(w.store, w.ref)
	if err != nil || !b.Behind(w.store) || b.Afresh() && w.mayRenew() != nil {
		return project.Beginning{}, err
	}
	return b, nil
}

// PreviewBegin tells what Begin, and then Resume, would do. It takes no lease and
// changes nothing: the run is made on a store that keeps its changes to itself.
// One that is there already is previewed as it is.
func (e *Engine) PreviewBegin(ctx context.Context, layout string, kind reprise.Kind, g reprise.Goal, c Choice) (*Preview, error) {
	book, err := convention.Playbook(layout, kind)
	if err != nil {
		return nil, err
	}
	return e.previewBegin(ctx, book, g, c)
}

// PreviewFlow is PreviewBegin for a workflow of the person's own, as BeginFlow
// takes it.
func (e *Engine) PreviewFlow(ctx context.Context, wf *flow.Workflow, file string, hash reprise.Hash, g reprise.Goal, c Choice) (*Preview, error) {
	book := e.ownFlow(wf, origin{file, hash}, hash)
	text, err := book.graph()
	if err != nil {
		return nil, err
	}
	g.Text = text
	return e.previewBegin(ctx, book, g, c)
}

func (e *Engine) previewBegin(ctx context.Context, book reprise.Playbook, g reprise.Goal, c Choice) (*Preview, error) {
	store, err := e.look()
	if err != nil {
		return nil, err
	}
	defer store.Release()
	under := &shelf{store}
	dry := durable.NewDryRun(under)
	g.Now, g.Mode = e.Now(), string(e.Mode)
	ref, events, err := book.Begin(dry, g)
	if err != nil {
		return nil, err
	}
	w, err := e.looking(store, ref, book)
	if err != nil {
		return nil, err
	}
	begins, err := w.cutOffBeginning()
	if err != nil {
		return nil, err
	}
	if len(events) == 0 || begins.Open() {
		return e.Preview(ctx, ref, c)
	}
	w.choice = c
	r := newRehearsal(ctx, w, under, dry, &Preview{Run: ref})
	r.would("It is made in %s.", ref.Path)
	if err := r.playAll(ctx, e.allBegun(events)); err != nil {
		return nil, err
	}
	w.stamped = zeroTime // whoever resumes it opens it anew
	look, err := w.imagine(ctx)
	if err != nil {
		return nil, err
	}
	r.p.Decision, r.p.Steps = look.d, stepIDs(look.run)
	return r.told(r.instead(r.choose(ctx, look)))
}

// look opens the project to look at it. Where nobody could take it, the error is the
// one that they would get.
func (e *Engine) look() (*durable.Store, error) {
	store, err := durable.Open(e.Dir, durable.Options{AllowNetwork: e.AllowNetwork, Adopt: e.Adopt, Now: e.Now})
	if err != nil || e.Adopt {
		return store, err
	}
	if err := store.Copied(); err != nil {
		return nil, errors.Join(err, store.Release())
	}
	return store, nil
}

// looking is a work that only looks: without the lease, without a journal to
// write to.
func (e *Engine) looking(store *durable.Store, ref reprise.Ref, book reprise.Playbook) (*work, error) {
	l := convention.Find(ref.Layout)
	if l == nil {
		return nil, fmt.Errorf("work on %s: no layout is called %q", ref.ID, ref.Layout)
	}
	w := e.newWork(store, ref, book, l)
	entries, _, err := journal.Read(store, journal.Name(ref))
	for i := range entries {
		w.remember(&entries[i].Event)
	}
	return w, err
}

// imagine looks closely at the project around a run that is not there yet.
func (w *work) imagine(ctx context.Context) (look, error) {
	j, err := project.Judge(ctx, w.Dir, w.closely())
	if err != nil {
		return look{}, err
	}
	run := w.run.Clone()
	return look{run: run, d: j.Imagine(run), git: j.Observed.Git}, nil
}

func stepIDs(r *reprise.Run) []string {
	var ids []string
	for i := range r.Steps {
		ids = append(ids, r.Steps[i].ID)
	}
	return ids
}
