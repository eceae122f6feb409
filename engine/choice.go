package engine

import (
	"fmt"
	"slices"

	"reprise"
)

// choosable says why the chosen option does not exist for the run, nil if it does.
func (w *work) choosable(l look) error {
	if _, known := reprise.OptionOf(w.choice.Option); w.choice.Option != "" && !known || !w.offers(l, w.choice.Option) {
		e := &OptionError{Run: w.ref.ID, Option: w.choice.Option, Known: keysOf(l.Decision.Options(l.Run))}
		switch e.Option {
		case reprise.OptionSkipGroup:
			e.Why = l.Run.NoGroup()
		case reprise.OptionNow:
			e.Why = "it waits for no limit"
		}
		return e
	}
	return nil
}

// offers reports whether an option exists for the run. Cleaning up always does, and so
// does continuing, unless the run waits for a choice that leads to no work: then there is
// nothing to continue with.
func (w *work) offers(l look, option string) bool {
	means, _ := reprise.OptionOf(option)
	options := l.Decision.Options(l.Run)
	works := func(o reprise.Option) bool { return o.Means().Works }
	switch {
	case option != "" && means.Continues && means.Always && l.Decision.Action == reprise.Ask && len(options) > 0:
		return slices.ContainsFunc(options, works)
	case means.Always:
		return true
	case option == reprise.OptionFresh:
		return l.Run.Refreshable()
	}
	return slices.Contains(keysOf(options), option)
}

func keysOf(options []reprise.Option) []string {
	var out []string
	for _, o := range options {
		out = append(out, o.Key)
	}
	return out
}

// notResumed says, once, why the agent that a person wants to continue is not resumed; ""
// if it is.
func (w *work) notResumed(step string, bound binding, resumes bool) string {
	who := w.Wanted
	if w.Wanted = ""; who == "" || resumes {
		return ""
	}
	why := "no session of it is on record here"
	if !bound.continues {
		why = fmt.Sprintf("the command of %s cannot continue a session", bound.name)
	}
	return fmt.Sprintf("%s is not resumed: %s. A new agent does %s", who, why, step)
}

// current is the step that a choice without a name is about.
func (w *work) current(l look) string {
	if r := l.Run.Resume; r != nil && r.Plan != "" {
		return r.Plan
	}
	if l.Decision.Point != nil {
		if w.run != nil && w.run.Step(l.Decision.Point.ID) != nil {
			return l.Decision.Point.ID // a plan, and not the task of it that comes next
		}
		if a, err := w.assign(*l.Decision.Point); err == nil {
			return a.Step
		}
		return l.Decision.Point.ID
	}
	return ""
}
