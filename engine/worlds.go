//go:build unix

package engine

import (
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
	"syscall"
	"time"

	"reprise"
	"reprise/agent"
	"reprise/agent/script"
	"reprise/convention"
	"reprise/core"
	"reprise/core/adapted"
	"reprise/core/run"
	"reprise/internal/doc"
	"reprise/internal/durable"
	"reprise/internal/redact"
	"reprise/journal"
	"reprise/project"
	"reprise/prompt"
	"reprise/settings"
	"reprise/upkeep"
)

type looker = run.Looker

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
	limited bool                // it rests until a usage limit is over
	unable  error               // why the step that came next could not be started
	tells   *journal.Teller
	conv    adapted.Convention
	// begins makes the files of a run that is not there yet.
	begins *core.BeginRun
	begun  bool              // it was given up, and begins again
	unread bool              // what git shows to be done is not marked yet: a person is asked first
	plan   fs.FS             // the files that tell what comes, where they are not those of the project
	roles  map[string]string // who does the steps that were started
	notes  []string          // what is to be told of what comes
	past   *core.State       // for who only looks: what the records say
	ends   reprise.Ends      // what the records tell of the ends of steps
	// damaged is what was told of the inbox, by this run or those that do its steps.
	damaged map[string]bool
}

// resumeWorlds is Resume for a run on worlds.
func (e *Engine) resumeWorlds(ctx context.Context, ref reprise.Ref, c Choice) (_ *Summary, err error) {
	if c.Option != "" && !c.Means().Shows && (!c.Means().Works || !e.servesAll()) { // to take the project up writes there
		if _, err := e.Preview(ctx, ref, c); err != nil {
			return nil, err
		}
	}
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
	if over, err := l.concludes(ctx, look); over || err != nil {
		return l.sum, err
	}
	switch unsaid := c.Option == "" && c.From == "" && len(c.Skip) == 0; {
	case d.Verdict == reprise.BlockedVerdict && !l.begun:
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
	if waits, err := l.onlyWaitsFor(ctx, look); err != nil || waits {
		l.comes(d)
		l.left(look.Run)
		l.sum.State, l.sum.Action = reprise.Waiting, reprise.Wait
		return l.sum, err
	}
	config.Answered = l.hear
	word, err := l.older()
	if err != nil {
		return nil, err
	}
	if l.at, err = run.Open(ctx, config); err != nil {
		return nil, err
	}
	defer l.at.Close()
	taken, err := l.at.Taken(string(e.Mode), report.Generation, word)
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
	if c.Option == reprise.OptionFresh && !l.begun {
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
	return l.sum, l.endsAs(ctx, taken)
}

// endsAs says what came of the work, as who looks next sees it, and notes that it is left in good order.
// taken is the record by which the run was taken up.
func (l *listed) endsAs(ctx context.Context, taken int) error {
	j, err := project.Judge(context.WithoutCancel(ctx), l.Dir, l.closely())
	if err != nil {
		return err
	}
	if r := j.Find(l.ref); r != nil {
		l.comes(j.Decisions[r])
		if l.left(r); l.limited { // perhaps that of a run which does a step
			l.sum.State, l.sum.Action = reprise.Waiting, reprise.Wait
		}
		if len(l.sum.Finished) > 0 && l.sum.Snapshot == "" {
			l.sum.Snapshot = takenID(l.ref, uint64(taken))
		}
		for _, f := range r.Findings {
			if l.sum.Action == reprise.Finish && f.ContestsEnd() {
				l.notice(f)
			}
		}
	} else if l.at.Complete() { // it is done, and was put away
		l.sum.State, l.sum.Action, l.sum.Ended = reprise.Complete, reprise.Finish, l.Now()
	} else if q := l.at.Asked(); q != nil { // where it is nobody finds it
		ev := journal.Asked(q)
		l.sum.State, l.sum.Action, l.sum.Ended = reprise.Waiting, reprise.Ask, l.Now()
		l.sum.Questions = append(l.sum.Questions, reprise.Question{ID: q.ID, Text: ev.Text, Options: ev.Options, Facts: ev.Facts, Closed: ev.Closed, Subject: q.Step})
	}
	return l.at.Left(l.sum.Action.String(), first(l.sum.Reasons...))
}

// older is what is noted of a run as it is taken up. One that an older build began and left open is
// closed with that: its files and git say what was done, and its journal stays where it is.
func (l *listed) older() (text string, err error) {
	const taken = "taken up"
	if l.hist.Events > 0 {
		return taken, nil
	}
	was, err := journal.ReadOlder(l.store, journal.Name(l.ref))
	if len(was.Entries) == 0 {
		return taken, err
	}
	told := "an older build of reprise began it: its files and git say what was done, and what that build wrote down stays in " + was.Entries[0].Source.File
	l.notice(reprise.Finding{Code: reprise.CodeSuperseded, Severity: reprise.Info, Subject: l.ref.ID, Message: told, Source: reprise.Source{File: was.Entries[0].Source.File}})
	return taken + "; " + told, nil // what of it cannot be read stays there as well
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
	if len(l.files.PendingQuestions()) == 0 || slices.ContainsFunc(l.letters(), func(in line) bool { return in.Answers() }) {
		return false, nil
	}
	starts, err := l.conv.Starts(l.store)
	return len(starts) == 0, err
}

// onlyWaitsFor reports whether nothing can be done before a time that this resume does not wait for: then
// nothing is recorded.
func (l *listed) onlyWaitsFor(ctx context.Context, seen look) (bool, error) {
	if seen.Decision.Action != reprise.Wait || l.Wait || l.choice.Option != "" && l.choice.Option != reprise.OptionContinue || l.choice.From != "" || len(l.chosen()) > 0 {
		return false, nil
	}
	v, d, err := run.Look(ctx, l.config())
	rest, rests := d.(core.Rest)
	if !rests || !rest.Limit || len(v.State.Open) > 0 || v.State.Due != nil {
		return false, err
	}
	l.sum.Until, l.sum.Account = rest.Until, rest.Account
	return true, err
}

// recordedOn gives a run on worlds as its records tell it, and how it is worked on.
func (e *Engine) recordedOn(store *durable.Store, ref reprise.Ref) (*listed, error) {
	w, err := e.looking(store, ref, nil)
	if err != nil {
		return nil, err
	}
	w.playbook, err = e.playbookOf(store, ref)
	return &listed{work: w, damaged: map[string]bool{}}, err
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
		s := w.files.Step(id)
		if s == nil {
			return nil, seen, &StepError{Run: "resume " + ref.ID, Flag: "skip", Step: id, Steps: stepIDs(w.files)}
		}
		if !ok || s.Status.Closed() {
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
	from := c.From
	if c.Option == reprise.OptionContinue && from == "" {
		from = w.blockedAt(ctx, seen)
	}
	if from == "" {
		from = l.builtAgain()
	}
	if err := l.beginsAt(ctx, from); err != nil {
		return nil, seen, err
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

// landedIn gives the steps that git shows to be done.
func landedIn(seen look) (out []core.SetStatus) {
	for _, u := range seen.Decision.Verify {
		out = append(out, core.SetStatus{Step: u.ID, Status: core.Finished, Why: landedWhy, Commit: commitOf(seen.Run.StepOrPart(u.ID))})
	}
	return out
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
	l.unread = seen.Decision.Action == reprise.Ask && l.ref.Kind != reprise.KindTasks
	l.goes = l.choice.Option != "" && (seen.Decision.Holds(seen.Run) || seen.Decision.State == reprise.Stopped)
	if !l.unread && l.ref.Kind != reprise.KindTasks {
		l.landed = landedIn(seen)
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

// blockedAt is the step that a run waits at because its files call it blocked, "" if it does
// not wait for that: a person who continues it says that nothing blocks it any more.
func (w *work) blockedAt(ctx context.Context, l look) string {
	if !l.Decision.Holds(l.Run) {
		return ""
	}
	step := w.current(l)
	if s := l.Run.Step(step); s == nil || s.Status != reprise.Blocked {
		return ""
	}
	if _, err := w.resetsFrom(ctx, step); err != nil {
		return "" // its files cannot say so
	}
	return step
}

// builtAgain is the step at which a person wants a run to begin again, since what it is measured by has
// changed; "" if he does not, or it has begun.
func (l *listed) builtAgain() (step string) {
	for i := range l.events {
		switch ev := &l.events[i]; {
		case ev.Kind == reprise.StepStarted, ev.Kind == reprise.StepReset && ev.Actor == reprise.Person:
			step = ""
		case ev.Kind != reprise.QuestionAnswered || !strings.HasPrefix(ev.Question, project.ChangedPrefix):
		case ev.Text == project.ChangedAgain:
			step = measured(l.files)
		default:
			step = ""
		}
	}
	return step
}

// measured is the first step that works by what a run is measured by, "" if none does.
func measured(r *reprise.Run) string {
	for i := range r.Steps {
		if s := &r.Steps[i]; !project.WritesStory(s.ID) {
			return s.ID
		}
	}
	return ""
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
	if l.conv.Playbook == nil {
		l.conv.List = l.playbook
	}
	l.conv.Recall, l.conv.Choice = l.recall, reprise.Choice{Option: l.choice.Option}
	parallel, leaves := 0, []string(nil)
	if l.ref.Kind == reprise.KindGraph {
		parallel = l.parallel()
	}
	if o, ok := l.playbook.(workflowPlaybook); ok { // its steps are those of the file
		for _, s := range o.wf.Steps() {
			if parallel < 2 {
				break
			}
			leaves = append(leaves, s.Outputs...)
		}
		l.conv.Fixed = []reprise.Edit{{Path: path.Join(l.ref.Path, "task-graph.json"), Content: []byte(o.graph + "\n")}}
	}
	return run.Config{
		Site: l.site(), Uncommitted: l.ref.Kind == reprise.KindBuild,
		Looker: l.looker, Check: l.check, Parallel: parallel, Leaves: leaves,
		Used: l.used, Budget: l.budget, Recorded: l.recorded, Letters: l.toldBy, Room: func() error { return durable.Room(l.Dir) },
		Dir: l.Dir, Run: journal.Name(l.ref), Plan: l.ref.Path, Of: l.ref.Layout, Kind: string(l.ref.Kind), ID: l.ref.ID,
		Convention: l.conv, Judge: judgeOf(l.conv), Other: l.other, Inner: l.inner,
		Work: l.assignWork, Skip: skip, Until: l.choice.Until, Tries: l.Settings.Attempts, Cuts: l.Settings.Cutoffs, Now: l.Now, Tell: l.told,
		Patient: l.Wait, Hide: redact.Text, Hard: l.Hard, StopOrphans: l.StopOrphans,
	}
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
	if c.Playbook == nil && c.List == nil {
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
		c.Place = j.Place
		says, err := c.Judge(j.Before, j.Now, j.Was, j.Is, reply)
		if says != nil {
			says.Doubt = project.TookCriteria(j.Before, j.Now, c.Ref, j.Was)
		}
		return says, err
	}
}

// other is the convention of another run of this checkout.
func (l *listed) other(b core.Begin) (core.Convention, func(run.Judged) (*core.Judgement, error)) {
	ref := reprise.Ref{Layout: b.Of, ID: b.ID, Path: b.Plan, Kind: reprise.Kind(b.Kind)}
	c := conventionOf(ref, func() []reprise.Version { return nil })
	c.Now = l.Now
	if playbook, err := l.playbookOf(l.store, ref); err == nil {
		if c.Playbook = stepsBy(ref, playbook); c.Playbook == nil {
			c.List = playbook
		}
	}
	return c, judgeOf(c)
}

// assignment is what a step needs, as its plan offers it now.
func (l *listed) assignment(step, inPlan, title string) (reprise.Assignment, error) {
	if l.conv.Playbook == nil {
		return l.playbook.Assign(l.on, l.run, reprise.Unit{ID: inPlan, Title: title})
	}
	var files fs.FS = l.on
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
	c, of := adapted.Convention{Layout: convention.Find(ref.Layout), Ref: ref, Measure: project.Measure}, convention.Of(ref.Layout)
	c.PutAway = func(fsys fs.FS, ref reprise.Ref) (reprise.Ref, bool) { return project.Moved(fsys, of, ref) }
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
	l.tellMissing(as)
	for _, e := range as.Expect { // nobody is sent out of the project
		if _, err := fs.Stat(l.store, e.Path); errors.Is(err, doc.ErrOutside) {
			return nil, agent.Job{}, fmt.Errorf("prepare %s: %w", a.Step.ID, err)
		}
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
	if l.takesOver(f.Step, bound, f.Resumes) {
		if err = l.brief(ctx, f, &task); err != nil {
			return nil, agent.Job{}, err
		}
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
	for _, said := range a.Answers {
		if said.ID != "" { // it looks for its own name; the latest counts
			job.Answers[said.ID] = noNul(said.Answer)
		}
	}
	l.sum.Launches++
	return bound.agent, job, nil
}

// tellMissing tells of inputs of a step of a workflow file that are not there. Whoever does it
// decides whether he can do without them.
func (l *listed) tellMissing(a reprise.Assignment) {
	if _, own := l.playbook.(workflowPlaybook); !own {
		return
	}
	for _, name := range a.Inputs {
		if _, err := fs.Stat(l.store, name); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			l.notice(reprise.Finding{
				Code: reprise.CodeMissingArtifact, Severity: reprise.Warning, Subject: a.Step, Source: reprise.Source{File: name},
				Message: a.Step + ": its input " + name + " is not there",
			})
		}
	}
}

// recall adds what the records know: in which order steps ended, what was sent back, and the answers
// to what their agents asked, until one of them has used it.
func (l *listed) recall(r *reprise.Run) {
	l.ends.Add(l.events)
	l.ends.Into(r)
	if l.conv.Playbook != nil || !slices.ContainsFunc(l.events, func(ev reprise.Event) bool { return ev.Own != "" }) {
		return // its files have them, or there are none
	}
	told := r.Clone()
	told.Recall(l.events)
	for _, q := range told.Questions {
		s := r.Step(q.By)
		used := s != nil && slices.ContainsFunc(l.events, func(ev reprise.Event) bool {
			return (ev.Kind == reprise.StepFinished || ev.Kind == reprise.StepSkipped) && ev.Step == s.ID && ev.At.After(q.AskedAt)
		})
		if q.Own != "" && q.Answered && s != nil && !used && r.Question(q.Own) == nil {
			r.Questions = append(r.Questions, reprise.Question{ID: q.Own, Subject: q.Subject, Text: q.Text, Options: q.Options, Closed: q.Closed, Answered: true, Answer: q.Answer, AskedAt: q.AskedAt})
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
			l.Waits = append(l.Waits, q)
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
	in := &listed{work: w, damaged: l.damaged}
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
		l.learn(&entry)
	}
}

// used is what an attempt used, as its End keeps it; nothing where no agent was at work.
func (l *listed) used(s run.Attempted) json.RawMessage {
	l.Air.landed(s.Step, s.Result)
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

// budget is the question about a budget that is used up, or about what the work is measured by and
// somebody changed.
func (l *listed) budget() *core.Question {
	if r, err := reprise.Load(l.layout, l.store, l.ref); err == nil && !slices.Contains(l.again, measured(r)) {
		r.Recall(l.events)
		if m := project.RemeasuredBy(l.Dir, l.store, r, l.hist); m != nil && m.Asks {
			q := m.Asked()
			return &core.Question{ID: q.ID, Text: q.Text, Options: q.Options, Closed: q.Closed, Lapses: true}
		}
	}
	over := l.spending().over()
	if over == nil {
		return nil
	}
	return &core.Question{ID: over.ID, Text: over.Text, Options: over.Options, Closed: over.Closed, Lapses: true}
}

// from opens the steps again at which a person wants to begin.
func (l *listed) from(ctx context.Context) error {
	for _, step := range l.again {
		if step != l.choice.From && l.at.Unsettled(step) { // it is no word on that one
			continue
		}
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
	return l.mark(ctx, l.landed)
}

// mark marks the steps as done that git shows to be done.
func (l *listed) mark(ctx context.Context, landed []core.SetStatus) error {
	for _, s := range landed {
		if err := l.at.Adopt(ctx, s); err != nil {
			return err
		}
		l.tell(Progress{Kind: Noticed, Step: s.Step, Text: "was already done: " + landedWhy})
	}
	return nil
}

// markAnswered marks them once nothing is asked any more: before that a step that is done might answer
// the question.
func (l *listed) markAnswered(ctx context.Context) error {
	if !l.unread {
		return nil
	}
	seen, err := l.judgeBy(ctx, l.closely())
	if err != nil || seen.Decision.Action == reprise.Ask {
		return err
	}
	l.unread = false
	return l.mark(ctx, landedIn(seen))
}

// toTheEnd works, asks a person where one is there, and waits where that was asked for.
func (l *listed) toTheEnd(ctx context.Context) error {
	for ctx.Err() == nil {
		if _, err := l.hear(ctx); err != nil {
			return err
		}
		if step := l.builtAgain(); step != "" {
			if err := l.beginsAt(ctx, step); err != nil {
				return err
			}
			if err := l.from(ctx); err != nil {
				return err
			}
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
		l.limited = rest.Limit
		if l.sum.Until, l.sum.Account = rest.Until, rest.Account; l.unable != nil && ctx.Err() == nil {
			l.sum.Refused = append(l.sum.Refused, l.unable)
		}
		l.unable = nil
		q := l.at.Asked()
		switch {
		case q != nil && l.Ask != nil && ctx.Err() == nil:
			event := journal.Asked(q)
			text, ok := l.Ask(ctx, reprise.Question{ID: q.ID, Text: event.Text, Options: event.Options, Facts: event.Facts, Closed: event.Closed, Subject: q.Step})
			if _, err := l.hear(ctx); err != nil { // what was said elsewhere meanwhile was said first
				return err
			}
			if now := l.at.Asked(); now == nil || now.ID != q.ID {
				continue
			}
			if !ok {
				return nil
			}
			err := l.answer(ctx, q.ID, text)
			if none, is := errors.AsType[*reprise.NotOfferedError](err); is { // it stays open
				l.notice(reprise.Finding{Code: reprise.CodePendingQuestion, Severity: reprise.Warning, Subject: l.ref.ID, Message: none.Error(), Hint: none.Hint()})
				return nil
			}
			if errors.Is(err, errPostponed) {
				return nil
			} else if err != nil {
				return err
			}
			if err := l.markAnswered(ctx); err != nil {
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
	if p.Unstarted {
		l.sum.Launches--
	}
	if out.Kind == Ended || out.Kind == Resolved && core.Outcome(p.Outcome) == core.Done {
		report := StepReport{ID: p.Step, Title: p.Title, Role: out.Role, Attempt: p.Attempt, Took: p.Took, Text: p.Text, Log: p.Log, Resolved: out.Kind == Resolved}
		switch core.Outcome(p.Outcome) {
		case core.Done:
			report.Commit = p.Commit
			l.sum.Finished = append(l.sum.Finished, report)
		case core.Failed:
			l.sum.Failed = append(l.sum.Failed, report)
		case core.Passed:
			report.Reopens = true
			l.sum.Skipped = append(l.sum.Skipped, report)
		case core.Paused: // by itself, unless we are stopped
			bound := binding{name: p.Step}
			if as, err := l.assignment(p.Step, p.Step, p.Title); err == nil {
				if by, err := l.bind(as); err == nil {
					bound = by
				}
			}
			l.unable = &NotReadyError{Agent: bound.name, Reason: p.Text}
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
	if len(l.Waits) > 0 { // of the runs that do steps
		l.sum.Questions, l.sum.Action = append(l.sum.Questions, l.Waits...), reprise.Ask
	}
	for _, q := range r.PendingQuestions() {
		if last := l.hist.Step(q.Subject).LastFailure; last != nil && len(q.Facts) == 0 && q.Subject != "" {
			q.Facts = []string{"it failed last: " + last.Text}
		}
		l.sum.Questions = append(l.sum.Questions, q)
	}
	if l.sum.Action == reprise.Start && !l.sum.Until.IsZero() { // a run that does a step waits
		l.sum.Action = reprise.Wait
	}
	for i := range r.Steps {
		if s := &r.Steps[i]; !s.Status.Closed() {
			l.sum.Left = append(l.sum.Left, s.ID)
		}
	}
	l.sum.Reached = l.choice.Until != "" && (r.Step(l.choice.Until) != nil && r.Step(l.choice.Until).Status.Closed() || l.at != nil && l.at.Did(l.choice.Until))
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
	if _, err := l.hear(ctx); err != nil { // what is still in the inbox was said before
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
	if ours == nil {
		var err error
		if ours, err = l.at.Foreseen(ctx, id); err != nil {
			return err
		}
	}
	if is := ours != nil && ours.ID == id; !is && l.conv.Playbook != nil {
		return l.answerPlan(ctx, id, text)
	} else if q := l.files.Question(id); !is && q != nil && !q.Answered {
		return l.at.Say(ctx, core.Question{ID: id, Text: q.Text, Subject: q.Subject, Filed: true}, text)
	}
	err := l.answer(ctx, id, text)
	if errors.Is(err, run.ErrNotAsked) {
		return &UnknownQuestionError{Run: l.ref.ID, Question: id}
	}
	return err
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
		if step == l.choice.From || l.past == nil || l.past.OpenOf(step) == nil {
			would("%s is done again", step)
		}
	}
	for _, s := range l.landed {
		would("%s is marked as done: %s", s.Step, landedWhy)
	}
	for _, id := range l.unasked {
		q := seen.Run.Question(id)
		would("The question on %s is closed without an answer", cmp.Or(q.Subject, q.ID))
	}
	files := l.on
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
		if a.Ask != nil {
			would("A person is asked: %s", a.Ask.Text)
			continue
		}
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
	if over, err := l.previewConclusion(ctx, seen, p); over || err != nil {
		return p, err
	}
	if seen.Decision.Verdict == reprise.BlockedVerdict {
		return nil, unsafe(ref.ID, seen.Decision)
	}
	v, _, err := run.Look(ctx, l.config())
	if err != nil {
		return nil, err
	}
	p.Outcome, l.past = reprise.OutcomeOK, v.State
	if changes := l.chosen(); l.conv.Playbook != nil && len(changes) > 0 {
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
			would("%s is taken as done: %s", d.Step, cmp.Or(d.Why, "its plan says so"))
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
		would("A person is asked: %s", askedText(d))
		p.Outcome = reprise.OutcomeAsk
	case core.Rest:
		until := ""
		if !d.Until.IsZero() {
			until = d.Until.UTC().Format(" until 2006-01-02 15:04 MST")
		}
		would("nothing is started: %s%s", d.Why, until)
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

// askedText is a question in words.
func askedText(d core.AskPerson) string {
	return journal.Asked(&core.Ask{Divergence: d.Divergence, Of: d.Of}).Text
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
		p.Would = append(p.Would, "A person is asked: "+askedText(d))
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
	past := &core.Past{}
	if l.past != nil {
		past = l.past.Step(s.ID)
	}
	_, job, err := l.assignWork(ctx, run.Assignment{
		Step: s, Attempt: step.Attempt, Dir: l.Dir, Key: "RUN/STEP", Result: "RESULT", Answers: past.Answers, Failure: past.Why, Continues: past.First.Step != "", Session: past.Session,
	})
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
	if err == nil {
		as.Step = s.ID
		step.Session, err = l.sessionCost(ctx, &Attempt{Assignment: as, Number: step.Attempt, Dir: l.Dir, Session: job.Session, Message: job.Prompt, Resumes: job.Resume}, bound)
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
			all, _ := l.conv.Starts(store) // where it cannot tell, nothing is foreseen
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
		q, err := l.innerAsks(ctx, d.Step)
		if err != nil {
			return out, err
		}
		if starts(d.Step); q != nil {
			out.Starts, out.Steps, out.Asks = nil, nil, append(out.Asks, askedIn(journal.Asked(q)))
		}
	case core.AskPerson:
		ev := journal.Asked(&core.Ask{ID: v.State.AskID(d), Divergence: d.Divergence, Of: d.Of})
		out.Asks = append(out.Asks, askedIn(ev))
	case core.AdoptStep:
		if d.Commit != "" {
			out.Settled = append(out.Settled, d.Step)
		} else if l.conv.Playbook != nil {
			starts(d.Step)
		}
	case core.CloseRun:
		out.Finishes = true
	}
	return out, nil
}

// innerAsks gives the question that the run which does a step waits with, or asks next; nil for none.
func (l *listed) innerAsks(ctx context.Context, step string) (*core.Ask, error) {
	a, err := l.assignment(step, step, "")
	if err != nil || a.Child == nil || l.depth >= maxDepth {
		return nil, err
	}
	in, err := l.within(a)
	if err != nil || in.begins != nil {
		return nil, err
	}
	v, _, err := run.Look(ctx, in.config())
	if err != nil {
		return nil, err
	}
	if v.State.Asked != nil && v.State.Said == "" {
		return v.State.Asked, nil
	}
	next, _ := core.Foresee(v)
	if d, asks := next.(core.AskPerson); asks {
		return &core.Ask{ID: v.State.AskID(d), Divergence: d.Divergence, Of: d.Of}, nil
	}
	return nil, nil
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
