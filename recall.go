package reprise

import (
	"slices"
	"strings"
	"time"
)

// Recall adds to a run what its journal records and its files cannot express: how often
// each step was started and sent back, when it last ended, whether a person wants it
// repeated, which stages were begun that are not steps, what a person was asked and
// answered, and in which mode the run was started. Events are in chronological order.
// What the files say about a question stands unless an event answers it.
//
// The run's state changes only in these cases: an unanswered question makes an open run
// wait; a started step makes a run interrupted that its files call not started, as does
// an optional step requested in a complete run; and a stop that was not taken back ends
// it.
func (r *Run) Recall(events []Event) { r.recall(events, false) }

// RecallOwn is Recall for a run begun here whose steps no one else may change: everything
// done is in the journal before it is in the files. What only the files mark done or
// answered is a claim, for example by an agent that ticks off more than its own step.
// Such a step is Claimed and not done, and such a question stays open. A step that is
// being worked on, or was cut off, is not done until its end is recorded.
func (r *Run) RecallOwn(events []Event) { r.recall(events, true) }

func (r *Run) recall(events []Event, own bool) {
	r.filed = r.State
	if r.State == Waiting && len(r.PendingQuestions()) == 0 {
		r.held = r.Reason
	}
	r.Mode, events = latestLife(events, r.Mode)
	r.recallRemoved(events)
	r.Stages = nil
	stages := map[string]bool{}
	asked := map[string]*Question{}
	var order []string
	stopped, begun := false, false
	withdrawn := map[string]bool{}
	told := toldAnswers{}
	var limits limits
	for i := range events {
		ev := &events[i]
		limits.add(ev)
		told.add(ev)
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
				r.passed(s)
			}
		}
		switch ev.Kind {
		case StateRestored:
			// Questions asked since then were taken back with the rest; open ones are
			// asked again.
			stopped, begun = false, false
			clear(asked)
			clear(withdrawn)
			order = nil
			for i := range r.Steps {
				r.Steps[i].letGo()
				r.Steps[i].restored()
			}
			for d := range ev.Doubts {
				if s := r.StepOrPart(ev.Doubts[d].Step); s != nil {
					s.doubt(&ev.Doubts[d])
					s.journal = notBegun // it was in doubt then, whatever ended it since
				}
			}
		case RunStarted:
			stopped, begun = false, false
		case RunResumed:
			stopped = false
		case StepStarted:
			begun = true
		case RunStopped:
			stopped = ev.Outcome != "paused"
		case EngineLeft:
			if ev.Outcome != HandedOver {
				break
			}
			// It goes on elsewhere: how that ended what was open here, the files alone say
			// once they are merged.
			own = own && i < len(events)-1
			clear(asked)
			order = nil
			for i := range r.Steps {
				if r.Steps[i].letGo(); r.Steps[i].journal == underWay {
					r.Steps[i].journal = notBegun
				}
			}
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
			*q = Question{ID: ev.Question, Subject: ev.Step, By: ev.By, About: ev.About, Own: ev.Own, Text: ev.Text, Options: ev.Options, Facts: ev.Facts, Closed: ev.Closed, AskedAt: ev.At}
		case QuestionAnswered:
			if !q.Takes(ev.Text) {
				break // not an answer: the question stays open
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
	r.disbelieve(own)
	r.leftOut()
	r.askedFor()
	for _, id := range order {
		r.recallQuestion(asked[id], withdrawn[id])
	}
	told.unused(r)
	if first := limits.first(); first.Until.After(r.Until) {
		r.Until, r.Limit, r.Awaited = first.Until, first.Text, first.Outcome
	}
	if begun && r.State == NotStarted {
		r.State = Interrupted
	}
	if stopped && r.State.Open() {
		r.State, r.Reason = Stopped, "it was stopped on purpose"
	}
}

// leftOut tells the steps that a person left out from those that were done, where the files have
// no word for it: one closes all steps, or a file does by being there.
func (r *Run) leftOut() {
	f := r.Kind.Facts()
	for i := range r.Steps {
		s := &r.Steps[i]
		there := slices.ContainsFunc(s.Claims, func(c Claim) bool { return c.Won && c.Source.Line == 0 })
		if s.Status == Done && s.leftOut && (there || f.Phased && !f.Stories) {
			s.Status = Skipped
		}
	}
}

// askedFor moves optional steps that a person asked for ahead of the rest.
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

// Reopens reports whether an ended run opens again when a person continues it: if only
// the journal ended it, or if its layout's files can undo the end.
func (r *Run) Reopens() bool {
	return r.State == Stopped && (r.Kind.Facts().Reopens || r.filed.Open())
}

// Holds reports whether only a person can let the run continue and there is no question
// to answer: it was paused, its files say that it waits for them, or a session is open in
// its folder.
func (d Decision) Holds(r *Run) bool {
	_, answered := r.UnusedAnswer()
	return d.Action == Ask && d.State == Waiting && (r.Paused || len(r.PendingQuestions()) == 0 && len(r.Asks) == 0 && !answered && !r.spent(d.Units))
}

// latestLife drops the events before a run was last started, renewed or archived under
// its name; an earlier state that was restored since brings back the life it is of. The mode is the one it was last started in here, else the one its files
// state, which is mode, else the one in which it was first resumed here. Resuming once in
// another mode does not change the next.
func latestLife(events []Event, mode string) (string, []Event) {
	lives := []int{0}
	for i := range events {
		switch ev := &events[i]; ev.Kind {
		case RunStarted:
			mode, lives = ev.Outcome, append(lives, i)
		case RunResumed:
			if mode == "" {
				mode = ev.Outcome
			}
		case RunRenewed:
			lives = append(lives, i)
		case RunStopped:
			if ev.Outcome == "archived" {
				lives = append(lives, i)
			}
		case StateRestored: // nothing is left of what was archived, so it is of the time before that
			for n := len(lives) - 1; n > 0 && (events[lives[n]].Kind == RunStopped || !ev.Until.IsZero() && !events[lives[n]].At.Before(ev.Until)); n-- {
				lives = lives[:n]
			}
		}
	}
	return mode, events[lives[len(lives)-1]:]
}

// LongestLimit is the longest a usage limit is believed to last; the longest known are
// weekly. Anything longer was recorded with a wrong clock and is ignored.
const LongestLimit = 8 * 24 * time.Hour

// limits are the limits that steps ran into and that have not been retried since, by
// step.
type limits map[string]Event

func (l *limits) add(ev *Event) {
	switch ev.Kind {
	case RunStarted:
		*l = nil
	case RunResumed:
		if ev.Cause == LimitLifted {
			*l = nil
		}
	case StepDeferred:
		if *l == nil {
			*l = limits{}
		}
		(*l)[ev.Step] = *ev
	case StepStarted, StepFinished, StepSkipped, StepFailed, StepBlocked:
		delete(*l, ev.Step)
	}
}

// first returns when the first of them expires, so that something can be done.
func (l limits) first() (first Event) {
	for _, ev := range l {
		if first.Until.IsZero() || ev.Until.Before(first.Until) || ev.Until.Equal(first.Until) && ev.Step < first.Step {
			first = ev
		}
	}
	return first
}

func (s *Step) recall(ev *Event, at int) {
	switch ev.Kind {
	case StepStarted, StepFinished, StepSkipped, StepReset:
		s.leftOut = ev.Kind == StepSkipped
	}
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
	case StepStarted:
		s.tried = true
	case StepReset:
		s.Again = s.Again || ev.Actor == Person
	case StepFinished, StepSkipped:
		s.Again, s.tried = false, false
	}
	switch {
	case ev.Kind == StepOverstepped:
		if s.doubt(ev); s.overrun && ev.Says != nil {
			s.journal = notBegun // in a loop it may have ended in an earlier round
		}
	case ev.Kind == StepStarted, ev.Kind == StepFinished, ev.Kind == StepSkipped:
		s.oversteppedBy, s.said = "", nil
	case ev.Kind == StepReset:
		s.oversteppedBy = ""
	}
	switch {
	case ev.Kind == StepStarted:
		s.journal = underWay
	case ev.Kind == StepSkipped, ev.Kind == StepFinished && ev.Outcome != "rejected":
		s.journal = ended
	case ev.Kind == QuestionAnswered && s.Status == Skipped && strings.HasPrefix(sameWords(ev.Text), ActionSkip):
		s.journal = ended // the answer is what the files were told
	case ev.Kind == StepReset, ev.Kind == StepFailed, ev.Kind == StepBlocked, ev.Kind == StepFinished:
		s.journal = notBegun
	}
}

