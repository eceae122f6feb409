package journal_test

import (
	"testing"
	"time"

	"reprise"
	"reprise/journal"
)

func TestX8_limits_and_lost_sessions_in_the_history(t *testing.T) {
	t.Parallel()
	until := at.Add(5 * time.Hour)
	h := &journal.History{}
	for _, ev := range []reprise.Event{
		{Kind: reprise.StepStarted, Step: "a", Attempt: 1, Agent: "s1", At: at},
		{Kind: reprise.StepDeferred, Step: "a", Attempt: 1, Until: until, Account: "claude", At: at},
		{Kind: reprise.StepDeferred, Step: "b", Attempt: 1, Until: until.Add(-time.Hour), Account: "claude", At: at},
	} {
		h.Add(&ev)
	}
	if s := h.Step("a"); !h.Limits["claude"].Equal(until) || s.Failures != 0 || s.Open != nil || s.Session != "s1" {
		t.Errorf("%v %+v", h.Limits, s)
	}
	h.Add(&reprise.Event{Kind: reprise.StepFinished, Step: "c", Attempt: 1, At: at.Add(time.Hour)})
	if len(h.Limits) != 1 {
		t.Error("what was finished before the limit ended says nothing of it")
	}
	h.Add(&reprise.Event{Kind: reprise.StepFinished, Step: "b", Attempt: 2, At: until})
	if len(h.Limits) != 0 {
		t.Error("what was finished after it shows that it is over")
	}
	h.Add(&reprise.Event{Kind: reprise.StepResolved, Step: "a", Attempt: 2, Agent: "s1", Outcome: string(reprise.Rerun), Cause: journal.SessionLost, Text: "full"})
	if s := h.Step("a"); s.Session != "" || s.Lost != "full" || s.Failures != 0 {
		t.Errorf("%+v", s)
	}
	h.Add(&reprise.Event{Kind: reprise.StepFinished, Step: "a", Attempt: 3, Agent: "s2"})
	if s := h.Step("a"); s.Session != "s2" || s.Lost != "" {
		t.Errorf("%+v", s)
	}
}
