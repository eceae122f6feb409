//go:build unix

package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"reprise/core"
	"reprise/core/hands"
	"reprise/core/world"
)

// start begins an attempt. The record comes before the agent: one that nobody recorded
// cannot exist.
func (e *Engine) start(ctx context.Context, step core.Step) error {
	past := e.state().Step(step.ID)
	if e.Parallel > 1 {
		return e.startOwn(ctx, step, past)
	}
	now, err := e.now(ctx)
	if err != nil {
		return err
	}
	head, err := e.Repo.Head()
	if err != nil {
		return err
	}
	s := core.Start{Step: step.ID, Title: step.Title, Attempt: past.Attempts + 1, Before: now, Head: head.Head}
	brief := e.brief(step, past)
	if first := past.First; first.Step != "" { // it continues what is there
		s.Before, s.Head.Commit, s.Staged = first.Before, first.Head.Commit, first.Staged
		brief += "\nAn attempt before you did not finish it. What it left is in the project: look at it, and continue."
		if past.Left != now { // the user was here in the meantime
			if s.Before, _, err = e.Repo.Merge(ctx, past.Left, first.Before, now); err != nil {
				return err
			}
		}
	} else if s.Staged, err = e.Repo.Staged(ctx); err != nil {
		return err
	}
	if s.Move, err = e.marked(now, core.SetStatus{Step: step.ID, Status: core.Doing, Attempt: s.Attempt}); err != nil {
		return err
	}
	if err := e.do(ctx, core.Record{Start: &s}); err != nil {
		return err
	}
	e.at = ""
	return e.launch(&s, e.Dir, brief)
}

// brief is what the agent of a step is told.
func (e *Engine) brief(step core.Step, past *core.Past) string {
	text := "Do this step: " + step.Title
	for _, said := range past.Answers {
		text += "\nYou asked: " + said.Question + "\nThe answer: " + said.Answer
	}
	return text
}

// launch starts the agent of an attempt that is on record.
func (e *Engine) launch(s *core.Start, dir, brief string) error {
	e.Tell("%s started, attempt %d", s.Step, s.Attempt)
	env := append(slices.Clone(e.Env), "REPRISE_BRIEF="+brief, "REPRISE_RUN="+e.Run, "REPRISE_STEP="+s.Step, fmt.Sprintf("REPRISE_ATTEMPT=%d", s.Attempt))
	a := e.attempt(s)
	ended, err := a.Start(e.Command, dir, env)
	if err == nil {
		e.child[a] = ended
	}
	return err
}

// now gives the world as it is. Attempts that follow each other without a pause share
// theirs: no moment between them belongs to nobody.
func (e *Engine) now(ctx context.Context) (core.World, error) {
	if e.at != "" {
		return e.at, nil
	}
	return e.Repo.Take(ctx)
}

// wait waits for one of the attempts at work to end.
func (e *Engine) wait(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	type end struct {
		of  hands.Attempt
		err error
	}
	ends, n := make(chan end), 0
	for _, open := range e.state().Open {
		a := e.attempt(open)
		if e.seen[a] {
			continue
		}
		n++
		go func() {
			err := a.Wait(ctx, e.child[a])
			ends <- end{a, err}
		}()
	}
	var first end
	for i := range n {
		got := <-ends
		if i == 0 {
			first = got
			stop()
		}
		if got.err == nil {
			e.seen[got.of] = true
		}
	}
	return first.err
}

