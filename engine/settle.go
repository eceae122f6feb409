package engine

import (
	"slices"

	"reprise"
)

// add adds the summary of a child run.
func (s *Summary) add(ran *Summary) {
	s.Launches += ran.Launches
	s.Commands += ran.Commands
	s.Finished = append(s.Finished, ran.Finished...)
	s.Failed = append(s.Failed, ran.Failed...)
	s.Findings = append(s.Findings, ran.Findings...)
	s.Refused = append(s.Refused, ran.Refused...)
	s.Skipped = append(s.Skipped, ran.Skipped...)
}

// assignmentOf is what a step needs: as the files offer it, or from the step itself.
func (w *work) assignmentOf(step string) reprise.Assignment {
	d := w.decide()
	for _, u := range append(slices.Clone(d.Units), w.run.Next...) {
		if a, err := w.assign(u); err == nil && a.Step == step {
			return a
		}
	}
	u := reprise.Unit{ID: step, Phase: step}
	if s := w.run.Step(step); s != nil {
		u = s.Unit("")
	}
	a, err := w.assign(u)
	if err != nil {
		// The files no longer have the step. What is known of the attempt is enough to
		// look for what it left.
		a = reprise.Assignment{Unit: u}
	}
	a.Step = step
	return a
}

// offered reports whether the files offer a step.
func (w *work) offered(step string) bool {
	for _, u := range w.run.Next {
		if a, err := w.assign(u); err == nil && a.Step == step {
			return true
		}
	}
	return false
}