// letGo forgets what the journal says of attempts at a step beside how they ended: the files
// alone say what came of them.
func (s *Step) letGo() {
	s.Again, s.oversteppedBy, s.said, s.overrun, s.tried, s.leftOut = false, "", nil, false, false, false
}

// recallQuestion merges a question from the journal with that of the files. The files
// still contain an answer that was withdrawn.
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
			// The files contain words that say nothing.
			switch {
			case q.Answered && have.Takes(q.Answer):
				have.Answer, have.Applied = q.Answer, q.Applied
			case !have.Applied, q.Text != "" && !q.Answered:
				have.Answered, have.Applied, have.Answer = false, false, ""
			}
		}
		// The files still ask although an answer was applied, so it is asked again.
		switch {
		case q.Answered && !q.Applied && !have.Answered && have.Takes(q.Answer):
			have.Answered, have.Answer = true, q.Answer
		case !q.Answered && !have.Answered && q.Text != "" && r.State.Open():
			r.waitFor(q)
		}
		if have.AskedAt.IsZero() && !q.Applied {
			have.AskedAt = q.AskedAt
		}
		have.By, have.About, have.Own = q.By, q.About, q.Own
		// A restarted step loses the traces in the files that its answer was used.
		have.Applied = have.Applied || have.Answered && (withdrawn || q.Applied && have.Answer == q.Answer)
		if have.UseUntold && q.Answered && have.Answer == q.Answer {
			have.Applied = q.Applied || withdrawn
		}
		return
	}
	if q.Text == "" {
		return // an answer to a question that the files no longer ask
	}
	r.Questions = append(r.Questions, *q)
	if !q.Answered && r.State.Open() {
		r.waitFor(q)
	}
}

// waitFor makes the run wait for an answer. A pause is still named first.
func (r *Run) waitFor(q *Question) {
	if r.State = Waiting; !r.Paused {
		r.Reason = "it waits for an answer: " + q.Text
	}
}