// end records how the open attempt ended. If it is done, the step's commit follows from that.
func (e *Engine) end(ctx context.Context, d core.EndAttempt, v core.View) error {
	open, look := e.state().OpenOf(d.Step), v.Looks[d.Step]
	now := look.Now
	before, err := e.Repo.Only(look.Base, now, slices.Concat(look.Foreign, d.Leave))
	if err != nil {
		return err
	}
	end := &core.End{Step: open.Step, Title: open.Title, Attempt: open.Attempt, Outcome: d.Outcome, Before: before, After: now, Why: d.Why, Marked: look.Marked, Account: d.Account, Until: d.Until}
	if d.Outcome == core.Failed {
		from := now
		if open.Place != core.Here {
			if from, err = e.Repo.Take(ctx); err != nil {
				return err
			}
		}
		if end.Move, err = e.marked(from, core.SetStatus{Step: open.Step, Status: core.Broken, Attempt: open.Attempt, Why: d.Why}); err != nil {
			return err
		}
	}
	if d.Outcome != core.Done && look.Ticked {
		end.Marked = append(slices.Clone(end.Marked), open.Step)
	}
	if d.Outcome == core.Done {
		from, to := now, now
		if open.Place != core.Here {
			before, from, to = look.From, look.From, look.To
		}
		if end.Move, err = e.done(ctx, open.Step, v.Steps, before, from, to, core.Finished); err != nil {
			return err
		}
		end.Move.Since, end.Move.Whole = open.Head.Commit, d.Whole
	}
	e.Tell("%s %s: %s", open.Step, d.Outcome, d.Why)
	if d.Outcome == core.Asking {
		end.Ask = &core.Ask{ID: e.questionID(), Of: look.Question, Divergence: core.Divergence{Step: open.Step, Says: "its agent asks", Shows: look.Question.Text, Facts: look.Facts}}
	}
	return e.do(ctx, core.Record{End: end})
}

func (e *Engine) questionID() string { return fmt.Sprintf("q%d", e.state().Seq+1) }

// skip leaves a step out: the plan says so, and nothing else changes.
func (e *Engine) skip(ctx context.Context, step string, steps []core.Step) error {
	now, err := e.now(ctx)
	if err != nil {
		return err
	}
	end := &core.End{Step: step, Title: title(steps, step), Outcome: core.Passed, After: now, Why: "a person left it out"}
	if end.Move, err = e.done(ctx, step, steps, now, now, now, core.Skipped); err != nil {
		return err
	}
	return e.do(ctx, core.Record{End: end})
}

// answerText records what a person said to a question of an agent or of the plan.
func (e *Engine) answerText(q *core.Ask, text string) error {
	head, err := e.Repo.Head()
	if err != nil {
		return err
	}
	a := &core.Answer{ID: q.ID, Text: text, Head: head.Head}
	_, err = e.append(core.Record{Answer: a})
	return err
}

// verify runs the check of a step where its attempt worked. What it says holds for the world
// that it saw.
func (e *Engine) verify(ctx context.Context, step string) error {
	open := e.state().OpenOf(step)
	repo, err := e.place(ctx, open.Place)
	if err != nil {
		return err
	}
	now, err := repo.Take(ctx)
	if err != nil {
		return err
	}
	return e.attempt(open).Check(ctx, e.Check, filepath.Join(repo.Top, filepath.FromSlash(e.below)), e.Env, string(now))
}

// done gives the move that marks a step done and commits what changed since a world.
func (e *Engine) done(ctx context.Context, step string, steps []core.Step, before, from, to core.World, status core.Status) (*core.Move, error) {
	head, err := e.Repo.Head()
	if err != nil {
		return nil, err
	}
	m := &core.Move{Base: before, From: from, To: to, Head: head.Head, Since: head.Commit, Message: fmt.Sprintf("%s: %s\n\n%s%s/%s", step, title(steps, step), world.StepTrailer, e.Run, step)}
	if err := e.mark(m, core.SetStatus{Step: step, Status: status}); err != nil {
		return nil, err
	}
	changes, err := e.Repo.Diff(m.Base, m.To)
	if err != nil {
		return nil, err
	}
	var why []string
	if m.Aside, why, err = e.Repo.Aside(ctx, changes); err != nil {
		return nil, err
	}
	for _, w := range why {
		e.Tell("%s: not committed: %s", step, w)
	}
	return m, nil
}

