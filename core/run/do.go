//go:build unix

package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
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
	s := core.Start{Step: step.ID, Title: step.Title, Attempt: past.Attempts + 1, Before: now, Head: head.Head, Boot: e.Boot, Again: past.Done}
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
	if s.Inner = step.Inner; s.Inner != "" { // what it commits must not find our mark as somebody's change
		if s.Move, err = e.planMove(now, core.SetStatus{Step: step.ID, Status: core.Doing, Attempt: s.Attempt}, "Begin "+step.ID, ""); err != nil {
			return err
		}
		e.at = ""
		e.Tell(Progress{Kind: Began, Step: s.Step, Title: s.Title, Attempt: s.Attempt})
		return e.do(ctx, core.Record{Start: s})
	}
	by, job, err := e.Config.Work(stop, as)
	if err != nil {
		e.stop = "step " + step.ID + " cannot be started: " + err.Error()
		return nil //nolint:nilerr // it is why the run rests
	}
	if s.Place == core.Here { // beside others the plan is written when work is brought in
		if s.Move, err = e.marked(now, core.SetStatus{Step: step.ID, Status: core.Doing, Attempt: s.Attempt}); err != nil {
			return err
		}
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
	left := now
	if look.Passed && look.Judged == nil && open.Place == core.Here && d.Outcome != core.Done && d.Outcome != core.Asking {
		if left, err = e.withoutHalf(look, e.attempt(open)); err != nil {
			return err
		}
	}
	switch {
	case d.Outcome != core.Failed:
	case open.Place == core.Here:
		end.Move, err = e.marked(left, core.SetStatus{Step: open.Step, Status: core.Broken, Attempt: open.Attempt, Why: d.Why})
	default:
		end.Move, err = e.planMove(look.From, core.SetStatus{Step: open.Step, Status: core.Broken, Attempt: open.Attempt, Why: d.Why}, open.Step+" failed", "")
	}
	if err != nil {
		return err
	}
	if left != now && end.Move == nil {
		end.Move = &core.Move{To: left}
	}
	if left != now {
		end.Move.Base, end.Move.From = now, now
	}
	if d.Outcome != core.Done && look.Ticked {
		end.Marked = append(slices.Clone(end.Marked), open.Step)
	}
	if d.Outcome == core.Done {
		from, to := now, now
		if open.Place != core.Here {
			before, from, to = look.From, look.From, look.To
		}
		status := core.SetStatus{Step: open.Step, Status: core.Finished, Attempt: open.Attempt}
		if head, err := e.Repo.Head(); err == nil && len(look.Facts.Commits) > 0 {
			status.Commit = head.Commit
		}
		if look.Judged != nil {
			status.Said, end.Uses, end.Says = look.Judged.Said, look.Judged.Uses, look.Judged.Outcome
		}
		if end.Move, end.Reopens, err = e.done(ctx, status, v.Steps, before, from, to); err != nil {
			return err
		}
		end.Move.Since, end.Move.Whole = open.Head.Commit, d.Whole
	}
	if d.Outcome == core.Asking {
		if err := e.askOf(end, look); err != nil {
			return err
		}
	}
	if d.Outcome == core.Paused || d.Outcome == core.Limited && d.Until.IsZero() {
		e.stop = d.Why // as long as this engine works: the next one tries again
	}
	a := e.attempt(open)
	result, _ := a.Result()
	if e.Used != nil && open.Inner == "" {
		in := a.Session()
		end.Usage = e.Used(Attempted{open, in.Dir, in.ID, in.Began, result.Result})
	}
	p := Progress{Kind: Resolved, Step: open.Step, Title: open.Title, Attempt: open.Attempt, Outcome: string(d.Outcome), Text: d.Why, Until: d.Until, Log: a.Log()}
	if r := result.Reply; d.Outcome == core.Done && r != nil && r.Summary != "" { // shows more than what made us accept it
		if p.Text = r.Summary; e.Hide != nil {
			p.Text = e.Hide(r.Summary)
		}
	}
	if c := e.child[a]; c != nil {
		_, err = c.Over()
		p.Kind, p.Took = Ended, time.Since(c.Began)
		delete(e.child, a)
	}
	if open.Inner != "" {
		p.Kind, p.Log = Ended, ""
	}
	if err = errors.Join(err, e.do(ctx, core.Record{End: end})); err == nil {
		e.Tell(p)
		e.switched(open, v)
	}
	return err
}

