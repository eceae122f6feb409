//go:build unix

package engine

import (
	"context"
	"slices"

	"reprise"
	"reprise/convention"
	"reprise/core"
	"reprise/core/run"
	"reprise/internal/durable"
	"reprise/project"
)

// beginWorlds makes a run: its first record makes its files.
func (e *Engine) beginWorlds(ctx context.Context, store *durable.Store, ref reprise.Ref, playbook reprise.Playbook, text string, events []reprise.Event) error {
	l := &listed{work: e.newWork(store, ref, playbook, convention.Find(ref.Layout)), damaged: map[string]bool{}}
	c := l.config()
	c.Recorded, c.Letters, c.Begins = nil, nil, &core.BeginRun{Text: text, Said: e.begun(events)}
	at, err := run.Open(ctx, c)
	if err != nil {
		return err
	}
	defer at.Close()
	return at.Left(reprise.Start.String(), "begun")
}

// previewNew shows how a run would be made of events, and what it would do then.
func (e *Engine) previewNew(ctx context.Context, store *durable.Store, ref reprise.Ref, playbook reprise.Playbook, c Choice, events []reprise.Event) (*Preview, error) {
	l := &listed{work: e.newWork(store, ref, playbook, convention.Find(ref.Layout)), damaged: map[string]bool{}}
	l.choice = c
	l.config()
	edits, err := l.conv.Record(store, ref.Path, core.BeginRun{Said: e.begun(events)})
	if err != nil {
		return nil, err
	}
	dry := durable.NewDryRun(store)
	for _, edit := range edits {
		if err := dry.Apply(ctx, []reprise.Edit{{Path: edit.Path, Content: edit.Data}}); err != nil {
			return nil, err
		}
	}
	l.on, l.plan = dry, dry
	if err := l.load(); err != nil {
		return nil, err
	}
	j, err := project.Judge(ctx, e.Dir, e.closely())
	if err != nil {
		return nil, err
	}
	run := l.run.Clone()
	seen := look{View: &project.View{Run: run, Decision: j.Imagine(run), Observed: j.Observed}}
	p := &Preview{Run: ref, Steps: stepIDs(run), Decision: seen.Decision, Outcome: reprise.OutcomeOK, Diff: dry.Diff(), begins: true}
	p.Would = append(p.Would, "It is created in "+ref.Path+".")
	if seen.Decision.Verdict == reprise.BlockedVerdict {
		p.unsafe = unsafe(ref.ID, seen.Decision)
		p.unsafe.Begins, p.Outcome = true, p.unsafe.Outcome()
		if i := slices.IndexFunc(run.Findings, func(f reprise.Finding) bool { return f.Code == reprise.CodeHandedOver }); i >= 0 {
			p.unsafe.todo = run.Findings[i].Hint
		}
		p.Would = append(append(p.Would, "Nothing would be started."), p.unsafe.Reasons...)
		return p, nil
	}
	if err := l.choosable(seen); err != nil {
		return nil, err
	}
	l.choose(seen)
	if err := l.beginsAt(ctx, l.choice.From); err != nil {
		return nil, err
	}
	if err := l.previewChosen(ctx, seen, p, l.chosen()); err != nil {
		return nil, err
	}
	p.later = l.unserved(l.run.Next)
	e.refuses(p)
	if p.Refused == nil && p.Outcome == reprise.OutcomeAsk && (e.Ask == nil || !e.servesAll()) { // to ask a person helps only where someone can work then
		p.Refused = &UnattendedError{run, NeedsAnswer, seen.Decision.Reason()}
	}
	return p, nil
}

// beginsAt takes over the steps that a person wants to begin at, from one on; "" is none.
func (l *listed) beginsAt(ctx context.Context, from string) error {
	if from == "" {
		return nil
	}
	events, err := l.resetsFrom(ctx, from)
	if err != nil {
		return err
	}
	for _, ev := range events {
		if ev.Kind != reprise.StepReset {
			continue
		}
		l.again = append(l.again, ev.Step)
		if l.away == nil {
			l.away = map[string][]string{}
		}
		for _, e := range ev.Expect {
			l.away[ev.Step] = append(l.away[ev.Step], e.Path)
		}
	}
	if !slices.Contains(l.again, from) {
		l.again = append(l.again, from)
	}
	return nil
}
