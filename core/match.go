package core

// Known gives the steps of a plan the ids that the records know them by: a plan is the
// user's, and an item that he inserts moves the numbers of all that follow. A step is known
// by id and title, else by its title, else by its id.
func (s *State) Known(steps []Step) []Step {
	out, used, found := append([]Step(nil), steps...), map[string]bool{}, make([]bool, len(steps))
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
	titles := map[string]string{}
	for id, p := range s.Steps {
		if was, twice := titles[p.Title]; twice {
			id = min(id, was)
		}
		titles[p.Title] = id
	}
	match(func(step Step) string {
		if p := s.Steps[step.ID]; p != nil && p.Title == step.Title {
			return step.ID
		}
		return ""
	})
	match(func(step Step) string { return titles[step.Title] })
	match(func(step Step) string {
		if s.Steps[step.ID] != nil {
			return step.ID
		}
		return ""
	})
	now := map[string]string{}
	for i := range out {
		if !found[i] && used[out[i].ID] { // another step had this id
			out[i].ID += " " + out[i].Title
		}
		used[out[i].ID] = true
		out[i].InPlan = steps[i].ID
		now[steps[i].ID] = out[i].ID
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
