package temporal_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/log"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"reprise"
	"reprise/engine"
	"reprise/engine/temporal"
	"reprise/report"
)

// newEnv is a server in memory that runs our workflows. A machine that has no time for them for a
// while does not fail them.
func newEnv(within time.Duration) *testsuite.TestWorkflowEnvironment {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(within)
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute})
	temporal.Register(env)
	return env
}

// endless is a run of which two steps are always at work: one ends once the next has
// begun, or after a while if none begins.
type endless struct {
	mu    sync.Mutex
	steps int
	begun map[int]chan struct{}
}

func (e *endless) started(n int) chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.begun[n] == nil {
		e.begun[n] = make(chan struct{})
	}
	return e.begun[n]
}

func (e *endless) decide(_ context.Context, in temporal.DecideInput) (*temporal.Decision, error) {
	d := &temporal.Decision{}
	for n := len(in.AtWork); n < 2; n++ {
		d.Starts = append(d.Starts, temporal.Start{Elsewhere: engine.Elsewhere{Step: fmt.Sprint(e.steps), Number: e.steps}, Queue: "q", Timeout: time.Hour})
		e.steps++
	}
	return d, nil
}

func (e *endless) attempt(_ context.Context, in temporal.AttemptInput) (*temporal.AttemptResult, error) {
	close(e.started(in.Start.Number))
	select {
	case <-e.started(in.Start.Number + 1):
	case <-time.After(200 * time.Millisecond):
	}
	return &temporal.AttemptResult{}, nil
}

func (e *endless) land(_ context.Context, in temporal.LandInput) (*temporal.Landing, error) {
	return &temporal.Landing{Accepted: &report.WorkStep{ID: in.Start.Step}}, nil
}

// The history of a run begins anew although something is always at work: nothing more is
// started until what is at work has landed, and everything that was accepted is counted.
// (issue 19)
func TestA_history_begins_anew_where_steps_never_pause(t *testing.T) {
	t.Parallel()
	env := newEnv(time.Minute)
	e := &endless{begun: map[int]chan struct{}{}}
	for name, f := range map[string]any{temporal.DecideActivity: e.decide, temporal.AttemptActivity: e.attempt, temporal.LandActivity: e.land} {
		env.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name})
	}
	env.ExecuteWorkflow(temporal.RunWorkflow, temporal.Run{Heartbeat: time.Minute, Landings: 5})
	anew := new(workflow.ContinueAsNewError)
	if err := env.GetWorkflowError(); !errors.As(err, &anew) {
		t.Fatalf("it ended with %v after %d steps", err, e.steps)
	}
	var next temporal.Run
	if err := json.Unmarshal(anew.Input.GetPayloads()[0].GetData(), &next); err != nil {
		t.Fatal(err)
	}
	if next.Accepted != e.steps || e.steps < 5 || e.steps > 10 || len(next.Finished) != e.steps {
		t.Errorf("%d steps, %d accepted, %d of them by name", e.steps, next.Accepted, len(next.Finished))
	}
}

// shipping is a run that asks one question until it is answered.
func shipping(_ context.Context, in temporal.DecideInput) (*temporal.Decision, error) {
	d := &temporal.Decision{Left: &report.Summary{}}
	if in.Answers["q"] == "" {
		d.Questions = []temporal.Question{{Question: report.Question{ID: "q", Text: "Ship it?"}}}
	}
	return d, nil
}

// Whoever answers is told which answer was kept: the server gives a second answer to the same
// asking what the first one got. (issue 19)
func TestAn_answer_tells_what_was_kept(t *testing.T) {
	t.Parallel()
	env := newEnv(time.Minute)
	env.RegisterActivityWithOptions(shipping, activity.RegisterOptions{Name: temporal.DecideActivity})
	var kept any
	env.RegisterDelayedCallback(func() {
		env.UpdateWorkflow(temporal.AnswerUpdate, "q@1", &testsuite.TestUpdateCallback{
			OnAccept: func() {}, OnReject: func(err error) { t.Error(err) },
			OnComplete: func(got any, err error) {
				if kept = got; err != nil {
					t.Error(err)
				}
			},
		}, "q", "yes")
	}, time.Minute)
	env.ExecuteWorkflow(temporal.RunWorkflow, temporal.Run{Heartbeat: time.Minute, Landings: 5})
	if err := env.GetWorkflowError(); err != nil || kept != "yes" {
		t.Errorf("kept %v, %v", kept, err)
	}
}

