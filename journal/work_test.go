package journal_test

import (
	"testing"

	"reprise"
	"reprise/journal"
)

// A review that commits nothing does not hide the commit with the work, and what a person
// sends back is not the work any more.
func TestFold_keeps_the_commits_of_accepted_attempts(t *testing.T) {
	t.Parallel()
	h := &journal.History{}
	add := func(kind reprise.EventKind, attempt int, commit string) {
		ev := reprise.Event{Kind: kind, Step: "T1", Attempt: attempt, Commit: commit, Outcome: "approved"}
		if kind == reprise.StepStarted {
			ev.Base = "base"
		}
		if kind == reprise.StepReset {
			ev.Actor = reprise.Person
		}
		h.Add(&ev)
	}
	add(reprise.StepStarted, 1, "")
	add(reprise.StepFinished, 1, "made")
	add(reprise.StepStarted, 2, "")
	add(reprise.StepFinished, 2, "")
	if w := h.Step("T1").Work; len(w) != 1 || w[0].Commit != "made" || w[0].Base != "base" {
		t.Errorf("after a review: %+v", w)
	}
	add(reprise.StepReset, 0, "")
	if w := h.Step("T1").Work; len(w) != 0 {
		t.Errorf("sent back by a person: %+v", w)
	}
}
