//go:build unix

package run

import (
	"context"
	"fmt"
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

// Say writes a person's answer to a question of the plan into it, and commits that.
func (e *Engine) Say(ctx context.Context, question, text, answer string) error {
	now, err := e.Repo.Take(ctx)
	if err != nil {
		return err
	}
	head, err := e.Repo.Head()
	if err != nil {
		return err
	}
	m, err := e.marked(now, core.SetAnswer{Question: question, Text: answer})
	if err != nil {
		return err
	}
	if m != nil {
		m.Head, m.Since, m.Message = head.Head, head.Commit, fmt.Sprintf("Answer %s\n\nReprise-Answer: %s/%s", question, e.Run, question)
	}
	ask := &core.Ask{ID: question, Of: &core.Question{ID: question, Text: text, Lapses: true}}
	if _, err := e.append(core.Record{Ask: ask}); err != nil {
		return err
	}
	return e.do(ctx, core.Record{Answer: &core.Answer{ID: question, Text: answer, Head: head.Head, Move: m}})
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