// A run waits for a limit that a person opens: it looks again at once, and tries now where that was
// said to it. (issue 19)
func TestA_limit_that_a_person_opens(t *testing.T) {
	t.Parallel()
	for now, want := range map[bool]string{true: reprise.OptionNow, false: ""} {
		env := newEnv(time.Minute)
		began, chosen := env.Now(), []string{}
		env.RegisterActivityWithOptions(func(_ context.Context, in temporal.DecideInput) (*temporal.Decision, error) {
			if chosen = append(chosen, in.Run.Choice.Option); len(chosen) == 1 {
				return &temporal.Decision{Until: began.Add(2 * time.Hour), Account: "tests"}, nil
			}
			if in.Run.Taken {
				t.Error("it is not taken up again")
			}
			return &temporal.Decision{Left: &report.Summary{}}, nil
		}, activity.RegisterOptions{Name: temporal.DecideActivity})
		env.RegisterDelayedCallback(func() {
			v, err := env.QueryWorkflow(temporal.StateQuery)
			var s temporal.State
			if err != nil || v.Get(&s) != nil || s.Account != "tests" {
				t.Errorf("it says %+v, %v", s, err)
			}
			env.SignalWorkflow(temporal.OpenedSignal, now)
		}, time.Minute)
		env.ExecuteWorkflow(temporal.RunWorkflow, temporal.Run{Heartbeat: time.Minute, Landings: 5})
		if err := env.GetWorkflowError(); err != nil || len(chosen) != 2 || chosen[1] != want || env.Now().Sub(began) > time.Hour {
			t.Errorf("%t: it chose %q after %s: %v", now, chosen, env.Now().Sub(began), err)
		}
	}
}

// A run is stopped while one of its attempts cannot be landed: the others are, and the run is
// left in good order before that is told. (issue 19)
func TestA_stop_lands_what_can_be_landed(t *testing.T) {
	t.Parallel()
	env := newEnv(time.Minute)
	var mu sync.Mutex
	var landed, open []string
	left := false
	decide := func(_ context.Context, in temporal.DecideInput) (*temporal.Decision, error) {
		mu.Lock()
		defer mu.Unlock()
		d := &temporal.Decision{}
		if in.Stop {
			left = true
			for _, at := range in.AtWork {
				open = append(open, at.Step)
			}
			return d, nil
		}
		for _, step := range []string{"a", "b", "c"} {
			d.Starts = append(d.Starts, temporal.Start{Elsewhere: engine.Elsewhere{Step: step, Number: 1}, Queue: "q", Timeout: time.Hour})
		}
		return d, nil
	}
	attempt := func(ctx context.Context, _ temporal.AttemptInput) (*temporal.AttemptResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	land := func(_ context.Context, in temporal.LandInput) (*temporal.Landing, error) {
		mu.Lock()
		defer mu.Unlock()
		if in.Start.Step == "a" {
			return nil, sdk.NewNonRetryableApplicationError("a cannot be landed", "exit-11", nil)
		}
		landed = append(landed, in.Start.Step)
		return &temporal.Landing{}, nil
	}
	for name, f := range map[string]any{temporal.DecideActivity: decide, temporal.AttemptActivity: attempt, temporal.LandActivity: land} {
		env.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name})
	}
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Second)
	env.ExecuteWorkflow(temporal.RunWorkflow, temporal.Run{Heartbeat: time.Minute, Landings: 500})
	err := env.GetWorkflowError()
	slices.Sort(landed)
	if err == nil || !strings.Contains(err.Error(), "a cannot be landed") || fmt.Sprint(landed) != "[b c]" || !left || fmt.Sprint(open) != "[a]" {
		t.Errorf("landed %v, left %v with %v open: %v", landed, left, open, err)
	}
}

// A run is stopped while the last of its attempts is landed: nothing is left to do then, and it is
// over as if no one had stopped it. One of which something is left was stopped. (issue 19)
func TestA_stop_that_meets_the_end_of_a_run(t *testing.T) {
	t.Parallel()
	for action, over := range map[reprise.Action]bool{reprise.Finish: true, reprise.Start: false} {
		env := newEnv(time.Minute)
		decide := func(_ context.Context, in temporal.DecideInput) (*temporal.Decision, error) {
			if in.Stop {
				return &temporal.Decision{Left: &report.Summary{State: reprise.Complete, Action: action}}, nil
			}
			return &temporal.Decision{Starts: []temporal.Start{{Elsewhere: engine.Elsewhere{Step: "a", Number: 1}, Queue: "q", Timeout: time.Hour}}}, nil
		}
		attempt := func(ctx context.Context, _ temporal.AttemptInput) (*temporal.AttemptResult, error) {
			<-ctx.Done()
			return &temporal.AttemptResult{}, nil
		}
		land := func(_ context.Context, in temporal.LandInput) (*temporal.Landing, error) {
			return &temporal.Landing{Accepted: &report.WorkStep{ID: in.Start.Step}}, nil
		}
		for name, f := range map[string]any{temporal.DecideActivity: decide, temporal.AttemptActivity: attempt, temporal.LandActivity: land} {
			env.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name})
		}
		env.RegisterDelayedCallback(env.CancelWorkflow, time.Second)
		env.ExecuteWorkflow(temporal.RunWorkflow, temporal.Run{Heartbeat: time.Minute, Landings: 500})
		var sum report.Summary
		if err := env.GetWorkflowError(); !over && !sdk.IsCanceledError(err) || over && (err != nil || env.GetWorkflowResult(&sum) != nil || len(sum.Finished) != 1) {
			t.Errorf("%s: %+v, %v", action, sum, err)
		}
	}
}
