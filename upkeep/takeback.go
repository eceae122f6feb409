package upkeep

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"slices"

	"reprise"
	"reprise/internal/durable"
	"reprise/journal"
)

// takeBackAll plans to take back what the runs of a snapshot wrote to state files that others
// changed as well, and only that. Where it cannot be told, the file stays, and the plan says
// what that means.
func (p *UndoPlan) takeBackAll(ctx context.Context, w *whose) error {
	for i := range p.Kept {
		k := &p.Kept[i]
		if !k.Too || k.merged != nil || held(w.snap, k.Path).IsZero() {
			continue
		}
		if err := p.takeBack(ctx, w, k); err != nil {
			return err
		}
		if !k.told {
			p.Missing = append(p.Missing, fmt.Sprintf("the run's changes in %s cannot be told from others' changes: what it marked done stays marked done", k.Path))
		}
	}
	return ctx.Err()
}

// takeBack plans to take back what a run wrote to a state file, and only that, if it can be
// told.
func (p *UndoPlan) takeBack(ctx context.Context, w *whose, k *Kept) error {
	then, err := w.store.Kept(held(w.snap, k.Path))
	if err != nil {
		return err
	}
	now, err := w.store.ReadFile(k.Path)
	if err != nil {
		return nil // it cannot be read, so it stays
	}
	run, account := p.writer(w, k.Path)
	if run == nil {
		return nil
	}
	content := without(ctx, w, run, account, k.Path, then, now)
	k.told = content != nil
	if k.told && !bytes.Equal(content, now) {
		k.merged, k.Diff = content, durable.Diff(k.Path, now, content)
	}
	return nil
}

// writer is the run of the snapshot that a state file is of, with its journal before an undo
// that was cut off; nil if no journal tells of one.
func (p *UndoPlan) writer(w *whose, name string) (*reprise.Run, *journal.Account) {
	for _, r := range p.all {
		if !isOf(w.snap, journal.Name(r.Ref)) || !slices.Contains(stateFiles(w.store, r), name) {
			continue
		}
		if account, err := journal.ReadUndone(w.store, journal.Name(r.Ref)); err == nil {
			return r, account
		}
	}
	return nil, nil
}

// without is a state file without what its run wrote there since the snapshot, nil where
// that cannot be told. What the run alone would have made of the snapshot's file tells its
// changes from others'. Where both changed the same place, and for steps that others added,
// the steps that the run finished since are opened again as the layout does it.
func without(ctx context.Context, w *whose, r *reprise.Run, account *journal.Account, name string, then, now []byte) []byte {
	l, err := layoutOf(r)
	if err != nil {
		return nil
	}
	since := account.Since(w.later)
	opened := slices.DeleteFunc(slices.Clone(since), func(ev reprise.Event) bool { return ev.Kind != reprise.StepFinished })
	dry := durable.NewDryRun(w.store)
	merged, known := merge(ctx, w, l, r.Ref, since, name, then, now)
	if merged != nil {
		opened = slices.DeleteFunc(opened, func(ev reprise.Event) bool { return known.Step(ev.Step) != nil })
		if err := dry.Apply(ctx, []reprise.Edit{{Path: name, Base: reprise.HashOf(now), Content: merged}}); err != nil {
			return nil
		}
	}
	for _, ev := range opened {
		run, err := reprise.Load(l, dry, r.Ref)
		if err != nil {
			return nil
		}
		if s := run.Step(ev.Step); s == nil || !s.Status.Closed() {
			continue // others took it out, or opened it again
		}
		reset := reprise.Event{Kind: reprise.StepReset, At: ev.At, Step: ev.Step, Phase: ev.Phase, Actor: reprise.Person}
		if err := journal.PlayOn(ctx, dry, l, run, reset); err != nil {
			return nil
		}
	}
	content, err := fs.ReadFile(dry, name)
	if err != nil || merged == nil && bytes.Equal(content, now) {
		return nil
	}
	return content
}

// merge takes what the run alone would have made of the snapshot's file out of the file, and
// gives the run as it would be then. It gives nil where others changed the same place.
func merge(ctx context.Context, w *whose, l reprise.Layout, ref reprise.Ref, events []reprise.Event, name string, then, now []byte) ([]byte, *reprise.Run) {
	alone, err := journal.Replay(ctx, w.store, l, ref, w.snap, events)
	if err != nil {
		return nil, nil
	}
	made, err := fs.ReadFile(alone, name)
	if err != nil {
		return nil, nil
	}
	run, err := reprise.Load(l, alone, ref)
	if err != nil {
		return nil, nil
	}
	merged, ok := durable.Merge(made, then, now)
	if !ok {
		return nil, nil
	}
	return merged, run
}
