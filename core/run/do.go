//go:build unix

package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"reprise"
	"reprise/core"
	"reprise/core/hands"
	"reprise/core/world"
)

// start begins an attempt. The record comes before the agent: one that nobody recorded
// cannot exist.
func (e *Engine) start(ctx, stop context.Context, step core.Step) error {
	past := e.state().Step(step.ID)
	if e.Parallel > 1 {
		return e.startOwn(ctx, stop, step, past)
	}
	now, err := e.now(ctx)
	if err != nil {
		return err
	}
	head, err := e.Repo.Head()
	if err != nil {
		return err
	}
	s := core.Start{Step: step.ID, Title: step.Title, Attempt: past.Attempts + 1, Before: now, Head: head.Head, Boot: e.Boot}
	if first := past.First; first.Step != "" { // it continues what is there
		s.Before, s.Head.Commit, s.Staged = first.Before, first.Head.Commit, first.Staged
		if past.Left != now { // the user was here in the meantime
			if s.Before, _, err = e.Repo.Merge(ctx, past.Left, first.Before, now); err != nil {
				return err
			}
		}
	} else if s.Staged, err = e.Repo.Staged(ctx); err != nil {
		return err
	}
	return e.begin(ctx, stop, step, &s, now, e.Dir)
}

// begin asks who does an attempt, records that it begins, and starts it. Where nobody can, the
// run rests, and nothing happened.
func (e *Engine) begin(ctx, stop context.Context, step core.Step, s *core.Start, now core.World, dir string) (err error) {
	a, past := e.attempt(s), e.state().Step(step.ID)
	as := Assignment{
		Step: step, Attempt: s.Attempt, Dir: dir, Key: e.Run + "/" + step.ID, Result: a.ReplyFile(),
		Continues: past.First.Step != "", Answers: past.Answers, Failure: past.Why, Session: past.Session,
	}
	if as.Session != "" {
		as.CLI = hands.At(e.dir, step.ID, past.Attempts).Session().CLI
	}
	by, job, err := e.Config.Work(stop, as)
	if err != nil {
		e.stop = "step " + step.ID + " cannot be started: " + err.Error()
		return nil //nolint:nilerr // it is why the run rests
	}
	if s.Move, err = e.marked(now, core.SetStatus{Step: step.ID, Status: core.Doing, Attempt: s.Attempt}); err != nil {
		return err
	}
	if err := e.do(ctx, core.Record{Start: s}); err != nil {
		return err
	}
	e.at = ""
	p := Progress{Kind: Began, Step: s.Step, Title: s.Title, Attempt: s.Attempt, Log: a.Log()}
	e.Tell(p)
	job.Run, job.Step, job.Attempt, job.Key, job.Dir, job.Project = cmp.Or(job.Run, e.Run), s.Step, s.Attempt, as.Key, dir, e.Dir
	if job.Token == "" {
		job.Token = reprise.AttemptToken(e.dir, fmt.Sprint(e.state().Seq), as.Key)
	}
	job.Line = func(text string) {
		p := p
		p.Kind, p.Text = Said, text
		e.Tell(p)
	}
	child, err := a.Start(stop, e.Hard, by, job)
	if err == nil {
		e.child[a] = child
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

// Of waiting: how often an attempt of another engine is looked at, how long it has to end with
// its engine before it is stopped, and how long it may take to stop.
const (
	lookEvery = 100 * time.Millisecond
	orphaned  = time.Second
	grace     = 10 * time.Second
)

// wait waits until one of the attempts at work has ended. It reports false where the work is to
// stop, and none of them is ours.
func (e *Engine) wait(stop context.Context) bool {
	e.at = ""
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for began, beat := time.Now(), (time.Time{}); ; {
		now, waits, ours := time.Now(), false, make([]<-chan struct{}, 2)
		for _, open := range e.state().Open {
			a := e.attempt(open)
			c := e.child[a]
			switch over := false; {
			case e.seen[a]:
				continue
			case c != nil:
				if over, _ = c.Over(); !over {
					ours = append(ours, c.Done())
				}
				e.seen[a] = over
			default:
				_, over = a.Result()
				e.seen[a] = over || !a.Alive()
				if !e.seen[a] && e.StopOrphans && now.Sub(began) > orphaned {
					e.notice(open.Step, "what is left of its agent is stopped", a.Stop(grace))
				}
			}
			if waits = true; e.seen[a] {
				return true
			}
			if now.Sub(beat) > time.Second {
				a.Beat(now)
			}
		}
		if now.Sub(beat) > time.Second {
			beat = now
		}
		if len(ours) == 2 && stop.Err() != nil {
			return false
		}
		if !waits {
			return true
		}
		select { // of more than two at work the others are seen by the clock
		case <-ours[len(ours)-1]:
		case <-ours[len(ours)-2]:
		case <-tick.C:
		}
	}
}

// notice tells a person what he should know.
func (e *Engine) notice(step, text string, err error) {
	if err != nil {
		text += ": " + err.Error()
	}
	e.Tell(Progress{Kind: Noticed, Step: step, Text: text})
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
	if d.Outcome != core.Done {
		end.Session = look.Session
	}
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
	if q := look.Questions; d.Outcome == core.Asking {
		end.Ask = &core.Ask{ID: e.questionID(), Of: &q[0], More: q[1:], Divergence: core.Divergence{Step: open.Step, Says: "its agent asks", Shows: q[0].Text, Facts: look.Facts}}
	}
	if d.Outcome == core.Paused || d.Outcome == core.Limited && d.Until.IsZero() {
		e.stop = d.Why // as long as this engine works: the next one tries again
	}
	a := e.attempt(open)
	if e.Used != nil {
		result, _ := a.Result()
		in := a.Session()
		end.Usage = e.Used(Attempted{open, in.Dir, in.ID, in.Began, result.Result})
	}
	p := Progress{Kind: Resolved, Step: open.Step, Title: open.Title, Attempt: open.Attempt, Outcome: string(d.Outcome), Text: d.Why, Until: d.Until, Log: a.Log()}
	if c := e.child[a]; c != nil {
		_, err = c.Over()
		p.Kind, p.Took = Ended, time.Since(c.Began)
		delete(e.child, a)
	}
	if err = errors.Join(err, e.do(ctx, core.Record{End: end})); err == nil {
		e.Tell(p)
		e.switched(open, v)
	}
	return err
}

// switched tells that another branch was checked out while an attempt was at work in the project.
func (e *Engine) switched(open *core.Start, v core.View) {
	if was := core.BranchName(open.Head.Branch); open.Place == core.Here && open.Head.Branch != v.Branch {
		e.notice(open.Step, "while it was at work, "+core.BranchName(v.Branch)+" was checked out instead of "+was+", and what follows is committed there; `git switch "+reprise.Pasted(was, "BRANCH")+"` goes back", nil)
	}
}

func (e *Engine) questionID() string { return e.state().NextQuestion() }

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
// that it leaves. Where it is stopped it says nothing, and is run again.
func (e *Engine) verify(stop context.Context, step string, steps []core.Step) error {
	open, ctx := e.state().OpenOf(step), context.WithoutCancel(stop)
	repo, err := e.place(ctx, open.Place)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(steps, func(s core.Step) bool { return s.ID == step })
	by, job, ok := e.Check(steps[i])
	if !ok {
		return fmt.Errorf("step %s wants a check, and none is known", step)
	}
	job.Run, job.Step, job.Attempt, job.Role, job.Project = e.Run, step, open.Attempt, "verify", e.Dir
	job.Dir = filepath.Join(repo.Top, filepath.FromSlash(e.below))
	said, err := e.attempt(open).Check(stop, e.Hard, by, job, func() (string, error) {
		now, err := repo.Take(ctx)
		return string(now), err
	})
	if !said {
		e.stop = "the check of step " + step + " was stopped"
	}
	return err
}

// done gives the move that marks a step done and commits what changed since a world.
func (e *Engine) done(ctx context.Context, step string, steps []core.Step, before, from, to core.World, status core.Status) (*core.Move, error) {
	head, err := e.Repo.Head()
	if err != nil {
		return nil, err
	}
	m := &core.Move{Base: before, From: from, To: to, Head: head.Head, Since: head.Commit, Message: fmt.Sprintf("%s: %s\n\n%s%s/%s", step, cmp.Or(title(steps, step), e.state().Step(step).Title), world.StepTrailer, e.Run, step)}
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
		e.notice(step, "not committed: "+w, nil)
	}
	return m, nil
}

// marked gives the move that only writes a status into the plan; nil if the plan says so
// already, or has no word for it. It is committed with the step's work.
func (e *Engine) marked(now core.World, change core.Change) (*core.Move, error) {
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
	head, err := e.Repo.Head()
	if err != nil {
		return err
	}
	alike, err := e.Repo.Alike(m.To, core.World(head.Tree))
	if err != nil {
		return err
	}
	edits, err := e.record(e.Repo.FS(m.To), change)
	if err != nil {
		return err
	}
	if m.To, err = e.Repo.With(m.To, edits); err != nil {
		return err
	}
	if !alike {
		if edits, err = e.record(e.Repo.FS(core.World(head.Tree)), change); err != nil {
			return nil //nolint:nilerr // the commit has no plan, or one without the step
		}
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
	return e.do(ctx, core.Record{Undo: &core.Undo{Step: d.Step, Why: d.Why, Keep: d.Keep, Move: m}})
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
	if a.Of != nil && a.Of.Lapses {
		id = a.Of.ID
	}
	_, err := e.append(core.Record{Ask: &core.Ask{ID: id, Divergence: d, Of: a.Of}})
	if err == nil {
		e.Tell(Progress{Kind: Question, Step: d.Step, Text: d.Says + "; " + d.Shows})
	}
	return err
}
