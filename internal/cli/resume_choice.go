package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"reprise"
	"reprise/engine"
)

// decide finds out how to go on: from the flags, by the rules of the mode, or
// from a person.
func (s *shift) decide(f *face, j judged, mode engine.Mode, flags resumeFlags) (engine.Choice, error) {
	choice := flags.choice()
	blocked := j.d.Verdict == reprise.BlockedVerdict
	// A pre-flight check wants its word, whatever else is said; what asks for itself
	// or only looks does not need it.
	worded := mode == engine.Preflight && !flags.yes && flags.option != "clean" && flags.option != "repair" && flags.option != "review"
	// Only a person takes back what a person said, and that it was ended in so many words:
	// the engine tells so.
	ended := j.d.State == reprise.Stopped && choice.Option == "" && flags.from == "" && len(flags.skip) == 0
	if ended && (flags.yes || !s.asks()) {
		return choice, nil
	}
	held := ended || mode == engine.Autopilot && !flags.chosen() && j.run.OnHold()
	if held && !s.asks() {
		return choice, &holdError{run: j.run, name: j.name}
	}
	if !held && (mode == engine.Autopilot || flags.chosen() && !worded) {
		if choice.Option == "" && flags.from == "" {
			choice.Option = usual(j, flags)
			if choice.Option == "answer" && !s.asks() && beside(j) {
				choice.Option = "continue"
			}
			if givesUp(choice.Option) || choice.Option == "repair" {
				// Nobody chose to give up what was made so far.
				choice.Option, blocked = "", true
			}
		}
		ok, err := s.byItself(j, mode, choice.Option, blocked, flags)
		if err != nil || ok {
			return choice, err
		}
	}
	if !s.asks() {
		return choice, unattended{j.name}
	}
	f.asking, f.preflight = true, mode == engine.Preflight
	if f.preflight {
		f.check(j)
		return s.proceed(f, j, choice, flags)
	}
	return s.choice(f, j, choice)
}

// holdError is returned where a person holds a run and none is there to let it go.
type holdError struct {
	run  *reprise.Run
	name string
}

// Error implements error.
func (e *holdError) Error() string {
	return "resume " + e.name + ": " + e.run.Reason + "; autopilot does not take that back"
}

// Hint says what a person can do.
func (e *holdError) Hint() string {
	return "`reprise resume " + e.name + " --option continue` goes on all the same"
}

// Unwrap says that an answer is needed.
func (e *holdError) Unwrap() error { return errUnanswered }

// usual is the first way to go on that is offered. What a person leaves out by flag is
// left out before anything is asked: it may be what asks. The engine goes on as far as it
// can then, and asks what is still open.
func usual(j judged, flags resumeFlags) string {
	options := j.d.Options(j.run)
	if len(options) == 0 || options[0].Key == "answer" && len(flags.skip) > 0 {
		return ""
	}
	return options[0].Key
}

// beside reports whether something can be gone on with that needs none of the answers
// that are waited for.
func beside(j judged) bool {
	waits := map[string]bool{}
	for _, q := range j.run.PendingQuestions() {
		s := j.run.Step(cmp.Or(q.By, q.Subject))
		if s == nil || s.Status.Closed() {
			return false
		}
		waits[s.ID] = true
	}
	return slices.ContainsFunc(j.d.Units, func(u reprise.Unit) bool { return !waits[u.ID] })
}

// givesUp reports whether an option gives up what was made so far.
func givesUp(option string) bool {
	return option == "clean" || option == "fresh" || option == "discard"
}

// unattended is returned where a person must choose and none is there.
type unattended struct{ run string }

// Error implements error.
func (e unattended) Error() string { return "resume " + e.run + ": nobody can be asked here" }

// Hint says what to do.
func (e unattended) Hint() string {
	return "say --yes, --option KEY or --mode autopilot; --dry-run only looks"
}

// Unwrap says that an answer is needed.
func (e unattended) Unwrap() error { return errUnanswered }

// byItself goes on without asking how, where that is allowed. A conflict turns
// autopilot to a person, and so does what cannot be taken back lightly.
func (s *shift) byItself(j judged, mode engine.Mode, option string, blocked bool, flags resumeFlags) (bool, error) {
	if option == "answer" && mode == engine.Autopilot && !s.asks() {
		return false, &waitsError{run: j.run, name: j.name}
	}
	mends := option == "repair" || givesUp(option)
	// Where a person chose to look at what was built, nothing is gone on with.
	if blocked && !mends && option != "answer" && flags.option != "review" {
		if s.asks() && !flags.yes {
			return false, nil
		}
		return false, &engine.UnsafeError{Run: j.run.ID, Reasons: j.d.Reasons}
	}
	if mends && option != "clean" && option != "repair" { // those two ask for themselves
		agreed, err := s.confirm(s.ctx, flags.upkeepFlags, "The old state is archived and the work starts from scratch. Do it?")
		if err != nil {
			return false, err
		}
		if !agreed {
			return false, errLeft
		}
	}
	return true, nil
}

// errLeft is returned where a person said no.
var errLeft = errors.New("nothing was started")

// opens has the confirmation shown where the run is taken up as it stands.
func (s *shift) opens(f *face, j judged, choice engine.Choice) {
	s.opening = nil
	if goesOn(choice.Option) {
		s.opening = func() { s.confirmation(f, j, choice) }
	}
}

