package reprise

import "slices"

// Outcome is what looking at a run, or working on it, came to. Exit codes follow from
// it and from nothing else.
type Outcome uint8

// The outcomes.
const (
	OutcomeOK         Outcome = iota // safe to resume, or all that was asked for is done
	OutcomeFailed                    // steps failed for good
	OutcomeNothing                   // there is nothing to resume
	OutcomeCaution                   // something is to be looked at first: it can be resumed, or is marked complete
	OutcomeBlocked                   // something must be resolved first
	OutcomeAsk                       // a person must say something first
	OutcomeHeld                      // a living process works on it
	OutcomeUnreadable                // its files do not tell where it stands
	OutcomeWait                      // for a time or a limit
)

// Outcome gives the decision in one word.
func (d Decision) Outcome() Outcome {
	switch {
	case d.Action == Repair || d.State == Unreadable:
		return OutcomeUnreadable
	case d.Action == Refuse && d.State == Running:
		return OutcomeHeld
	case d.Action == Finish && !d.Contested():
		return OutcomeNothing
	case d.Verdict == BlockedVerdict:
		return OutcomeBlocked
	case d.Action == Ask && d.State == Stopped:
		return OutcomeNothing // a person ended it, and nothing is asked
	case d.Action == Ask:
		return OutcomeAsk
	case d.Action == Wait:
		return OutcomeWait
	case d.Verdict == Caution:
		return OutcomeCaution
	}
	return OutcomeOK
}

// Contested reports whether the run is marked complete and something speaks against that.
func (d Decision) Contested() bool { return d.Action == Finish && d.Verdict == Caution }

// worst orders the outcomes of looking, the worst first.
var worst = []Outcome{OutcomeUnreadable, OutcomeBlocked, OutcomeHeld, OutcomeAsk, OutcomeWait, OutcomeCaution, OutcomeOK, OutcomeNothing}

// Worse gives the worse of two outcomes of looking at runs.
func (o Outcome) Worse(other Outcome) Outcome {
	if slices.Index(worst, other) < slices.Index(worst, o) {
		return other
	}
	return o
}

// Detected gives in one word how a run was interrupted, from its files alone.
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

// ComesAfter reports whether a step of the run comes after another: it needs it or,
// where no step of the run needs any, stands behind it.
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

// Latest gives the index of the run that was updated last, of those that no living
// process works on, no person holds and that belong here; -1 if there is none. A time
// that is not known, or is still to come, does not count.
func Latest(runs []*Run, decisions map[*Run]Decision, o Observed) int {
	best := -1
	for i, r := range runs {
		_, _, known := r.Age(o.Now)
		away := slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Code == CodeElsewhere })
		if decisions[r].State == Running || decisions[r].Holds(r) || !known || away {
			continue
		}
		if best < 0 || r.LastActivity.After(runs[best].LastActivity) {
			best = i
		}
	}
	return best
}

// Independent reports whether something can be started that needs none of the answers
// that the run waits for.
func (d Decision) Independent() bool {
	return len(d.Waits) > 0 && slices.ContainsFunc(d.Units, func(u Unit) bool { return !slices.Contains(d.Waits, u.ID) })
}

// From is the decision once a person chose to begin again at a step, "" for none: it is
// started, and the step is the resume point where it comes before the one there was.
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
