//go:build unix

package engine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/agent"
	"reprise/agent/script"
	"reprise/convention"
	"reprise/core"
	"reprise/core/adapted"
	"reprise/core/run"
	"reprise/internal/durable"
	"reprise/internal/redact"
	"reprise/journal"
	"reprise/project"
	"reprise/prompt"
	"reprise/settings"
	"reprise/upkeep"
)

type looker = run.Looker

// onWorlds reports whether a run is worked on with worlds: plans and spec loops that were not begun
// without, and lists whose tasks all are an agent's.
func (e *Engine) onWorlds(store *durable.Store, ref reprise.Ref) bool {
	if !fs.ValidPath(ref.Path) { // of another checkout: it is worked on there
		return false
	}
	if journal.OnWorlds(store, journal.Name(ref)) {
		return true
	}
	seed := seeded(ref) || e.Worlds && (ref.Kind == reprise.KindGraph || ref.Layout == "orchestrate")
	if !seed && ref.Kind != reprise.KindTasks {
		return false
	}
	if names, err := store.Logs(); seed && (err != nil || slices.Contains(names, journal.Name(ref))) {
		return false // it was begun before: its own engine ends it
	}
	if seed {
		return true
	}
	r, err := reprise.Load(convention.Find(ref.Layout), store, ref)
	return err != nil || len(r.Questions) == 0 && !slices.ContainsFunc(r.Steps, func(s reprise.Step) bool { return s.Role != "" && s.Role != "coder" })
}

// seeded reports whether every run of a kind is worked on with worlds, by its playbook.
func seeded(ref reprise.Ref) bool {
	return ref.Kind == reprise.KindPlans || ref.Kind == reprise.KindSpecLoop
}

// beginWorlds makes a run: its first record makes its files.
func (e *Engine) beginWorlds(ctx context.Context, store *durable.Store, ref reprise.Ref, playbook reprise.Playbook, text string, events []reprise.Event) error {
	l := &listed{work: e.newWork(store, ref, playbook, convention.Find(ref.Layout))}
	c := l.config()
	c.Recorded, c.Begins = nil, &core.BeginRun{Text: text, Said: e.begun(events)}
	at, err := run.Open(ctx, c)
	if err != nil {
		return err
	}
	defer at.Close()
	return at.Left(reprise.Start.String(), "begun")
}

// listed is a run that is worked on with worlds.
type listed struct {
	*work
	at      *run.Engine
	again   []string            // the steps that a person wants to do again
	away    map[string][]string // the files that say so of a step
	goes    bool                // its files hold it, and a person says that it goes on
	group   []string            // the steps that a person leaves out in place of an answer
	unasked []string            // the questions about them, which are closed so
	landed  []core.SetStatus    // steps that git shows to be done
	unable  error               // why the step that came next could not be started
	tells   *journal.Teller
	conv    adapted.Convention
	// begins makes the files of a run that is not there yet.
	begins *core.BeginRun
	plan   fs.FS             // the files that tell what comes, where they are not those of the project
	roles  map[string]string // who does the steps that were started
	notes  []string          // what is to be told of what comes
}

// resumeWorlds is Resume for a run on worlds.
func (e *Engine) resumeWorlds(ctx context.Context, ref reprise.Ref, c Choice) (_ *Summary, err error) {
	if err := e.refusedOnWorlds(ref, c); err != nil {
		return nil, err
	}
	e = e.orderly()
	store, report, err := e.take(ctx)
	if err != nil {
		return nil, err
	}
	defer store.Release()
	defer func() { err = leaveWord(store, err) }()
	l, look, err := e.listOf(ctx, store, ref, c, c.If != "")
	if err != nil {
		return nil, err
	}
	l.noteTaking(report)
	d := look.Decision
	switch unsaid := c.Option == "" && c.From == "" && len(c.Skip) == 0; {
	case d.Verdict == reprise.BlockedVerdict:
		return nil, unsafe(ref.ID, d)
	case d.Action == reprise.Finish && c.From == "" && (c.Option == "" || ref.Kind != reprise.KindTasks && c.Option != reprise.OptionFresh), unsaid && d.State == reprise.Stopped, unsaid && d.Holds(look.Run):
		l.comes(d)
		return l.sum, nil
	}
	config := l.config()
	if waits, err := l.onlyWaits(look); err != nil || waits {
		l.comes(d)
		l.left(look.Run)
		return l.sum, err
	}
	if l.at, err = run.Open(ctx, config); err != nil {
		return nil, err
	}
	defer l.at.Close()
	taken, err := l.at.Taken(string(e.Mode), report.Generation)
	if err != nil {
		return nil, err
	}
	if err := l.at.CatchUp(ctx); err != nil {
		return nil, err
	}
	if o, changed := l.changedFlow(); changed && c.Option != reprise.OptionFresh {
		found := l.revised(o)
		l.notice(found)
		if err := l.at.Replanned(ctx, found.Message); err != nil {
			return nil, err
		}
	}
	if c.Option == reprise.OptionFresh {
		if err := l.afreshOn(ctx, store, look); err != nil {
			return nil, err
		}
	}
	if l.conv.Playbook != nil {
		if err := l.putAway(); err != nil {
			return nil, err
		}
		if err := l.at.GoesOn(ctx, core.SetHold{Said: l.resumedEvent(look)}); err != nil {
			return nil, err
		}
	}
	l.tell(Progress{Kind: Working})
	if err := l.from(ctx); err != nil {
		return nil, err
	}
	l.tell(Progress{Kind: Working})
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
		if len(l.sum.Finished) > 0 {
			l.sum.Snapshot = takenID(ref, uint64(taken))
		}
		for _, f := range r.Findings {
			if l.sum.Action == reprise.Finish && f.ContestsEnd() {
				l.notice(f)
			}
		}
	} else if l.at.Complete() { // it is done, and was put away
		l.sum.State, l.sum.Action, l.sum.Ended = reprise.Complete, reprise.Finish, l.Now()
	}
	return l.sum, l.at.Left(l.sum.Action.String(), first(l.sum.Reasons...))
}

