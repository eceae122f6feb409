package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"

	"reprise"
	"reprise/convention"
	"reprise/internal/durable"
	"reprise/internal/gitx"
	"reprise/journal"
	"reprise/project"
)

// work is one run being worked on: what is on record of it, what this process knows
// beside that, and what carries it out. Only the goroutine of its loop touches it.
type work struct {
	*Engine
	state
	Memory
	store      *durable.Store
	layout     reprise.Layout
	playbook   reprise.Playbook
	ref        reprise.Ref
	repo       *gitx.Repo // nil where the project is in no repository
	checkedOut string     // what is checked out in the project, as far as was told; "" for no branch
	choice     Choice
	again      map[string]bool // the steps that are done again by it
	sum        *Summary
	depth      int               // of a child among its parents
	within     reprise.Ref       // of a child: itself; zero for the outermost run
	cast       map[string]string // of a child: who does the work of a role, where its parent names someone else
	atWork     map[string]*Seen
	succeeded  []string     // the steps of which an attempt was seen to succeed, by its own account
	away       *reprise.Run // where its last attempt put it, complete; nil if it did not

	// onRecord is the journal as it was read; nil where the run is worked on.
	onRecord *journal.Account

	led     Ledger
	hands   Hands
	archive Archive
	// open opens another run of the project, worked on by the playbook or, without one, as
	// its files say.
	open func(ctx context.Context, ref reprise.Ref, playbook reprise.Playbook) (*work, error)
	// became is the run that this one continues as after a fresh start elsewhere; nil if
	// there was none.
	became *work
}

// state is what the files and the journal tell of a run.
type state struct {
	Recalled
	run   *reprise.Run // as it was last read, with what the journal adds to it
	files *reprise.Run // what of it the files tell; the journal's, never changed
	seen  int          // how many events run was told of
	view  *project.View
	// stamped is the time of the last event that was recorded here.
	stamped time.Time
	// behind says how the files differed from the journal when it was opened; whole is set if
	// there was nothing to say.
	behind  []reprise.Finding
	whole   bool
	renewed bool  // a fresh start that was interrupted was completed
	defined *made // what the run is made of, by what was on record when it was asked for
	// foreseen are the events of questions that resuming the run would ask. Only Answer
	// looks for them.
	foreseen []reprise.Event
}

// Recalled is what the journal of a run adds up to.
type Recalled struct {
	hist   *journal.History
	events []reprise.Event // since the run was started
	// newest is the last event as it was read, and filed is set if files were to follow it.
	newest reprise.Event
	filed  bool
	// follows are the events that complete the last group and are not on record yet.
	// leftInOrder is set while the last event is that of an engine that left in good
	// order.
	follows     []reprise.Event
	leftInOrder bool
	// renewal is a fresh start that was decided and may be incomplete.
	renewal reprise.Renewal
	// due maps questions to the finished steps that used their answers.
	due map[string]string
}

func newRecalled() *Recalled {
	return &Recalled{hist: &journal.History{}, due: map[string]string{}}
}

// Hear implements journal.Listener.
func (r *Recalled) Hear(e *journal.Entry) {
	r.remember(&e.Event)
	r.hist.Wrote(e.Files)
	r.newest, r.filed = e.Event, len(e.Files) > 0
}

// Copy implements journal.Listener.
func (r *Recalled) Copy() *Recalled {
	c := *r
	c.hist, c.events, c.due = r.hist.Copy(), slices.Clip(r.events), maps.Clone(r.due)
	return &c
}

// Memory is what only the process that works on a run knows of it, as plain data. It is
// empty after a restart, and nothing depends on it then.
type Memory struct {
	// Parked are steps that only a person can move on, and why.
	Parked map[string]string
	// Held are steps whose finished work cannot be committed. The next resume commits it;
	// nothing is started before.
	Held map[string]bool
	// LeftOpen are questions that a person saw and did not answer. PutOff are those that
	// a person put off: they are asked once nothing else is left to do.
	LeftOpen, PutOff map[string]bool
	// Denied are the keys of attempts whose verify command did not succeed: it is not run
	// again.
	Denied map[string]bool
	// Unmarked is set where git shows steps to be done that are not marked yet, because a
	// person is asked something first.
	Unmarked bool
	// NotBefore is when a limit lets a step be started.
	NotBefore map[string]time.Time
	// Last is what the last turn did, Rounds how many turns in a row only recorded.
	Last   []Op
	Rounds int
	// StuckRow is one more than the number of events at which no unit could be recorded
	// in a row.
	StuckRow int
	// LastDone is the last step that was finished and how, Times how often each was.
	LastDone string
	Times    map[string]int
	// NewSessions makes every attempt start a new session. Wanted is the agent that a
	// person wants to continue, until one is started.
	NewSessions bool
	Wanted      string
	// blind is set for one that does not foresee what its run would ask and start.
	blind bool
	// Unrecorded are commits that may hold a piece of a step, by step, as hash and
	// subject.
	Unrecorded map[string][]string
	// Past are earlier versions of lists of tasks, from the last close look.
	Past map[string][]reprise.Version
	// Air is what is known of calls without a result.
	Air Air
	// Uncommitted is what attempts left uncommitted.
	Uncommitted []Uncommitted
	// Unasked are the steps of a question that a person skips instead of answering it.
	Unasked []string
	// Waits are the questions that child runs were left with.
	Waits []Waiting
}

