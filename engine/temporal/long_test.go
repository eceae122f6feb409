package temporal_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/workflow"

	"reprise/engine"
	"reprise/engine/temporal"
	"reprise/report"
)

// A run of very many steps: its history begins anew again and again, each step is started and
// landed once and in order, all of them are counted, and what one history tells the next does not
// grow. REPRISE_FLEET_LONG says how many steps; docs/how-to/fleet.md has the figures. (issue 19)
func TestA_run_of_very_many_steps(t *testing.T) {
	t.Parallel()
	steps, landed := number("REPRISE_FLEET_LONG", 3000), 0
	next := func(run *temporal.Run) *temporal.Decision {
		if landed == steps {
			return &temporal.Decision{Left: &report.Summary{}}
		}
		return &temporal.Decision{Starts: []temporal.Start{{Elsewhere: engine.Elsewhere{Step: fmt.Sprint(landed), Number: 1}, Queue: "q", Timeout: time.Hour}}, Carried: run.Carried}
	}
	decide := func(_ context.Context, in temporal.DecideInput) (*temporal.Decision, error) {
		return next(&in.Run), nil
	}
	attempt := func(_ context.Context, in temporal.AttemptInput) (*temporal.AttemptResult, error) {
		return &temporal.AttemptResult{Commit: in.Start.Step}, nil
	}
	land := func(_ context.Context, in temporal.LandInput) (*temporal.Landing, error) {
		if want := fmt.Sprint(landed); in.Start.Step != want || in.Result.Commit != want || in.Lost != "" {
			t.Errorf("%s was landed in place of %s: %+v", in.Start.Step, want, in)
		}
		landed++
		l := &temporal.Landing{Accepted: &report.WorkStep{ID: in.Start.Step}}
		if in.Decide {
			l.Next = next(&in.Run)
		}
		return l, nil
	}
	run, histories, most := temporal.Run{Heartbeat: time.Minute, Landings: temporal.DefaultLandings}, 0, 0
	began := time.Now()
	for {
		env := newEnv(10 * time.Minute)
		for name, f := range map[string]any{temporal.DecideActivity: decide, temporal.AttemptActivity: attempt, temporal.LandActivity: land} {
			env.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name})
		}
		before := landed
		env.ExecuteWorkflow(temporal.RunWorkflow, run)
		histories++
		if n := landed - before; n > temporal.DefaultLandings {
			t.Fatalf("one history has %d landings", n)
		}
		anew := new(workflow.ContinueAsNewError)
		err := env.GetWorkflowError()
		if !errors.As(err, &anew) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		text := anew.Input.GetPayloads()[0].GetData()
		most, run = max(most, len(text)), temporal.Run{}
		if err := json.Unmarshal(text, &run); err != nil {
			t.Fatal(err)
		}
		if run.Accepted != landed {
			t.Fatalf("%d of %d accepted steps are counted", run.Accepted, landed)
		}
	}
	t.Logf("%d steps in %d histories, %d bytes from one to the next at most, %s", landed, histories, most, time.Since(began).Round(time.Second))
	if landed != steps || histories < steps/temporal.DefaultLandings || most > 64<<10 {
		t.Errorf("%d of %d steps were landed", landed, steps)
	}
}
