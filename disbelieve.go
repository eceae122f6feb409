package reprise

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// standing is the state of a step according to the journal alone.
type standing uint8

const (
	notBegun standing = iota
	underWay          // started, with no end on record
	ended             // finished or skipped
)

// restored records that the files are in an earlier state again, so that a step that was
// once finished may be finished again.
func (s *Step) restored() {
	if s.Ended > 0 {
		s.journal = ended
	}
}

// CutOff reports whether a step has an attempt with no recorded end while no one works on
// the run.
func (r *Run) CutOff() bool {
	return (r.State == Interrupted || r.State == Waiting) && slices.ContainsFunc(r.Steps, func(s Step) bool { return s.journal == underWay })
}

// recallRemoved adds the steps that attempts deleted from the files and that are not listed
// again: those that a person left out as skipped, the others until a person decides.
func (r *Run) recallRemoved(events []Event) {
	var removed []*Event
	out := map[string]bool{}
	for i := range events {
		switch ev := &events[i]; {
		case ev.Kind == StepOverstepped && ev.Listed != nil:
			removed = append(removed, ev)
			out[ev.Step] = false
		case ev.Kind == StepSkipped:
			out[ev.Step] = true
		case ev.Kind == StepFinished:
			removed = slices.DeleteFunc(removed, func(o *Event) bool { return o.Step == ev.Step })
		case ev.Kind == StateRestored:
			removed = nil
			for d := range ev.Doubts {
				if ev.Doubts[d].Listed != nil {
					removed, out[ev.Doubts[d].Step] = append(removed, &ev.Doubts[d]), false
				}
			}
		}
	}
	for _, ev := range removed {
		if r.Step(ev.Step) != nil {
			continue
		}
		at := Source{File: r.declares(ev.Listed)}
		s := Step{ID: ev.Step, Title: ev.Listed.Title, Path: r.Path, Status: Skipped, Source: at}
		if !out[ev.Step] {
			s.Status, s.Removed = Unknown, ev.Listed
		}
		if r.Steps = append(r.Steps, s); out[ev.Step] {
			continue
		}
		r.Report(Finding{
			Code: CodeStepsChanged, Severity: Warning, Subject: ev.Step, Source: at,
			Message: ev.Step + " was open and is no longer listed: it was removed " + SinceAttempt(ev.By),
			Hint:    "`reprise resume` asks whether to put it back, or does what you answered; nothing is complete before that is settled",
		})
		if r.State == Complete {
			r.State, r.Reason = Interrupted, ev.Step+" was removed and not done"
		}
	}
}

// declares returns the file that a removed step belongs in: the copy of the one that it stood
// in that counts now.
func (r *Run) declares(l *Listed) string {
	in := cmp.Or(l.In, r.Path)
	for i := range r.Steps {
		if now := r.Steps[i].Source.File; strings.HasSuffix("/"+now, "/"+in) || strings.HasSuffix("/"+in, "/"+now) {
			return now
		}
	}
	return in
}

// doubt takes what an attempt with another job marked.
func (s *Step) doubt(ev *Event) {
	if ev.Says != nil {
		s.said, s.overrun = ev.Says, ev.By != ev.Step
	} else {
		s.oversteppedBy = ev.By
	}
}

// Doubts gives the events that put steps in doubt and that nothing has settled since.
func Doubts(events []Event) (out []Event) {
	for i := range events {
		ev := &events[i]
		switch ev.Kind {
		case RunStarted, RunRenewed:
			out = nil
		case StateRestored:
			out = slices.Clone(ev.Doubts)
		case StepOverstepped:
			if ev.Step != "" {
				out = append(out, *ev)
			}
		case StepStarted, StepFinished, StepSkipped:
			out = slices.DeleteFunc(out, func(d Event) bool { return d.Step == ev.Step })
		case StepReset:
			out = slices.DeleteFunc(out, func(d Event) bool { return d.Step == ev.Step && d.Says == nil })
		}
	}
	return out
}

// SinceAttempt says when something was changed that an attempt was not there to change. That
// is all that is known: it may have been the attempt, a person, an editor or git.
func SinceAttempt(by string) string { return "since the attempt at " + by + " began" }

