package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"reprise"
	"reprise/core"
	"reprise/internal/durable"
	"reprise/journal"
	"reprise/project"
)

// work is one run being worked on: what is on record of it, what this process knows beside that,
// and what carries it out.
type work struct {
	*Engine
	state
	store    *durable.Store
	layout   reprise.Layout
	playbook reprise.Playbook
	ref      reprise.Ref
	choice   Choice
	again    map[string]bool // the steps that are done again by it
	sum      *Summary
	depth    int               // of a child among its parents
	cast     map[string]string // of a child: who does the work of a role, where its parent names someone else
	on       reprise.Store     // its files: those of the store, or as a preview has them
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
	Air  Air
	// Waits are the questions that the runs which do its steps were left with.
	Waits []reprise.Question
	told  map[string]bool // what is told only once
}

// state is what the files and the journal tell of a run.
type state struct {
	recalled
	run   *reprise.Run // as it was last read, with what the journal adds to it
	files *reprise.Run // what of it the files tell; the journal's, never changed
	seen  int          // how many events run was told of
	view  *project.View
}

// recalled is what the journal of a run adds up to.
type recalled struct {
	hist   *journal.History
	events []reprise.Event // since the run was started
	// due maps questions to the finished steps that used their answers.
	due map[string]string
}

// learn takes an entry over.
func (r *recalled) learn(e *journal.Entry) {
	ev := &e.Event
	r.hist.Add(ev)
	r.hist.Wrote(e.Files)
	switch ev.Kind {
	case reprise.RunStarted:
		r.events = nil
		clear(r.due)
		return
	case reprise.StateRestored:
		clear(r.due)
	case reprise.StepFinished:
		for _, id := range ev.Answers {
			r.due[id] = ev.Step
		}
	case reprise.AnswerApplied:
		delete(r.due, ev.Question)
	}
	r.events = append(r.events, *ev)
}

func (e *Engine) newWork(store *durable.Store, ref reprise.Ref, playbook reprise.Playbook, l reprise.Layout) *work {
	return &work{
		Engine: e, store: store, on: store, layout: l, playbook: playbook, ref: ref, sum: &Summary{Run: ref, Started: e.Now()},
		state: state{recalled: recalled{hist: &journal.History{}, due: map[string]string{}}}, told: map[string]bool{},
	}
}

// load reads the run as it is on disk now.
func (w *work) load() error {
	run, err := reprise.Load(w.layout, w.on, w.ref)
	if err != nil {
		return fmt.Errorf("load %s: %w", w.ref.ID, err)
	}
	if w.hist.Events > 0 && w.gone() {
		return &GoneError{Run: w.ref.ID, Path: w.ref.Path}
	}
	if run != w.files || w.seen != w.hist.Events {
		w.setRun(run)
	}
	return nil
}

// setRun takes over what the files say and adds what the journal knows. It leaves out
// limits: they close an account, and other units may still be started.
func (w *work) setRun(files *reprise.Run) {
	w.view = project.NewView(context.Background(), project.Record{Run: files, Events: w.events, History: w.hist}, project.Scope{
		Dir: w.Dir, Files: w.on, Past: w.Past, Observed: reprise.Observed{Now: w.Now()}, Choice: w.choice, Playbook: w.playbook,
	})
	w.files, w.run, w.seen = files, w.view.Run, w.hist.Events
	w.run.Until = time.Time{}
	w.view.Decision = w.decide()
}

// assign is what a unit needs. A run around this one can name another role for it; what
// is to be done stays that of its own role.
func (w *work) assign(u reprise.Unit) (reprise.Assignment, error) {
	a, err := w.playbook.Assign(w.on, w.run, u)
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
	_, err := fs.Stat(w.on, w.ref.Path)
	return errors.Is(err, fs.ErrNotExist)
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
		if s := w.run.Step(p.Step); p.Kind == Ended && core.Outcome(p.Outcome) != core.Done && s != nil && s.Status.Closed() {
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
