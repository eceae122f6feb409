package journal_test

import (
	"testing"

	"reprise"
	"reprise/journal"
)

// An end that was accepted stands against files that call the step open, unless they say
// so with a later word.
func TestAn_accepted_end_that_the_files_lost(t *testing.T) {
	t.Parallel()
	end := &reprise.Event{Kind: reprise.StepFinished, Step: "a", Attempt: 1, At: at}
	open := func(status reprise.Status, claims ...reprise.Claim) *reprise.Step {
		return &reprise.Step{ID: "a", Status: status, Claims: claims}
	}
	for name, c := range map[string]struct {
		step     *reprise.Step
		accepted *reprise.Event
		doubt    bool
	}{
		"the files call it open":       {open(reprise.Pending), end, true},
		"by an older word":             {open(reprise.Pending, reprise.Claim{At: at.Add(-1)}), end, true},
		"by a newer word":              {open(reprise.Pending, reprise.Claim{At: at.Add(1)}), end, false},
		"by a word of the same moment": {open(reprise.Pending, reprise.Claim{At: at}), end, false},
		"the files call it done":       {open(reprise.Done), end, false},
		"it waits for its review":      {open(reprise.InReview), end, false},
		"nothing was accepted":         {open(reprise.Pending), nil, false},
		"the files do not have it":     {nil, end, false},
	} {
		if got := (journal.StepHistory{Accepted: c.accepted}).Reopened(c.step); (got != nil) != c.doubt {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// The attempt that uses the budget up is the last one before a person is asked.
func TestA_budget_is_spent_by_the_attempt_that_uses_it_up(t *testing.T) {
	t.Parallel()
	failed := func(outcome string) *reprise.Event { return &reprise.Event{Outcome: outcome, Text: "why"} }
	for name, c := range map[string]struct {
		history journal.StepHistory
		want    string
	}{
		"nothing happened":       {journal.StepHistory{}, ""},
		"one is left":            {journal.StepHistory{Failures: 2, LastFailure: failed("failed")}, ""},
		"failed as often":        {journal.StepHistory{Failures: 3, LastFailure: failed("failed")}, "failed 3 times: why"},
		"failed more often":      {journal.StepHistory{Failures: 4, LastFailure: failed("failed")}, "failed 4 times: why"},
		"one cut-off is left":    {journal.StepHistory{Cutoffs: 4}, ""},
		"cut off as often":       {journal.StepHistory{Cutoffs: 5}, "was cut off 5 times without an end"},
		"failed in the same way": {journal.StepHistory{Failures: 2, LastFailure: failed(journal.SameAgain)}, "failed twice in the same way, with nothing changed between the two: why"},
		"its own run waits":      {journal.StepHistory{Failures: 1, LastFailure: failed(journal.Pointless)}, "why"},
	} {
		if got := c.history.Spent(journal.Budget{Attempts: 3, Cutoffs: 5}); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A run that someone worked on is missed where its files are gone, until it was ended or
// stopped on purpose.
func TestA_run_should_be_there_until_it_is_over(t *testing.T) {
	t.Parallel()
	begun, work := reprise.Event{Kind: reprise.RunStarted}, reprise.Event{Kind: reprise.StepStarted, Step: "a"}
	for name, c := range map[string]struct {
		events []reprise.Event
		open   bool
	}{
		"nothing happened":     {nil, false},
		"only begun":           {[]reprise.Event{begun}, false},
		"worked on":            {[]reprise.Event{begun, work}, true},
		"begun elsewhere":      {[]reprise.Event{{Kind: reprise.RunResumed}}, true},
		"ended":                {[]reprise.Event{begun, work, {Kind: reprise.RunEnded}}, false},
		"stopped on purpose":   {[]reprise.Event{begun, work, {Kind: reprise.RunStopped}}, false},
		"paused":               {[]reprise.Event{begun, work, {Kind: reprise.RunStopped, Outcome: "paused"}}, true},
		"left with more to do": {[]reprise.Event{begun, work, {Kind: reprise.EngineLeft, Outcome: reprise.Ask.String()}}, true},
		"left with nothing":    {[]reprise.Event{begun, work, {Kind: reprise.EngineLeft, Outcome: reprise.Finish.String()}}, false},
		"begun again":          {[]reprise.Event{begun, work, begun}, false},
	} {
		var entries []journal.Entry
		for _, ev := range c.events {
			entries = append(entries, journal.Entry{Event: ev})
		}
		if life := journal.LifeOf(entries); life.Open != c.open {
			t.Errorf("%s: %+v", name, life)
		}
	}
}
