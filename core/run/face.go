//go:build unix

package run

import (
	"context"
	"reflect"
	"slices"

	"reprise/core"
	"reprise/core/journal"
)

// Taken notes that the run is taken up, in which mode, and with which lease of the project.
func (e *Engine) Taken(mode string, lease uint64) (record int, err error) {
	r, err := e.Journal.Note(core.Record{Note: &core.Note{Text: "taken up", Taken: mode, Lease: lease}}, e.Now())
	return r.Seq, err
}

// GoesOn has the plan say that the run is taken up, where it has a place for that: at once where
// it reads otherwise then, and else with its next change. What is not settled yet comes first: then
// nothing is written.
func (e *Engine) GoesOn(ctx context.Context, change core.SetHold) error {
	if len(e.state().Open) > 0 || e.state().Due != nil {
		return nil
	}
	now, err := e.Repo.Take(ctx)
	if err != nil {
		return err
	}
	m, err := e.planMove(now, change, "Resume "+e.ID, "")
	if err != nil || m == nil {
		return err
	}
	was, err := e.shape(e.Repo.FS(now))
	if err != nil {
		return err
	}
	is, err := e.shape(e.Repo.FS(m.To))
	if err != nil {
		return err
	}
	if reflect.DeepEqual(was, is) {
		e.resumed = &change
		return nil
	}
	return e.do(ctx, core.Record{Plan: &core.Plan{Why: "the run is taken up", Move: m}})
}

// Left notes that the engine leaves the run in good order: what it waits for, and why.
func (e *Engine) Left(action, why string) error {
	_, err := e.Journal.Note(core.Record{Note: &core.Note{Text: why, Left: action}}, e.Now())
	return err
}

// Settled records what a person says became of a call of a session.
func (e *Engine) Settled(call, text, landed string) error {
	_, err := e.append(core.Record{Note: &core.Note{Text: text, Call: call, Landed: landed}})
	return err
}

// Say writes a person's answer to a question of the plan into it, and commits that.
func (e *Engine) Say(ctx context.Context, q core.Question, answer string) error {
	q.Lapses = true
	ask := &core.Ask{ID: q.ID, Of: &q, Divergence: core.Divergence{Step: q.Subject, Shows: q.Text}}
	if _, err := e.append(core.Record{Ask: ask}); err != nil {
		return err
	}
	return e.answerText(ctx, ask, answer)
}

// Change brings a change of the plan into it, and commits that.
func (e *Engine) Change(ctx context.Context, why string, change core.Change) error {
	now, err := e.Repo.Take(ctx)
	if err != nil {
		return err
	}
	p := &core.Plan{Why: why}
	if a, ok := change.(core.SetAnswer); ok && a.Skipped {
		p.Skips = a.Question
	}
	if p.Move, err = e.planMove(now, change, why, ""); err != nil || p.Move == nil {
		return err
	}
	if p.Reopens, err = e.reopens("", now, p.Move.To); err != nil {
		return err
	}
	return e.do(ctx, core.Record{Plan: p})
}

// Adopt takes a step as done: something but an attempt shows that it is.
func (e *Engine) Adopt(ctx context.Context, s core.SetStatus) error {
	v, err := e.look(ctx)
	if err != nil {
		return err
	}
	return e.adopt(ctx, core.AdoptStep{Step: s.Step, Why: s.Why, Commit: s.Commit}, v.Steps)
}

// LeaveOut leaves a step out that no attempt is at.
func (e *Engine) LeaveOut(ctx context.Context, step string) error {
	if e.state().OpenOf(step) != nil {
		return nil // Skip leaves it out once that is settled
	}
	v, err := e.look(ctx)
	if err != nil {
		return err
	}
	return e.skip(ctx, step, v.Steps)
}

// Complete reports whether all steps are done.
func (e *Engine) Complete() bool { return e.state().Ended != nil && e.state().Ended.Complete }

// Asked gives the question that is open, nil if none is.
func (e *Engine) Asked() *core.Ask {
	if s := e.state(); s.Asked != nil && s.Said == "" {
		return s.Asked
	}
	return nil
}

// Foreseen gives the question that is open. If none is, and the one of an id is the next thing that
// needs a person, what comes before it is done, and it is asked.
func (e *Engine) Foreseen(ctx context.Context, id string) (*core.Ask, error) {
	for e.Asked() == nil {
		v, err := e.look(ctx)
		if err != nil {
			return nil, err
		}
		last, _ := core.Foresee(v)
		if ask, asks := last.(core.AskPerson); !asks || e.state().AskID(ask) != id {
			break
		} else if _, now := core.Next(v).(core.AskPerson); now {
			err = e.ask(ask)
		} else {
			_, err = e.act(ctx, core.Next(v), v)
		}
		if err != nil {
			return nil, err
		}
	}
	return e.Asked(), nil
}

// Reopen opens a step, whatever the plan and the records say of it, and leaves its work where it is.
// The files in away say that it is done, and go: git and the worlds have them.
func (e *Engine) Reopen(ctx context.Context, step string, away ...string) error {
	return e.undo(ctx, core.UndoStep{Step: step, Why: "a person said to do it again", Keep: true, Away: away})
}

// UndoneBy gives the steps that were finished after a record and are done still, the newest
// first, and the files of their work.
func UndoneBy(ctx context.Context, c Config, since int) (steps, files []string, err error) {
	e, done, err := looking(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	seen := map[string]bool{}
	err = journal.Read(e.dir, func(r core.Record) error {
		if r.End != nil && (r.End.Attempt > 0 && r.End.Outcome == core.Done || r.End.Outcome == core.Passed && r.End.Move != nil) && r.Seq > since && e.state().Step(r.End.Step).Done {
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
