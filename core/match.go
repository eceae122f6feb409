package core

import "slices"

// Known gives the steps of a plan the ids that the records know them by: a plan is the
// user's, and an item that he inserts moves the numbers of all that follow. A step is known
// by id and title, else by its title, else by its id. The slice is changed in place.
func (s *State) Known(steps []Step) []Step {
	used := make(map[string]bool, len(steps))
	var left []*Step
	for i := range steps {
		step := &steps[i]
		step.InPlan = step.ID
		if p := s.Steps[step.ID]; !used[step.ID] && (step.Named || p != nil && p.Title == step.Title) {
			used[step.ID] = true
		} else {
			left = append(left, step)
		}
	}
	titles := map[string]string{}
	for _, step := range left {
		titles[step.Title] = ""
	}
	for id, p := range s.Steps {
		if was, asked := titles[p.Title]; asked && (was == "" || id < was) {
			titles[p.Title] = id
		}
	}
	moved := map[string]string{} // by the id in the plan
	take := func(which func(step *Step) string) {
		left = slices.DeleteFunc(left, func(step *Step) bool {
			id := which(step)
			if id == "" || used[id] {
				return false
			}
			used[id], step.ID, moved[step.ID] = true, id, id
			return true
		})
	}
	take(func(step *Step) string { return titles[step.Title] })
	take(func(step *Step) string {
		if s.Steps[step.ID] == nil {
			return ""
		}
		return step.ID
	})
	for _, step := range left {
		id := step.ID
		if used[id] { // another step had this id
			step.ID += " " + step.Title
		}
		used[step.ID], moved[id] = true, step.ID
	}
	for i := range steps {
		for k, n := range steps[i].Needs {
			if id, ok := moved[n]; ok && id != n {
				steps[i].Needs = slices.Clone(steps[i].Needs)
				steps[i].Needs[k] = id
			}
		}
	}
	return steps
}
