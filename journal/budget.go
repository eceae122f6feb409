package journal

import (
	"fmt"

	"reprise"
)

// Budget is how often a step is tried before a person is asked.
type Budget struct {
	Attempts int // that failed
	Cutoffs  int // whose end no one saw
}

// Outcomes of a failure after which there is no use in trying again by itself.
const (
	SameAgain = "same-again" // as the attempt before, in an unchanged world
	Pointless = "pointless"  // a run below it waits for a person; once also: the command cannot be started
)

// Spent says why a step is not retried until a person decides, "" if it may be. The
// engine and the read-only commands both use it.
func (s StepHistory) Spent(b Budget) string {
	switch {
	case s.Failures >= b.Attempts:
		return fmt.Sprintf("failed %s: %s", Times(s.Failures), ReasonOf(s.LastFailure))
	case s.Cutoffs >= b.Cutoffs:
		return fmt.Sprintf("was cut off %s without an end", Times(s.Cutoffs))
	case s.LastFailure != nil && s.LastFailure.Outcome == SameAgain:
		return "failed twice in the same way, with nothing changed between the two: " + ReasonOf(s.LastFailure)
	case s.LastFailure != nil && s.LastFailure.Outcome == Pointless:
		return ReasonOf(s.LastFailure)
	}
	return ""
}

// Tired reports whether attempts at the step failed or were cut off since a person
// last had a say.
func (s StepHistory) Tired() bool { return s.LastFailure != nil || s.Cutoffs > 0 }

// Times says a number in words.
func Times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// ReasonOf is why an attempt failed.
func ReasonOf(ev *reprise.Event) string {
	if ev == nil || ev.Text == "" {
		return "no reason is on record"
	}
	return ev.Text
}
