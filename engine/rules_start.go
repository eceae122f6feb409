package engine

import (
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/project"
)

// startInARow records units that need no agent without a turn for each.
func startInARow(v *View) []Op {
	if !v.Alone || v.Stopping || len(v.AtWork) > 0 || v.Choice.Until != "" || v.Decision.Action != reprise.Start || v.Decision.Verdict == reprise.BlockedVerdict {
		return nil
	}
	return []Op{{Row: true}}
}

// startNext starts the first unit that may be started. It starts one in a turn, because
// each start changes what else may be.
func startNext(v *View) []Op {
	if v.Stopping || v.Reached || len(v.Held) > 0 {
		return nil
	}
	over := v.Spending.over() != nil
	for i := range v.Offers {
		o := &v.Offers[i]
		switch {
		case o.Problem != nil:
			return []Op{{Refuse: o}}
		case o.Never != "":
			return []Op{{Park: o}}
		case o.From.After(v.Now):
			continue
		case over && spends(o.Assignment):
			continue
		}
		return []Op{{Start: &o.Assignment}}
	}
	return nil
}

// wake is the earliest time at which something that waits may be started, zero if nothing
// waits for a time.
func (v *View) wake() (at time.Time) {
	for _, o := range v.Offers {
		if o.From.After(v.Now) && (at.IsZero() || o.From.Before(at)) {
			at = o.From
		}
	}
	return at
}

// next gives the units that come next. pick chooses among those that may be started while
// the busy steps are at work or wait. ok is false where the decision does not start any.
func (v *View) next(pick func(busy []string) []reprise.Unit) (units []reprise.Unit, ok bool) {
	d := v.Decision
	if slices.ContainsFunc(v.Run.PendingQuestions(), func(q reprise.Question) bool { return strings.HasPrefix(q.ID, project.ChangedPrefix) }) {
		return nil, false
	}
	if len(v.Run.Owed) > 0 {
		return v.Run.Owed, true
	}
	if d.Verdict == reprise.BlockedVerdict {
		return nil, false
	}
	if r := v.Run.Resume; d.Action == reprise.Start && v.Choice.Means().Agent && r != nil && len(d.Units) == 1 && d.Units[0].ID == r.Plan {
		return d.Units, true // whatever else waits for a person
	}
	var busy []string
	for id := range v.AtWork {
		busy = append(busy, id)
	}
	slices.Sort(busy)
	if d.Action != reprise.Start && len(busy) == 0 {
		if busy = v.beside(); len(busy) == 0 {
			return nil, false
		}
	}
	units = pick(busy)
	units = append(units, v.retryable(units)...)
	if until := v.Choice.Until; until != "" && v.blocked(until) {
		units = slices.DeleteFunc(units, func(u reprise.Unit) bool { return !v.listedBefore(u.ID, until) })
	}
	return units, true
}

// listedBefore reports whether a step is known to be listed before another. While the step
// that a person named as the last waits for an answer, only those are started.
func (v *View) listedBefore(step, other string) bool {
	at := func(id string) int {
		return slices.IndexFunc(v.Run.Steps, func(s reprise.Step) bool { return s.ID == id })
	}
	return at(step) >= 0 && at(step) < at(other)
}

// beside lists the steps that wait for a person where other steps can be done meanwhile.
// It is empty where a person can be asked at once and did not put it off.
func (v *View) beside() []string {
	for _, q := range v.Run.PendingQuestions() {
		if v.Askable && !v.LeftOpen[q.ID] && !v.PutOff[q.ID] {
			return nil
		}
	}
	return v.Decision.Waits
}

// blocked reports whether a step must not be started before a person answers: it waits
// for an answer, or its files and the journal disagree about it.
func (v *View) blocked(step string) bool {
	waits := slices.ContainsFunc(v.Run.PendingQuestions(), func(q reprise.Question) bool { return q.Subject == step || q.By == step })
	return waits || slices.ContainsFunc(v.Doubts, func(d project.Doubt) bool {
		return slices.ContainsFunc(d.Ends, func(end reprise.Event) bool { return end.Step == step })
	})
}

// retryable lists failed steps that may be tried again and that the files do not offer.
func (v *View) retryable(offered []reprise.Unit) []reprise.Unit {
	var out []reprise.Unit
	for i := range v.Run.Steps {
		s := &v.Run.Steps[i]
		if s.Status != reprise.Failed || v.History.Step(s.ID).LastFailure == nil {
			continue
		}
		_, busy := v.AtWork[s.ID]
		if busy || !v.Run.Ready(s) || slices.ContainsFunc(offered, func(u reprise.Unit) bool { return u.ID == s.ID }) {
			continue
		}
		out = append(out, s.Unit("failed before and may be tried again"))
	}
	return out
}