// marked gives the move that only writes a status into the plan; nil if the plan says so
// already, or has no word for it. It is committed with the step's work.
func (e *Engine) marked(now core.World, change core.SetStatus) (*core.Move, error) {
	edits, err := e.record(e.Repo.FS(now), change)
	if err != nil || len(edits) == 0 {
		return nil, err
	}
	m := &core.Move{Base: now, From: now}
	m.To, err = e.Repo.With(now, edits)
	return m, err
}

// title gives what a plan calls a step.
func title(steps []core.Step, id string) string {
	for _, s := range steps {
		if s.ID == id {
			return s.Title
		}
	}
	return ""
}

// mark completes a move to a world in which the plan gives a step a status.
func (e *Engine) mark(m *core.Move, change core.SetStatus) error {
	edits, err := e.record(e.Repo.FS(m.To), change)
	if err != nil {
		return err
	}
	if m.To, err = e.Repo.With(m.To, edits); err != nil {
		return err
	}
	head, err := e.Repo.Head()
	if err != nil {
		return err
	}
	edits, err = e.record(e.Repo.FS(core.World(head.Tree)), change)
	if err != nil {
		return nil //nolint:nilerr // the commit has no plan, or one without the step
	}
	m.Own, err = e.Repo.Blobs(edits)
	return err
}

// adopt takes a step as done without an attempt: the plan, or a person, says so.
func (e *Engine) adopt(ctx context.Context, step string, steps []core.Step) error {
	now, err := e.now(ctx)
	if err != nil {
		return err
	}
	before := now
	if first := e.state().Step(step).First; first.Step != "" { // with what was begun
		before = first.Before
	}
	end := &core.End{Step: step, Title: title(steps, step), Outcome: core.Done, After: now, Why: "the plan calls it done"}
	if end.Move, err = e.done(ctx, step, steps, before, now, now, core.Finished); err != nil {
		return err
	}
	if end.Move.Base == end.Move.To {
		end.Move = nil
	}
	return e.do(ctx, core.Record{End: end})
}

// undo opens a step again, and takes its own difference out of the project.
func (e *Engine) undo(ctx context.Context, d core.UndoStep) error {
	now, err := e.Repo.Take(ctx)
	if err != nil {
		return err
	}
	head, err := e.Repo.Head()
	if err != nil {
		return err
	}
	m := &core.Move{Base: now, From: now, To: now, Head: head.Head, Since: head.Commit, Message: fmt.Sprintf("Undo %s\n\nReprise-Undo: %s/%s", d.Step, e.Run, d.Step)}
	if !d.Keep {
		past := e.state().Step(d.Step)
		before, after := past.Before, past.After
		if past.First.Step != "" {
			before, after = past.First.Before, now
		}
		var torn []string
		if m.To, torn, err = e.Repo.Merge(ctx, after, now, before, e.plan()); err != nil {
			return err
		}
		if len(torn) > 0 {
			return fmt.Errorf("%w: %q", ErrTorn, torn)
		}
	}
	if err := e.mark(m, core.SetStatus{Step: d.Step, Status: core.Todo, Why: d.Why}); err != nil {
		return err
	}
	return e.do(ctx, core.Record{Undo: &core.Undo{Step: d.Step, Why: d.Why, Move: m}})
}

// ErrTorn is given for an undo of lines that were changed since.
var ErrTorn = errors.New("changed since, on the same lines")

// ask puts a question, with the last words of the attempt it is about.
func (e *Engine) ask(a core.AskPerson) error {
	d := a.Divergence
	e.at = ""
	if n := e.state().Step(d.Step).Attempts; d.Facts.Words == "" && n > 0 {
		d.Facts.Words = hands.At(e.dir, d.Step, n).Words()
	}
	id := e.questionID()
	e.Tell("%s? %s; %s", id, d.Says, d.Shows)
	_, err := e.append(core.Record{Ask: &core.Ask{ID: id, Divergence: d, Of: a.Of}})
	return err
}
