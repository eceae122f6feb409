package report

import (
	"slices"
	"time"

	"reprise"
)

// NewPlan makes the resume plan of a run that was judged.
func NewPlan(r *reprise.Run, d reprise.Decision, o reprise.Observed) Plan {
	p := Plan{WorkflowType: string(r.Kind), StateSource: r.Path, Validation: validate(r.Findings), Remaining: []Unit{}}
	age, band, ok := r.Age(o.Now)
	p.AgeBand = band
	if ok {
		seconds := int64(age.Seconds())
		p.AgeSeconds = &seconds
	}
	last := LastDone(r, d)
	if last != nil {
		p.LastCompleted = &LastPhase{Name: last.ID, Title: last.Title, Agent: last.Role, Output: output(r, last)}
	}
	if d.Point != nil {
		p.Next = next(r, *d.Point, last)
	}
	landed := map[string]bool{}
	for _, u := range d.Verify {
		landed[u.ID] = true
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		if slices.Contains(d.Again, s.ID) || s.Due() && !landed[s.ID] {
			p.Remaining = append(p.Remaining, newUnit(s.Unit("")))
		}
	}
	if r.Kind == reprise.KindTasks && d.Point != nil {
		p.Remaining = fromPoint(r, d.Point.ID, p.Remaining)
	}
	return p
}

// fromPoint orders the tasks of a list as they are worked on: from the resume point on, each
// after what it needs. What was passed over comes after the others, and what is put off
// not at all.
func fromPoint(r *reprise.Run, point string, units []Unit) (out []Unit) {
	if i := slices.IndexFunc(units, func(u Unit) bool { return u.ID == point }); i > 0 {
		units = slices.Concat(units[i:], units[:i])
	}
	left := slices.DeleteFunc(units, func(u Unit) bool { return r.Step(u.ID).Status == reprise.Blocked })
	open := make(map[string]bool, len(left)) // lists have thousands of tasks
	for _, u := range left {
		open[u.ID] = true
	}
	waits := func(u Unit) bool {
		return slices.ContainsFunc(r.Step(u.ID).Needs, func(id string) bool { return open[id] })
	}
	for len(left) > 0 {
		i := max(0, slices.IndexFunc(left, func(u Unit) bool { return !waits(u) })) // tasks that need each other keep their order
		delete(open, left[i].ID)
		out, left = append(out, left[i]), slices.Delete(left, i, i+1)
	}
	return out
}

func validate(findings []reprise.Finding) Validation {
	v := Validation{Result: Clean}
	for _, f := range findings {
		switch f.Severity {
		case reprise.Blocking:
			v.Conflicts++
		case reprise.Warning:
			v.Warnings++
		default:
			v.Infos++
		}
	}
	switch {
	case v.Conflicts > 0:
		v.Result = Conflicts
	case v.Warnings > 0:
		v.Result = Warnings
	}
	return v
}

// PointStep finds the step a unit stands for: the one with its id, else the one
// its phase names, since a story is offered by its own id and the phase tells
// which of its steps is meant. It returns -1 if there is none.
func PointStep(r *reprise.Run, u reprise.Unit) int {
	if i := slices.IndexFunc(r.Steps, func(s reprise.Step) bool { return s.ID == u.ID }); i >= 0 {
		return i
	}
	if u.Phase == "" {
		return -1
	}
	return slices.IndexFunc(r.Steps, func(s reprise.Step) bool { return s.ID == u.Phase })
}

// LastDone returns the step that was completed last: by time where the ledgers
// tell one for every completed step, else the last in order before the resume
// point. It returns nil if nothing that stays valid is completed.
func LastDone(r *reprise.Run, d reprise.Decision) *reprise.Step {
	end := len(r.Steps)
	if d.Point != nil {
		if i := PointStep(r, *d.Point); i >= 0 {
			end = i
		}
	}
	var before, latest *reprise.Step
	var newest time.Time
	timed := true
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.Status != reprise.Done || slices.Contains(d.Again, s.ID) {
			continue
		}
		if i < end {
			before = s
		}
		at := doneAt(s)
		if at.IsZero() {
			timed = false
		} else if !at.Before(newest) {
			latest, newest = s, at
		}
	}
	if timed {
		return latest
	}
	return before
}

// doneAt is when the ledger that decides says the step was done.
func doneAt(s *reprise.Step) time.Time {
	for _, c := range s.Claims {
		if c.Won {
			return c.At
		}
	}
	return time.Time{}
}

// output is what a step left: the file it makes, its own file, or its commit.
func output(r *reprise.Run, s *reprise.Step) string {
	for _, a := range r.Artifacts {
		if a.MadeBy == s.ID && a.Presence == reprise.Present {
			return a.Path
		}
	}
	if len(s.Commits) > 0 {
		return s.Commits[len(s.Commits)-1]
	}
	return s.Path
}

// next lists as inputs the unit's own file, what the last phase left, and the
// files that are recorded as needed; those that are missing stand in the
// decision.
func next(r *reprise.Run, u reprise.Unit, last *reprise.Step) *NextPhase {
	n := &NextPhase{Name: u.ID, Title: u.Title, Agent: u.Role, Inputs: []string{}}
	i := PointStep(r, u)
	step := ""
	if i >= 0 {
		step = r.Steps[i].ID
		n.Name = step
	}
	add := func(path string) {
		if path != "" && !slices.Contains(n.Inputs, path) {
			n.Inputs = append(n.Inputs, path)
		}
	}
	add(u.Path)
	if last != nil {
		add(output(r, last))
	}
	for _, a := range r.Artifacts {
		if a.Presence == reprise.Present && a.NeededBy != "" && (a.NeededBy == u.Phase || a.NeededBy == u.ID || a.NeededBy == step) {
			add(a.Path)
		}
	}
	return n
}
