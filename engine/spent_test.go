package engine_test

import (
	"slices"
	"testing"

	"reprise"
	"reprise/agent"
	"reprise/engine"
	"reprise/internal/sample"
	"reprise/settings"
)

// TestX1_what_is_parked_is_judged_so: in every workflow the first agent fails for good.
// The judgement asks for a person then, exactly as continuing would start nothing; and
// where more attempts are allowed since, it is continued, and both say so.
func TestX1_what_is_parked_is_judged_so(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	for _, w := range workflows {
		if slices.Contains([]reprise.Kind{reprise.KindTasks, reprise.KindPlans, reprise.KindSpecLoop}, w.kind) {
			continue // the core parks nothing: it asks
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			e := w.project(t)
			e.Settings.Attempts, e.Ask, e.Parallel = 1, nil, 1
			e.Agent = func(settings.Agent) (agent.Agent, error) {
				return stub{play: func(agent.Job) *agent.Result {
					return &agent.Result{Outcome: agent.Failed, Exit: 1, Reason: "it does not work"}
				}}, nil
			}
			ref, err := e.Begin(t.Context(), w.layout, w.kind, w.goal, engine.Choice{})
			if err != nil {
				t.Fatal(err)
			}
			sum, err := e.Resume(t.Context(), ref, engine.Choice{})
			if err != nil || len(sum.Parked) == 0 {
				t.Fatalf("%+v, %v", sum, err)
			}
			for _, attempts := range []int{1, 2} {
				e.Settings.Attempts = attempts
				p, err := e.Preview(t.Context(), ref, engine.Choice{})
				if err != nil {
					t.Fatal(err)
				}
				again, err := e.Resume(t.Context(), ref, engine.Choice{})
				if err != nil {
					t.Fatal(err)
				}
				if starts := p.Decision.Action == reprise.Start; starts != (again.Launches > 0) || len(p.Starts) > 0 != starts {
					t.Errorf("with %d attempts it is decided to %v %q, %d were to be started and %d were: %q", attempts, p.Decision.Action, p.Decision.Reasons, len(p.Starts), again.Launches, again.Reasons)
				}
			}
		})
	}
}
