package engine_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"reprise"
	"reprise/agent"
	"reprise/engine"
)

// TestX8_a_session_that_cannot_be_resumed_is_replaced_and_briefed: nothing is
// resumed that is full or gone, also by a later process.
func TestX8_a_session_that_cannot_be_resumed_is_replaced_and_briefed(t *testing.T) {
	t.Parallel()
	for outcome, says := range map[agent.Outcome]string{
		agent.OutOfContext:    "the context of its session was used up",
		agent.SessionNotFound: "its session could not be found",
	} {
		for _, died := range []bool{false, true} {
			t.Run(strings.Join([]string{string(outcome), map[bool]string{true: "and-the-engine-dies"}[died]}, "-"), func(t *testing.T) {
				t.Parallel()
				dir := repository(t)
				put(t, dir, "flow.yaml", asking)
				var mu sync.Mutex
				var jobs []agent.Job
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				play := map[string]func(agent.Job) *agent.Result{"worker": func(job agent.Job) *agent.Result {
					mu.Lock()
					defer mu.Unlock()
					jobs = append(jobs, job)
					if job.Step != "b" || len(jobs) > 2 {
						return made(job)
					}
					if err := job.Learned("the-full-session"); err != nil {
						return &agent.Result{Outcome: agent.Failed, Reason: err.Error()}
					}
					if died {
						stop()
					}
					put(t, dir, "half.txt", "half of b\n")
					return &agent.Result{Outcome: outcome, Session: "the-full-session", Reason: "prompt is too long"}
				}}
				e := stubbed(dir, play)
				w, hash, err := readFlow(dir + "/flow.yaml")
				if err != nil {
					t.Fatal(err)
				}
				ref, err := e.BeginFlow(ctx, w, "flow.yaml", hash, reprise.Goal{ID: "one"}, engine.Choice{})
				if err != nil {
					t.Fatal(err)
				}
				sum, err := e.Resume(ctx, ref, engine.Choice{})
				if died && (err == nil || errors.Is(err, context.Canceled)) {
					sum, err = stubbed(dir, play).Resume(t.Context(), ref, engine.Choice{})
				}
				if err != nil || sum.State != reprise.Complete {
					t.Fatalf("%+v %v", sum, err)
				}
				if len(jobs) != 3 {
					t.Fatalf("%d attempts", len(jobs))
				}
				last := jobs[2]
				if last.Resume || last.Session != "" {
					t.Errorf("the session %q was asked for again", last.Session)
				}
				for _, want := range []string{says, "name: briefing - Evidenced done", "name: briefing - Changed since", "half.txt is new and in no commit [git status]", "attempt 1 was cut off: " + says, "[journal #"} {
					if !strings.Contains(last.Prompt, want) {
						t.Errorf("the prompt does not say %q", want)
					}
				}
				if t.Failed() {
					t.Log(last.Prompt)
				}
				if strings.Contains(jobs[1].Prompt, "briefing") {
					t.Error("the first session was briefed")
				}
				if n := count(events(t, dir, ref), reprise.StepFailed, ""); n != 0 {
					t.Errorf("%d failures", n)
				}
			})
		}
	}
}
