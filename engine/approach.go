package engine

import (
	"slices"

	"reprise"
)

// Wish is how a person wants a run resumed.
type Wish struct {
	Choice
	Mode Mode
	Auto bool // take the usual way without asking
	Yes  bool // agree to what would be asked
	Asks bool // a person can be asked
}

// Approach is what has to happen before a run is worked on.
type Approach uint8

// The approaches.
const (
	Go       Approach = iota // nothing: work on it as the choice says
	GiveUp                   // a person agrees that what was made so far is given up
	PickWay                  // a person picks one of the options
	PickStep                 // a person picks the step to begin again at
	SayWord                  // a person sees everything and says the word
	Leave                    // nothing is done
)

// Need is what a person would have to say.
type Need uint8

// The needs.
const (
	NeedsWay     Need = iota // how to continue
	NeedsAnswer              // to a question of the run
	NeedsRelease             // that a run they hold or ended may continue
)

// UnattendedError says that a person must decide something and none can be asked.
type UnattendedError struct {
	Run  *reprise.Run
	Need Need
	// Reason is why the run does not continue by itself.
	Reason string
}

// Error implements error.
func (e *UnattendedError) Error() string {
	open := e.Run.PendingQuestions()
	switch {
	case e.Need == NeedsRelease:
		return "resume " + e.Run.ID + ": " + e.Reason + "; autopilot does not take that back"
	case (e.Run.State == reprise.Waiting || e.Run.State == reprise.NotStarted) && len(open) == 0 && len(e.Run.Next) == 0 && e.Run.Reason != "":
		return "resume " + e.Run.ID + ": " + e.Run.Reason
	case e.Need == NeedsWay:
		return "resume " + e.Run.ID + ": a choice is needed, and there is no terminal to ask on"
	case len(open) == 0:
		return "resume " + e.Run.ID + ": a person must choose how to continue"
	}
	return "resume " + e.Run.ID + ": it waits for an answer: " + open[0].Text
}

// Outcome tells that a person is waited for.
func (e *UnattendedError) Outcome() reprise.Outcome { return reprise.OutcomeAsk }

// said reports whether the person said how to continue.
func (w Wish) said() bool {
	return w.Auto || w.Yes || w.Option != "" || w.From != "" || len(w.Skip) > 0
}

// Usual is the first option that is offered. Steps are skipped before anything is asked,
// because they may be what asks: then the engine does what it can and asks the rest.
func (w Wish) Usual(r *reprise.Run, d reprise.Decision) string {
	options := d.Options(r)
	if len(options) == 0 || options[0].Key == reprise.OptionAnswer && len(w.Skip) > 0 {
		return ""
	}
	return options[0].Key
}

// Approach decides how a run is resumed: as the person said, by the rules of the mode, or
// after asking. The errors are *UnattendedError, *UnsafeError and *OptionError.
func (w Wish) Approach(r *reprise.Run, d reprise.Decision) (Approach, Choice, error) {
	c := w.Choice
	if options := d.Options(r); c.Option == reprise.OptionAnswer && !reprise.Offered(options, c.Option) && len(r.PendingQuestions())+len(r.Asks) == 0 {
		return Leave, c, &OptionError{Run: r.ID, Option: c.Option, Known: keysOf(options), Why: "nothing is asked"}
	}
	// Only a person continues a run that a person ended, and has to say so explicitly;
	// the engine says that.
	ended := d.State == reprise.Stopped && c.Option == "" && c.From == "" && len(c.Skip) == 0
	if ended && (w.Yes || !w.Asks) {
		return Go, c, nil
	}
	held := ended || w.Mode == Autopilot && !w.said() && d.Holds(r)
	switch {
	case held && !w.Asks && d.Verdict == reprise.BlockedVerdict:
		return Leave, c, unsafe(r.ID, d)
	case held && !w.Asks:
		return Leave, c, &UnattendedError{r, NeedsRelease, d.Reason()}
	}
	// A pre-flight check wants an explicit yes, except for choices that ask themselves or
	// only show.
	worded := w.Mode == Preflight && !w.Yes && !c.Means().Shows && !asksItself(c)
	if !held && (w.Mode == Autopilot || w.said() && !worded) {
		if how, chosen, err := w.alone(r, d); err != nil || how != PickWay {
			return how, chosen, err
		}
	}
	switch {
	case !w.Asks && !w.said() && d.Verdict == reprise.BlockedVerdict && w.Usual(r, d) != reprise.OptionRepair:
		return Leave, c, unsafe(r.ID, d) // to continue is refused, whoever says so
	case !w.Asks:
		return Leave, c, &UnattendedError{r, NeedsWay, d.Reason()}
	case w.Mode != Preflight:
		return PickWay, c, nil
	}
	if c.Option == "" && c.From == "" {
		c.Option = w.Usual(r, d)
	}
	return SayWord, c, nil
}

