package journal

import (
	"testing"
	"time"

	"reprise"
)

// What attempts used is in the journal alone: it is the same whoever reads it and
// however often the process was killed.
func TestWhat_was_used_is_folded_from_the_journal(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	use := func(cost float64) *reprise.Usage {
		return &reprise.Usage{Tokens: &reprise.Tokens{Input: 100}, Cost: &cost}
	}
	started := func(step string, n int, session string) reprise.Event {
		return reprise.Event{Kind: reprise.StepStarted, Step: step, Attempt: n, At: day, Agent: session}
	}
	ended := func(kind reprise.EventKind, step string, n int, at time.Time, u *reprise.Usage) reprise.Event {
		return reprise.Event{Kind: kind, Step: step, Attempt: n, At: at, Usage: u}
	}
	begun := reprise.Event{Kind: reprise.RunStarted, At: day}
	raise := func(id, text string) reprise.Event {
		return reprise.Event{Kind: reprise.QuestionAnswered, Question: id, Text: text}
	}
	for name, c := range map[string]struct {
		events     []reprise.Event
		run, today string
		raised     int
	}{
		"nothing": {nil, "nothing", "nothing", 0},
		"two attempts of a step": {[]reprise.Event{started("a", 1, "s"), ended(reprise.StepFailed, "a", 1, day, use(1)), started("a", 2, "s"), ended(reprise.StepFinished, "a", 2, day, use(2))},
			"$3.00", "$3.00", 0},
		"an attempt that was settled twice counts once": {[]reprise.Event{started("a", 1, "s"), ended(reprise.StepResolved, "a", 1, day, use(1)), ended(reprise.StepFinished, "a", 1, day, use(1))},
			"$1.00", "$1.00", 0},
		"one that tells nothing": {[]reprise.Event{started("a", 1, ""), ended(reprise.StepFinished, "a", 1, day, &reprise.Usage{}), started("b", 1, ""), ended(reprise.StepFinished, "b", 1, day, use(2))},
			"at least $2.00", "at least $2.00", 0},
		"a journal of before": {[]reprise.Event{started("a", 1, "s"), ended(reprise.StepFinished, "a", 1, day, nil)}, "not known", "not known", 0},
		"a command":           {[]reprise.Event{started("a", 1, ""), ended(reprise.StepFinished, "a", 1, day, nil)}, "nothing", "nothing", 0},
		"a session that became known later": {[]reprise.Event{started("a", 1, ""), {Kind: reprise.SessionKnown, Step: "a", Attempt: 1, Agent: "s", At: day}},
			"not known", "not known", 0},
		"an attempt that ended yesterday": {[]reprise.Event{started("a", 1, "s"), ended(reprise.StepFinished, "a", 1, day.Add(-10*time.Hour), use(1)), started("b", 1, "s"), ended(reprise.StepFinished, "b", 1, day, use(2))},
			"$3.00", "$2.00", 0},
		"a run that was started again used it all the same": {[]reprise.Event{begun, started("a", 1, "s"), ended(reprise.StepFinished, "a", 1, day, use(1)), raise("budget-run-cost-x2", RaiseOnce), raise("budget-day-2026-03-02-cost-x2", RaiseOnce),
			begun, started("a", 1, "s"), ended(reprise.StepFinished, "a", 1, day, use(2))}, "$2.00", "$3.00", 1},
		"a budget that was not raised": {[]reprise.Event{raise("budget-run-cost-x2", reprise.StopHere), raise("other", RaiseOnce), raise("budget-run-cost-x3", RaiseOnce+": go on")},
			"nothing", "nothing", 1},
	} {
		h := &History{}
		for i := range c.events {
			h.Add(&c.events[i])
		}
		run := Used(h.Spent, nil)
		today := Used(append(append([]Spent{}, h.Earlier...), h.Spent...), On(day.Add(time.Hour)))
		if run.Money() != c.run || today.Money() != c.today || len(h.Raised) != c.raised {
			t.Errorf("%s: the run %s, today %s, %d raised; want %s, %s, %d", name, run.Money(), today.Money(), len(h.Raised), c.run, c.today, c.raised)
		}
	}
}
