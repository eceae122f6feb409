package reprise

import (
	"slices"
	"time"
)

// Recall adds to a run what its journal tells and its files have no place for: how
// often each step was started and sent back, when it ended last, whether a person
// wants it done again, which stages were begun that are no steps, what a person was
// asked and said, and in which mode it was started. Events stand in the order in which
// they happened; what the files say of a question stays where no event answers it.
//
// A question without an answer makes an open run wait, a step that was started
// makes one that its files say was not begun an interrupted one, an optional step that a
// person asked for one that is complete, and a stop that was not taken back ends it;
// nothing else changes its state.
func (r *Run) Recall(events []Event) { r.recall(events, false) }

// RecallOwn is Recall for a run that was begun here with steps that no one else may
// change: everything done is in the journal before it is in the files. What the files
// alone mark done or answered is a claim, of an agent that ticks off more than its own
// step for instance: the step is not done by that and is Claimed, and the question stays
// open. A step that is being worked on, or was cut off, is not done before its end is
// on record.
func (r *Run) RecallOwn(events []Event) { r.recall(events, true) }

func (r *Run) recall(events []Event, own bool) {
	r.filed = r.State
	r.Mode, events = latestLife(events, r.Mode)
	r.recallRemoved(events)
	r.Stages = nil
	stages := map[string]bool{}
	asked := map[string]*Question{}
	var order []string
	stopped, begun, listed := false, false, false
	withdrawn := map[string]bool{}
	var limits limits
	for i := range events {
		ev := &events[i]
		limits.add(ev)
		if ev.Step != "" {
			s := r.Step(ev.Step)
			if s == nil && ev.Kind == StepStarted && !stages[ev.Step] {
				stages[ev.Step] = true
				r.Stages = append(r.Stages, ev.Step)
			}
			if s == nil {
				s = r.part(ev.Step)
			}
			if s != nil {
				s.recall(ev, i+1)
			}
		}
		switch ev.Kind {
		case StateRestored:
			// What was asked since then was taken back with the rest; what is
			// still open is asked again.
			stopped, begun = false, false
			clear(asked)
			clear(withdrawn)
			order = nil
			for i := range r.Steps {
				r.Steps[i].Again, r.Steps[i].oversteppedBy = false, ""
				r.Steps[i].restored()
			}
		case RunStarted:
			stopped, begun = false, false
		case RunResumed:
			stopped = false
		case StepStarted:
			begun, listed = true, listed || ev.Open != nil
		case RunStopped:
			stopped = ev.Outcome != "paused"
		}
		if ev.Question == "" {
			continue
		}
		q := asked[ev.Question]
		if q == nil {
			q = &Question{ID: ev.Question, Subject: ev.Step}
			asked[ev.Question] = q
			order = append(order, ev.Question)
		}
		switch ev.Kind {
		case QuestionAsked:
			*q = Question{ID: ev.Question, Subject: ev.Step, By: ev.By, Own: ev.Own, Text: ev.Text, Options: ev.Options, Closed: ev.Closed, AskedAt: ev.At}
		case QuestionAnswered:
			if !q.Takes(ev.Text) {
				break // it is no answer: the question is still open
			}
			q.Answered, q.Applied, q.Answer = true, false, ev.Text
			if s := r.Step(q.Subject); s != nil && q.Subject != "" {
				s.Rejected = 0 // a person decided
			}
		case AnswerApplied, AnswerWithdrawn:
			q.Answered, q.Applied = true, true
		case QuestionSkipped:
			q.Answered, q.Applied, q.Answer = true, true, ""
		}
		withdrawn[ev.Question] = ev.Kind == AnswerWithdrawn
	}
	if own {
		r.askAgain(asked)
	}
	r.disbelieve(own, listed)
	r.askedFor()
	for _, id := range order {
		r.recallQuestion(asked[id], withdrawn[id])
	}
	if end := limits.first(); end.After(r.Until) {
		r.Until = end
	}
	if begun && r.State == NotStarted {
		r.State = Interrupted
	}
	if stopped && r.State.Open() {
		r.State, r.Reason = Stopped, "it was stopped on purpose"
	}
}

// askedFor puts what need not be done before the rest once a person asks for it.
func (r *Run) askedFor() {
	for i := range r.Steps {
		s := &r.Steps[i]
		if !s.Optional || !s.Due() || r.State == Unreadable || !r.ready(s) {
			continue
		}
		r.Next = slices.Insert(r.Next, 0, s.Unit("a person asked for it"))
		if r.State == Complete || r.State == Waiting && len(r.PendingQuestions()) == 0 {
			r.State, r.Reason = Interrupted, s.ID+" is optional, and a person asked for it"
		}
	}
}

// Reopens reports whether a run that was ended is open again once a person continues it:
// where only the journal ended it, and in layouts whose files take that back.
func (r *Run) Reopens() bool {
	return r.State == Stopped && (r.Kind.Facts().Reopens || r.filed.Open())
}