// withoutHalf gives the world in which an attempt ended without what it wrote into its plan, so that
// this offers the step again: its files may be half written, and hide that. What is taken out is kept
// beside the log of the attempt, and told: nobody can tell a person's edit of these files from it.
func (e *Engine) withoutHalf(look *core.Look, a hands.Attempt) (core.World, error) {
	changes, err := e.Repo.Diff(look.Base, look.Now)
	if err != nil {
		return "", err
	}
	var half []string
	for _, c := range changes {
		if e.inPlan(c.Path) && !slices.Contains(look.Foreign, c.Path) {
			half = append(half, c.Path)
		}
	}
	kept, files := filepath.Join(string(a), "taken-out"), e.Repo.FS(look.Now)
	for _, name := range half {
		data, err := fs.ReadFile(files, name)
		if errors.Is(err, fs.ErrNotExist) { // it was removed, and comes back
			continue
		}
		at := filepath.Join(kept, filepath.FromSlash(name))
		if err == nil {
			err = os.MkdirAll(filepath.Dir(at), 0o700)
		}
		if err == nil {
			err = os.WriteFile(at, data, 0o600)
		}
		if err != nil {
			return "", fmt.Errorf("keep what %s left of %s: %w", look.Step, name, err)
		}
	}
	if len(half) > 0 {
		e.notice(look.Step, "it was cut off in its plan's own files, which are as they were before it; what it left of them is kept in "+kept, nil)
	}
	return e.Repo.Only(look.Now, look.Base, half)
}

// switched tells that another branch was checked out while an attempt was at work in the project.
func (e *Engine) switched(open *core.Start, v core.View) {
	if was := core.BranchName(open.Head.Branch); open.Place == core.Here && open.Head.Branch != v.Branch {
		e.notice(open.Step, "while it was at work, "+core.BranchName(v.Branch)+" was checked out instead of "+was+", and what follows is committed there; `git switch "+reprise.Pasted(was, "BRANCH")+"` goes back", nil)
	}
}

// askOf writes the questions of an attempt into the plan, which asks them from then on. Those
// that it has no place for are asked by us.
func (e *Engine) askOf(end *core.End, look *core.Look) (err error) {
	asks := slices.Clone(look.Questions)
	if look.Judged == nil {
		look.Judged = &core.Judgement{}
	}
	ids := slices.Clone(asks)
	for i := range ids {
		if ids[i].ID == "" {
			ids[i].ID = fmt.Sprintf("%s.%d", e.state().NextQuestion(), i+1)
		}
	}
	if end.Move, err = e.planMove(cmp.Or(look.From, look.Now), core.AddQuestions{Step: end.Step, Questions: ids}, "Ask about "+end.Step, ""); err != nil {
		return err
	}
	if end.Move != nil {
		after, err := e.shape(e.Repo.FS(end.Move.To))
		if err != nil {
			return err
		}
		left := asks[:0]
		for i, q := range asks {
			if !slices.ContainsFunc(after.Questions, func(of core.Question) bool { return of.ID == ids[i].ID }) {
				left = append(left, q)
			}
		}
		asks = left
	}
	if len(asks) > 0 {
		end.Ask = &core.Ask{ID: e.state().NextQuestion(), Of: &asks[0], More: asks[1:], Divergence: core.Divergence{Step: end.Step, Says: "its agent asks", Shows: asks[0].Text, Facts: look.Facts}}
	}
	return nil
}

// skip leaves a step out: the plan says so, and nothing else changes.
func (e *Engine) skip(ctx context.Context, step string, steps []core.Step) error {
	now, err := e.now(ctx)
	if err != nil {
		return err
	}
	end := &core.End{Step: step, Title: title(steps, step), Outcome: core.Passed, After: now, Why: "a person left it out"}
	if end.Move, end.Reopens, err = e.done(ctx, core.SetStatus{Step: step, Status: core.Skipped, Why: end.Why}, steps, now, now, now); err != nil {
		return err
	}
	if end.Move.Base == end.Move.To {
		end.Move = nil
	}
	if err = e.do(ctx, core.Record{End: end}); err == nil {
		e.Tell(Progress{Kind: Ended, Step: step, Title: end.Title, Outcome: string(end.Outcome), Text: end.Why})
	}
	return err
}

// answerText records what a person said to a question of an agent or of the plan, which has it
// from then on.
func (e *Engine) answerText(ctx context.Context, q *core.Ask, text string) error {
	head, err := e.Repo.Head()
	if err != nil {
		return err
	}
	a := &core.Answer{ID: q.ID, Text: text, Head: head.Head}
	if q.Of.Lapses {
		now, err := e.Repo.Take(ctx)
		if err != nil {
			return err
		}
		a.Move, err = e.planMove(now, core.SetAnswer{Question: q.ID, Text: text}, "Answer "+q.ID, "Reprise-Answer: "+e.Run+"/"+q.ID)
		if err == nil && a.Move != nil {
			a.Reopens, err = e.reopens("", now, a.Move.To)
		}
		if err != nil {
			return err
		}
	}
	return e.do(ctx, core.Record{Answer: a})
}