func newMemory() Memory {
	return Memory{
		Parked: map[string]string{}, Held: map[string]bool{}, LeftOpen: map[string]bool{}, PutOff: map[string]bool{}, Denied: map[string]bool{},
		NotBefore: map[string]time.Time{}, Times: map[string]int{},
	}
}

// open prepares to work on a run of a project that is leased: it reads the journal and
// brings the files up to it. Without a playbook, the files say how the run is worked on.
func (e *Engine) open(ctx context.Context, store *durable.Store, ref reprise.Ref, playbook reprise.Playbook) (*work, error) {
	l := convention.Find(ref.Layout)
	if l == nil {
		return nil, fmt.Errorf("work on %s: no convention is called %q", ref.ID, ref.Layout)
	}
	w := e.newWork(store, ref, playbook, l)
	w.led = &journaled{store: store, layout: l, ref: ref, inbox: e.inbox()}
	hands := newLocal(w)
	if w.hands, w.archive = hands, hands; e.Hands != nil {
		w.hands = e.Hands(ref, hands)
	}
	w.open = func(ctx context.Context, ref reprise.Ref, playbook reprise.Playbook) (*work, error) {
		return w.Engine.open(ctx, store, ref, playbook)
	}
	if e.folders != nil {
		e.folders.keeps(ref.Path)
	}
	find := func() (reprise.Playbook, error) { return playbook, nil }
	if playbook == nil {
		find = e.playbookAhead(store, ref)
	}
	caught := w.catchUp(ctx)
	if caught == nil {
		caught = w.putBack(ctx)
	}
	// Only now: the journal may have been ahead of the files that say how it is worked
	// on.
	playbook, err := find()
	if caught != nil {
		return nil, caught
	}
	if err != nil {
		return nil, err
	}
	w.playbook = playbook
	w.setRun(w.files)
	if err := w.openRepo(ctx); err != nil {
		return nil, err
	}
	if lock := store.LockFile(); lock != nil && w.repo != nil {
		// A git that outlives us keeps the lease until it is done.
		w.repo.Inherit(lock)
	}
	w.commitLast(ctx)
	return w, w.follow(ctx)
}

// openRepo opens the project's repository. Where there is none, there is no git, or it is
// refused, only the state is worked on. Where git gives no answer nobody can tell, and that
// is an error.
func (w *work) openRepo(ctx context.Context) error {
	open := w.Repo
	if open == nil || w.onRecord == nil {
		open = func() (*gitx.Repo, error) { return gitx.Open(ctx, w.Dir, gitx.Options{Environ: w.Environ}) }
	}
	repo, err := open()
	var refused *gitx.RefusedError
	switch {
	case err == nil, gitx.Absent(err):
	case !errors.As(err, &refused):
		return err
	default:
		w.notice(reprise.Finding{Code: reprise.CodeGitUnavailable, Severity: reprise.Warning, Subject: w.ref.ID, Message: "git cannot be used here: " + err.Error()})
	}
	w.repo, w.sum.StateOnly = repo, repo == nil
	if repo != nil {
		w.checkedOut = repo.Current()
	}
	return nil
}

func (e *Engine) newWork(store *durable.Store, ref reprise.Ref, playbook reprise.Playbook, l reprise.Layout) *work {
	return &work{
		Engine: e, store: store, layout: l, playbook: playbook, ref: ref, atWork: map[string]*Seen{}, sum: &Summary{Run: ref, Started: e.Now()},
		state: state{Recalled: *newRecalled()}, Memory: newMemory(),
	}
}

// catchUp opens the journal, brings the layout's files up to it and folds it.
func (w *work) catchUp(ctx context.Context) error {
	j, findings, run, err := w.openJournal(ctx)
	// A run that was only begun has no files yet. An error because we are being stopped,
	// or because the disk refuses, says nothing about them.
	if err != nil && w.gone() && w.newest.Kind != reprise.RunStarted && ctx.Err() == nil && w.store.Poisoned() == nil {
		return &GoneError{Run: w.ref.ID, Path: w.ref.Path}
	}
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(findings, func(f reprise.Finding) bool { return f.Code == reprise.CodeStateGone && f.Severity == reprise.Blocking }); i >= 0 {
		return &GoneError{Run: w.ref.ID, Path: findings[i].Source.File}
	}
	w.led = &journaled{j, w.store, w.layout, w.ref, w.inbox(), w.hands.CommitRecord}
	w.files = run
	w.whole = len(findings) == 0
	return w.takeBehind(ctx, findings)
}

