package engine

import (
	"fmt"
	"slices"
	"strings"

	"reprise"
)

// StepError says that a choice names a step that a run does not have, or cannot begin or
// end at.
type StepError struct {
	Run, Flag, Step string
	Steps           []string // those it has
	Later           bool     // others come with the work
	Why             string   // "" for one that it does not have
	Todo            string   // what a person can do about Why
}

// Error implements error.
func (e *StepError) Error() string {
	switch {
	case e.Why != "":
		return e.Run + ": " + e.Why
	case e.Step == "":
		return e.Run + ": --" + e.Flag + " has to name a step"
	}
	return fmt.Sprintf("%s: --%s is %q, but it has no such step", e.Run, e.Flag, e.Step)
}

// Hint lists the steps.
func (e *StepError) Hint() string {
	var parts []string
	switch {
	case e.Why != "":
		return e.Todo
	case len(e.Steps) > 20:
		parts = append(parts, "its steps are "+strings.Join(e.Steps[:20], ", ")+", …")
	case len(e.Steps) > 0:
		parts = append(parts, "its steps are "+strings.Join(e.Steps, ", "))
	case !e.Later:
		return "its files name no steps yet"
	}
	if e.Later {
		parts = append(parts, "later steps are known once they are planned: `reprise resume RUN --until STEP`")
	}
	return strings.Join(parts, "; ")
}

// CheckSteps refuses a choice of steps that a run does not have, with a *StepError.
// Skipped steps must be in the files; work may begin again at any stage it reached, and
// end after any that it can reach.
func CheckSteps(c Choice, r *reprise.Run, d reprise.Decision) error {
	wrong := func(flag, step string) error {
		e := &StepError{Run: "resume " + r.ID, Flag: flag, Step: step}
		for i := range r.Steps {
			e.Steps = append(e.Steps, r.Steps[i].ID)
		}
		return e
	}
	known := func(step string) bool {
		return step == "" || r.Step(step) != nil || slices.Contains(r.Stages, step) || slices.ContainsFunc(d.Units, func(u reprise.Unit) bool { return u.ID == step })
	}
	if !known(c.From) || c.Option == reprise.OptionFromPhase && c.From == "" {
		return wrong("from", c.From)
	}
	if !known(c.Until) && !r.Kind.Facts().Comes(c.Until) {
		return wrong("until", c.Until)
	}
	for _, step := range c.Skip {
		if r.Step(step) == nil {
			return wrong("skip", step)
		}
	}
	// With an end before the beginning, steps would be reset and nothing done.
	from, until := r.Step(c.From), r.Step(c.Until)
	if from == nil || until == nil || from.ID == until.ID || r.ComesAfter(until.ID, from.ID) {
		return nil
	}
	if until.Status.Closed() || r.ComesAfter(from.ID, until.ID) {
		return &StepError{
			Run: "resume " + r.ID, Why: fmt.Sprintf("--until %s does not come after --from %s", until.ID, from.ID),
			Todo: "`reprise resume RUN --from " + reprise.Pasted(from.ID, "STEP") + "` continues to the end",
		}
	}
	return nil
}

// Comes refuses a last step that a new run would never reach, with a *StepError.
func (p *Preview) Comes(until string) error {
	if until == "" || slices.Contains(p.Steps, until) || p.Run.Kind.Facts().Comes(until) {
		return nil
	}
	return &StepError{Run: "run " + string(p.Run.Kind), Flag: "until", Step: until, Steps: p.Steps, Later: p.Run.Kind.Facts().Grows}
}