// putAway archives the files by which a person held the run, who wants it to go on now.
func (l *listed) putAway() error {
	lift := convention.Of(l.ref.Layout).Lift
	if lift == nil {
		return nil
	}
	held := *l.files
	if l.choice.Option == reprise.OptionNow {
		held.Until = time.Time{}
	}
	for _, name := range lift(l.store, &held) {
		to, err := l.store.Archive(name)
		if err != nil {
			return fmt.Errorf("lift the pause: %w", err)
		}
		l.notice(reprise.Finding{Code: reprise.CodeSuperseded, Severity: reprise.Info, Subject: l.ref.ID, Message: name + " held the run and was archived", Source: reprise.Source{File: to}})
	}
	return nil
}

// afreshOn begins a run again with what it was begun with. What it was is kept.
func (l *listed) afreshOn(ctx context.Context, store *durable.Store, seen look) error {
	ref, events, err := l.beginnings(seen, store)
	if err == nil && ref != l.ref {
		err = fmt.Errorf("it would begin as %s", ref.ID)
	}
	if err != nil {
		return fmt.Errorf("start %s from scratch: %w", l.ref.ID, err)
	}
	if _, err = upkeep.Keep(ctx, store, []*reprise.Run{seen.Run}, "before starting "+l.ref.ID+" afresh"); err != nil {
		return err
	}
	return l.at.Afresh(ctx, core.BeginRun{Text: events[0].Text, Said: events})
}

// onlyWaits reports whether a run does nothing but ask what its files ask, and nobody is here to
// say it: then nothing is recorded.
func (l *listed) onlyWaits(seen look) (bool, error) {
	if l.Ask != nil || l.conv.Playbook == nil || l.choice.Option == reprise.OptionFresh || seen.Decision.Action != reprise.Ask || len(l.chosen()) > 0 || seen.Run.Behind || seen.Run.CutOff() {
		return false, nil
	}
	if len(l.files.PendingQuestions()) == 0 {
		return false, nil
	}
	starts, err := l.conv.Starts(l.store)
	return len(starts) == 0, err
}

// recordedOn gives a run on worlds as its records tell it, and how it is worked on.
func (e *Engine) recordedOn(store *durable.Store, ref reprise.Ref) (*listed, error) {
	w, err := e.looking(store, ref, nil)
	if err != nil {
		return nil, err
	}
	w.playbook, err = e.playbookOf(store, ref)
	return &listed{work: w}, err
}

// listOf judges a run that is to be worked on. What it would ask and start is foreseen for who
// only looks, and for a digest: an engine sees it anyway.
func (e *Engine) listOf(ctx context.Context, store *durable.Store, ref reprise.Ref, c Choice, foresees bool) (*listed, look, error) {
	l, err := e.recordedOn(store, ref)
	if err != nil {
		return nil, look{}, err
	}
	w := l.work
	w.choice = c
	w.blind = !foresees && ref.Kind == reprise.KindTasks
	seen, err := w.judgeBy(ctx, w.closely())
	if err == nil && w.blind && seen.Decision.Verdict == reprise.BlockedVerdict { // what the core would ask may be a way on
		w.blind = false
		seen, err = w.judgeBy(ctx, w.closely())
	}
	if err != nil {
		return nil, look{}, err
	}
	if c.If != "" && seen.digest != c.If {
		return nil, look{}, &StaleError{Want: c.If, Have: seen.digest}
	}
	if err := w.choosable(seen); err != nil {
		return nil, look{}, err
	}
	if err := w.load(); err != nil {
		return nil, seen, err
	}
	if err := w.mayRevise(); err != nil && seen.Decision.Action != reprise.Finish && c.Option != reprise.OptionFresh {
		return nil, seen, err
	}
	l.choose(seen)
	for _, id := range c.Skip {
		recorder, ok := w.layout.(reprise.Recorder)
		if s := w.files.Step(id); !ok || s == nil || s.Status.Closed() {
			continue
		}
		if _, err := recorder.Record(store, w.files, leftOut(id)); errors.Is(err, reprise.ErrCannotRecord) && ref.Kind == reprise.KindTasks {
			return nil, seen, &StepError{Run: "resume " + ref.ID, Why: "skip " + id + ": " + whyNotOut(w.layout, store, w.files, id), Todo: "`reprise resume RUN` does it"}
		}
	}
	if seen.View != nil {
		w.Air.Sessions = seen.Observed.SessionsOn(seen.Run)
		w.noteUnrecorded(seen)
	}
	if c.From != "" {
		events, err := w.resetsFrom(ctx, c.From)
		if err != nil {
			return nil, seen, err
		}
		for _, ev := range events {
			if ev.Kind == reprise.StepReset {
				l.again = append(l.again, ev.Step)
				if l.away == nil {
					l.away = map[string][]string{}
				}
				for _, e := range ev.Expect {
					l.away[ev.Step] = append(l.away[ev.Step], e.Path)
				}
			}
		}
		if !slices.Contains(l.again, c.From) {
			l.again = append(l.again, c.From)
		}
	}
	return l, seen, nil
}

