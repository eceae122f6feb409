package reprise

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Options lists the ways to continue a run that a person can choose from
// once this decision is made, the usual one first. It is what the layout
// offers, without what the decision rules out: nothing for a run that is being
// worked on or where nothing is left, and no plain continuing of a run whose
// state must be mended first.
func (d Decision) Options(r *Run) []Option {
	options := d.options(r)
	continues := func(o Option) bool { return o.Means().Continues }
	if answer, ok := r.unusedAnswer(); ok && d.Action == Ask && !slices.ContainsFunc(options, continues) {
		options = append([]Option{{OptionContinue, "Continue with the answer: " + answer}}, options...)
	}
	if d.Action == Ask && r.spent(d.Units) && len(r.PendingQuestions()) == 0 {
		options = d.tryAgain(options)
	}
	if r.Kind.Facts().AnswerFirst && d.Action == Ask && len(r.PendingQuestions()) > 0 {
		options = without(options, func(o Option) bool { return o.Key == OptionContinue || o.Key == OptionRestart })
	}
	if d.State == Stopped && r.Reopens() && !slices.ContainsFunc(options, continues) {
		options = append([]Option{{OptionContinue, "Continue anyway; what ended it is asked again"}}, options...)
	}
	if d.Verdict == BlockedVerdict && d.State != Running && r.Damaged() && !Offered(options, OptionRepair) {
		options = append([]Option{{OptionRepair, "Repair its damaged files"}}, options...)
	}
	if !r.Refreshable() {
		options = without(options, func(o Option) bool { return o.Key == OptionFresh })
	}
	return options
}

// tryAgain adds another try to the ways to continue a run whose next step has used up
// its attempts: continuing as it stands starts nothing.
func (d Decision) tryAgain(options []Option) []Option {
	out := without(options, func(o Option) bool { return o.Key == OptionRestart })
	for i := range out {
		if out[i].Key == OptionContinue || out[i].Key == OptionResume {
			out[i].Label = "Look again; " + d.Point.name() + " is not tried"
		}
	}
	at := min(1, len(out))
	return slices.Insert(out, at, Option{OptionRestart, "Try " + d.Point.name() + " again"})
}

// unusedAnswer gives what a person said, where no question is open and the answer has
// not been used yet.
func (r *Run) unusedAnswer() (string, bool) {
	if len(r.PendingQuestions()) > 0 || !r.State.Open() {
		return "", false
	}
	for _, q := range r.Questions {
		if q.Answered && !q.Applied && q.Answer != "" && (q.Kept || len(q.Options) > 0) {
			return q.Answer, true
		}
	}
	return "", false
}

// Gone is the finding that files of the run are gone without which it cannot be told
// what it is; nil if they are there.
func (r *Run) Gone() *Finding {
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Code == CodeStateGone && f.Severity == Blocking {
			return f
		}
	}
	return nil
}

// Refreshable reports whether the run can be started from scratch, which archives its
// folder: not where that holds a person's own plans beside the state, or where another tool
// makes that.
func (r *Run) Refreshable() bool {
	facts := r.Kind.Facts()
	return !facts.Given && !slices.Contains(facts.Shared, path.Base(r.Path))
}

func (d Decision) options(r *Run) []Option {
	kind := r.Kind.Facts()
	switch {
	case d.Action == Finish, d.Action == Refuse && d.State == Running:
		return nil
	case r.Gone() != nil:
		// There is nothing to start again from.
		return []Option{{OptionRepair, "Rebuild its files from the journal"}, {OptionClean, "Give the run up"}}
	case len(r.Options) == 0 && r.Resume == nil && kind.ByUnit:
		return d.unitOptions(r)
	case len(r.Options) > 0 || r.Resume != nil || !kind.Phased:
		options := d.choosable(r.ResumeOptions())
		if kind.AnswerFirst && d.Action == Ask && !Offered(options, OptionAnswer) {
			// The question stands behind something else; it is still asked.
			options = slices.Concat(r.answerOption(), r.skipGroupOption(), options)
		}
		return options
	}
	return d.stagedOptions(r)
}

