package project

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"reprise"
	"reprise/examine"
)

// foresee adds what resuming the run would ask, or why it would be refused, according to
// the engine, and reports whether that changes the decision. Of a run that is blocked only
// the questions are told: they stand, whatever is in the way.
func (v *View) foresee(ctx context.Context, ask func(context.Context, reprise.Ref) (Foreseen, error)) (seen Foreseen, changed bool) {
	r, d := v.Run, v.Decision
	_, answered := r.UnusedAnswer()
	blocked := d.Verdict == reprise.BlockedVerdict
	resumes := d.Action == reprise.Start || d.Action == reprise.Wait || d.Action == reprise.Ask && (len(r.Asks)+len(d.Waits) > 0 || answered)
	if resumes = resumes || blocked && d.Action == reprise.Refuse && d.Outcome() != reprise.OutcomeHeld; ask == nil || !resumes {
		return seen, false
	}
	seen, err := ask(ctx, r.Ref)
	if blocked {
		if err == nil {
			changed = len(seen.Asks)+len(r.Asks) > 0
			r.Asks = seen.Asks
		}
		return Foreseen{}, changed
	}
	if err != nil {
		again := "fix that first; `reprise check " + reprise.Pasted(r.ID, "RUN") + "` looks again"
		r.Report(reprise.Finding{
			Code: reprise.CodeUnreadable, Severity: reprise.Blocking, Subject: r.ID, Source: reprise.Source{File: r.Path},
			Message: "nothing can be started: " + err.Error(), Hint: cmp.Or(reprise.HintOf(err), again),
		})
		return seen, true
	}
	v.Stops = seen.Stops || seen.Holds && answered && d.Action == reprise.Start
	changed = len(seen.Asks)+len(r.Asks) > 0 || v.Stops // what is no longer asked changes it too
	r.Asks = seen.Asks
	if v.Stops {
		r.State, r.Reason = reprise.Stopped, "an answer ends it: resuming it records that and starts nothing"
	}
	return seen, changed
}

// Foreseen is what resuming a run does before anything it starts has ended: the questions
// it asks, the units it starts and the steps that these are recorded as, the steps whose
// attempts were cut off and that it does not do again, whether it ends the run on purpose
// instead, whether it then waits for a person without a question, and whether nothing is left
// to do then.
type Foreseen struct {
	Asks                   []reprise.Asked
	Starts                 []reprise.Unit
	Steps, Settled         []string
	Stops, Holds, Finishes bool
}

// startsAt moves the resume point to what the engine starts, if a recorded answer settles
// what is in the way, if something was cut off, or if the point was finished and the files
// lost that, or only the files call it done, and it is settled without repeating it.
func (v *View) startsAt(seen Foreseen, p reprise.Policy) {
	d := &v.Decision
	_, answered := v.Run.UnusedAnswer()
	decides := d.Action == reprise.Ask || d.Action == reprise.Start
	pointed := d.Point != nil && slices.ContainsFunc(seen.Starts, func(u reprise.Unit) bool { return u.ID == d.Point.ID })
	if answered && decides && !(pointed && d.Action == reprise.Start) && !v.Run.Paused && len(seen.Asks) == 0 && (len(seen.Starts) > 0 || seen.Finishes) {
		v.Decision = d.Settled(v.Run, v.Observed, p, seen.Starts)
		v.continuesWith(v.Decision.Point)
		return
	}
	if !decides || d.Point == nil || len(seen.Starts) == 0 && !slices.Contains(seen.Settled, d.Point.ID) {
		return
	}
	if len(v.History.Open()) == 0 {
		s := v.Run.Step(d.Point.ID)
		if claimed := s != nil && s.Claimed; pointed || d.Action == reprise.Ask || !claimed && v.Reopened(s) == nil {
			return
		}
	}
	was, units := d.Units, slices.Clone(seen.Starts)
	for i := range units {
		if at := slices.IndexFunc(was, func(u reprise.Unit) bool { return u.ID == units[i].ID }); at >= 0 {
			units[i] = was[at]
		} else {
			units[i].Reason = "what comes before it is settled and not done again"
		}
	}
	at := slices.Index(d.Reasons, d.Point.Reason)
	if d.Units, d.Point = units, nil; len(units) > 0 {
		d.Point = &units[0]
	}
	switch {
	case at < 0:
	case d.Point == nil || d.Point.Reason == "":
		d.Reasons = slices.Delete(d.Reasons, at, at+1)
	default:
		d.Reasons[at] = d.Point.Reason
	}
	v.continuesWith(d.Point)
}

// shownLeft is how many files that an attempt may have left are named.
const shownLeft = 3

// tellCutOff adds to the reasons which attempts have no end on record, what becomes of them,
// and what git does not hold yet. Where a person is asked, the question says it.
func (v *View) tellCutOff(seen Foreseen, world *examine.World) {
	r, d := v.Run, &v.Decision
	if !d.State.Open() || d.State == reprise.Running {
		return
	}
	for _, open := range slices.Backward(v.History.Open()) {
		asks := slices.ContainsFunc(r.Asks, func(q reprise.Asked) bool { return q.Subject == open.Step })
		asks = asks || slices.ContainsFunc(r.Questions, func(q reprise.Question) bool { return q.Subject == open.Step && !q.Applied })
		if asks || v.History.Step(open.Step).Held != nil {
			continue
		}
		says := open.Unended()
		switch {
		case slices.Contains(seen.Settled, open.Step):
			says += "; it is not done again"
		case slices.Contains(seen.Steps, open.Step):
			changed := world.Uncommitted(r)
			if len(changed) > 0 {
				says += "; it is continued on what is there"
			} else {
				says += "; it is begun again"
			}
			for _, c := range changed[:min(shownLeft, len(changed))] {
				says += "; " + c.Says()
			}
			if more := len(changed) - shownLeft; more > 0 {
				says += fmt.Sprintf("; %d more files are not committed", more)
			}
		}
		d.Reasons = slices.Insert(slices.Clone(d.Reasons), min(1, len(d.Reasons)), says)
	}
}

// continuesWith makes the option to continue name what is started, if it named another unit
// that the files offer.
func (v *View) continuesWith(point *reprise.Unit) {
	v.Run.Options = slices.Clone(v.Run.Options)
	for i, o := range v.Run.Options {
		names := func(u reprise.Unit) bool { return u.ID != point.ID && strings.Contains(o.Label+" ", " "+u.ID+" ") }
		if point != nil && o.Key == reprise.OptionContinue && slices.ContainsFunc(v.Run.Next, names) {
			v.Run.Options[i] = reprise.ContinueWith(*point)
		}
	}
}