// Holds reports whether only a person lets the run continue, and there is no question
// that they could answer: it was paused, its files say that it waits for them, or a
// session is open in its folder.
func (d Decision) Holds(r *Run) bool {
	_, answered := r.unusedAnswer()
	return d.Action == Ask && d.State == Waiting && len(r.PendingQuestions()) == 0 && len(r.Asks) == 0 && !answered && !r.spent(d.Units)
}

// latestLife leaves out what happened before a run was last started, renewed or
// archived, under its name. The mode is that in which it was last started: here, else
// as its files say, which is mode, else the one in which it was taken up first.
// Resuming it once in another one changes nothing for the next time.
func latestLife(events []Event, mode string) (string, []Event) {
	from := 0
	for i := range events {
		switch ev := &events[i]; ev.Kind {
		case RunStarted:
			mode, from = ev.Outcome, i
		case RunResumed:
			if mode == "" {
				mode = ev.Outcome
			}
		case RunRenewed:
			from = i
		case RunStopped:
			if ev.Outcome == "archived" {
				from = i
			}
		}
	}
	return mode, events[from:]
}

// LongestLimit is how long a usage limit is believed to last: weekly ones are the
// longest there are. One that seems longer was recorded by a clock that was wrong,
// and holds nothing up.
const LongestLimit = 8 * 24 * time.Hour

// limits are those that steps ran into, of steps that were not tried again since.
type limits map[string]time.Time

func (l *limits) add(ev *Event) {
	switch ev.Kind {
	case RunStarted:
		*l = nil
	case StepDeferred:
		if *l == nil {
			*l = limits{}
		}
		(*l)[ev.Step] = ev.Until
	case StepStarted, StepFinished, StepSkipped, StepFailed, StepBlocked:
		delete(*l, ev.Step)
	}
}

// first is when the first of them ends: something can be done from then on.
func (l limits) first() time.Time {
	var at time.Time
	for _, until := range l {
		if at.IsZero() || until.Before(at) {
			at = until
		}
	}
	return at
}

func (s *Step) recall(ev *Event, at int) {
	if ev.Kind == StepFinished {
		s.Ended = at
	}
	switch {
	case ev.Kind == StepStarted:
		s.Attempts, s.Ours = max(s.Attempts, ev.Attempt), true
	case ev.Kind == StepFinished && ev.Outcome == "rejected":
		s.Rejected++
	case ev.Kind == StepFinished:
		s.Rejected, s.Settled, s.Excused = 0, s.Attempts, 0
	case ev.Kind == StepDeferred, ev.Kind == StepReset && ev.Outcome == "question":
		s.Excused++
	case ev.Kind == StepReset && ev.Actor == Person:
		s.Rejected = 0
	}
	switch ev.Kind {
	case StepReset:
		s.Again = s.Again || ev.Actor == Person
	case StepFinished, StepSkipped:
		s.Again = false
	}
	switch ev.Kind {
	case StepOverstepped:
		s.oversteppedBy = ev.By
	case StepStarted, StepFinished, StepSkipped, StepReset:
		s.oversteppedBy = ""
	}
	switch {
	case ev.Kind == StepStarted:
		s.journal = underWay
	case ev.Kind == StepSkipped, ev.Kind == StepFinished && ev.Outcome != "rejected":
		s.journal = ended
	case ev.Kind == StepReset, ev.Kind == StepFailed, ev.Kind == StepBlocked, ev.Kind == StepFinished:
		s.journal = notBegun
	}
}

// recallQuestion joins a question of the journal with that of the files. An answer
// that was withdrawn stands in them still.
func (r *Run) recallQuestion(q *Question, withdrawn bool) {
	for i := range r.Questions {
		have := &r.Questions[i]
		if have.ID != q.ID {
			continue
		}
		have.Closed = have.Closed || q.Closed
		if len(have.Options) == 0 {
			have.Options = q.Options
		}
		if have.Answered && have.Answer != "" && !have.Takes(have.Answer) {
			// Words that the files keep and that say nothing.
			switch {
			case q.Answered && have.Takes(q.Answer):
				have.Answer, have.Applied = q.Answer, q.Applied
			case !have.Applied, q.Text != "" && !q.Answered:
				have.Answered, have.Applied, have.Answer = false, false, ""
			}
		}
		// The files ask still: an answer that was applied did not take it
		// away, so it is asked again.
		switch {
		case q.Answered && !q.Applied && !have.Answered && have.Takes(q.Answer):
			have.Answered, have.Answer = true, q.Answer
		case !q.Answered && !have.Answered && q.Text != "" && r.State.Open():
			r.State, r.Reason = Waiting, "it waits for an answer: "+q.Text
		}
		if have.AskedAt.IsZero() && !q.Applied {
			have.AskedAt = q.AskedAt
		}
		have.By, have.Own = q.By, q.Own
		// A step that begins again loses what shows in the files that its answer was used.
		have.Applied = have.Applied || have.Answered && (withdrawn || q.Applied && have.Answer == q.Answer)
		return
	}
	if q.Text == "" {
		return // an answer to a question that the files no longer ask
	}
	r.Questions = append(r.Questions, *q)
	if !q.Answered && r.State.Open() {
		r.State, r.Reason = Waiting, "it waits for an answer: "+q.Text
	}
}
