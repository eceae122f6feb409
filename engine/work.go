package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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

// work is one run being worked on. Only the goroutine of its loop touches it;
// attempts report through landed.
type work struct {
	*Engine
	store  *durable.Store
	layout reprise.Layout
	book   reprise.Playbook
	ref    reprise.Ref
	led    Ledger
	hands  Hands
	hist   *journal.History
	repo   *gitx.Repo // nil where the project is in no repository

	run    *reprise.Run // as it was last read, with what the journal adds to it
	files  *reprise.Run // what of it the files tell; the journal's, never changed
	seen   int          // how many events run was told of
	view   *project.View
	atWork map[string]*attempt
	ends   chan ending
	notes  chan note
	// parked are steps that nothing more can be done about in this process,
	// and why.
	parked map[string]string
	// held are steps whose work is whole and cannot be committed: whoever goes on
	// commits it, and nothing is started before.
	held map[string]bool
	// leftOpen are questions that a person saw in this process and left open.
	leftOpen map[string]bool
	// putOff are questions that are asked once nothing else is left to do: a person
	// who could have answered them said to go on.
	putOff map[string]bool
	// denied are attempts, by their keys, that a command of the person's own does
	// not call done: it is not asked again.
	denied map[string]bool
	choice Choice
	sum    *Summary
	// told are the events since the run was started.
	told []reprise.Event
	// behind tells how the files stood to the journal when it was opened.
	behind []reprise.Finding
	// lastDue is what the playbook wanted recorded last, rounds how often in a row.
	lastDue string
	rounds  int
	// stuckRow tells, as one more than the number of events then, that no unit could be
	// recorded in a row.
	stuckRow int
	// notBefore is when a limit lets a step be started.
	notBefore map[string]time.Time
	// lastDone is the last step that was finished and how, times how often
	// each was.
	lastDone string
	times    map[string]int
	// follows are events that the last one said would follow and that are not
	// on record yet; orderly is set while the last one is that of somebody who
	// left in good order.
	follows []reprise.Event
	orderly bool
	// renewal is a fresh start that was decided and may not be carried to its
	// end; renewed is set once one that was cut off has been.
	renewal reprise.Renewal
	renewed bool
	defined *made // what the run is made of, by what was on record when it was asked for
	// due are answers that a finished step used, by question, with the step.
	due map[string]string
	// unaccepted is set where steps that git shows are not marked yet: a person is
	// asked first.
	unaccepted bool
	// newSessions lets no attempt go on with a session of before.
	newSessions bool
	// wanted is the agent that a person wants to go on, until one is started.
	wanted string
	// unrecorded are commits that may hold a piece of a step, by step, as hash and
	// subject.
	unrecorded map[string][]string
	// uncommitted is what attempts left that no commit held then.
	uncommitted []uncommitted
	// unasked are the steps of the group that a person leaves out in place of an answer.
	unasked []string
	// stamped is when the last event counts as having happened that was recorded
	// here.
	stamped time.Time
	depth   int               // of a child among its parents
	cast    map[string]string // of a child: who does the work of a role, where its parent names somebody else
}

// open prepares to work on a run whose project is taken: its journal is read,
// its files are brought up to it. Without a playbook it is worked on as its files
// say.
func (e *Engine) open(ctx context.Context, store *durable.Store, ref reprise.Ref, book reprise.Playbook) (*work, error) {
	l := convention.Find(ref.Layout)
	if l == nil {
		return nil, fmt.Errorf("work on %s: no layout is called %q", ref.ID, ref.Layout)
	}
	w := e.newWork(store, ref, book, l)
	w.led, w.hands = &journaled{nil, store, l, ref}, &local{w}
	if e.folders != nil {
		e.folders.keeps(ref.Path)
	}
	find := func() (reprise.Playbook, error) { return book, nil }
	if book == nil {
		find = e.bookAhead(store, ref)
	}
	caught := w.catchUp(ctx)
	if caught == nil {
		caught = w.putBack(ctx)
	}
	// Only now: what the files say of how it is worked on may have been on its way
	// to them.
	book, err := find()
	if caught != nil {
		return nil, caught
	}
	if err != nil {
		return nil, err
	}
	w.book = book
	repo, err := gitx.Open(ctx, e.Dir, gitx.Options{Environ: e.Environ})
	switch {
	case err == nil:
		w.repo = repo
		if lock := store.LockFile(); lock != nil {
			// A git that outlives us keeps others away until it is done.
			repo.Inherit(lock)
		}
	case !errors.Is(err, gitx.ErrNone) && !errors.Is(err, gitx.ErrNoGit):
		w.notice(reprise.Finding{Code: reprise.CodeGitUnavailable, Severity: reprise.Warning, Subject: ref.ID, Message: "git cannot be used here: " + err.Error()})
	}
	w.sum.StateOnly = w.repo == nil
	return w, w.follow(ctx)
}