// confirmation is shown once the work goes on.
func (s *shift) confirmation(f *face, j judged, choice engine.Choice) {
	if at := j.run.Step(choice.From); at != nil && comesFirst(j, at.ID) {
		j.d.Point = &reprise.Unit{ID: at.ID, Path: at.Path, Title: at.Title, Phase: at.Phase, Role: at.Role}
		j.d.Units = []reprise.Unit{*j.d.Point}
	}
	j.d.Action = reprise.Start
	if j.run.Layout == "eventrun" {
		f.asking = true
		f.eventrun(j)
	} else {
		f.confirmation(j)
	}
	if !f.preflight {
		f.listFindings("Warnings:", j.run.Findings, reprise.Warning)
	}
	f.gap()
}

// comesFirst reports whether a step comes before what would be next.
func comesFirst(j judged, step string) bool {
	if j.d.Point == nil {
		return true
	}
	for i := range j.run.Steps {
		switch j.run.Steps[i].ID {
		case step:
			return true
		case j.d.Point.ID, j.d.Point.Phase:
			return false
		}
	}
	return true
}

// choice shows the run as its seed does and lets a person choose.
func (s *shift) choice(f *face, j judged, choice engine.Choice) (engine.Choice, error) {
	options := j.d.Options(j.run)
	if j.run.Layout == "eventrun" { // its own report is what is shown when it goes on
		f.headline(j)
		f.validation(j)
	} else {
		f.layout(j)
	}
	if j.d.Verdict == reprise.BlockedVerdict && j.run.Layout != "orchestrate" {
		f.listFindings("Must be resolved before it goes on:", j.run.Findings, reprise.Blocking)
	}
	if len(options) == 0 {
		f.gap()
		f.say("There is no way to go on from here; `reprise check` tells why.")
		s.code = exitBlocked
		choice.Option = leave
		return choice, nil
	}
	if !listsOptions(j) {
		f.heading("Options:")
		f.numbered(options)
	}
	f.gap()
	key, err := s.choose(s.ctx, options)
	if err != nil {
		return choice, err
	}
	return s.picked(f, j, choice, key)
}

// listsOptions reports whether the presentation of the layout lists them.
func listsOptions(j judged) bool {
	switch j.run.Layout {
	case "specloop", "longrun", "autoclaude":
		return true
	case "orchestrate":
		return j.d.Unrecoverable(j.run)
	}
	return false
}

// picked takes in what a person picked, and asks for what it needs.
func (s *shift) picked(f *face, j judged, choice engine.Choice, key string) (engine.Choice, error) {
	choice.Option = key
	switch key {
	case "":
		choice.Option = leave
		s.code = exitNeedsAnswer
		f.say("Nothing was started.")
	case "fresh", "discard":
		agreed, err := s.confirm(s.ctx, s.flags.upkeepFlags, "The old state is archived and the work starts from scratch. Do it?")
		if err != nil {
			return choice, err
		}
		if !agreed {
			choice.Option, s.code = leave, exitNeedsAnswer
			f.say("Nothing was started.")
		}
	case "from-phase":
		step, err := s.chooseStep(f, j)
		choice.From = step
		if err != nil || step == "" {
			choice.Option, s.code = leave, exitNeedsAnswer
			return choice, err
		}
	case "continue", "resume", "resume-agent", "respawn", "restart", "skip", "skip-group":
		if j.d.Verdict == reprise.BlockedVerdict {
			return choice, &engine.UnsafeError{Run: j.run.ID, Reasons: j.d.Reasons}
		}
		f.gap()
	}
	return choice, nil
}

// chooseStep asks at which step to begin again.
func (s *shift) chooseStep(f *face, j judged) (string, error) {
	f.heading("Steps:")
	for i := range j.run.Steps {
		st := &j.run.Steps[i]
		f.para(fmt.Sprintf("  %d. ", i+1), stepName(st.ID, st.Title)+" -- "+stepWords(st), linesTitle)
	}
	n, err := s.chooseNumber(s.ctx, len(j.run.Steps))
	if err != nil || n == 0 {
		return "", err
	}
	return j.run.Steps[n-1].ID, nil
}

// proceed wants the word that a pre-flight check ends with.
func (s *shift) proceed(f *face, j judged, choice engine.Choice, flags resumeFlags) (engine.Choice, error) {
	if choice.Option == "" && choice.From == "" {
		choice.Option = usual(j, flags)
	}
	if j.d.Verdict == reprise.BlockedVerdict && !givesUp(choice.Option) {
		return choice, &engine.UnsafeError{Run: j.run.ID, Reasons: j.d.Reasons}
	}
	if givesUp(choice.Option) {
		f.say("The old state is archived and the work starts from scratch.")
	}
	agreed, err := s.saysProceed(f)
	if err == nil && !agreed {
		choice.Option = leave
	}
	return choice, err
}

// saysProceed waits for the word that a pre-flight check ends with. Where another
// comes, that nothing was started has been said then.
func (s *shift) saysProceed(f *face) (bool, error) {
	fmt.Fprint(s.err, "> ")
	line, _, err := s.readLine(s.ctx)
	if err != nil {
		return false, err
	}
	if strings.ToLower(strings.TrimSpace(line)) == "proceed" {
		return true, nil
	}
	f.say("Nothing was started.")
	s.code = exitNeedsAnswer
	return false, nil
}