// commitOf gives the commit that shows that a step is done, "" if none does.
func commitOf(s *reprise.Step) string {
	if s == nil {
		return ""
	}
	for _, e := range s.Evidence {
		if e.Kind == reprise.EvidenceCommit && e.For {
			return e.Source
		}
	}
	return ""
}

const landedWhy = "a commit for it is there"

// chosen gives what a person chose as changes of the plan.
func (l *listed) chosen() (out []core.Change) {
	if l.goes {
		out = append(out, core.SetHold{})
	}
	for _, step := range l.again {
		out = append(out, core.SetStatus{Step: step, Status: core.Todo})
	}
	for _, q := range l.unasked {
		out = append(out, core.SetAnswer{Question: q, Skipped: true})
	}
	for _, s := range l.landed {
		out = append(out, s)
	}
	for _, step := range l.choice.Skip {
		out = append(out, core.SetStatus{Step: step, Status: core.Skipped})
	}
	return out
}

// choose takes the option that a person chose as what the core is to do.
func (l *listed) choose(seen look) {
	l.goes = l.choice.Option != "" && (seen.Decision.Holds(seen.Run) || seen.Decision.State == reprise.Stopped)
	if seen.Decision.Action != reprise.Ask && l.ref.Kind != reprise.KindTasks {
		for _, u := range seen.Decision.Verify {
			l.landed = append(l.landed, core.SetStatus{Step: u.ID, Status: core.Finished, Why: landedWhy, Commit: commitOf(seen.Run.StepOrPart(u.ID))})
		}
	}
	switch l.choice.Option {
	case reprise.OptionResumeAgent:
		l.Wanted = first(seen.Run.ResumeAnswer().AgentID, "the agent that was at work")
	case reprise.OptionRespawn:
		l.NewSessions = true
	case reprise.OptionRestart:
		l.again = append(l.again, l.current(seen))
	case reprise.OptionSkip:
		l.choice.Skip = append(slices.Clone(l.choice.Skip), l.current(seen))
	case reprise.OptionSkipGroup:
		if q, ok := seen.Run.Skippable(); ok {
			l.group = seen.Run.OpenIn(q.Group)
			l.choice.Skip = append(slices.Clone(l.choice.Skip), l.group...)
			for _, other := range seen.Run.PendingQuestions() {
				if !other.Closed && slices.Equal(other.Group, q.Group) {
					l.unasked = append(l.unasked, other.ID)
				}
			}
		}
	}
}

// config says how the core works on the list.
func (l *listed) config() run.Config {
	skip := map[string]bool{}
	for _, s := range l.choice.Skip {
		skip[s] = true
	}
	l.tells = journal.NewTeller(journal.Name(l.ref))
	l.conv = conventionOf(l.ref, func() []reprise.Version { return l.Past[l.ref.Path] })
	l.conv.Playbook, l.conv.Now, l.conv.Account, l.conv.Backoff = stepsBy(l.ref, l.playbook), l.Now, l.account, l.Settings.Backoff
	l.conv.Recall, l.conv.Choice = l.recall, reprise.Choice{Option: l.choice.Option}
	parallel, leaves := 0, []string(nil)
	if l.ref.Kind == reprise.KindGraph {
		parallel = l.parallel()
	}
	if o, ok := l.playbook.(workflowPlaybook); ok { // its steps are those of the file
		if graph, err := o.graph(); err == nil {
			for _, s := range o.wf.Steps() {
				if parallel < 2 {
					break
				}
				leaves = append(leaves, s.Outputs...)
			}
			l.conv.Fixed = []reprise.Edit{{Path: path.Join(l.ref.Path, "task-graph.json"), Content: []byte(graph + "\n")}}
		}
	}
	return run.Config{
		Looker: l.looker, Check: l.check, Parallel: parallel, Leaves: leaves,
		Used: l.used, Budget: l.budget, Recorded: l.recorded,
		Dir: l.Dir, Run: journal.Name(l.ref), Plan: l.ref.Path, Of: l.ref.Layout, Kind: string(l.ref.Kind), ID: l.ref.ID,
		Convention: l.conv, Judge: judgeOf(l.conv), Other: l.other, Inner: l.inner,
		Work: l.assignWork, Skip: skip, Until: l.choice.Until, Tries: l.Settings.Attempts, Cuts: l.Settings.Cutoffs, Now: l.Now, Tell: l.told,
		Patient: l.Wait, Hide: redact.Text, Hard: l.Hard, StopOrphans: l.StopOrphans,
	}
}

// account is what a limit applies to.
func (l *listed) account(a reprise.Assignment) string {
	bound, err := l.bind(a)
	if err != nil {
		return ""
	}
	return bound.name
}

// check is the command that says whether a step is done.
func (l *listed) check(s core.Step) (agent.Agent, agent.Job, bool) {
	a, err := l.assignment(s.ID, s.InPlan, s.Title)
	if err != nil || len(a.Verify) == 0 {
		return nil, agent.Job{}, false
	}
	env, secrets := l.Settings.Environ(l.Environ, settings.Agent{Env: a.Env})
	by := script.New(script.Options{Grace: l.Settings.Grace, MaxLog: l.Settings.MaxLog, Shim: l.Shim, Now: l.Now})
	return by, agent.Job{Command: a.Verify, Env: env, Secrets: secrets, Timeout: pick(a.Timeout, l.Settings.Timeout)}, true
}

