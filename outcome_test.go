package reprise_test

import (
	"testing"
	"time"

	"reprise"
)

// X1: what a verdict comes to in one word.
func TestOutcome_of_a_decision(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		d    reprise.Decision
		want reprise.Outcome
	}{
		"safe":                           {reprise.Decision{Action: reprise.Start, State: reprise.Interrupted, Verdict: reprise.Safe}, reprise.OutcomeOK},
		"nothing left":                   {reprise.Decision{Action: reprise.Finish, State: reprise.Complete, Verdict: reprise.VerdictNone}, reprise.OutcomeNothing},
		"caution":                        {reprise.Decision{Action: reprise.Start, State: reprise.Interrupted, Verdict: reprise.Caution}, reprise.OutcomeCaution},
		"blocked":                        {reprise.Decision{Action: reprise.Refuse, State: reprise.Interrupted, Verdict: reprise.BlockedVerdict}, reprise.OutcomeBlocked},
		"blocked goes before a question": {reprise.Decision{Action: reprise.Ask, State: reprise.Waiting, Verdict: reprise.BlockedVerdict}, reprise.OutcomeBlocked},
		"a question":                     {reprise.Decision{Action: reprise.Ask, State: reprise.Waiting, Verdict: reprise.Caution}, reprise.OutcomeAsk},
		"a limit":                        {reprise.Decision{Action: reprise.Wait, State: reprise.Interrupted, Verdict: reprise.Safe}, reprise.OutcomeWait},
		"alive":                          {reprise.Decision{Action: reprise.Refuse, State: reprise.Running, Verdict: reprise.BlockedVerdict}, reprise.OutcomeHeld},
		"unreadable":                     {reprise.Decision{Action: reprise.Repair, State: reprise.Unreadable, Verdict: reprise.BlockedVerdict}, reprise.OutcomeUnreadable},
	} {
		if got := c.d.Outcome(); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestComesAfter_by_needs_or_by_place(t *testing.T) {
	t.Parallel()
	needs := &reprise.Run{Steps: []reprise.Step{{ID: "a"}, {ID: "b"}, {ID: "c", Needs: []string{"a"}}, {ID: "d", Needs: []string{"c", "d"}}}}
	place := &reprise.Run{Steps: []reprise.Step{{ID: "a"}, {ID: "b"}}}
	for _, c := range []struct {
		run         *reprise.Run
		step, other string
		want        bool
	}{
		{needs, "d", "a", true}, {needs, "a", "d", false}, {needs, "b", "a", false}, {needs, "d", "d", true},
		{place, "b", "a", true}, {place, "a", "b", false}, {place, "a", "a", false},
	} {
		if got := c.run.ComesAfter(c.step, c.other); got != c.want {
			t.Errorf("%s after %s: %v", c.step, c.other, got)
		}
	}
}

func TestLatest_leaves_out_what_is_alive_held_elsewhere_or_of_unknown_age(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(hours int) *reprise.Run {
		return &reprise.Run{State: reprise.Interrupted, LastActivity: now.Add(-time.Duration(hours) * time.Hour)}
	}
	alive, old, young, unknown := at(1), at(30), at(20), &reprise.Run{State: reprise.Interrupted}
	held := at(2)
	held.State = reprise.Waiting
	away := at(3)
	away.Findings = []reprise.Finding{{Code: reprise.CodeElsewhere, Severity: reprise.Blocking}}
	runs := []*reprise.Run{alive, old, young, unknown, held, away}
	decisions := map[*reprise.Run]reprise.Decision{alive: {State: reprise.Running}, held: {State: reprise.Waiting, Action: reprise.Ask}}
	if i := reprise.Latest(runs, decisions, reprise.Observed{Now: now}); i != 2 {
		t.Errorf("the latest is %d, want 2", i)
	}
	if i := reprise.Latest(runs[3:], decisions, reprise.Observed{Now: now}); i != -1 {
		t.Errorf("the latest is %d, want none", i)
	}
}

func TestFrom_moves_the_point_back_and_never_ahead(t *testing.T) {
	t.Parallel()
	r := &reprise.Run{Steps: []reprise.Step{{ID: "a", Role: "dev"}, {ID: "b"}, {ID: "c"}}}
	d := reprise.Decision{Action: reprise.Ask, Point: &reprise.Unit{ID: "b"}}
	for step, want := range map[string]string{"": "b", "a": "a", "b": "b", "c": "b", "nowhere": "b"} {
		got := d.From(r, step)
		if got.Action != reprise.Start || got.Point.ID != want {
			t.Errorf("from %q: %v at %s, want %s", step, got.Action, got.Point.ID, want)
		}
	}
}

func TestGoal_is_found_again(t *testing.T) {
	t.Parallel()
	r := &reprise.Run{Ref: reprise.Ref{ID: "4.2", Path: "docs/stories/4.2", Kind: reprise.KindStory}, Title: "Export"}
	for g, want := range map[*reprise.Goal]bool{
		{ID: "4.2"}: true, {ID: "4.3"}: false, {Path: "docs/stories/4.2/a.md"}: true, {Path: "docs/stories/4.21"}: false,
		{Text: " export "}: true, {Text: "import"}: false, {}: true,
	} {
		if got := g.Is(r); got != want {
			t.Errorf("%+v: %v", *g, got)
		}
	}
}
