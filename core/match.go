package core

import "slices"

// Known gives the steps of a plan the ids that the records know them by: a plan is the
// user's, and an item that he inserts moves the numbers of all that follow. A step is known
// by id and title, else by its title, else by its id.
func (s *State) Known(steps []Step) []Step {
	out, used, found := append([]Step(nil), steps...), make(map[string]bool, len(steps)), make([]bool, len(steps))
	match := func(fits func(step Step) string) {
		for i := range out {
			if found[i] {
				continue
			}
			if id := fits(steps[i]); id != "" && !used[id] {
				out[i].ID, found[i], used[id] = id, true, true
			}
		}
	}
	match(func(step Step) string {
		if p := s.Steps[step.ID]; p != nil && p.Title == step.Title {
			return step.ID
		}
		return ""
	})
	titles := map[string]string{} // of those that are not found by both
	for i, step := range steps {
		if !found[i] {
			titles[step.Title] = ""
		}
	}
	for id, p := range s.Steps {
		if was, asked := titles[p.Title]; asked && (was == "" || id < was) {
			titles[p.Title] = id
		}
	}
	match(func(step Step) string { return titles[step.Title] })
	match(func(step Step) string {
		if s.Steps[step.ID] != nil {
			return step.ID
		}
		return ""
	})
	now, needs := map[string]string{}, slices.ContainsFunc(steps, func(s Step) bool { return len(s.Needs) > 0 })
	for i := range out {
		if !found[i] {
			if used[out[i].ID] { // another step had this id
				out[i].ID += " " + out[i].Title
			}
			used[out[i].ID] = true
		}
		out[i].InPlan = steps[i].ID
		if needs {
			now[steps[i].ID] = out[i].ID
		}
	}
	for i := range out {
		out[i].Needs = nil
		for _, n := range steps[i].Needs {
			if id, ok := now[n]; ok {
				n = id
			}
			out[i].Needs = append(out[i].Needs, n)
		}
	}
	return out
}
