package journal

import (
	"slices"

	"reprise"
)

// GoneHint says what a person can do about a run whose files are gone.
func GoneHint(run string) string {
	return "`reprise repair " + run + "` rebuilds it from the journal, `reprise undo` lists what was kept before, `reprise clean " + run + "` gives the run up; `git stash list` or another branch may have it"
}

// Ends returns the entries with accepted ends that were not taken back later, in order.
// hist is the fold of the entries.
func Ends(entries []Entry, hist *History) []Entry {
	var out []Entry
	for i := range entries {
		ev := &entries[i].Event
		if ev.Kind != reprise.StepFinished {
			continue
		}
		if end := hist.Step(ev.Step).Accepted; end != nil && end.At.Equal(ev.At) && end.Attempt == ev.Attempt {
			out = append(out, entries[i])
		}
	}
	return out
}

// Reopened gives the end of a step that was accepted, that nothing on record took
// back, and that the files call open all the same without a word of it from then or
// later; nil for any other step.
func (s StepHistory) Reopened(step *reprise.Step) *reprise.Event {
	if step == nil || step.Status.Closed() || step.Status == reprise.InReview {
		return nil
	}
	if s.Accepted == nil || slices.ContainsFunc(step.Claims, func(c reprise.Claim) bool { return !c.At.Before(s.Accepted.At) }) {
		return nil
	}
	return s.Accepted
}