// askAgain reopens questions that only the files call answered.
func (r *Run) askAgain(asked map[string]*Question) {
	for i := range r.Questions {
		have := &r.Questions[i]
		if s := r.Step(cmp.Or(have.By, have.Subject)); s != nil && s.journal == ended {
			continue // skipped or done, and its question with it
		}
		if q := asked[have.ID]; have.Answered && q != nil && q.Text != "" && !q.Answered {
			have.Answered, have.Applied, have.Answer = false, false, ""
		}
	}
}

// toldAnswers are the answers that attempts were told, by the step: one counts as used once
// the step has ended, whatever the attempt wrote about it before.
type toldAnswers map[string]string

func (t toldAnswers) add(ev *Event) {
	switch ev.Kind {
	case StepStarted:
		for _, id := range ev.Answers {
			t[id] = ev.Step
		}
	case StepFinished, StepSkipped:
		maps.DeleteFunc(t, func(_, step string) bool { return step == ev.Step })
	case AnswerApplied, AnswerWithdrawn, QuestionSkipped:
		delete(t, ev.Question)
	case RunStarted, StateRestored:
		clear(t)
	}
}

// unused takes back what only the files say of the use of these answers.
func (t toldAnswers) unused(r *Run) {
	for i := range r.Questions {
		if q := &r.Questions[i]; q.Answered && q.Answer != "" && t[q.ID] != "" {
			q.Applied = false
		}
	}
}

// disbelieve downgrades to a claim what only the files call done. In our own runs that is
// everything without a recorded end; elsewhere whatever is at work or was cut off, since
// its agent may write that at any time, what an attempt at another step marked done, and
// what is left of the words of an attempt at the step that was not accepted.
func (r *Run) disbelieve(own bool) {
	doubts := false
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.oversteppedBy != "" && s.Optional && s.journal != ended {
			doubts = true
			r.excused(s)
		}
		if r.unaccepted(s) {
			doubts = true
			continue
		}
		doubted := own || s.oversteppedBy != "" || s.journal == underWay
		if !s.Status.Closed() || s.journal == ended || !doubted {
			continue
		}
		doubts = true
		is, why := s.Status.String(), "it was started, and no end of it is on record"
		if s.journal == underWay {
			s.filed, s.Status = s.Status, InProgress
		} else {
			why = "nothing here did it"
			s.Status, s.Claimed = Unknown, true
			message := s.ID + " is marked " + is + " in the files of the run, but its journal, which records all the work, has no end of it"
			if s.oversteppedBy != "" {
				message = s.ID + " is marked " + is + ", but not by an attempt at it: that was written " + SinceAttempt(s.oversteppedBy)
			}
			r.Report(Finding{
				Code: CodeUnrecordedEnd, Severity: Warning, Subject: s.ID, Source: s.Said(), Message: message,
				Hint: "look whether its work is there; `reprise resume` asks before anything builds on it",
			})
		}
		r.opens(s, why, s.ID+" is marked "+is+": "+why)
	}
	if doubts { // what comes once all steps are done does not come yet
		r.Next = slices.DeleteFunc(r.Next, func(u Unit) bool {
			s := r.Step(u.ID)
			return s == nil && r.part(u.ID) == nil || s != nil && !r.ready(s)
		})
	}
}

// unaccepted reports whether the files still say of a step, or of the run, what an attempt
// at the step wrote that was not accepted, and opens the step. What anyone wrote there
// since then is believed.
func (r *Run) unaccepted(s *Step) bool {
	if s.said == nil || s.journal == ended {
		return false
	}
	says := s.Says(r.filed)
	// A reset that a person asked for may have reworded it.
	closed := says.Status.Closed() && says.Status == s.said.Status && (s.Again || s.said.Word == "" || says.Word == s.said.Word)
	if over := !s.overrun && says.State == Stopped && s.said.State == Stopped; !closed && !over {
		return false
	}
	if s.overrun {
		r.openAfter(s)
		return true
	}
	const why = "its last attempt was not accepted"
	message := s.ID + " is open, and the run is not over: its last attempt, which was not accepted, wrote that it is"
	if closed {
		s.filed, s.Status = s.Status, InProgress
		message = s.ID + " is marked done, but its last attempt, which was not accepted, marked it"
	}
	r.Report(Finding{
		Code: CodeUnrecordedEnd, Severity: Warning, Subject: s.ID, Source: s.Said(), Message: message,
		Hint: "`reprise resume` does it; `reprise resume " + Pasted(r.ID, "RUN") + " --skip " + Pasted(s.ID, "STEP") + "` leaves it out",
	})
	r.opens(s, why, s.ID+" is open: "+why)
	return true
}