// alone decides where the person is not asked how to continue. A conflict still needs a
// person, and so does what is hard to undo.
func (w Wish) alone(r *reprise.Run, d reprise.Decision) (Approach, Choice, error) {
	c := w.Choice
	blocked := d.Verdict == reprise.BlockedVerdict
	if c.Option == "" && c.From == "" {
		c.Option = w.Usual(r, d)
		if c.Option == reprise.OptionAnswer && !w.Asks && (d.Independent() || asksBudget(r)) {
			c.Option = reprise.OptionContinue
		}
		if c.Means().GivesUp || c.Option == reprise.OptionRepair {
			// Giving up what was made needs an explicit choice.
			c.Option, blocked = "", true
		}
	}
	switch {
	case c.Option == reprise.OptionAnswer && !w.Asks && d.Verdict == reprise.BlockedVerdict:
		return Leave, c, unsafe(r.ID, d) // no answer helps before that is resolved
	case c.Option == reprise.OptionAnswer && w.Mode == Autopilot && !w.Asks:
		return Leave, c, &UnattendedError{r, NeedsAnswer, d.Reason()}
	case asksItself(c):
		return Go, c, nil
	case c.Option == reprise.OptionFresh && !r.Refreshable(): // nothing to confirm
		return Leave, c, &OptionError{Run: r.ID, Option: c.Option, Known: keysOf(d.Options(r))}
	case c.Means().GivesUp:
		return GiveUp, c, nil
	case !blocked || c.Option == reprise.OptionAnswer || w.Means().Shows: // whoever only looks may
		return Go, c, nil
	case w.Asks && !w.Yes:
		return PickWay, c, nil
	}
	return Leave, c, unsafe(r.ID, d)
}

// Picked decides what follows the option that a person picked, "" for none.
func Picked(r *reprise.Run, d reprise.Decision, option string) (Approach, error) {
	means, _ := reprise.OptionOf(option)
	switch {
	case option == "":
		return Leave, nil
	case means.StartsOver:
		return GiveUp, nil
	case option == reprise.OptionFromPhase:
		return PickStep, nil
	case d.Verdict == reprise.BlockedVerdict && means.Works && means.NeedsState:
		return Leave, unsafe(r.ID, d)
	}
	return Go, nil
}

// asksItself reports whether a choice shows its plan and asks for confirmation itself.
func asksItself(c Choice) bool {
	return c.Option == reprise.OptionClean || c.Option == reprise.OptionRepair
}

// Outcome is what came of the work in one word.
func (s *Summary) Outcome() reprise.Outcome {
	switch {
	case len(s.Held) > 0:
		return reprise.OutcomeBlocked
	case s.Action == reprise.Finish && slices.ContainsFunc(s.Findings, reprise.Finding.ContestsEnd):
		return reprise.OutcomeCaution
	case s.Action == reprise.Finish:
		return reprise.OutcomeOK
	case len(s.Questions) > 0:
		return reprise.OutcomeAsk
	case len(s.Refused) > 0:
		return reprise.OutcomeBlocked
	case s.Action == reprise.Wait || !s.Until.IsZero():
		return reprise.OutcomeWait
	case s.Action == reprise.Refuse && s.State == reprise.Running:
		return reprise.OutcomeHeld
	case s.Action == reprise.Repair:
		return reprise.OutcomeUnreadable
	case s.Action == reprise.Refuse:
		return reprise.OutcomeBlocked
	case s.Reached:
		return reprise.OutcomeOK
	case len(s.Parked) > 0 && s.Launches == 0:
		return reprise.OutcomeAsk // what failed before is left to a person, and nothing else could be started
	case len(s.Parked) > 0, len(s.Failed) > 0 && s.Action == reprise.Start:
		return reprise.OutcomeFailed
	case s.Action == reprise.Ask && s.State == reprise.Stopped:
		return reprise.OutcomeNothing // a person ended it, and nothing is asked
	case s.Action == reprise.Ask:
		return reprise.OutcomeAsk
	}
	return reprise.OutcomeOK
}

// IsFinished reports whether nothing is left to do.
func (s *Summary) IsFinished() bool { return s.Action == reprise.Finish && len(s.Left) == 0 }

// FollowUp is the command to continue with, and its flags; "" if nothing is left.
func (s *Summary) FollowUp() (verb string, flags []string) {
	switch s.Outcome() {
	case reprise.OutcomeAsk:
		if len(s.Questions) > 0 {
			return "answer", nil
		}
		return "resume", s.tryAgain() // shows what there is to decide, or tries again
	case reprise.OutcomeBlocked:
		if len(s.Refused)+len(s.Held) > 0 { // once the settings are right, or git can commit
			return "resume", nil
		}
		return "check", nil
	case reprise.OutcomeHeld, reprise.OutcomeCaution:
		return "check", nil
	case reprise.OutcomeUnreadable:
		return "repair", nil
	case reprise.OutcomeWait:
		return "resume", nil
	case reprise.OutcomeFailed:
		return "resume", s.tryAgain()
	}
	switch {
	case s.IsFinished():
		return "", nil
	case s.Reopens:
		return "resume", []string{"--option", reprise.OptionContinue}
	case s.State == reprise.Stopped: // nothing can be started before its files are changed
		return "check", nil
	}
	return "resume", nil
}

// tryAgain are the flags that try again what failed for good, nil where nothing did: from
// the first of the steps on.
func (s *Summary) tryAgain() []string {
	if len(s.Parked) == 0 {
		return nil
	}
	return []string{"--from", s.Parked[0]}
}
