package project

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"reprise"
)

// foresee adds what resuming the run would ask, or why it would be refused, according to
// the engine, and reports whether that changes the decision.
func (v *View) foresee(ctx context.Context, ask func(context.Context, reprise.Ref, []reprise.Event) (Foreseen, error)) (seen Foreseen, changed bool) {
	r, d := v.Run, v.Decision
	_, answered := r.UnusedAnswer()
	resumes := d.Action == reprise.Start || d.Action == reprise.Wait || d.Action == reprise.Ask && (len(r.Asks) > 0 || answered)
	if ask == nil || !resumes || d.Verdict == reprise.BlockedVerdict {
		return seen, false
	}
	seen, err := ask(ctx, r.Ref, v.Unrecorded)
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
// it asks, the steps it starts, whether it ends the run on purpose instead, whether it then
// waits for a person without a question, and whether nothing is left to do then.
type Foreseen struct {
	Asks                   []reprise.Asked
	Starts                 []reprise.Unit
	Stops, Holds, Finishes bool
}

// startsAt moves the resume point to what the engine starts, if a recorded answer settles
// what is in the way, if something was cut off, or if the point was finished and the files
// lost that, or only the files call it done, and it is settled without repeating it.
func (v *View) startsAt(seen Foreseen, p reprise.Policy) {
	d := &v.Decision
	_, answered := v.Run.UnusedAnswer()
	pointed := d.Action == reprise.Start && d.Point != nil && slices.ContainsFunc(seen.Starts, func(u reprise.Unit) bool { return u.ID == d.Point.ID })
	if decides := d.Action == reprise.Ask || d.Action == reprise.Start; answered && decides && !pointed && !v.Run.Paused && len(seen.Asks) == 0 && (len(seen.Starts) > 0 || seen.Finishes) {
		v.Decision = d.Settled(v.Run, v.Observed, p, seen.Starts)
		v.continuesWith(v.Decision.Point)
		return
	}
	if d.Action != reprise.Start || d.Point == nil || len(seen.Starts) == 0 ||
		slices.ContainsFunc(seen.Starts, func(u reprise.Unit) bool { return u.ID == d.Point.ID }) {
		return
	}
	s := v.Run.Step(d.Point.ID)
	if claimed := s != nil && s.Claimed; !claimed && len(v.History.Open()) == 0 && v.Reopened(s) == nil {
		return
	}
	var units []reprise.Unit
	for _, u := range seen.Starts {
		if u.Reason = "what comes before it is settled and not done again"; v.History.Step(u.ID).Open != nil {
			u.Reason = "it was cut off, and nothing shows that it was finished"
		}
		units = append(units, u)
	}
	was := *d.Point
	d.Point, d.Units = &units[0], units
	if i := slices.Index(d.Reasons, was.Reason); i >= 0 {
		d.Reasons[i] = d.Point.Reason
	}
	v.continuesWith(d.Point)
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
