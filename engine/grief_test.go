package engine_test

import (
	"testing"

	"reprise"
	"reprise/engine"
	"reprise/internal/sample"
)

// TestO1_a_failed_attempt_makes_nothing_finished_run_again: the first attempt at
// every step of every workflow comes to grief. That says nothing about the work
// of others, which stays done.
func TestO1_a_failed_attempt_makes_nothing_finished_run_again(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	for _, w := range workflows {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			e := w.project(t)
			dir := e.Dir
			env := e.Settings.Agents["actor"].Env
			env["DEMO_FAIL"] = "1"
			delete(env, "DEMO_GAPS")
			ref, err := e.Begin(t.Context(), w.layout, w.kind, w.goal, engine.Choice{})
			if err != nil {
				t.Fatal(err)
			}
			sum, err := e.Resume(t.Context(), ref, engine.Choice{})
			if err != nil {
				t.Fatal(err)
			}
			if sum.State != reprise.Complete && !(w.waits && sum.State == reprise.Waiting) {
				t.Errorf("%s: %q, failed %+v", sum.State, sum.Reasons, sum.Failed)
			}
			finished := map[string]int{}
			for _, s := range sum.Finished {
				if finished[s.ID+" "+s.Title]++; finished[s.ID+" "+s.Title] > 1 {
					t.Errorf("%s %s was finished %d times", s.ID, s.Title, finished[s.ID+" "+s.Title])
				}
			}
			if t.Failed() {
				for _, ev := range events(t, dir, ref) {
					t.Logf("%s %s%s %d %s %q", ev.Kind, ev.Step, ev.Question, ev.Attempt, ev.Outcome, ev.Text)
				}
			}
		})
	}
}