// settle has the plan say what its files show.
func (e *Engine) settle(ctx context.Context) error {
	now, err := e.now(ctx)
	if err != nil {
		return err
	}
	p := &core.Plan{Why: "its files show more than they say"}
	if p.Move, err = e.planMove(now, core.Settle{}, "Settle "+e.ID, ""); err != nil {
		return err
	}
	if p.Move == nil {
		return fmt.Errorf("the plan %s shows more than it says, and cannot be made to say it", e.plan())
	}
	if p.Reopens, err = e.reopens("", now, p.Move.To); err != nil {
		return err
	}
	return e.do(ctx, core.Record{Plan: p})
}

// planMove gives the move that only changes the plan, and commits that; nil if it says so already.
func (e *Engine) planMove(now core.World, change core.Change, subject, trailer string) (*core.Move, error) {
	m, err := e.marked(now, change)
	if err != nil || m == nil {
		return nil, err
	}
	head, err := e.Repo.Head()
	if err != nil {
		return nil, err
	}
	if m.Head, m.Since, m.Message = head.Head, head.Commit, subject+"\n"; trailer != "" {
		m.Message += "\n" + trailer
	}
	changes, err := e.Repo.Diff(m.Base, m.To)
	if err == nil {
		m.Aside, _, err = e.Repo.Aside(context.Background(), changes)
	}
	return m, err
}