// stepsBy is the playbook by which the steps of a run are known; nil for a list, whose items they are.
func stepsBy(ref reprise.Ref, playbook reprise.Playbook) reprise.Playbook {
	if ref.Kind == reprise.KindTasks {
		return nil
	}
	return playbook
}

// judgeOf asks a convention what it makes of an attempt; nil for one without a playbook.
func judgeOf(c adapted.Convention) func(run.Judged) (*core.Judgement, error) {
	if c.Playbook == nil {
		return nil
	}
	return func(j run.Judged) (*core.Judgement, error) {
		reply := reprise.Reply{}
		if j.Result.Reply != nil {
			reply = *j.Result.Reply
		}
		if j.Result.ReplyProblem != "" {
			return &core.Judgement{Problem: "its result cannot be used: " + j.Result.ReplyProblem}, nil
		}
		return c.Judge(j.Before, j.Now, j.Step, reply)
	}
}

// other is the convention of another run of this checkout.
func (l *listed) other(b core.Begin) (core.Convention, func(run.Judged) (*core.Judgement, error)) {
	ref := reprise.Ref{Layout: b.Of, ID: b.ID, Path: b.Plan, Kind: reprise.Kind(b.Kind)}
	c := conventionOf(ref, func() []reprise.Version { return nil })
	c.Now = l.Now
	if playbook, err := l.playbookOf(l.store, ref); err == nil {
		c.Playbook = stepsBy(ref, playbook)
	}
	return c, judgeOf(c)
}

// assignment is what a step needs, as its plan offers it now.
func (l *listed) assignment(step, inPlan, title string) (reprise.Assignment, error) {
	if l.conv.Playbook == nil {
		return l.playbook.Assign(l.store, l.run, reprise.Unit{ID: inPlan, Title: title})
	}
	var files fs.FS = l.store
	if l.plan != nil {
		files = l.plan
	}
	a, ok, err := l.conv.Assign(files, step)
	if err == nil && !ok {
		err = fmt.Errorf("the plan does not ask for %s", step)
	}
	return a, err
}

// conventionOf is the one of a run, with all that the table of conventions knows of it.
func conventionOf(ref reprise.Ref, past func() []reprise.Version) adapted.Convention {
	c, of := adapted.Convention{Layout: convention.Find(ref.Layout), Ref: ref}, convention.Of(ref.Layout)
	c.PutAway = of.PutAway
	if of.Aim != nil {
		c.Aim = func(fsys fs.FS, r *reprise.Run) { of.Aim(fsys, r, past()) }
	}
	return c
}

// assignWork says who does a step, and what he is told.
func (l *listed) assignWork(ctx context.Context, a run.Assignment) (_ agent.Agent, _ agent.Job, err error) {
	defer func() { l.unable = err }()
	as, err := l.assignment(a.Step.ID, a.Step.InPlan, a.Step.Title)
	if err != nil {
		return nil, agent.Job{}, err
	}
	if role := l.cast[as.Role]; role != "" {
		as.Role = role
	}
	bound, err := l.bind(as)
	if err != nil {
		return nil, agent.Job{}, err
	}
	f := &Attempt{Assignment: as, Number: a.Attempt, Key: a.Key, Dir: a.Dir, ReplyFile: a.Result}
	if f.Session, f.Resumes = a.Session, a.Session != ""; l.NewSessions {
		f.Session, f.Resumes = "", false
	}
	if why := l.notResumed(a.Step.ID, bound, f.Resumes); why != "" {
		l.notes = append(l.notes, why)
		l.tell(Progress{Kind: Noticed, Text: why})
	}
	if l.roles == nil {
		l.roles = map[string]string{}
	}
	l.roles[a.Step.ID] = as.Role
	f.Step = a.Step.ID
	task := l.task(f)
	task.Proves = true
	if a.Continues && len(task.Earlier) == 0 {
		task.Earlier = append(task.Earlier, "An earlier attempt did not finish. What it changed is still there, whole or not: look at it before you do anything again.")
	}
	l.Air.Again = l.Air.Again || a.Continues
	if err = l.tellInAir(ctx, f, bound, &task); err != nil {
		return nil, agent.Job{}, err
	}
	if commits := l.Unrecorded[a.Step.ID]; len(commits) > 0 {
		task.Earlier = append(task.Earlier, "Commits were made that no record tells of. They may hold this work or a piece of it: look at them before you do anything again.")
		task.Data = append(task.Data, reprise.Data{Name: "commits that are not on record", Text: strings.Join(commits, "\n")})
	}
	for _, said := range a.Answers {
		task.Answers = append(task.Answers, prompt.Answer{Question: said.Question, Text: said.Answer})
	}
	if len(as.Command) > 0 { // it is told by its arguments
	} else if f.Message, err = prompt.Render(task, l.Prompts); err != nil {
		return nil, agent.Job{}, fmt.Errorf("write the prompt of %s: %w", a.Step.ID, err)
	}
	job := l.job(f, bound)
	l.sum.Launches++
	return bound.agent, job, nil
}

// recall adds what the records know of the ends of steps: in which order, and what was sent back.
func (l *listed) recall(r *reprise.Run) {
	told := r.Clone()
	told.Recall(l.events)
	for i := range r.Steps {
		if s := told.Step(r.Steps[i].ID); s != nil {
			r.Steps[i].Ended, r.Steps[i].Rejected = s.Ended, s.Rejected
		}
	}
}

