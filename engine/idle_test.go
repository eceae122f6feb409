package engine_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"reprise"
	"reprise/agent"
	"reprise/engine"
)

// A resume that can start and record nothing writes nothing: it takes no snapshot and is
// not in the journal, and it ends as the work before it did.
func TestA_resume_that_comes_to_nothing_writes_nothing(t *testing.T) {
	t.Parallel()
	const flow = "name: one\nsteps:\n  - {id: a, role: first, prompt: make it, outputs: [a.txt]}\n"
	for name, c := range map[string]struct {
		result agent.Result
		want   reprise.Outcome
		choice engine.Choice
	}{
		"a limit":             {agent.Result{Outcome: agent.Limited, Until: begun.Add(5 * time.Hour)}, reprise.OutcomeWait, engine.Choice{}},
		"a limit, said so":    {agent.Result{Outcome: agent.Limited, Until: begun.Add(5 * time.Hour)}, reprise.OutcomeWait, engine.Choice{Option: reprise.OptionContinue}},
		"failed for good":     {agent.Result{Outcome: agent.Failed, Reason: "the tests fail"}, reprise.OutcomeAsk, engine.Choice{}},
		"failed, and said so": {agent.Result{Outcome: agent.Failed, Reason: "the tests fail"}, reprise.OutcomeAsk, engine.Choice{Option: reprise.OptionContinue}},
		"finished":            {agent.Result{Outcome: agent.Done}, reprise.OutcomeOK, engine.Choice{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := repository(t)
			put(t, dir, "flow.yaml", flow)
			make := func(at time.Time) *engine.Engine {
				e := stubbed(dir, map[string]func(agent.Job) *agent.Result{"first": func(job agent.Job) *agent.Result {
					if c.result.Outcome == agent.Done {
						return made(job)
					}
					result := c.result
					return &result
				}})
				e.Now, e.Settings.Attempts = newClock(at, 1).now, 1
				return e
			}
			begin(t, make(begun), "one", "flow.yaml")
			was, before := events(t, dir, refOf("one")), files(t, dir)
			sum, err := make(begun.Add(time.Hour)).Resume(t.Context(), refOf("one"), c.choice)
			if err != nil {
				t.Fatal(err)
			}
			if got := sum.Outcome(); got != c.want || sum.Snapshot != "" || sum.Launches > 0 {
				t.Errorf("it came to %v with the snapshot %q and %d launches, not to %v: %q", got, sum.Snapshot, sum.Launches, c.want, sum.Reasons)
			}
			if now := events(t, dir, refOf("one")); len(now) != len(was) {
				t.Errorf("it recorded %+v", now[len(was):])
			}
			if after := files(t, dir); !maps.EqualFunc(before, after, slices.Equal) {
				t.Errorf("it changed the files of the project")
			}
		})
	}
}
