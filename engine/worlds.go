//go:build unix

package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"reprise"
	"reprise/agent"
	"reprise/convention"
	"reprise/core"
	"reprise/core/adapted"
	"reprise/core/run"
	"reprise/internal/durable"
	"reprise/internal/redact"
	"reprise/journal"
	"reprise/project"
	"reprise/prompt"
)

// onWorlds reports whether a run is worked on with worlds: lists whose tasks all are an agent's.
func (e *Engine) onWorlds(store *durable.Store, ref reprise.Ref) bool {
	if journal.OnWorlds(store, journal.Name(ref)) {
		return true
	}
	if !e.Worlds || ref.Kind != reprise.KindTasks {
		return false
	}
	if names, err := store.Logs(); err != nil || slices.Contains(names, journal.Name(ref)) {
		return false // it was begun before: its own engine ends it
	}
	r, err := reprise.Load(convention.Find(ref.Layout), store, ref)
	return err == nil && len(r.Questions) == 0 && !slices.ContainsFunc(r.Steps, func(s reprise.Step) bool { return s.Role != "" && s.Role != "coder" })
}

// listed is a list that is worked on with worlds.
type listed struct {
	*work
	at    *run.Engine
	again []string // the steps that a person wants to do again
	tells *journal.Teller
}

// resumeWorlds is Resume for a run on worlds.
func (e *Engine) resumeWorlds(ctx context.Context, ref reprise.Ref, c Choice) (_ *Summary, err error) {
	if err := e.Refused(ctx, ref); err != nil {
		return nil, err
	}
	e = e.orderly()
	store, report, err := e.take(ctx)
	if err != nil {
		return nil, err
	}
	defer store.Release()
	defer func() { err = leaveWord(store, err) }()
	l, look, err := e.listOf(ctx, store, ref, c)
	if err != nil {
		return nil, err
	}
	l.noteTaking(report)
	d := look.Decision
	switch unsaid := c.Option == "" && c.From == "" && len(c.Skip) == 0; {
	case d.Verdict == reprise.BlockedVerdict:
		return nil, unsafe(ref.ID, d)
	case d.Action == reprise.Finish && c.From == "", unsaid && d.State == reprise.Stopped, unsaid && d.Holds(look.Run):
		l.comes(d)
		return l.sum, nil
	}
	if l.at, err = run.Open(ctx, l.config()); err != nil {
		return nil, err
	}
	defer l.at.Close()
	if err := l.at.Taken(string(e.Mode)); err != nil {
		return nil, err
	}
	if err := l.from(ctx); err != nil {
		return nil, err
	}
	if err := l.toTheEnd(ctx); err != nil {
		return l.sum, err
	}
	j, err := project.Judge(context.WithoutCancel(ctx), e.Dir, e.closely())
	if err != nil {
		return l.sum, err
	}
	if r := j.Find(ref); r != nil {
		l.comes(j.Decisions[r])
		l.left(r)
	}
	return l.sum, l.at.Left(l.sum.Action.String(), first(l.sum.Reasons...))
}

// listOf judges a run that is to be worked on.
func (e *Engine) listOf(ctx context.Context, store *durable.Store, ref reprise.Ref, c Choice) (*listed, look, error) {
	w, err := e.looking(store, ref, nil)
	if err != nil {
		return nil, look{}, err
	}
	w.choice = c
	if w.playbook, err = e.playbookOf(store, ref); err != nil {
		return nil, look{}, err
	}
	seen, err := w.judgeBy(ctx, w.closely())
	if err != nil {
		return nil, look{}, err
	}
	if c.If != "" && seen.digest != c.If {
		return nil, look{}, &StaleError{Want: c.If, Have: seen.digest}
	}
	if err := w.choosable(seen); err != nil {
		return nil, look{}, err
	}
	l := &listed{work: w}
	if err := w.load(); err != nil {
		return nil, seen, err
	}
	if c.From != "" {
		events, err := w.resetsFrom(ctx, c.From)
		if err != nil {
			return nil, seen, err
		}
		for _, ev := range events {
			if ev.Kind == reprise.StepReset {
				l.again = append(l.again, ev.Step)
			}
		}
		if !slices.Contains(l.again, c.From) {
			l.again = append(l.again, c.From)
		}
	}
	return l, seen, nil
}