// inner gives the run that does a step of this one.
func (l *listed) inner(step core.Step) (c run.Config, err error) {
	a, err := l.assignment(step.ID, step.InPlan, step.Title)
	if err != nil {
		return c, err
	}
	if a.Child == nil || l.depth >= maxDepth {
		return c, fmt.Errorf("no run of its own does %s, %d runs deep", step.ID, l.depth)
	}
	in, err := l.within(a)
	if err != nil {
		return c, err
	}
	if c = in.config(); in.begins != nil {
		c.Begins = in.begins
	}
	c.Rests = func(asked *core.Ask) {
		l.sum.add(in.sum)
		if asked != nil {
			ev := journal.Asked(asked)
			q := reprise.Question{ID: asked.ID, Text: ev.Text, Options: ev.Options, Facts: ev.Facts, Closed: ev.Closed, Subject: asked.Step}
			l.Waits = append(l.Waits, waitingFor(step.ID, in.ref, &q))
		}
	}
	return c, nil
}

// within is the run of its own that does a step.
func (l *listed) within(a reprise.Assignment) (*listed, error) {
	w, err := l.looking(l.store, *a.Child, nil)
	if err != nil {
		return nil, err
	}
	if w.playbook, err = l.playbookOf(l.store, *a.Child); err != nil {
		return nil, err
	}
	w.depth, w.cast = l.depth+1, a.Cast
	in := &listed{work: w}
	if _, err := fs.Stat(l.store, a.Child.Path); errors.Is(err, fs.ErrNotExist) {
		_, events, err := w.playbook.Begin(l.store, reprise.Goal{ID: a.Child.ID, Path: a.Child.Path, Text: a.Unit.Title, Now: l.Now(), Mode: string(l.Mode)})
		in.begins = &core.BeginRun{Text: a.Unit.Title, Said: events}
		return in, err
	}
	w.run, err = reprise.Load(w.layout, l.store, w.ref)
	return in, err
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
	if f.Assignment, err = l.assignment(s.Step, s.Step, s.Title); err == nil && !spends(f.Assignment) {
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
	for _, step := range l.again {
		if err := l.at.Reopen(ctx, step, l.away[step]...); err != nil {
			return err
		}
	}
	for _, step := range l.group { // before their questions: without one they would be done
		if err := l.at.LeaveOut(ctx, step); err != nil {
			return err
		}
	}
	for _, q := range l.unasked {
		if err := l.at.Change(ctx, "question "+q+" is closed without an answer", core.SetAnswer{Question: q, Skipped: true}); err != nil {
			return err
		}
	}
	for _, s := range l.landed {
		if err := l.at.Adopt(ctx, s); err != nil {
			return err
		}
		l.tell(Progress{Kind: Noticed, Step: s.Step, Text: "was already done: " + landedWhy})
	}
	return nil
}

// toTheEnd works, asks a person where one is there, and waits where that was asked for.
func (l *listed) toTheEnd(ctx context.Context) error {
	for ctx.Err() == nil {
		if _, err := l.hear(ctx); err != nil {
			return err
		}
		rest, err := l.at.Work(ctx)
		if err != nil {
			return err
		}
		if heard, err := l.hear(ctx); err != nil {
			return err
		} else if heard {
			continue
		}
		if l.sum.Until = rest.Until; l.unable != nil && ctx.Err() == nil {
			l.sum.Refused = append(l.sum.Refused, l.unable)
		}
		l.unable = nil
		q := l.at.Asked()
		switch {
		case q != nil && l.Ask != nil && ctx.Err() == nil:
			event := journal.Asked(q)
			text, ok := l.Ask(ctx, reprise.Question{ID: q.ID, Text: event.Text, Options: event.Options, Facts: event.Facts, Closed: event.Closed, Subject: q.Step})
			if !ok {
				return nil
			}
			if err := l.answer(ctx, q.ID, text); errors.Is(err, errPostponed) {
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
	out.Role = l.roles[p.Step]
	if s := l.run.Step(p.Step); s != nil && out.Role == "" {
		out.Role = cmp.Or(l.cast[s.Role], s.Role)
	}
	if out.Kind == Resolved && core.Outcome(p.Outcome) == core.Cut {
		out.Outcome, out.Text = "what is there is continued", ""
	}
	if out.Kind == Ended {
		report := StepReport{ID: p.Step, Title: p.Title, Role: out.Role, Attempt: p.Attempt, Took: p.Took, Text: p.Text, Log: p.Log}
		switch core.Outcome(p.Outcome) {
		case core.Done:
			l.sum.Finished = append(l.sum.Finished, report)
		case core.Failed:
			l.sum.Failed = append(l.sum.Failed, report)
		case core.Passed:
			report.Reopens = true
			l.sum.Skipped = append(l.sum.Skipped, report)
		case core.Paused: // by itself, unless we are stopped
			as, _ := l.assignment(p.Step, p.Step, p.Title) //nolint:errcheck // then nobody is named
			l.unable = &NotReadyError{Agent: l.account(as), Reason: p.Text}
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
	if f, ok := r.Unticked(); ok && l.sum.Action == reprise.Finish {
		l.sum.Findings = append(l.sum.Findings, f)
	}
	for i := range l.Waits { // of the runs that do steps
		l.sum.Questions, l.sum.Action = append(l.sum.Questions, l.Waits[i].Question()), reprise.Ask
	}
	l.sum.Questions = append(l.sum.Questions, r.PendingQuestions()...)
	for i := range r.Steps {
		if s := &r.Steps[i]; !s.Status.Closed() {
			l.sum.Left = append(l.sum.Left, s.ID)
		}
	}
	l.sum.Reached = l.choice.Until != "" && r.Step(l.choice.Until) != nil && r.Step(l.choice.Until).Status.Closed()
}

// answerWorlds is AnswerIf for a run on worlds.
func (e *Engine) answerWorlds(ctx context.Context, store *durable.Store, ref reprise.Ref, digest string, answers map[string]string) error {
	l, err := e.recordedOn(store, ref)
	if err != nil {
		return err
	}
	w := l.work
	if l.at, err = run.Open(ctx, l.config()); err != nil {
		return err
	}
	defer l.at.Close()
	if err := l.at.CatchUp(ctx); err != nil {
		return err
	}
	if err := w.stillAt(ctx, digest); err != nil {
		return err
	}
	if err := w.load(); err != nil {
		return err
	}
	answers, err = w.settleCalls(ctx, answers, func(_ context.Context, ev reprise.Event) error {
		return l.at.Settled(ev.Question, ev.Text, ev.Outcome)
	})
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(answers)) {
		if err := l.give(ctx, id, answers[id]); err != nil && !errors.Is(err, errPostponed) {
			return err
		}
	}
	return nil
}

// bringUpWorlds carries out what the records say, and begins nothing.
func (e *Engine) bringUpWorlds(ctx context.Context, store *durable.Store, ref reprise.Ref) error {
	l, err := e.recordedOn(store, ref)
	if err != nil {
		return err
	}
	if l.at, err = run.Open(ctx, l.config()); err != nil {
		return err
	}
	defer l.at.Close()
	return l.at.CatchUp(ctx)
}

// give records what a person said to a question of the run or of its plan.
func (l *listed) give(ctx context.Context, id, text string) error {
	ours := l.at.Asked()
	if is := ours != nil && ours.ID == id; !is && l.conv.Playbook != nil {
		return l.answerPlan(ctx, id, text)
	} else if q := l.files.Question(id); !is && q != nil && !q.Answered {
		return l.at.Say(ctx, core.Question{ID: id, Text: q.Text}, text)
	}
	err := l.answer(ctx, id, text)
	if errors.Is(err, run.ErrNotAsked) {
		return &UnknownQuestionError{Run: l.ref.ID, Question: id}
	}
	return err
}

// hear takes the answers out of the inbox that another process left there while this one had the
// project, and reports whether one was taken. One that no question takes is told and dropped; where
// it cannot be recorded it stays. A report of an agent stays as long as its attempt is open. If the
// process dies here, an answer is taken once more.
func (l *listed) hear(ctx context.Context) (heard bool, err error) {
	inbox, err := journal.ReadInbox(l.Dir)
	if err != nil || !slices.ContainsFunc(inbox, func(letter journal.Letter) bool { return letter.For(l.ref) }) {
		return false, err
	}
	if err := l.load(); err != nil {
		return false, err
	}
	over := func(letter journal.Letter) bool {
		if letter.Reported != nil {
			open := l.hist.Step(letter.Reported.Step).Open
			return open == nil || open.Key != letter.Reported.Key
		}
		return letter.Answers()
	}
	for _, letter := range inbox {
		if !letter.For(l.ref) || !letter.Answers() {
			continue
		}
		err := l.give(ctx, letter.Question, letter.Answer)
		_, unknown := errors.AsType[*UnknownQuestionError](err)
		_, answered := errors.AsType[*AnsweredError](err)
		_, other := errors.AsType[*reprise.NotOfferedError](err)
		if refused := unknown || answered || other; err != nil && !refused && !errors.Is(err, errPostponed) {
			return heard, err
		} else if refused {
			l.notice(reprise.Finding{
				Code: reprise.CodePendingQuestion, Severity: reprise.Warning, Subject: l.ref.ID, Source: reprise.Source{File: journal.Inbox},
				Message: "an answer that was left for a working engine is not taken: " + err.Error(), Hint: "`reprise answer " + reprise.Pasted(l.ref.ID, "RUN") + " --list` lists what is asked",
			})
		}
		heard = heard || err == nil
	}
	return heard, durable.UpdatePrivate(l.inbox(), func(old []byte) (left []byte, err error) {
		for line := range bytes.Lines(old) {
			if letter, err := journal.ReadLetter(line); err != nil || !letter.For(l.ref) || !over(letter) {
				left = append(left, line...)
			}
		}
		return left, nil
	})
}

// answerPlan records an answer to a question of the plan, or another one than it has.
func (l *listed) answerPlan(ctx context.Context, id, text string) error {
	said, err := l.wellGiven(map[string]string{id: text}, true)
	if used, ok := errors.AsType[*AnsweredError](err); ok {
		used.Files = used.Files || l.files.Question(id) != nil
	}
	if err != nil {
		return err
	}
	q, _ := l.question(id)
	if q.Answered && sameAnswer(q.Answer, said[id]) {
		return nil
	}
	if q.Answered {
		after, err := l.conv.After(l.store, core.SetAnswer{Question: id, Text: said[id]})
		if err != nil {
			return err
		}
		now, err := reprise.Load(l.layout, after, l.ref)
		if err != nil {
			return err
		}
		if has := now.Question(id); has != nil && has.Answered && !sameAnswer(has.Answer, said[id]) {
			return &AnsweredError{Question: id, Answer: q.Answer, Why: "its files keep that"}
		}
	}
	if err := l.at.Say(ctx, core.Question{ID: id, Text: q.Text, Subject: q.Subject, Options: q.Options, Closed: q.Closed, Filed: l.files.Question(id) != nil}, said[id]); err != nil {
		return err
	}
	if by := l.begunOn(&q); q.Answered && by != "" {
		l.tell(Progress{Kind: Noticed, Step: by, Text: fmt.Sprintf("%s was started on the answer before, %q; what is started from now on goes by the new one", by, q.Answer)})
	}
	return nil
}

// errPostponed is given for an answer that leaves the question open.
var errPostponed = errors.New("not now")

// answer records what a person said to the question that is open.
func (l *listed) answer(ctx context.Context, id, text string) error {
	text = strings.TrimSpace(text)
	q, err := l.at.Foreseen(ctx, id)
	if err != nil || q == nil {
		return errors.Join(err, l.at.Answer(id, text))
	}
	ev := journal.Asked(q)
	if (&reprise.Question{Options: ev.Options, Closed: ev.Closed}).Postpones(text) {
		return errPostponed
	}
	option := journal.Chosen(q, text)
	if q.ID == id && option == "" && ev.Closed && len(ev.Options) > 0 {
		return &reprise.NotOfferedError{Question: id, Answer: text, Options: ev.Options}
	}
	return l.at.Answer(id, cmp.Or(option, text))
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

// chosenFirst puts into a view what a person's choice records before anything is started, and tells it.
func (l *listed) chosenFirst(v *core.View) (told []string, err error) {
	fold := func(r core.Record, text string) {
		r.Seq = v.State.Seq + 1
		if err == nil {
			err = v.State.Fold(r)
		}
		told = append(told, text)
	}
	if o, changed := l.changedFlow(); changed {
		fold(core.Record{Plan: &core.Plan{Revised: true}}, l.revised(o).Message)
	}
	for _, step := range l.again {
		fold(core.Record{Undo: &core.Undo{Step: step, Keep: true}}, step+" is opened again")
		for i := range v.Steps {
			if v.Steps[i].ID == step {
				v.Steps[i].Status = core.Todo
			}
		}
	}
	return told, err
}

// previewChosen tells what a choice of a person does to the plan, and what is started then.
func (l *listed) previewChosen(ctx context.Context, seen look, p *Preview, changes []core.Change) error {
	would := func(format string, args ...any) { p.Would = append(p.Would, fmt.Sprintf(format, args...)) }
	for _, step := range l.choice.Skip {
		would("%s is skipped", step)
	}
	for _, step := range l.again {
		would("%s is done again", step)
	}
	for _, s := range l.landed {
		would("%s is marked as done: %s", s.Step, landedWhy)
	}
	for _, id := range l.unasked {
		q := seen.Run.Question(id)
		would("The question on %s is closed without an answer", cmp.Or(q.Subject, q.ID))
	}
	var files reprise.Store = l.store
	for _, names := range l.away {
		for _, name := range names {
			files = durable.Without(files, name)
		}
	}
	var err error
	if l.plan, err = l.conv.After(files, changes...); err != nil {
		return err
	}
	shape, err := l.conv.Load(l.plan, l.ref.Path)
	if err != nil {
		return err
	}
	all, err := l.conv.Starts(l.plan)
	for _, a := range all[:min(1, len(all))] {
		var begun PreviewStep
		if begun, err = l.previewStart(ctx, core.Step{ID: a.Step, InPlan: a.Step, Title: a.Unit.Title}); err == nil {
			p.Starts = append(p.Starts, begun)
		}
	}
	if len(p.Starts) == 0 && len(shape.Questions) > 0 {
		would("A person is asked: %s", shape.Questions[0].Text)
		p.Outcome = reprise.OutcomeAsk
	}
	p.Would = append(p.Would, l.notes...)
	return err
}

// previewWorlds is Preview for a run on worlds.
func (e *Engine) previewWorlds(ctx context.Context, store *durable.Store, ref reprise.Ref, c Choice) (*Preview, error) {
	l, seen, err := e.listOf(ctx, store, ref, c, true)
	if err != nil {
		return nil, err
	}
	p := &Preview{Run: ref, Steps: stepIDs(seen.Run), Decision: seen.Decision, Outcome: seen.Decision.Outcome()}
	would := func(format string, args ...any) { p.Would = append(p.Would, fmt.Sprintf(format, args...)) }
	if seen.Decision.Verdict == reprise.BlockedVerdict {
		return nil, unsafe(ref.ID, seen.Decision)
	}
	v, _, err := run.Look(ctx, l.config())
	if err != nil {
		return nil, err
	}
	p.Outcome = reprise.OutcomeOK
	if changes := l.chosen(); seeded(l.ref) && len(changes) > 0 {
		return p, l.previewChosen(ctx, seen, p, changes)
	}
	first, err := l.chosenFirst(&v)
	if err != nil {
		return nil, err
	}
	p.Would = append(p.Would, first...)
	starts := func(step core.Step) error {
		if step.Inner != "" {
			return l.previewInner(ctx, step, p)
		}
		begun, err := l.previewStart(ctx, step)
		if err == nil {
			p.Starts = append(p.Starts, begun)
		}
		return err
	}
	named := func(id string) core.Step {
		if i := slices.IndexFunc(v.Steps, func(s core.Step) bool { return s.ID == id }); i >= 0 {
			return v.Steps[i]
		}
		return core.Step{ID: id, InPlan: id}
	}
	d, settled := core.Foresee(v)
	for _, d := range append(settled, d) {
		switch d := d.(type) {
		case core.EndAttempt:
			would("the last attempt at %s is settled as %s: %s", d.Step, d.Outcome, d.Why)
		case core.AdoptStep:
			would("%s is taken as done, as its plan says", d.Step)
		case core.SkipStep:
			would("%s is left out", d.Step)
		case core.UndoStep:
			would("%s is opened again", d.Step)
		case core.MakeMove:
			would("what the last record says is carried out to its end")
		case core.LapseQuestion:
			would("%s", d.Why)
		}
	}
	switch d := d.(type) {
	case core.StartStep:
		err = starts(d.Step)
	case core.WorkInner:
		err = l.previewInner(ctx, named(d.Step), p)
	case core.AskPerson:
		would("A person is asked: %s, but %s", d.Divergence.Says, d.Divergence.Shows)
		p.Outcome = reprise.OutcomeAsk
	case core.Rest:
		would("nothing is started: %s", d.Why)
		if p.Outcome = seen.Decision.Outcome(); !d.Until.IsZero() {
			p.Outcome = reprise.OutcomeWait
		}
	}
	if err == nil && len(p.Starts) > 0 && len(l.run.Next) > 0 {
		p.later = l.unserved(l.run.Next[:1])
	}
	if err == nil && !c.Means().Shows && !e.servesAll() { // to look at what is there needs no agent
		e.refuses(p)
	}
	p.Would = append(p.Would, l.notes...)
	return p, err
}

// previewInner tells what the run would do that does a step of this one.
func (l *listed) previewInner(ctx context.Context, step core.Step, p *Preview) error {
	a, err := l.assignment(step.ID, step.InPlan, step.Title)
	if err != nil || a.Child == nil {
		return err
	}
	p.Would = append(p.Would, fmt.Sprintf("%s is done by its own run, %s.", step.ID, a.Child.ID))
	in, err := l.within(a)
	if err != nil || in.begins != nil || in.depth > maxDepth {
		return err
	}
	v, _, err := run.Look(ctx, in.config())
	if err != nil {
		return err
	}
	switch d, _ := core.Foresee(v); d := d.(type) {
	case core.StartStep:
		begun, err := in.previewStart(ctx, d.Step)
		if err == nil {
			begun.Run = in.ref.ID
			p.Starts = append(p.Starts, begun)
		}
		return err
	case core.AskPerson:
		p.Would = append(p.Would, fmt.Sprintf("A person is asked: %s, but %s", d.Divergence.Says, d.Divergence.Shows))
		p.Outcome = reprise.OutcomeAsk
	}
	return nil
}

func (l *listed) previewStart(ctx context.Context, s core.Step) (PreviewStep, error) {
	as, err := l.assignment(s.ID, s.InPlan, s.Title)
	if err != nil {
		return PreviewStep{}, err
	}
	role := cmp.Or(l.cast[as.Role], as.Role)
	step := PreviewStep{Step: s.ID, Role: role, Attempt: 1, Dir: "."}
	if l.run != nil && l.run.Step(s.InPlan) != nil {
		step.Attempt += l.run.Step(s.InPlan).Attempts
	}
	_, job, err := l.assignWork(ctx, run.Assignment{Step: s, Attempt: step.Attempt, Dir: l.Dir, Key: "RUN/STEP", Result: "RESULT"})
	if err != nil {
		step.Problem = err.Error()
		return step, nil
	}
	as.Role = role
	bound, err := l.bind(as)
	step.Agent, step.Command, step.Prompt = bound.name, job.Command, job.Prompt
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
	l, err := e.recordedOn(store, ref)
	if err != nil {
		return out, err
	}
	w := l.work
	if l.run, err = reprise.Load(w.layout, store, ref); err != nil {
		return out, err
	}
	v, _, err := run.Glance(ctx, l.config())
	if err != nil {
		return out, err
	}
	starts := func(id string) {
		if l.conv.Playbook != nil {
			var all []reprise.Assignment
			all, err = l.conv.Starts(store)
			for _, a := range all {
				out.Starts, out.Steps = append(out.Starts, a.Unit), append(out.Steps, a.Step)
			}
		} else if s := l.run.Step(id); s != nil {
			out.Starts, out.Steps = append(out.Starts, s.Unit("")), append(out.Steps, s.ID)
		}
	}
	d, settled := core.Foresee(v)
	for _, d := range append(settled, d) {
		if end, ok := d.(core.EndAttempt); ok && end.Outcome == core.Done {
			out.Settled = append(out.Settled, end.Step)
		}
	}
	switch d := d.(type) {
	case core.StartStep:
		starts(d.Step.InPlan)
	case core.WorkInner:
		starts(d.Step)
	case core.AskPerson:
		ev := journal.Asked(&core.Ask{ID: v.State.AskID(d), Divergence: d.Divergence, Of: d.Of})
		out.Asks = append(out.Asks, askedIn(ev))
	case core.AdoptStep:
		if l.conv.Playbook != nil {
			starts(d.Step)
		}
	case core.CloseRun:
		out.Finishes = true
	}
	return out, err
}

// refusedOnWorlds tells that no agent is configured or installed for what comes next.
func (e *Engine) refusedOnWorlds(ref reprise.Ref, c Choice) error {
	if e.servesAll() {
		return nil
	}
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
	w.choice = c
	if w.playbook, err = e.playbookOf(store, ref); err != nil {
		return err
	}
	if playbook := stepsBy(ref, w.playbook); playbook != nil {
		d := adapted.Convention{Layout: w.layout, Ref: ref, Playbook: playbook, Now: e.Now}
		all, err := d.Starts(store)
		for _, a := range all {
			if err := w.unserved([]reprise.Unit{a.Unit}); err != nil {
				return err
			}
		}
		return err
	}
	return w.unserved(w.run.Next[:1])
}
