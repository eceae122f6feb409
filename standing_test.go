package reprise_test

import (
	"slices"
	"testing"
	"time"

	"reprise"
)

// Someone at work is nothing wrong: the run is called running, or to wait, and never
// blocked, whatever the verdict forbids.
func TestX1_running_is_not_an_error(t *testing.T) {
	t.Parallel()
	at := reprise.Source{File: "lock"}
	owner := reprise.Owner{Agent: "reprise", PID: 7, StartedAt: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC), Source: at}
	alive := reprise.Observed{Owners: map[reprise.Source]reprise.OwnerLife{at: {Life: reprise.Alive, Reason: "it runs"}}}
	session := reprise.Observed{Sessions: []reprise.Session{{CLI: "claude", Dir: ".", Owner: reprise.OwnerLife{Life: reprise.Alive, Reason: "seen"}}}}
	run := func(state reprise.State, steps ...reprise.Status) *reprise.Run {
		r := &reprise.Run{Ref: reprise.Ref{ID: "r"}, State: state}
		for i, s := range steps {
			r.Steps = append(r.Steps, reprise.Step{ID: string(rune('a' + i)), Status: s})
		}
		return r
	}
	owned := func(r *reprise.Run, o reprise.Owner) *reprise.Run { r.Owner = &o; return r }
	held := run(reprise.Interrupted, reprise.Pending)
	held.Holder = &owner
	held.Next = []reprise.Unit{{ID: "a"}}
	broken := run(reprise.Interrupted, reprise.Pending)
	broken.Next, broken.Findings = []reprise.Unit{{ID: "a"}}, []reprise.Finding{{Severity: reprise.Blocking, Message: "x"}}
	const done, busy = reprise.Done, reprise.InProgress
	for name, c := range map[string]struct {
		r       *reprise.Run
		o       reprise.Observed
		want    reprise.Standing
		outcome reprise.Outcome
		reason  string
	}{
		"a step":      {owned(run(reprise.Interrupted, done, busy), owner), alive, "running", reprise.OutcomeHeld, "b is being worked on by reprise (process 7) since 2026-03-01 09:00 UTC"},
		"many steps":  {owned(run(reprise.Interrupted, busy, busy, busy, busy), owner), alive, "running", reprise.OutcomeHeld, "a, b, c and 1 more are being worked on by reprise (process 7) since 2026-03-01 09:00 UTC"},
		"little said": {owned(run(reprise.Interrupted, done), reprise.Owner{Source: at, Dir: "../x"}), alive, "running", reprise.OutcomeHeld, "it is being worked on in ../x"},
		"a session":   {run(reprise.Interrupted, busy), session, "running", reprise.OutcomeHeld, "a session of claude is at work in the same folder: seen"},
		"not begun":   {run(reprise.NotStarted, reprise.Pending), session, "waits", reprise.OutcomeHeld, "a session of claude is at work in the same folder: seen"},
		"beside it":   {held, reprise.Observed{}, "waits", reprise.OutcomeHeld, "waits: something else in this project is being worked on since 2026-03-01 09:00 UTC, by process 7"},
		"a problem":   {broken, reprise.Observed{}, "blocked", reprise.OutcomeBlocked, "x"},
	} {
		d := reprise.Next(c.r, c.o, reprise.Policy{})
		if d.Standing() != c.want || d.Outcome() != c.outcome || d.Verdict != reprise.BlockedVerdict || !slices.Contains(d.Reasons, c.reason) {
			t.Errorf("%s: %s, %v, %v, %q", name, d.Standing(), d.Outcome(), d.Verdict, d.Reasons)
		}
	}
}
