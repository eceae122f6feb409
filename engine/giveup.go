package engine

import (
	"reprise"
)

// goalOf is what the run was started for and with: as its playbook says, or its title.
func (w *work) goalOf(l look) (goal reprise.Goal, err error) {
	goal = reprise.Goal{ID: w.ref.ID, Path: w.ref.Path, Now: w.Now(), Mode: string(w.Mode)}
	if g, ok := w.playbook.(reprise.Goaler); ok {
		goal.Text = g.GoalOf(w.on, l.Run)
	}
	goal.Text = first(goal.Text, l.Run.Title)
	if g, ok := w.playbook.(reprise.Giver); ok {
		goal.Given, err = g.GivenOf(w.on, l.Run)
	}
	return goal, err
}