// config says how the core works on the list.
func (l *listed) config() run.Config {
	skip := map[string]bool{}
	for _, s := range l.choice.Skip {
		skip[s] = true
	}
	l.tells = journal.NewTeller(journal.Name(l.ref))
	return run.Config{
		Used: l.used, Budget: l.budget, Recorded: l.recorded,
		Dir: l.Dir, Run: journal.Name(l.ref), Plan: l.ref.Path, Of: l.ref.Layout, Kind: string(l.ref.Kind), ID: l.ref.ID,
		Convention: adapted.Convention{Layout: l.layout, Kind: l.ref.Kind},
		Work:       l.assignWork, Skip: skip, Until: l.choice.Until, Tries: l.Settings.Attempts, Now: l.Now, Tell: l.told,
		Patient: l.Wait, Hide: redact.Text, Hard: l.Hard, StopOrphans: l.StopOrphans,
	}
}

// assignWork says who does a step, and what he is told.
func (l *listed) assignWork(ctx context.Context, a run.Assignment) (agent.Agent, agent.Job, error) {
	u := reprise.Unit{ID: a.Step.InPlan, Title: a.Step.Title}
	as, err := l.playbook.Assign(l.store, l.run, u)
	if err != nil {
		return nil, agent.Job{}, err
	}
	bound, err := l.bind(as)
	if err != nil {
		return nil, agent.Job{}, err
	}
	f := &Attempt{Assignment: as, Number: a.Attempt, Key: a.Key, Dir: a.Dir, ReplyFile: a.Result}
	f.Session, f.Resumes = a.Session, a.Session != ""
	task := prompt.Task{Assignment: as, Run: l.ref.ID, Attempt: a.Attempt, Dir: a.Dir, Result: a.Result, Trailer: reprise.TrailerKey + ": " + a.Key, Proves: true}
	if a.Continues {
		task.Earlier = append(task.Earlier, "An earlier attempt did not finish. What it changed is still there, whole or not: look at it before you do anything again.")
	}
	if a.Failure != "" {
		task.Earlier = append(task.Earlier, "The last attempt failed.")
		task.Data = append(task.Data, reprise.Data{Name: "why the last attempt failed", Text: a.Failure})
	}
	for _, said := range a.Answers {
		task.Answers = append(task.Answers, prompt.Answer{Question: said.Question, Text: said.Answer})
	}
	if f.Message, err = prompt.Render(task, l.Prompts); err != nil {
		return nil, agent.Job{}, fmt.Errorf("write the prompt of %s: %w", a.Step.ID, err)
	}
	job := l.job(f, bound)
	l.sum.Launches++
	return bound.agent, job, nil
}

// recorded takes a record over into what is known of the run.
func (l *listed) recorded(r core.Record) {
	for _, entry := range l.tells.Tell(r) {
		l.Hear(&entry)
	}
}

// used is what an attempt used, as its End keeps it; nothing where no agent was at work.
func (l *listed) used(s run.Attempted) json.RawMessage {
	f := &Attempt{Number: s.Attempt, Dir: s.Dir, Began: s.Began}
	var err error
	if f.Assignment, err = l.playbook.Assign(l.store, l.work.run, reprise.Unit{ID: s.Step, Title: s.Title}); err == nil && !spends(f.Assignment) {
		return nil
	}
	f.Step = s.Step
	data, err := json.Marshal(l.usedBy(f, s.Result, s.Session))
	if err != nil {
		return nil
	}
	return data
}

// budget is the question about a budget that is used up.
func (l *listed) budget() *core.Question {
	over := l.spending().over()
	if over == nil {
		return nil
	}
	return &core.Question{ID: over.ID, Text: over.Text, Options: over.Options, Closed: over.Closed, Lapses: true}
}

// from opens the steps again at which a person wants to begin.
func (l *listed) from(ctx context.Context) error {
	if l.choice.From == "" {
		return nil
	}
	for _, step := range l.again {
		if err := l.at.Reopen(ctx, step); err != nil {
			return err
		}
	}
	return nil
}

