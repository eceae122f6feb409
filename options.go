package reprise

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Options lists the ways to continue a run under this decision, the default first. It is
// what the layout offers, minus what the decision rules out: nothing for a run that is
// being worked on or has nothing left, and no plain continue for a run whose state must
// be repaired first.
func (d Decision) Options(r *Run) []Option {
	options := d.options(r)
	continues := func(o Option) bool { return o.Means().Continues }
	if answer, ok := r.UnusedAnswer(); ok && (d.Action == Ask || d.Action == Start) && !slices.ContainsFunc(options, continues) {
		options = append([]Option{{OptionContinue, "Continue with the answer: " + answer}}, options...)
	}
	if d.Action == Start && d.Point == nil && !slices.ContainsFunc(options, continues) {
		options = append([]Option{{OptionContinue, "Continue; nothing has to be started"}}, options...)
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
	if d.Action == Wait {
		options = slices.Insert(slices.Clone(options), min(1, len(options)), Option{OptionNow, "Try now: what it waits for may be over"})
	}
	if !r.Refreshable() {
		options = without(options, func(o Option) bool { return o.Key == OptionFresh })
	}
	return options
}

// ContinueWith is the way to continue a run that names what it starts.
func ContinueWith(u Unit) Option { return Option{OptionContinue, "Continue with " + u.ID} }

// tryAgain adds a retry for a run whose next step has used up its attempts, because plain
// continuing would start nothing.
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

// UnusedAnswer returns a person's answer that has not been used yet, if no question is
// open.
func (r *Run) UnusedAnswer() (string, bool) {
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

// Gone returns the finding that files essential to identifying the run are gone, or nil.
func (r *Run) Gone() *Finding {
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Code == CodeStateGone && f.Severity == Blocking {
			return f
		}
	}
	return nil
}

// Refreshable reports whether the run can be started from scratch, which archives its
// folder. It cannot if the folder also holds a person's own plans or if another tool
// creates it.
func (r *Run) Refreshable() bool {
	facts := r.Kind.Facts()
	return !facts.Given && !slices.Contains(facts.Shared, path.Base(r.Path))
}

func (d Decision) options(r *Run) []Option {
	kind := r.Kind.Facts()
	switch {
	case d.Action == Finish, d.Outcome() == OutcomeHeld:
		return nil
	case r.Gone() != nil:
		// There is nothing to restart from.
		return []Option{{OptionRepair, "Rebuild its files from the journal"}, {OptionClean, "Give the run up"}}
	case len(r.Options) == 0 && r.Resume == nil && kind.ByUnit:
		return d.unitOptions(r)
	case len(r.Options) > 0 || r.Resume != nil || !kind.Phased:
		options := d.choosable(r.ResumeOptions())
		if kind.AnswerFirst && d.Action == Ask && !Offered(options, OptionAnswer) {
			// The question is behind something else, but still has to be asked.
			options = slices.Concat(r.answerOption(), r.skipGroupOption(), options)
		}
		return options
	}
	return d.stagedOptions(r)
}

// unitOptions returns the choices for a run that continues with whatever comes next:
// graph tasks, or plans without checkpoints.
func (d Decision) unitOptions(r *Run) []Option {
	options := r.answerOption()
	if d.Point != nil && (len(options) == 0 || d.Independent()) {
		options = append(options, ContinueWith(*d.Point))
	}
	if d.Point != nil && r.Kind.Facts().Skips && r.Step(d.Point.ID) != nil {
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

// Skippable returns the question whose group can be skipped instead of answering, if
// there is one. A closed question does not qualify: more than a group depends on it.
func (r *Run) Skippable() (Question, bool) {
	for _, q := range r.PendingQuestions() {
		if len(q.Group) > 0 && !q.Closed {
			return q, true
		}
	}
	return Question{}, false
}

// NoGroup says why the group of a pending question cannot be skipped, or "" if it can or
// no question is about a group.
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

// openOf names the open steps of a question's group.
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

// OpenIn returns those of the given steps that are not closed, in order.
func (r *Run) OpenIn(steps []string) []string {
	var out []string
	for _, id := range steps {
		if s := r.Step(id); s != nil && !s.Status.Closed() {
			out = append(out, id)
		}
	}
	return out
}

// choosable omits the options that cannot be chosen while the state is unreadable.
func (d Decision) choosable(options []Option) []Option {
	if d.Action != Repair {
		return options
	}
	return without(options, func(o Option) bool { return o.Means().NeedsState })
}

// stagedOptions returns the choices of seed 001: resume or restart or, if the run cannot
// simply be resumed, a still valid phase or a clean-up.
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

// Unrecoverable reports whether the run cannot be resumed as it is: its files do not say
// where it stands, or an essential file is gone that none of its own steps would
// recreate.
func (d Decision) Unrecoverable(r *Run) bool {
	if d.Action == Repair {
		return true
	}
	return slices.ContainsFunc(d.Missing, func(a Artifact) bool {
		return a.Critical && (a.MadeBy == "" || !slices.Contains(d.Again, a.MadeBy))
	})
}

// name is what a person calls the unit: its phase, plus the unit itself if that differs.
func (u Unit) name() string {
	switch {
	case u.Phase == "":
		return u.ID
	case u.ID == "" || u.ID == u.Phase:
		return u.Phase
	}
	return u.Phase + " (" + u.ID + ")"
}