// unitOptions are the choices for a run that continues with whatever comes next: the
// tasks of a graph, plans without checkpoints.
func (d Decision) unitOptions(r *Run) []Option {
	options := r.answerOption()
	if d.Point != nil && (len(options) == 0 || d.Independent()) {
		options = append(options, Option{OptionContinue, "Continue with " + d.Point.ID})
	}
	if d.Point != nil && r.Kind.Facts().Skips {
		options = append(options, Option{OptionSkip, "Skip to the next plan"})
	}
	return append(options, Option{OptionFresh, "Start fresh (the old state is archived)"})
}

func (r *Run) answerOption() []Option {
	if open := r.PendingQuestions(); len(open) > 0 {
		return []Option{{OptionAnswer, "Answer now: " + open[0].Text}}
	}
	return nil
}

// Skippable gives the question whose group can be left out in place of an answer,
// false if there is none. A question that takes only its options is none: what hangs
// on it is more than a group.
func (r *Run) Skippable() (Question, bool) {
	for _, q := range r.PendingQuestions() {
		if len(q.Group) > 0 && !q.Closed {
			return q, true
		}
	}
	return Question{}, false
}

// NoGroup tells why no group of a pending question can be left out, "" if one can or
// none is asked about.
func (r *Run) NoGroup() string {
	if _, ok := r.Skippable(); ok {
		return ""
	}
	for _, q := range r.PendingQuestions() {
		if q.NoGroup != "" {
			return q.Subject + " cannot be skipped: " + q.NoGroup
		}
	}
	return ""
}

func (r *Run) skipGroupOption() []Option {
	q, ok := r.Skippable()
	if !ok {
		return nil
	}
	return []Option{{OptionSkipGroup, "Skip " + q.Subject + " (" + r.openOf(q) + "); the question is closed without an answer"}}
}

// openOf names the steps of a question's group that are still open.
func (r *Run) openOf(q Question) string {
	switch open := r.OpenIn(q.Group); len(open) {
	case 0:
		return "nothing of it is open"
	case 1:
		return "plan " + open[0]
	default:
		return "plans " + strings.Join(open, ", ")
	}
}

// OpenIn gives those of some steps that are not closed, in their order.
func (r *Run) OpenIn(steps []string) []string {
	var out []string
	for _, id := range steps {
		if s := r.Step(id); s != nil && !s.Status.Closed() {
			out = append(out, id)
		}
	}
	return out
}

// choosable leaves out what cannot be chosen while the state is unreadable.
func (d Decision) choosable(options []Option) []Option {
	if d.Action != Repair {
		return options
	}
	return without(options, func(o Option) bool { return o.Means().NeedsState })
}

// stagedOptions are the choices of seed 001: resume or restart, or, where it
// cannot simply be resumed, a phase that is still valid or a clean-up.
func (d Decision) stagedOptions(r *Run) []Option {
	fresh := Option{OptionFresh, "Start the workflow from scratch (what was made so far is kept)"}
	clean := Option{OptionClean, "Clean up the stale state and cancel (the state is archived)"}
	switch {
	case d.Unrecoverable(r):
		options := []Option{fresh}
		if len(d.Keep) > 0 && d.Action != Repair {
			options = append(options, Option{OptionFromPhase, "Start from a specific phase"})
		}
		return append(options, clean)
	case !d.State.Open() || d.State == NotStarted:
		if d.Point == nil {
			return nil
		}
		return []Option{{OptionContinue, "Start at " + d.Point.name()}, clean}
	case len(d.Again) > 0:
		return []Option{{OptionContinue, fmt.Sprintf("Resume from %s, keeping what stays valid", d.Again[0])}, fresh, clean}
	}
	options := r.answerOption()
	if d.Point != nil {
		options = append(options, Option{OptionContinue, "Resume at " + d.Point.name()})
	}
	return append(options, fresh, clean)
}

// Unrecoverable reports whether the run cannot be resumed as it stands: its
// files do not say where it is, or one it cannot do without is gone and none of
// its own steps would make it again.
func (d Decision) Unrecoverable(r *Run) bool {
	if d.Action == Repair {
		return true
	}
	return slices.ContainsFunc(d.Missing, func(a Artifact) bool {
		return a.Critical && (a.MadeBy == "" || !slices.Contains(d.Again, a.MadeBy))
	})
}

// name is what a person calls the unit: its phase, and itself if that is
// something else.
func (u Unit) name() string {
	switch {
	case u.Phase == "":
		return u.ID
	case u.ID == "" || u.ID == u.Phase:
		return u.Phase
	}
	return u.Phase + " (" + u.ID + ")"
}