// openJournal opens the journal and remembers what it tells.
func (w *work) openJournal(ctx context.Context) (j *journal.Journal, findings []reprise.Finding, run *reprise.Run, err error) {
	var on *Recalled
	if w.Kept == nil {
		on = newRecalled()
		j, err = journal.Open(w.store, w.layout, w.ref, on.Hear)
	} else {
		j, on, err = w.Kept.Open(w.store, w.layout, w.ref, newRecalled)
	}
	if on != nil {
		w.Recalled = *on
	}
	if err == nil {
		j.Still(w.Still)
		findings, run, err = j.Resume(ctx)
	}
	return j, findings, run, err
}

// takeBehind deals with how the files differed from the journal when it was opened.
func (w *work) takeBehind(ctx context.Context, findings []reprise.Finding) error {
	last := w.newest
	for _, f := range findings {
		w.mustRead()
		if w.renewal.Open() && w.gone() {
			continue // what it tells of is in the archive
		}
		// After a crash at the moment an agent wrote the same file, the last event may
		// not have reached it. After an engine that left in good order nothing is on its
		// way: then the file was changed on purpose.
		closed := last.Kind == reprise.RunStopped
		if s := w.files.Step(last.Step); s != nil && last.Kind == reprise.StepStarted {
			closed = s.Status.Closed() // the agent wrote that itself, later
		}
		if f.Code == reprise.CodeMovedOn && w.filed && !closed && !w.gone() {
			if err := projectTo(ctx, w.led.Files(), w.layout, w.ref, last); err != nil {
				return err
			}
			continue
		}
		w.behind = append(w.behind, f)
		w.notice(f)
	}
	return nil
}

// load reads the run as it is on disk now.
func (w *work) load() error {
	if w.away != nil {
		w.setRun(w.away)
		return nil
	}
	run, err := w.led.Current()
	if err != nil {
		return fmt.Errorf("load %s: %w", w.ref.ID, err)
	}
	return w.takeOver(run)
}

// loaded is load for a run that was opened just now: it is not read again, unless that
// changed something.
func (w *work) loaded() error {
	if !w.whole || w.seen != w.hist.Events {
		return w.load()
	}
	return w.takeOver(w.files)
}

// mustRead gives the run that was opened just now, before it is known how it is worked on.
func (w *work) mustRead() {
	if w.run == nil {
		w.setRun(w.files)
	}
}

// takeOver makes what was read the run that is worked on.
func (w *work) takeOver(run *reprise.Run) error {
	if w.renewal.Open() && w.gone() {
		return &betweenError{w.ref.ID}
	}
	if w.hist.Events > 0 && w.gone() {
		return &GoneError{Run: w.ref.ID, Path: w.ref.Path}
	}
	// An agent may have removed a file; what is left is not the run.
	switch name, err := w.led.Gone(); {
	case err != nil:
		return fmt.Errorf("load %s: %w", w.ref.ID, err)
	case name != "":
		return &GoneError{Run: w.ref.ID, Path: name}
	}
	if run != w.files || w.seen != w.hist.Events {
		w.setRun(run)
	}
	return nil
}

// setRun takes over what the files say and adds what the journal knows. It leaves out
// limits: they close an account, and other units may still be started.
func (w *work) setRun(files *reprise.Run) {
	atWork := map[string]reprise.Assignment{}
	for id, f := range w.atWork {
		atWork[id] = f.Assignment
	}
	w.view = project.NewView(context.Background(), project.Record{Run: files, Events: w.events, History: w.hist, Own: w.own()}, project.Scope{
		Dir: w.Dir, Files: w.led.Files(), Past: w.Past, Observed: reprise.Observed{Now: w.Now()}, Choice: w.choice, AtWork: atWork, Parked: w.Parked, Playbook: w.playbook,
	})
	w.files, w.run, w.seen = files, w.view.Run, w.hist.Events
	w.run.Until = time.Time{}
	w.view.Decision = w.decide()
}

// assign is what a unit needs. A run around this one can name another role for it; what
// is to be done stays that of its own role.
func (w *work) assign(u reprise.Unit) (reprise.Assignment, error) {
	a, err := w.playbook.Assign(w.led.Files(), w.run, u)
	if a.Step == "" {
		a.Step = u.ID
	}
	if role := w.cast[a.Role]; role != "" {
		a.Role = role
	}
	return a, err
}

