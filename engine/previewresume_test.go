package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/agent"
	"reprise/engine"
	"reprise/internal/sample"
	"reprise/settings"
)

// ending is an agent that is told when one of its attempts has ended.
type ending struct {
	agent.Agent
	ended func()
}

func (e ending) Start(ctx context.Context, job agent.Job) (agent.Session, error) {
	s, err := e.Agent.Start(context.WithoutCancel(ctx), job)
	if err != nil {
		return nil, err
	}
	return endingSession{s, e.ended}, nil
}

type endingSession struct {
	agent.Session
	ended func()
}

func (s endingSession) Wait() agent.Result {
	r := s.Session.Wait()
	s.ended()
	return r
}

// stopped begins the workflow, with one agent at a time, and stops it once that many
// attempts have ended; n is how many did.
func (w workflow) stopped(t *testing.T, after int) (e *engine.Engine, ref reprise.Ref, sum *engine.Summary, n int) {
	t.Helper()
	e = w.project(t)
	e.Parallel = 1
	ref, err := e.Begin(t.Context(), w.layout, w.kind, w.goal, engine.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	real := e.Agent
	e.Agent = func(s settings.Agent) (agent.Agent, error) {
		a, err := real(s)
		return ending{a, func() {
			if n++; n == after {
				stop()
			}
		}}, err
	}
	sum, err = e.Resume(ctx, ref, engine.Choice{})
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	e.Agent = real
	return e, ref, sum, n
}

// TestX10_O2_a_preview_of_a_resume_is_what_resuming_does stops every workflow right
// after each of its first steps, previews how it continues, and compares that with how
// it does; where a person has to answer first, after they did. One step in five is
// drawn, others for each workflow.
func TestX10_O2_a_preview_of_a_resume_is_what_resuming_does(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	drawn := sample.Every(t, 5)
	for i, w := range workflows {
		for after := 1; after <= 5; after++ {
			if !drawn(after + i) {
				continue
			}
			t.Run(fmt.Sprintf("%s-%d", w.name, after), func(t *testing.T) {
				t.Parallel()
				e, ref, sum, n := w.stopped(t, after)
				if n < after || sum != nil && sum.State == reprise.Complete {
					return // it has no more steps
				}
				at := time.Now().Add(time.Minute).Truncate(time.Second)
				e.Now, e.Ask = func() time.Time { return at }, nil
				before := files(t, e.Dir)
				p, err := e.Preview(t.Context(), ref, engine.Choice{})
				if err != nil {
					t.Fatal(err)
				}
				if len(p.Starts) == 0 { // a person is needed: then nothing is started, and more once they answered
					sum, err := e.Resume(t.Context(), ref, engine.Choice{})
					if err != nil || sum.Launches != 0 {
						t.Fatalf("previewed %q; %d were started: %v", p.Would, sum.Launches, err)
					}
					answers := map[string]string{}
					for _, q := range sum.Questions {
						answers[q.ID], _ = answering(t.Context(), q)
					}
					if err := e.Answer(t.Context(), ref, answers); err != nil {
						t.Fatal(err)
					}
					before = files(t, e.Dir)
					if p, err = e.Preview(t.Context(), ref, engine.Choice{}); err != nil {
						t.Fatal(err)
					}
				}
				if len(p.Starts) == 0 {
					if sum, err := e.Resume(t.Context(), ref, engine.Choice{}); err != nil || sum.Launches != 0 {
						t.Errorf("previewed %q; %d were started: %v", p.Would, sum.Launches, err)
					}
					return
				}
				next := launchFirst(t, e, func() (reprise.Ref, error) { return ref, nil })
				st := p.Starts[0]
				if st.Step != next.job.Step || st.Role != next.job.Role || st.Attempt != next.job.Attempt {
					t.Errorf("previewed %s as %s, attempt %d; started %s as %s, attempt %d", st.Step, st.Role, st.Attempt, next.job.Step, next.job.Role, next.job.Attempt)
				}
				if st.Dir == "." && st.Prompt != next.job.Prompt {
					t.Errorf("previewed prompt\n%s\nthe agent was told\n%s", st.Prompt, next.job.Prompt)
				}
				if want, have := difference(before, next.files), perFile(p.Diff); st.Dir == "." && !slices.Equal(want, have) {
					t.Errorf("previewed\n%s\nresuming did\n%s", strings.Join(have, ""), strings.Join(want, ""))
				}
			})
		}
	}
}

// TestX10_O2_a_preview_shows_what_is_settled_first previews a run of another tool
// that left two steps in progress: both are open again before one is started.
func TestX10_O2_a_preview_shows_what_is_settled_first(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() // in no repository, so that it is worked on where it is
	put(t, dir, ".auto-claude/specs/001-a/spec.md", "# A\n")
	put(t, dir, ".auto-claude/specs/001-a/implementation_plan.json", `{
  "feature": "A",
  "phases": [
    {"id": "p", "name": "P", "subtasks": [
      {"id": "s1", "description": "one", "status": "completed"},
      {"id": "s2", "description": "two", "status": "in_progress"},
      {"id": "s3", "description": "three", "status": "in_progress"}
    ]}
  ]
}
`)
	ref := reprise.Ref{Layout: "autoclaude", ID: "001-a", Path: ".auto-claude/specs/001-a", Kind: reprise.KindBuild}
	e := newEngine(dir)
	e.Parallel = 1
	at := time.Now().Add(time.Minute).Truncate(time.Second)
	e.Now = func() time.Time { return at }
	before := files(t, dir)
	p, err := e.Preview(t.Context(), ref, engine.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	next := launchFirst(t, e, func() (reprise.Ref, error) { return ref, nil })
	if len(p.Starts) != 1 || p.Starts[0].Step != next.job.Step || p.Starts[0].Prompt != next.job.Prompt {
		t.Errorf("previewed %+v; started %s", p.Starts, next.job.Step)
	}
	if want, have := difference(before, next.files), perFile(p.Diff); !slices.Equal(want, have) || !strings.Contains(p.Diff, "three") {
		t.Errorf("previewed\n%s\nresuming did\n%s", strings.Join(have, ""), strings.Join(want, ""))
	}
}