// openAfter opens a step that an attempt at one before it marked done with its own. It comes
// when all before it are closed.
func (r *Run) openAfter(s *Step) {
	const why = "it was not begun: an attempt at a step before it, which was not accepted, marked it done"
	s.Status = Pending
	if first := slices.IndexFunc(r.Steps, func(p Step) bool { return p.Due() || p.ID == s.ID }); r.Steps[first].ID != s.ID {
		r.reopens(s.ID + " is open: " + why)
		return
	}
	r.Report(Finding{
		Code: CodeUnrecordedEnd, Severity: Warning, Subject: s.ID, Source: s.Said(),
		Message: s.ID + " is marked done, but " + why,
		Hint:    "`reprise resume` does it; `reprise resume " + Pasted(r.ID, "RUN") + " --skip " + Pasted(s.ID, "STEP") + "` leaves it out",
	})
	r.opens(s, why, s.ID+" is open: "+why)
}

// passed believes what the files say of the steps before one that has ended: a phase may be
// left out.
func (r *Run) passed(s *Step) {
	at := slices.IndexFunc(r.Steps, func(p Step) bool { return p.ID == s.ID })
	for i := range max(at, 0) {
		if p := &r.Steps[i]; p.overrun && s.journal == ended {
			p.said = nil
		}
	}
}

// Unaccepted reports whether only an attempt at the step that was not accepted says that
// it is done.
func (s *Step) Unaccepted() bool { return s.said != nil && s.filed.Closed() && !s.Status.Closed() }

// Says returns what the files say of the step, in a run that they give this state.
func (s *Step) Says(state State) Says {
	says := Says{Status: s.Status, State: state}
	for _, c := range s.Claims {
		if c.Won {
			says.Word = c.Word
		}
	}
	return says
}

// excused makes a step required again that an attempt at another one marked optional.
func (r *Run) excused(s *Step) {
	s.Optional = false
	if s.Status.Closed() {
		return
	}
	why := "it was marked optional " + SinceAttempt(s.oversteppedBy)
	r.Report(Finding{
		Code: CodeStepsChanged, Severity: Warning, Subject: s.ID, Source: s.Said(),
		Message: s.ID + " had to be done: " + why,
		Hint:    "`reprise resume` does it; `reprise resume " + Pasted(r.ID, "RUN") + " --skip " + Pasted(s.ID, "STEP") + "` leaves it out",
	})
	r.opens(s, why, s.ID+" is open: "+why)
}

// opens offers a step that is not done although the files say that it needs no work. What
// they say of the end of the run was written with that.
func (r *Run) opens(s *Step, why, reason string) {
	if !slices.ContainsFunc(r.Next, func(n Unit) bool { return n.ID == s.ID }) && r.ready(s) {
		u := s.Unit(why)
		u.Path = cmp.Or(u.Path, r.Path)
		r.Next = append(r.Next, u)
	}
	r.reopens(reason)
}

// reopens takes back that the run is over.
func (r *Run) reopens(reason string) {
	if r.State == Complete || r.State == Stopped {
		r.State, r.Reason = Interrupted, reason
		r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool { return f.Code == CodeClosedOpen && f.Subject == r.ID })
	}
}

// AsFiled returns the run as its files have it with regard to a step whose attempt ends
// now. For everything else that step is open, and the run is not over, until its end is
// recorded.
func (r *Run) AsFiled(id string) *Run {
	s := r.Step(id)
	closed, owed := s != nil && s.filed.Closed(), slices.ContainsFunc(r.Owed, func(u Unit) bool { return u.ID == id })
	if !closed && !owed {
		return r
	}
	r = r.Clone()
	if closed {
		s = r.Step(id)
		s.Status = s.filed
	}
	if owed && (r.filed == Complete || r.filed == Stopped) {
		r.State, r.Owed = r.filed, nil
	}
	return r
}

// Said returns the place where the files state the status of the step.
func (s *Step) Said() Source {
	for _, c := range s.Claims {
		if c.Won {
			return c.Source
		}
	}
	return s.Source
}

// Overstep adds, as unrecorded events, the changes to other steps made by an attempt with
// no recorded end.
func (r *Run) Overstep(events []Event) {
	r.recallRemoved(events)
	for i := range events {
		if s := r.Step(events[i].Step); s != nil && (events[i].Says != nil || events[i].Listed == nil) {
			s.doubt(&events[i])
		}
	}
	r.disbelieve(false)
}