func (e *Engine) newWork(store *durable.Store, ref reprise.Ref, book reprise.Playbook, l reprise.Layout) *work {
	return &work{
		Engine: e, store: store, layout: l, book: book, ref: ref, hist: &journal.History{},
		atWork: map[string]*attempt{}, ends: make(chan ending, 64), notes: make(chan note), parked: map[string]string{}, held: map[string]bool{}, leftOpen: map[string]bool{}, putOff: map[string]bool{}, denied: map[string]bool{}, due: map[string]string{}, times: map[string]int{}, notBefore: map[string]time.Time{},
		sum: &Summary{Run: ref, Started: e.Now()},
	}
}

// catchUp opens the journal, brings the layout's files up to it and folds it.
func (w *work) catchUp(ctx context.Context) error {
	var last reprise.Event
	told := false
	j, findings, run, err := journal.OpenRun(ctx, w.store, w.layout, w.ref, func(e *journal.Entry) {
		w.remember(&e.Event)
		last, told = e.Event, len(e.Files) > 0
	})
	// A run that was only begun has no files yet; and being stopped, or a disk that
	// refuses, says nothing about them.
	if err != nil && w.gone() && last.Kind != reprise.RunStarted && ctx.Err() == nil && w.store.Poisoned() == nil {
		return &GoneError{Run: w.ref.ID, Path: w.ref.Path}
	}
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(findings, func(f reprise.Finding) bool { return f.Code == reprise.CodeStateGone && f.Severity == reprise.Blocking }); i >= 0 {
		return &GoneError{Run: w.ref.ID, Path: findings[i].Source.File}
	}
	w.led = &journaled{j, w.store, w.layout, w.ref}
	w.standOn(run)
	return w.takeBehind(ctx, findings, last, told)
}