// reopens gives the steps that were done and that a change of the plan, by our own record, opens.
func (e *Engine) reopens(step string, from, to core.World) (out []string, err error) {
	if from == to {
		return nil, nil
	}
	was, err := e.steps(e.Repo.FS(from))
	if err != nil {
		return nil, err
	}
	is, err := e.steps(e.Repo.FS(to))
	closed := map[string]bool{step: true}
	for _, s := range was {
		closed[s.ID] = closed[s.ID] || s.Status.Closed()
	}
	for _, s := range is {
		if s.Named && !s.Passing && !s.Status.Closed() && closed[s.ID] && (s.ID == step || e.state().Step(s.ID).Done) {
			out = append(out, s.ID)
		}
	}
	return out, err
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

// done gives the move that marks a step done and commits what changed since a world, and the
// steps that the plan opens again with that.
func (e *Engine) done(ctx context.Context, status core.SetStatus, steps []core.Step, before, from, to core.World) (_ *core.Move, reopens []string, err error) {
	step := status.Step
	head, err := e.Repo.Head()
	if err != nil {
		return nil, nil, err
	}
	subject := step + ": " + cmp.Or(title(steps, step), e.state().Step(step).Title)
	if i := slices.IndexFunc(steps, func(s core.Step) bool { return s.ID == step && s.Subject != "" }); i >= 0 {
		subject = steps[i].Subject
	}
	if status.Status == core.Skipped {
		subject += " (skipped)"
	}
	m := &core.Move{Base: before, From: from, To: to, Head: head.Head, Since: head.Commit, Message: fmt.Sprintf("%s\n\n%s%s/%s", subject, world.StepTrailer, e.Run, step)}
	if err := e.mark(m, status); err != nil {
		return nil, nil, err
	}
	changes, err := e.Repo.Diff(m.Base, m.To)
	if err != nil {
		return nil, nil, err
	}
	var why []string
	if m.Aside, why, err = e.Repo.Aside(ctx, changes); err != nil {
		return nil, nil, err
	}
	for _, w := range why {
		e.notice(step, "not committed: "+w, nil)
	}
	reopens, err = e.reopens(step, to, m.To)
	return m, reopens, err
}

// marked gives the move that only writes a status into the plan; nil if the plan says so
// already, or has no word for it. It is committed with the step's work.
func (e *Engine) marked(now core.World, change core.Change) (*core.Move, error) {
	to, edits, err := e.edited(now, change)
	if err != nil || len(edits) == 0 {
		return nil, err
	}
	return &core.Move{Base: now, From: now, To: to}, nil
}

// edited gives a world with a change of the plan in it, and its files. What the plan is to say of
// the resume goes with the first that changes it.
func (e *Engine) edited(w core.World, change core.Change) (core.World, []core.Edit, error) {
	edits, err := e.record(e.Repo.FS(w), change)
	if err != nil || len(edits) == 0 {
		return w, nil, err
	}
	if e.resumed != nil {
		said, err := e.record(e.Repo.FS(w), *e.resumed)
		if err != nil {
			return w, nil, err
		}
		if w, err = e.Repo.With(w, said); err != nil {
			return w, nil, err
		}
		if edits, err = e.record(e.Repo.FS(w), change); err != nil {
			return w, nil, err
		}
	}
	w, err = e.Repo.With(w, edits)
	return w, edits, err
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

// mark completes a move to a world in which the plan gives a step a status. Files of the plan in
// which the user has changes that are not committed are committed without those.
func (e *Engine) mark(m *core.Move, change core.SetStatus) error {
	head, err := e.Repo.Head()
	if err != nil {
		return err
	}
	if m.To, _, err = e.edited(m.To, change); err != nil {
		return err
	}
	changes, err := e.Repo.Diff(m.Base, m.To)
	if err != nil {
		return err
	}
	apart := false
	for _, c := range changes {
		if e.inPlan(c.Path) && !apart {
			in, err := e.Repo.Entry(core.World(head.Tree), c.Path)
			if err != nil {
				return err
			}
			apart = in != c.Old && in.ID != ""
		}
	}
	if !apart {
		return nil
	}
	_, edits, err := e.edited(core.World(head.Tree), change)
	if err != nil {
		return nil //nolint:nilerr // the commit has no plan, or one without the step
	}
	m.Own, err = e.Repo.Blobs(edits)
	return err
}

// adopt takes a step as done without an attempt: the plan, or a person, says so.
func (e *Engine) adopt(ctx context.Context, d core.AdoptStep, steps []core.Step) error {
	step := d.Step
	now, err := e.now(ctx)
	if err != nil {
		return err
	}
	before := now
	if first := e.state().Step(step).First; first.Step != "" { // with what was begun
		before = first.Before
	}
	end := &core.End{Step: step, Title: title(steps, step), Outcome: core.Done, After: now, Why: cmp.Or(d.Why, "the plan calls it done")}
	if end.Move, end.Reopens, err = e.done(ctx, core.SetStatus{Step: step, Status: core.Finished, Why: d.Why, Commit: d.Commit}, steps, before, now, now); err != nil {
		return err
	}
	if end.Move.Base == end.Move.To {
		end.Move = nil
	}
	return e.do(ctx, core.Record{End: end})
}

// undo opens a step again, and takes its own difference out of the project.
func (e *Engine) undo(ctx context.Context, d core.UndoStep, keep ...string) error {
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
		var torn, except []string
		if !e.folder(now) { // of a list only the mark goes, which follows
			except = []string{e.plan()}
		}
		if m.To, torn, err = e.Repo.Merge(ctx, after, now, before, except...); err != nil {
			return err
		}
		if len(torn) > 0 {
			return fmt.Errorf("%w: %q", ErrTorn, torn)
		}
		if m.To, err = e.Repo.Only(m.To, now, e.inRepo(keep)); err != nil {
			return err
		}
	}
	for _, name := range d.Away {
		if m.To, err = e.Repo.Without(m.To, path.Join(e.below, name)); err != nil {
			return err
		}
	}
	if open, err := e.isOpen(m.To, d.Step); err != nil {
		return err
	} else if !open || d.Keep {
		if err := e.mark(m, core.SetStatus{Step: d.Step, Status: core.Todo, Why: d.Why}); err != nil {
			return err
		}
	}
	return e.do(ctx, core.Record{Undo: &core.Undo{Step: d.Step, Why: d.Why, Keep: d.Keep, Move: m}})
}

// folder reports whether the plan is one, with work of its steps in it.
func (e *Engine) folder(w core.World) bool {
	info, err := fs.Stat(e.Repo.FS(w), e.plan())
	return err == nil && info.IsDir()
}

// isOpen reports whether the plan calls a step open in a world.
func (e *Engine) isOpen(w core.World, step string) (bool, error) {
	steps, err := e.steps(e.Repo.FS(w))
	i := slices.IndexFunc(steps, func(s core.Step) bool { return s.ID == step })
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return i >= 0 && !steps[i].Status.Closed() && steps[i].Status != core.Doing, err
}

// inRepo gives files of the project as worlds name them.
func (e *Engine) inRepo(names []string) (out []string) {
	for _, name := range names {
		out = append(out, path.Join(e.below, name))
	}
	return out
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
	_, err := e.append(core.Record{Ask: &core.Ask{ID: e.state().AskID(a), Divergence: d, Of: a.Of}})
	if err == nil {
		text := d.Says + "; " + d.Shows
		if a.Of != nil {
			text = a.Of.Text
		}
		e.Tell(Progress{Kind: Question, Step: d.Step, Text: text})
	}
	return err
}
