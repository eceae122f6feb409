package reprise

import (
	"strings"
	"testing"
	"time"
)

func TestA_limit_that_the_files_tell_of_is_kept_beside_those_of_the_journal(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	r := &Run{State: Interrupted, Until: at.Add(3 * time.Hour), Steps: []Step{{ID: "a", Status: Pending}}, Next: []Unit{{ID: "a"}}}
	r.Recall([]Event{{Kind: StepDeferred, Step: "a", Until: at.Add(time.Hour)}})
	if d := Next(r, Observed{Now: at.Add(2 * time.Hour)}, Policy{}); d.Action != Wait {
		t.Errorf("before the limit of the files ends: %s %q", d.Action, d.Reasons)
	}
	if d := Next(r, Observed{Now: at.Add(4 * time.Hour)}, Policy{}); d.Action != Start {
		t.Errorf("after both limits: %s %q", d.Action, d.Reasons)
	}
}

func TestX8_a_run_waits_until_the_first_of_its_limits_ends(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	deferred := func(step string, hours int) Event {
		return Event{Kind: StepDeferred, Step: step, Until: at.Add(time.Duration(hours) * time.Hour), Account: step}
	}
	for name, c := range map[string]struct {
		events []Event
		until  time.Duration // zero for none
	}{
		"none":                {nil, 0},
		"one":                 {[]Event{deferred("a", 5)}, 5 * time.Hour},
		"the first of two":    {[]Event{deferred("a", 5), deferred("b", 2)}, 2 * time.Hour},
		"one that came later": {[]Event{deferred("a", 1), deferred("a", 5)}, 5 * time.Hour},
		"taken up since":      {[]Event{deferred("a", 5), {Kind: StepStarted, Step: "a", Attempt: 2}}, 0},
		"left out since":      {[]Event{deferred("a", 5), {Kind: StepSkipped, Step: "a"}}, 0},
		"only taken back":     {[]Event{deferred("a", 5), {Kind: StepReset, Step: "a", Outcome: "limited"}}, 5 * time.Hour},
		"started afresh":      {[]Event{deferred("a", 5), {Kind: RunStarted}}, 0},
	} {
		r := &Run{State: Interrupted, Steps: []Step{{ID: "a", Status: Pending}, {ID: "b", Status: Pending}}, Next: []Unit{{ID: "a"}, {ID: "b"}}}
		r.Recall(c.events)
		want := time.Time{}
		if c.until > 0 {
			want = at.Add(c.until)
		}
		if !r.Until.Equal(want) {
			t.Errorf("%s: until %s, want %s", name, r.Until, want)
		}
		before, after := Next(r, Observed{Now: at.Add(time.Hour)}, Policy{}), Next(r, Observed{Now: at.Add(6 * time.Hour)}, Policy{})
		if waits := before.Action == Wait && before.State == Waiting && strings.Contains(strings.Join(before.Reasons, " "), "waits for a limit or an outage until"); waits != (c.until > 0) {
			t.Errorf("%s: before it %s %s %q", name, before.Action, before.State, before.Reasons)
		}
		if after.Action != Start || after.State != Interrupted {
			t.Errorf("%s: after it %s %s", name, after.Action, after.State)
		}
	}
}

func TestWhat_a_run_waits_for_is_named_as_far_as_it_is_known(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for outcome, want := range map[string]string{
		AwaitsLimit:  "waits for a limit until 2026-03-01 14:00 UTC (why)",
		AwaitsOutage: "waits for an outage until 2026-03-01 14:00 UTC (why)",
		"":           "waits for a limit or an outage until 2026-03-01 14:00 UTC (why)",
	} {
		r := &Run{State: Interrupted, Steps: []Step{{ID: "a", Status: Pending}}, Next: []Unit{{ID: "a"}}}
		r.Recall([]Event{{Kind: StepStarted, Step: "a", Attempt: 1, At: at}, {Kind: StepDeferred, Step: "a", Attempt: 1, At: at, Until: at.Add(2 * time.Hour), Account: "x", Outcome: outcome, Text: "why"}})
		if got := r.Awaits(); got != want {
			t.Errorf("%q: %q", outcome, got)
		}
	}
}