// takeBehind takes in how the files stood to the journal when it was opened. last is
// its last event, told whether files were to follow it.
func (w *work) takeBehind(ctx context.Context, findings []reprise.Finding, last reprise.Event, told bool) error {
	for _, f := range findings {
		if w.renewal.Open() && w.gone() {
			continue // what it tells of is in the archive
		}
		// After a crash in the very moment in which an agent wrote the same
		// file, the last event may not have reached it. One that left in good
		// order has nothing on its way: then the file was changed on purpose.
		closed := last.Kind == reprise.RunStopped
		if s := w.run.Step(last.Step); s != nil && last.Kind == reprise.StepStarted {
			closed = s.Status.Closed() // the agent wrote that itself, later
		}
		if f.Code == reprise.CodeMovedOn && told && !closed && !w.gone() {
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

// load reads the run as it is on disk now. Files that are as they were are not
// read again.
func (w *work) load() error {
	run, err := w.led.Current()
	if err != nil {
		return fmt.Errorf("load %s: %w", w.ref.ID, err)
	}
	if w.renewal.Open() && w.gone() {
		return &betweenError{w.ref.ID}
	}
	if w.hist.Events > 0 && w.gone() {
		return &GoneError{Run: w.ref.ID, Path: w.ref.Path}
	}
	// An agent may have taken it away: what is left is not the run any more.
	switch name, err := w.led.Gone(); {
	case err != nil:
		return fmt.Errorf("load %s: %w", w.ref.ID, err)
	case name != "":
		return &GoneError{Run: w.ref.ID, Path: name}
	}
	if run != w.files || w.seen != w.hist.Events {
		w.standOn(run)
	}
	return nil
}

// standOn goes on from what the files tell and the journal adds to it. Limits are left
// out: they close an account, and what else may be started is not for the run to say.
func (w *work) standOn(files *reprise.Run) {
	atWork := map[string]reprise.Assignment{}
	for id, f := range w.atWork {
		atWork[id] = f.a
	}
	w.view = project.NewView(context.Background(), project.Record{Run: files, Events: w.told, History: w.hist, Own: w.own()}, project.Scope{
		Dir: w.Dir, Files: w.led.Files(), Observed: reprise.Observed{Now: w.Now()}, Choice: w.choice, AtWork: atWork, Parked: w.parked, Playbook: w.book,
	})
	w.files, w.run, w.seen = files, w.view.Run, w.hist.Events
	w.run.Until = time.Time{}
	w.view.Decision = w.decide()
}

// assign is what one unit needs, done by whom the run around this one names for it.
// What is to be done stays that of the role.
func (w *work) assign(u reprise.Unit) (reprise.Assignment, error) {
	a, err := w.book.Assign(w.led.Files(), w.run, u)
	if a.Step == "" {
		a.Step = u.ID
	}
	if role := w.cast[a.Role]; role != "" {
		a.Role = role
	}
	return a, err
}

// gone reports whether nothing is where the run's files should be.
func (w *work) gone() bool {
	_, err := fs.Stat(w.led.Files(), w.ref.Path)
	return errors.Is(err, fs.ErrNotExist)
}

// remember keeps what an event tells beside what the files say.
func (w *work) remember(ev *reprise.Event) {
	w.hist.Add(ev)
	w.remembered(ev)
	w.followed(ev)
	if ev.Kind == reprise.RunStarted {
		w.told = nil
		return
	}
	w.told = append(w.told, *ev)
}

// record makes an event durable, first in the journal and then in the layout's
// files. If the process dies in between, the next one brings the files up to it.
func (w *work) record(ctx context.Context, ev reprise.Event) error {
	ev.At = w.timeOf(ev)
	if ev.Attempt > 0 || ev.Kind == reprise.StepReset && ev.Actor == person {
		ev.Measure = project.Measure(w.led.Files(), w.run)
	}
	if err := w.led.Record(ctx, ev); err != nil {
		return err
	}
	w.remember(&ev)
	return nil
}

// timeOf is when an event counts as having happened. Time does not run backwards in
// a ledger, whatever the clock says: an event that seems older than what is on
// record would not count. It does not run ahead either: what was overtaken, by a file
// say that was made since the event was taken down, happened by now; and only what
// somebody else recorded is passed by a second, which every ledger can tell apart.
func (w *work) timeOf(ev reprise.Event) time.Time {
	at, now := ev.At, w.Now()
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
	w.stamped = at
	return at
}

// decide asks for the next step from the files alone: what git and the process
// table say was weighed before the run was taken up, and the journal knows what
// happened since.
func (w *work) decide() reprise.Decision {
	return reprise.Next(w.run, reprise.Observed{Now: w.Now()}, reprise.Policy{Choice: w.choice})
}

func (w *work) notice(f reprise.Finding) {
	w.sum.Findings = append(w.sum.Findings, f)
	w.tell(Progress{Kind: Noticed, Text: f.Message, Outcome: f.Code})
}

// tell passes on what happens.
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
		p.Done, p.Total = pr.Done, pr.Total
		// What an attempt that is not accepted wrote about itself does not count.
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
	if own, ok := w.book.(interface{ Parallel() int }); ok && own.Parallel() > 0 {
		return own.Parallel()
	}
	return max(1, w.Settings.Parallel)
}

// absolute gives the place of a project path on this machine.
func (w *work) absolute(name string) string {
	if name == "" || name == "." {
		return w.Dir
	}
	return w.Dir + string(os.PathSeparator) + name
}
