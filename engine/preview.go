package engine

import (
	"context"
	"errors"
	"fmt"

	"reprise"
	"reprise/internal/durable"
	"reprise/journal"
	"reprise/layout"
	"reprise/prompt"
)

// Preview tells what Resume would do. It takes no lease and changes nothing.
func (e *Engine) Preview(ctx context.Context, ref reprise.Ref, c Choice) (*Preview, error) {
	store, err := durable.Open(e.Dir, durable.Options{AllowNetwork: e.AllowNetwork, Adopt: e.Adopt, Now: e.Now})
	if err != nil {
		return nil, err
	}
	book, err := e.bookOf(store, ref)
	if err != nil {
		return nil, err
	}
	w, err := e.looking(store, ref, book)
	if err != nil {
		return nil, err
	}
	w.choice = c
	dry := durable.NewDryRun(store)
	look, err := w.judge(ctx)
	if err != nil {
		return nil, err
	}
	p := &Preview{Run: ref, Decision: look.d, Digest: look.digest}
	if c.If != "" && look.digest != c.If {
		return nil, &StaleError{Want: c.If, Have: look.digest}
	}
	return p, w.preview(ctx, dry, look, p)
}

// looking is a work that only looks: without the lease, without a journal to
// write to.
func (e *Engine) looking(store *durable.Store, ref reprise.Ref, book reprise.Playbook) (*work, error) {
	l := layout.Find(ref.Layout)
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

// preview plays the first turn on a store that keeps its changes to itself.
func (w *work) preview(ctx context.Context, dry *durable.DryRun, l look, p *Preview) error {
	if l.d.Verdict == reprise.BlockedVerdict || l.d.Action == reprise.Finish {
		p.Would = append(p.Would, "Nothing would be started.")
		return nil
	}
	play := func(ev reprise.Event) error {
		run, err := w.layout.Load(dry, w.ref)
		if err != nil {
			return err
		}
		edits, err := w.layout.Record(dry, run, ev)
		if errors.Is(err, reprise.ErrCannotRecord) {
			return nil // the journal alone holds it
		}
		if err != nil {
			return err
		}
		return dry.Apply(ctx, edits)
	}
	p.Would = append(p.Would, "The state and the working tree are kept first; `reprise undo` brings them back.")
	if err := play(w.resumedEvent(l)); err != nil {
		return err
	}
	for _, u := range l.d.Verify {
		p.Would = append(p.Would, fmt.Sprintf("%s is marked as done: %s", u.ID, u.Reason))
		if err := play(reprise.Event{Kind: reprise.StepFinished, At: w.Now(), Step: u.ID, Phase: u.Phase, Actor: u.Role}); err != nil {
			return err
		}
	}
	for _, ev := range w.hist.Open() {
		p.Would = append(p.Would, fmt.Sprintf("Attempt %d of %s was cut off and is settled by its policy, %s.", ev.Attempt, ev.Step, first(string(ev.Policy), string(reprise.Verify))))
		if err := play(reprise.Event{Kind: reprise.StepReset, At: w.Now(), Step: ev.Step, Attempt: ev.Attempt, Actor: actor}); err != nil {
			return err
		}
	}
	run, err := w.layout.Load(dry, w.ref)
	if err != nil {
		return err
	}
	w.recall(run)
	w.run = run
	d := w.decide()
	if d.Action != reprise.Start {
		p.Would = append(p.Would, "Then: "+d.Action.String()+".")
		p.Would = append(p.Would, d.Reasons...)
	} else {
		for _, u := range w.book.Pick(run, d, nil) {
			if len(p.Starts) == w.parallel() {
				break
			}
			if err := w.previewUnit(dry, u, p, play); err != nil {
				return err
			}
		}
	}
	p.Diff = dry.Diff()
	return nil
}

func (w *work) previewUnit(dry *durable.DryRun, u reprise.Unit, p *Preview, play func(reprise.Event) error) error {
	a, err := w.book.Assign(dry, w.run, u)
	if err != nil {
		return fmt.Errorf("prepare %s: %w", u.ID, err)
	}
	if a.Step == "" {
		a.Step = u.ID
	}
	switch {
	case a.Ask != nil:
		p.Would = append(p.Would, "A person is asked: "+a.Ask.Text)
		return nil
	case a.Local != "":
		p.Would = append(p.Would, a.Step+" is recorded as done: "+a.Local)
		return nil
	case a.Child != nil:
		p.Would = append(p.Would, fmt.Sprintf("%s is done by its own run, %s.", a.Step, a.Child.ID))
		return nil
	}
	if until := w.closedUntil(a); until.After(w.Now()) {
		p.Would = append(p.Would, a.Step+" "+untilWords(until)+".")
		return nil
	}
	f := &flight{a: a, attempt: w.hist.Step(a.Step).Attempts + 1, began: w.Now(), dir: w.Dir, answers: w.toldTo(a)}
	f.key = w.keyOf(a.Step, f.attempt)
	f.result = w.absolute(durable.ScratchPath(w.attemptName(f)) + "/" + resultName)
	step := PreviewStep{Step: a.Step, Title: u.Title, Role: a.Role, Attempt: f.attempt, Dir: "."}
	if a.Worktree && w.repo != nil {
		step.Dir = "the run's own checkout"
	}
	for _, e := range a.Expect {
		step.Expect = append(step.Expect, e.Path)
	}
	if bound, err := w.bind(a); err != nil {
		step.Problem = err.Error()
	} else {
		step.Agent, step.Command = bound.name, bound.command
	}
	if step.Prompt, err = prompt.Render(w.task(f), w.Prompts); err != nil {
		return fmt.Errorf("write the prompt of %s: %w", a.Step, err)
	}
	p.Starts = append(p.Starts, step)
	return play(reprise.Event{Kind: reprise.StepStarted, At: f.began, Step: a.Step, Phase: u.Phase, Actor: a.Role, Attempt: f.attempt})
}
