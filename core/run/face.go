//go:build unix

package run

import (
	"context"
	"slices"

	"reprise/core"
	"reprise/core/journal"
)

// Taken notes that the run is taken up, and in which mode.
func (e *Engine) Taken(mode string) error {
	_, err := e.Journal.Note(core.Record{Note: &core.Note{Text: "taken up", Taken: mode}}, e.Now())
	return err
}

// Left notes that the engine leaves the run in good order: what it waits for, and why.
func (e *Engine) Left(action, why string) error {
	_, err := e.Journal.Note(core.Record{Note: &core.Note{Text: why, Left: action}}, e.Now())
	return err
}

// Asked gives the question that is open, nil if none is.
func (e *Engine) Asked() *core.Ask {
	if s := e.state(); s.Asked != nil && s.Said == "" {
		return s.Asked
	}
	return nil
}

// Reopen opens a step, whatever the plan and the records say of it, and leaves its work where it is.
func (e *Engine) Reopen(ctx context.Context, step string) error {
	return e.undo(ctx, core.UndoStep{Step: step, Why: "a person said to do it again", Keep: true})
}

// UndoneBy gives the steps that were finished after a record and are done still, the newest
// first, and the files of their work.
func UndoneBy(ctx context.Context, c Config, since int) (steps, files []string, err error) {
	e, err := looking(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	defer e.Repo.Close()
	seen := map[string]bool{}
	err = journal.Read(e.dir, func(r core.Record) error {
		if r.End != nil && r.End.Attempt > 0 && r.End.Outcome == core.Done && r.Seq > since && e.state().Step(r.End.Step).Done {
			steps = append(slices.DeleteFunc(steps, func(s string) bool { return s == r.End.Step }), r.End.Step)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	slices.Reverse(steps)
	for _, step := range steps {
		past := e.state().Step(step)
		changes, err := e.Repo.Diff(past.Before, past.After)
		if err != nil {
			return nil, nil, err
		}
		for _, ch := range changes {
			if !seen[ch.Path] {
				seen[ch.Path] = true
				files = append(files, ch.Path)
			}
		}
	}
	slices.Sort(files)
	return steps, files, nil
}
