package reprise

import "slices"

// Outcome is the result of looking at a run or working on it. It alone determines the
// exit code.
type Outcome uint8

// The outcomes.
const (
	OutcomeOK         Outcome = iota // safe to resume, or everything requested is done
	OutcomeFailed                    // steps failed for good
	OutcomeNothing                   // there is nothing to resume
	OutcomeCaution                   // look first: it can be resumed, or is marked complete
	OutcomeBlocked                   // something must be resolved first
	OutcomeAsk                       // a person must answer first
	OutcomeHeld                      // a live process is working on it, or on something else in its project
	OutcomeUnreadable                // its files do not say where it stands
	OutcomeWait                      // for a time or a limit
)

// Outcome summarizes the decision.
func (d Decision) Outcome() Outcome {
	switch {
	case d.Action == Repair || d.State == Unreadable:
		return OutcomeUnreadable
	case d.held():
		return OutcomeHeld
	case d.Action == Finish && !d.Contested():
		return OutcomeNothing
	case d.Verdict == BlockedVerdict:
		return OutcomeBlocked
	case d.Action == Ask && d.State == Stopped:
		return OutcomeNothing // a person ended it, and there is no question
	case d.Action == Ask:
		return OutcomeAsk
	case d.Action == Wait:
		return OutcomeWait
	case d.Verdict == Caution:
		return OutcomeCaution
	}
	return OutcomeOK
}

// held reports whether nothing is started because someone is at work.
func (d Decision) held() bool { return d.Action == Refuse && (d.State == Running || d.Busy) }

// Stuck tells what a person does to a run of which nothing can be started, chosen or answered
// until its files are changed, and where they say so: the first open step, "" if none is, or what
// else a warning is about. ok is false for any other run.
func (d Decision) Stuck(r *Run) (step string, at Source, ok bool) {
	if d.Action != Ask || len(d.Options(r))+len(r.PendingQuestions())+len(r.Asks) > 0 {
		return "", at, false
	}
	at.File = r.Path
	for i := range r.Steps {
		if s := &r.Steps[i]; s.Due() && s.Source.File != "" {
			return s.ID, s.Source, true
		}
	}
	for _, f := range r.Findings {
		if f.Severity >= Warning && f.Source.Line > 0 {
			return "", f.Source, true
		}
	}
	return "", at, true
}

// Contested reports whether the run is marked complete although something contradicts
// that.
func (d Decision) Contested() bool {
	return d.Action == Finish && (d.Verdict == Caution || d.Verdict == BlockedVerdict)
}

// worst lists the outcomes of looking at runs, worst first.
var worst = []Outcome{OutcomeUnreadable, OutcomeBlocked, OutcomeHeld, OutcomeAsk, OutcomeWait, OutcomeCaution, OutcomeOK, OutcomeNothing}

// Worse returns the worse of two outcomes of looking at runs.
func (o Outcome) Worse(other Outcome) Outcome {
	if slices.Index(worst, other) < slices.Index(worst, o) {
		return other
	}
	return o
}

// Detected returns how a run was interrupted, from its files alone.
func (r *Run) Detected(s ResumeState) Outcome {
	switch {
	case r.State == Unreadable:
		return OutcomeUnreadable
	case !s.Interrupted:
		return OutcomeNothing
	case len(r.PendingQuestions()) > 0 && r.State == Waiting:
		return OutcomeAsk
	}
	return OutcomeOK
}

// ComesAfter reports whether a step comes after another: it needs it or, if no step of
// the run has needs, it is listed later.
func (r *Run) ComesAfter(step, other string) bool {
	at := func(id string) int { return slices.IndexFunc(r.Steps, func(s Step) bool { return s.ID == id }) }
	if !slices.ContainsFunc(r.Steps, func(s Step) bool { return len(s.Needs) > 0 }) {
		return at(step) > at(other)
	}
	seen := map[string]bool{}
	for todo := []string{step}; len(todo) > 0; todo = todo[1:] {
		s := r.Step(todo[0])
		if s == nil || seen[s.ID] {
			continue
		}
		seen[s.ID] = true
		if slices.Contains(s.Needs, other) {
			return true
		}
		todo = append(todo, s.Needs...)
	}
	return false
}

// Latest returns the index of the most recently updated run that belongs here and that no
// live process works on and no person holds, or -1. Unknown and future times do not
// count.
func Latest(runs []*Run, decisions map[*Run]Decision, o Observed) int {
	best := -1
	for i, r := range runs {
		_, _, known := r.Age(o.Now)
		away := slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Code == CodeElsewhere || f.Code == CodeHandedOver })
		if decisions[r].State == Running || decisions[r].Holds(r) || !known || away {
			continue
		}
		if best < 0 || r.LastActivity.After(runs[best].LastActivity) {
			best = i
		}
	}
	return best
}

// Independent reports whether something can be started that needs none of the pending
// answers.
func (d Decision) Independent() bool {
	return len(d.Waits) > 0 && slices.ContainsFunc(d.Units, func(u Unit) bool { return !slices.Contains(d.Waits, u.ID) })
}

// From returns the decision after a person chose to restart at a step, "" for none. The
// step becomes the resume point if it comes before the current one.
func (d Decision) From(r *Run, step string) Decision {
	d.Action = Start
	s := r.Step(step)
	if s == nil {
		return d
	}
	if d.Point != nil {
		first := slices.IndexFunc(r.Steps, func(o Step) bool { return o.ID == step || o.ID == d.Point.ID || o.ID == d.Point.Phase })
		if first >= 0 && r.Steps[first].ID != step {
			return d
		}
	}
	d.Units = []Unit{s.Unit("")}
	d.Point = &d.Units[0]
	return d
}
