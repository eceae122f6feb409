package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"reprise"
	"reprise/convention"
	"reprise/flow"
	"reprise/internal/durable"
	"reprise/journal"
	"reprise/project"
)

// Preview is Resume with a ledger and hands that keep everything to themselves. It takes
// no lease and changes nothing.
func (e *Engine) Preview(ctx context.Context, ref reprise.Ref, c Choice) (*Preview, error) {
	store, err := e.look()
	if err != nil {
		return nil, err
	}
	defer store.Release()
	if e.onWorlds(store, ref) {
		return e.previewWorlds(ctx, store, ref, c)
	}
	w, err := e.looking(store, ref, nil)
	if err != nil {
		return nil, err
	}
	begins := w.cutOffBeginning()
	p := newPreviewState(begins.Before(store), &Preview{Run: ref})
	w.choice = c
	archives := w.putsAway()
	if err := w.asPreview(ctx, p); err != nil {
		return nil, err
	}
	looks, caught := w, false
	if begins.Open() {
		if err := w.beginAgain(ctx, p, begins, archives); err != nil {
			return nil, err
		}
		// The close look is at the files as they are, which are behind the journal.
		looks = e.newWork(store, ref, nil, w.layout)
		looks.led = &previewLedger{previewState: newPreviewState(store, nil), w: looks}
	} else if caught, err = w.caughtUp(ctx, p); err != nil {
		return nil, err
	}
	if w.playbook, err = e.playbookOf(p.dry, ref); err != nil {
		return nil, err
	}
	seen, err := looks.judgeBy(ctx, e.closely())
	if err != nil {
		return nil, err
	}
	if caught {
		digest := seen.digest
		if seen, err = w.judgeHeld(ctx); err != nil {
			return nil, err
		}
		seen.digest = digest
	}
	if c.If != "" && seen.digest != c.If {
		return nil, &StaleError{Want: c.If, Have: seen.digest}
	}
	shown, err := w.preview(ctx, p, seen)
	if err == nil && !c.Means().Shows && !e.servesAll() { // to look at what is there needs no agent
		e.refuses(shown)
	}
	return shown, err
}

// preview shows what a choice would do, and what follows until agents are at work. What
// Resume would refuse, it refuses with the same error.
func (w *work) preview(ctx context.Context, p *previewState, l look) (*Preview, error) {
	p.p.Decision, p.p.Steps, p.p.later = l.Decision, stepIDs(l.Run), w.unserved(l.Decision.Units)
	switch open := l.Run.PendingQuestions(); {
	case w.choice.Option == reprise.OptionAnswer && len(open) > 0:
		for _, q := range open {
			p.would("A person is asked: %s", q.Text)
		}
		p.would("What follows depends on the answer.")
		p.p.Outcome = reprise.OutcomeAsk
		w.sumUp(l.Decision, zeroTime)
		return w.show(p, errShown)
	case w.choice.Option == reprise.OptionRespawn:
		p.would("No agent continues an earlier session.")
	}
	done, err := w.choose(ctx, l)
	w = w.last()
	switch {
	case err == nil && !done:
		err = w.loop(ctx)
	case err == nil && w.sum.Merged == "" && w.sum.Review == "" && w.choice.Option != reprise.OptionClean:
		p.would("Nothing would be started.")
	}
	return w.show(p, err)
}

// cutOffBeginning finds an interrupted beginning of the run, which opening the run would
// complete first.
func (w *work) cutOffBeginning() project.Beginning {
	b := project.BeginningIn(w.onRecord.Entries, w.ref)
	if !b.Behind(w.store) || b.Afresh() && w.mayRenew() != nil {
		return project.Beginning{}
	}
	return b
}

// beginAgain shows how an interrupted beginning is completed.
func (w *work) beginAgain(ctx context.Context, p *previewState, b project.Beginning, archives bool) error {
	switch {
	case !b.Afresh():
		p.would("It was being started when the work was cut off: it is created in %s.", w.ref.Path)
	case archives:
		p.would("It was being started from scratch when the work was cut off: %s is archived, and it begins again.", b.Old.Path)
	default:
		p.would("It was being started from scratch when the work was cut off: the old state is in the archive, and it begins again.")
	}
	w.renewed = b.Afresh()
	recorded := len(b.Then) - len(b.Left)
	for i, ev := range b.Then {
		if ev.Kind == reprise.StepReset {
			continue // in files of others
		}
		record := func(ctx context.Context, ev reprise.Event) error {
			ev.At = zeroTime // it happens then, whenever it was decided
			return w.record(ctx, ev)
		}
		if i < recorded {
			record = func(ctx context.Context, ev reprise.Event) error { return projectTo(ctx, p.dry, w.layout, w.ref, ev) }
		}
		if err := record(ctx, ev); err != nil {
			return err
		}
	}
	w.follows = nil
	return w.load()
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
	w, err := e.looking(store, ref, playbook)
	if err != nil {
		return nil, err
	}
	if begins := w.cutOffBeginning(); len(events) == 0 || begins.Open() {
		shown, err := e.Preview(ctx, ref, c)
		if err == nil {
			shown.begins = len(events) > 0
		}
		return shown, err
	}
	p := newPreviewState(store, &Preview{Run: ref, begins: true})
	w.choice = c
	if err := w.asPreview(ctx, p); err != nil {
		return nil, err
	}
	p.would("It is created in %s.", ref.Path)
	if err := w.recordAll(ctx, e.begun(events)...); err != nil {
		return nil, err
	}
	if err := w.load(); err != nil {
		return nil, err
	}
	w.stamped = zeroTime // whoever resumes it opens it anew
	p.moves = false      // that it is made is no work on it
	seen, err := w.imagine(ctx)
	if err != nil {
		return nil, err
	}
	shown, err := w.preview(ctx, p, seen)
	if unsafe, ok := errors.AsType[*UnsafeError](err); ok {
		unsafe.Begins, p.p.unsafe = true, unsafe
		if i := slices.IndexFunc(seen.Run.Findings, func(f reprise.Finding) bool { return f.Code == reprise.CodeHandedOver }); i >= 0 {
			unsafe.todo = seen.Run.Findings[i].Hint
		}
		p.would("Nothing would be started.")
		for _, reason := range unsafe.Reasons {
			p.would("%s", reason)
		}
		p.p.Outcome = unsafe.Outcome()
		return w.show(p, errShown)
	}
	if err == nil {
		e.refuses(shown)
	}
	return shown, err
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
	w.led = &previewLedger{previewState: newPreviewState(store, nil), w: w}
	account, err := journal.ReadAccount(store, journal.Name(ref))
	for i := range account.Entries {
		w.Hear(&account.Entries[i])
	}
	w.onRecord = account
	return w, err
}

// imagine looks closely at the project around a run that does not exist yet.
func (w *work) imagine(ctx context.Context) (look, error) {
	j, err := project.Judge(ctx, w.Dir, w.closely())
	if err != nil {
		return look{}, err
	}
	run := w.run.Clone()
	return look{View: &project.View{Run: run, Decision: j.Imagine(run), Observed: j.Observed}}, nil
}

func stepIDs(r *reprise.Run) []string {
	var ids []string
	for i := range r.Steps {
		ids = append(ids, r.Steps[i].ID)
	}
	return ids
}