// toTheEnd works, asks a person where one is there, and waits where that was asked for.
func (l *listed) toTheEnd(ctx context.Context) error {
	for ctx.Err() == nil {
		rest, err := l.at.Work(ctx)
		if err != nil {
			return err
		}
		l.sum.Until = rest.Until
		q := l.at.Asked()
		switch {
		case q != nil && l.Ask != nil && ctx.Err() == nil:
			event := journal.Asked(q)
			text, ok := l.Ask(ctx, reprise.Question{ID: q.ID, Text: event.Text, Options: event.Options, Facts: event.Facts, Closed: event.Closed, Subject: q.Step})
			if !ok {
				return nil
			}
			if err := l.answer(q.ID, text); errors.Is(err, errPostponed) {
				return nil
			} else if err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return ctx.Err()
}

// told passes on what happens.
func (l *listed) told(p run.Progress) {
	if r, err := reprise.Load(l.layout, os.DirFS(l.Dir), l.ref); err == nil {
		l.work.run = r
	}
	out := Progress{Kind: ProgressKind(p.Kind), Step: p.Step, Title: p.Title, Attempt: p.Attempt, Text: p.Text, Outcome: p.Outcome, Until: p.Until, Took: p.Took, Log: p.Log}
	if s := l.run.Step(p.Step); s != nil {
		out.Role = s.Role
	}
	if out.Kind == Ended {
		report := StepReport{ID: p.Step, Title: p.Title, Role: out.Role, Attempt: p.Attempt, Took: p.Took, Text: p.Text, Log: p.Log}
		switch core.Outcome(p.Outcome) {
		case core.Done:
			l.sum.Finished = append(l.sum.Finished, report)
		case core.Failed:
			l.sum.Failed = append(l.sum.Failed, report)
		case core.Passed:
			l.sum.Skipped = append(l.sum.Skipped, report)
		}
	}
	l.tell(out)
}

// comes takes what came of it from a decision.
func (l *listed) comes(d reprise.Decision) {
	l.sum.State, l.sum.Action, l.sum.Reasons, l.sum.Ended = d.State, d.Action, d.Reasons, l.Now()
	if used := journal.Used(l.hist.Spent, nil); used != (reprise.Usage{}) {
		l.sum.Usage = &used
	}
}

// left adds what is still open.
func (l *listed) left(r *reprise.Run) {
	l.sum.Questions = r.PendingQuestions()
	for i := range r.Steps {
		if s := &r.Steps[i]; !s.Status.Closed() {
			l.sum.Left = append(l.sum.Left, s.ID)
		}
	}
	l.sum.Reached = l.choice.Until != "" && r.Step(l.choice.Until) != nil && r.Step(l.choice.Until).Status.Closed()
}

// answerWorlds is AnswerIf for a run on worlds.
func (e *Engine) answerWorlds(ctx context.Context, store *durable.Store, ref reprise.Ref, answers map[string]string) error {
	w, err := e.looking(store, ref, nil)
	if err != nil {
		return err
	}
	l := &listed{work: w}
	if l.at, err = run.Open(ctx, l.config()); err != nil {
		return err
	}
	defer l.at.Close()
	if err := w.load(); err != nil {
		return err
	}
	for id, text := range answers {
		if q, ours := w.files.Question(id), l.at.Asked(); q != nil && !q.Answered && (ours == nil || ours.ID != id) { // of the plan
			if err := l.at.Say(ctx, id, q.Text, text); err != nil {
				return err
			}
			continue
		}
		if err := l.answer(id, text); errors.Is(err, errPostponed) {
			continue
		} else if errors.Is(err, run.ErrNotAsked) {
			return &UnknownQuestionError{}
		} else if err != nil {
			return err
		}
	}
	return nil
}

// errPostponed is given for an answer that leaves the question open.
var errPostponed = errors.New("not now")

// answer records what a person said to the question that is open.
func (l *listed) answer(id, text string) error {
	text = strings.TrimSpace(text)
	q := l.at.Asked()
	if q == nil {
		return l.at.Answer(id, text)
	}
	ev := journal.Asked(q)
	if (&reprise.Question{Options: ev.Options, Closed: ev.Closed}).Postpones(text) {
		return errPostponed
	}
	if ev.Closed {
		text = cmp.Or(journal.Chosen(q, text), text)
	}
	return l.at.Answer(id, text)
}

// isOnWorlds is onWorlds for who has no store yet.
func (e *Engine) isOnWorlds(ref reprise.Ref) bool {
	store, err := durable.Open(e.Dir, durable.Options{AllowNetwork: e.AllowNetwork, Adopt: e.Adopt, Now: e.Now})
	if err != nil {
		return false
	}
	defer store.Release()
	return e.onWorlds(store, ref)
}

// previewWorlds is Preview for a run on worlds.
func (e *Engine) previewWorlds(ctx context.Context, store *durable.Store, ref reprise.Ref, c Choice) (*Preview, error) {
	l, seen, err := e.listOf(ctx, store, ref, c)
	if err != nil {
		return nil, err
	}
	p := &Preview{Run: ref, Steps: stepIDs(seen.Run), Decision: seen.Decision, Outcome: seen.Decision.Outcome()}
	would := func(format string, args ...any) { p.Would = append(p.Would, fmt.Sprintf(format, args...)) }
	if seen.Decision.Verdict == reprise.BlockedVerdict {
		return nil, unsafe(ref.ID, seen.Decision)
	}
	_, d, err := run.Look(ctx, l.config())
	if err != nil {
		return nil, err
	}
	p.Outcome = reprise.OutcomeOK
	starts := func(id string) error {
		s := seen.Run.Step(id)
		if s == nil {
			return nil
		}
		begun, err := l.previewStart(ctx, s)
		if err == nil {
			p.Starts = append(p.Starts, begun)
		}
		return err
	}
	switch d := d.(type) {
	case core.StartStep:
		err = starts(d.Step.InPlan)
	case core.EndAttempt:
		would("the last attempt at %s is settled as %s: %s", d.Step, d.Outcome, d.Why)
		if d.Outcome != core.Done {
			err = starts(d.Step)
		}
	case core.AskPerson:
		would("A person is asked: %s, but %s", d.Divergence.Says, d.Divergence.Shows)
		p.Outcome = reprise.OutcomeAsk
	case core.AdoptStep:
		would("%s is taken as done, as its plan says", d.Step)
		if seen.Decision.Point != nil {
			err = starts(seen.Decision.Point.ID)
		}
	case core.SkipStep:
		would("%s is left out", d.Step)
	case core.MakeMove:
		would("what the last record says is carried out to its end")
	case core.Rest:
		would("nothing is started: %s", d.Why)
		if !d.Until.IsZero() {
			p.Outcome = reprise.OutcomeWait
		}
	}
	return p, err
}

func (l *listed) previewStart(ctx context.Context, s *reprise.Step) (PreviewStep, error) {
	a := run.Assignment{Step: core.Step{ID: s.ID, InPlan: s.ID, Title: s.Title}, Attempt: s.Attempts + 1, Dir: l.Dir, Key: "RUN/STEP", Result: "RESULT"}
	_, job, err := l.assignWork(ctx, a)
	if err != nil {
		return PreviewStep{Step: s.ID, Role: s.Role, Attempt: a.Attempt, Problem: err.Error(), Dir: "."}, nil
	}
	as, err := l.playbook.Assign(l.store, l.run, s.Unit(""))
	if err != nil {
		return PreviewStep{}, err
	}
	bound, err := l.bind(as)
	step := PreviewStep{Step: s.ID, Role: s.Role, Attempt: a.Attempt, Agent: bound.name, Command: job.Command, Dir: ".", Prompt: job.Prompt}
	if known, ok := bound.agent.(interface{ CommandLine(agent.Job) []string }); ok {
		step.Command = known.CommandLine(job)
	}
	return step, err
}

// foreseenOnWorlds is prospect for a run on worlds.
func (e *Engine) foreseenOnWorlds(ctx context.Context, ref reprise.Ref) (out project.Foreseen, err error) {
	store, err := e.look()
	if err != nil {
		return out, err
	}
	defer store.Release()
	w, err := e.looking(store, ref, nil)
	if err != nil {
		return out, err
	}
	l := &listed{work: w}
	if l.run, err = reprise.Load(w.layout, store, ref); err != nil {
		return out, err
	}
	v, d, err := run.Look(ctx, l.config())
	if err != nil {
		return out, err
	}
	starts := func(id string) {
		if s := l.run.Step(id); s != nil {
			out.Starts, out.Steps = append(out.Starts, s.Unit("")), append(out.Steps, s.ID)
		}
	}
	switch d := d.(type) {
	case core.StartStep:
		starts(d.Step.InPlan)
	case core.EndAttempt:
		if d.Outcome == core.Done {
			out.Settled = append(out.Settled, d.Step)
			break
		}
		starts(d.Step)
	case core.AskPerson:
		ev := journal.Asked(&core.Ask{ID: v.State.NextQuestion(), Divergence: d.Divergence, Of: d.Of})
		out.Asks = append(out.Asks, askedIn(ev))
	case core.CloseRun:
		out.Finishes = true
	}
	return out, nil
}

// refusedOnWorlds tells that no agent is configured or installed for what comes next.
func (e *Engine) refusedOnWorlds(ref reprise.Ref) error {
	store, err := e.look()
	if err != nil {
		return err
	}
	defer store.Release()
	w, err := e.looking(store, ref, nil)
	if err != nil {
		return err
	}
	if w.run, err = reprise.Load(w.layout, store, ref); err != nil || len(w.run.Next) == 0 {
		return err
	}
	if w.playbook, err = e.playbookOf(store, ref); err != nil {
		return err
	}
	return w.unserved(w.run.Next[:1])
}
