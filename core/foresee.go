package core

import (
	"maps"
	"slices"
)

// Foresee gives what is decided once that is settled which needs neither an agent nor a person, and
// what that is, in its order.
func Foresee(v View) (Decision, []Decision) {
	var settled []Decision
	state := *v.State
	state.Steps, v.State = maps.Clone(state.Steps), &state
	v.Steps, v.Looks = slices.Clone(v.Steps), maps.Clone(v.Looks)
	if state.Steps == nil {
		state.Steps = map[string]*Past{}
	}
	change := func(step string, to Status, change func(*Past)) {
		if i := slices.IndexFunc(v.Steps, func(s Step) bool { return s.ID == step }); i >= 0 && to != "" {
			v.Steps[i].Status = to
		}
		p := *state.Step(step)
		change(&p)
		state.Steps[step] = &p
		state.close(step)
		state.settle(step)
	}
	for range 4*len(v.Steps) + 8 { // each settles a step, a move or a question
		d := Next(v)
		if v.unsure(d) {
			return d, settled
		}
		switch d := d.(type) {
		case AdoptStep:
			change(d.Step, Finished, func(p *Past) { p.Done, p.First = true, Start{} })
		case SkipStep:
			change(d.Step, Skipped, func(p *Past) { p.Done, p.First = true, Start{} })
		case UndoStep:
			change(d.Step, Todo, func(p *Past) { p.Done, p.Marked, p.Wanted = false, "", true })
		case EndAttempt:
			if d.Outcome == Asking {
				return d, settled
			}
			to := Status("")
			if d.Outcome == Done {
				to = Finished
			}
			change(d.Step, to, func(p *Past) {
				p.Done = to != ""
				if !p.Done {
					p.First.Step = d.Step
				}
			})
			delete(v.Looks, d.Step)
		case MakeMove, DropMove:
			state.Due, state.Asked, state.Said = nil, nil, ""
		case LapseQuestion:
			state.Asked, state.Said = nil, ""
		default:
			return d, settled
		}
		settled = append(settled, d)
	}
	return Next(v), settled
}

// unsure reports whether what a plan offers once a decision is carried out is known only then.
func (v View) unsure(d Decision) bool {
	step := ""
	switch d := d.(type) {
	case AdoptStep:
		step = d.Step
	case SkipStep:
		step = d.Step
	case EndAttempt:
		if step = d.Step; d.Outcome != Done {
			return false
		}
	}
	i := slices.IndexFunc(v.Steps, func(s Step) bool { return s.ID == step })
	return i >= 0 && v.Steps[i].Named && !v.Steps[i].Status.Closed()
}