// gone reports whether the files of the run are missing.
func (w *work) gone() bool {
	_, err := fs.Stat(w.led.Files(), w.ref.Path)
	return errors.Is(err, fs.ErrNotExist)
}

// remember adds an event to what the journal is known to say.
func (r *Recalled) remember(ev *reprise.Event) {
	r.hist.Add(ev)
	r.remembered(ev)
	r.followed(ev)
	if ev.Kind == reprise.RunStarted {
		r.events = nil
		return
	}
	r.events = append(r.events, *ev)
}

// record makes an event durable, first in the journal and then in the layout's
// files. If the process dies in between, the next one brings the files up to it.
func (w *work) record(ctx context.Context, ev reprise.Event) error {
	ev.At = w.timeOf(ev)
	if ev.Attempt > 0 || ev.Kind == reprise.StepReset && ev.Actor == person {
		ev.Measure = project.Measure(w.led.Files(), w.run)
	}
	if ev.Key == "" && w.inCommit(&ev) {
		ev.Key = w.keyOf(ev.Step, ev.Attempt)
	}
	// The end of an attempt is found again after a crash. What a person says is not, so that is
	// committed once the journal has it.
	if ev.Attempt > 0 {
		w.hands.CommitRecord(ctx, &ev)
	}
	put := func() error { return w.led.Record(ctx, ev) }
	if w.away != nil { // its files say it already
		put = func() error { return w.led.Note(ev) }
	}
	own := journal.Touch{Path: w.ref.Path}
	is := func(e reprise.Expected) bool { return e.Path == own.Path && e.Changed }
	compares := slices.ContainsFunc(ev.Expect, is) || w.hist.Compares(is)
	if compares {
		own.Before, _ = w.hash(own.Path)
	}
	if err := put(); err != nil {
		return err
	}
	w.remember(&ev)
	if compares {
		own.After, _ = w.hash(own.Path)
		w.hist.Wrote([]journal.Touch{own})
	}
	return nil
}

// timeOf is the time that an event is recorded with. Times on record never run backwards,
// whatever the clock says: an event older than what is on record would not count. They do
// not run ahead of the clock either, except by a second after an event that something
// else recorded, so that every ledger can tell the two apart.
func (w *work) timeOf(ev reprise.Event) time.Time {
	w.stamped = w.timeAfter(ev.At)
	return w.stamped
}

// timeAfter is the time that an event would be recorded with now.
func (w *work) timeAfter(at time.Time) time.Time {
	now := w.Now()
	if at.IsZero() {
		at = now
	}
	last := w.stamped
	if w.run != nil && w.run.LastActivity.After(last) && w.run.LastActivity.Year() < 9000 {
		last = w.run.LastActivity
	}
	switch {
	case at.After(last):
	case now.After(last):
		at = now
	case last.Equal(w.stamped):
		at = last.Add(time.Millisecond)
	default:
		at = last.Add(time.Second)
	}
	return at
}

// decide decides from the files alone: git and the process table were looked at before
// the run was resumed, and the journal knows what happened since.
func (w *work) decide() reprise.Decision {
	return reprise.Next(w.run, reprise.Observed{Now: w.Now()}, reprise.Policy{Choice: w.choice})
}

func (w *work) notice(f reprise.Finding) {
	w.sum.Findings = append(w.sum.Findings, f)
	w.tell(Progress{Kind: Noticed, Text: f.Message, Outcome: f.Code})
}

// tell reports progress.
func (w *work) tell(p Progress) {
	if w.Tell == nil {
		return
	}
	p.Run = w.ref.ID
	if p.At.IsZero() {
		p.At = w.Now()
	}
	if w.run != nil {
		pr := w.run.Progress()
		p.Done, p.Total, p.Skipped = pr.Done, pr.Total, pr.Skipped
		// What an attempt wrote about itself does not count before it is accepted.
		if s := w.run.Step(p.Step); p.Kind == Ended && p.Outcome != counts && s != nil && s.Status.Closed() {
			p.Done--
		}
	}
	if p.Kind == Working {
		p.State = w.run
	}
	w.Tell(p)
}

// parallel is how many steps may be at work at once.
func (w *work) parallel() int {
	if w.Parallel > 0 {
		return w.Parallel
	}
	if own, ok := w.playbook.(interface{ Parallel() int }); ok && own.Parallel() > 0 {
		return own.Parallel()
	}
	return max(1, w.Settings.Parallel)
}

// absolute is the path of a project file on this machine.
func (w *work) absolute(name string) string {
	if name == "" || name == "." {
		return w.Dir
	}
	return w.Dir + string(os.PathSeparator) + name
}
