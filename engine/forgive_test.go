package engine_test

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"reprise"
	"reprise/agent"
	"reprise/engine"
	"reprise/internal/sample"
	"reprise/settings"
)

// failing lets the agent of one step fail, in a way of its own each time, until
// good is set. It counts the attempts at that step.
func failing(e *engine.Engine, step string, how func(n int64) *agent.Result) (good *atomic.Bool, tried *atomic.Int64) {
	good, tried = new(atomic.Bool), new(atomic.Int64)
	real := e.Agent
	e.Agent = func(s settings.Agent) (agent.Agent, error) {
		behind, err := real(s)
		return stub{behind: behind, play: func(job agent.Job) *agent.Result {
			if job.Step != step {
				return nil
			}
			n := tried.Add(1)
			if good.Load() {
				return nil
			}
			return how(n)
		}}, err
	}
	return good, tried
}

func noLuck(n int64) *agent.Result {
	return &agent.Result{Outcome: agent.Failed, Exit: 1, Reason: strings.Repeat("no luck ", int(n))}
}

// A stage that failed for good waits for a person, is named, and is tried again
// once they say so: also one that its files do not keep, and one of a run below.
func TestOR3_OR11_what_failed_for_good_is_tried_again_when_a_person_says_so(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	for _, c := range []struct{ workflow, step, parked string }{
		{"sdc", "implement", ""},
		{"build", "qa-review", ""},
		{"build", "subtask-1-1", ""},
		{"graph", "prd", ""},
		{"spec-pipeline", "create", ""},
		{"epic", "implement", "3.1"},
	} {
		t.Run(c.workflow+" "+c.step, func(t *testing.T) {
			t.Parallel()
			w := workflows[slices.IndexFunc(workflows, func(w workflow) bool { return w.name == c.workflow })]
			e := w.project(t)
			e.Parallel = 1
			good, tried := failing(e, c.step, noLuck)
			ref, err := e.Begin(t.Context(), w.layout, w.kind, w.goal, engine.Choice{})
			if err != nil {
				t.Fatal(err)
			}
			parked := cmp.Or(c.parked, c.step)
			for round := range 2 { // it is the same after a restart
				sum, err := e.Resume(t.Context(), ref, engine.Choice{})
				if err != nil {
					t.Fatal(err)
				}
				if len(sum.Parked) == 0 || sum.Parked[0] != parked {
					t.Errorf("round %d: parked %q, want %s: %s %q", round, sum.Parked, parked, sum.Action, sum.Reasons)
				}
				if !slices.ContainsFunc(sum.Reasons, func(r string) bool { return strings.HasPrefix(r, parked+": ") && strings.Contains(r, "no luck") }) {
					t.Errorf("round %d: it is not said why: %q", round, sum.Reasons)
				}
			}
			want := tried.Load()
			if c.workflow != "epic" && want != int64(e.Settings.Attempts) {
				t.Errorf("%d attempts, %d are allowed", want, e.Settings.Attempts)
			}
			good.Store(true)
			sum, err := e.Resume(t.Context(), ref, engine.Choice{From: parked})
			if err != nil {
				t.Fatal(err)
			}
			if len(sum.Parked) > 0 || sum.State != reprise.Complete && !(w.waits && sum.State == reprise.Waiting) {
				t.Errorf("after that: %s, %s: %q parked %q failed %+v", sum.State, sum.Action, sum.Reasons, sum.Parked, sum.Failed)
			}
			if tried.Load() == want {
				t.Error("it was not tried again")
			}
		})
	}
}

// A step that failed as often as it may is asked about, with why, once: a restart asks the same and
// tries nothing. It is tried again once a person says so.
func TestOR3_OR11_what_failed_for_good_is_asked_about(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	for _, c := range []struct{ workflow, step string }{
		{"plans", "transform"},
	} {
		t.Run(c.workflow+" "+c.step, func(t *testing.T) {
			t.Parallel()
			w := workflows[slices.IndexFunc(workflows, func(w workflow) bool { return w.name == c.workflow })]
			e := w.project(t)
			e.Parallel = 1
			asked := "the step can be done, but it failed " + strconv.Itoa(e.Settings.Attempts) + " times"
			e.Ask = func(ctx context.Context, q reprise.Question) (string, bool) {
				if q.Text == asked {
					return "", false // nobody is here
				}
				return answering(ctx, q)
			}
			good, tried := failing(e, c.step, noLuck)
			ref, err := e.Begin(t.Context(), w.layout, w.kind, w.goal, engine.Choice{})
			if err != nil {
				t.Fatal(err)
			}
			for round := range 2 {
				sum, err := e.Resume(t.Context(), ref, engine.Choice{})
				if err != nil {
					t.Fatal(err)
				}
				i := slices.IndexFunc(sum.Questions, func(q reprise.Question) bool { return q.Text == asked })
				if sum.Action != reprise.Ask || i < 0 {
					t.Fatalf("round %d: %s %q asks %+v", round, sum.Action, sum.Reasons, sum.Questions)
				}
				if !slices.ContainsFunc(sum.Questions[i].Facts, func(f string) bool { return strings.Contains(f, "no luck") }) {
					t.Errorf("round %d: it is not said why: %q", round, sum.Questions[i].Facts)
				}
				if got := tried.Load(); got != int64(e.Settings.Attempts) {
					t.Errorf("round %d: %d attempts, %d are allowed", round, got, e.Settings.Attempts)
				}
			}
			good.Store(true)
			sum, err := e.Resume(t.Context(), ref, engine.Choice{From: c.step})
			if err != nil {
				t.Fatal(err)
			}
			if sum.State != reprise.Complete {
				t.Errorf("after that: %s, %s: %q failed %+v", sum.State, sum.Action, sum.Reasons, sum.Failed)
			}
		})
	}
}

// A failure that the next attempt made good is none of the run.
func TestX10_a_retry_that_succeeded_leaves_nothing_parked(t *testing.T) {
	t.Parallel()
	w := workflows[slices.IndexFunc(workflows, func(w workflow) bool { return w.name == "build" })]
	e := w.project(t)
	failing(e, "subtask-1-1", func(n int64) *agent.Result {
		if n > 1 {
			return nil
		}
		return noLuck(n)
	})
	ref, err := e.Begin(t.Context(), w.layout, w.kind, w.goal, engine.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	sum, err := e.Resume(t.Context(), ref, engine.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	if len(sum.Failed) == 0 || len(sum.Parked) > 0 || len(sum.Left) > 0 {
		t.Errorf("failed %+v, parked %q, left %q", sum.Failed, sum.Parked, sum.Left)
	}
}

// What was cut off too often is forgiven like what failed too often.
func TestO3_what_was_cut_off_too_often_is_tried_again_when_a_person_says_so(t *testing.T) {
	t.Parallel()
	w := workflows[slices.IndexFunc(workflows, func(w workflow) bool { return w.name == "sdc" })]
	e := w.project(t)
	e.Settings.Cutoffs = 2
	good, tried := failing(e, "implement", func(int64) *agent.Result { return &agent.Result{Outcome: agent.OutOfContext} })
	ref, err := e.Begin(t.Context(), w.layout, w.kind, w.goal, engine.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	sum, err := e.Resume(t.Context(), ref, engine.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	if tried.Load() != 2 || !slices.Equal(sum.Parked, []string{"implement"}) {
		t.Fatalf("%d attempts, parked %q: %q", tried.Load(), sum.Parked, sum.Reasons)
	}
	good.Store(true)
	if sum, err = e.Resume(t.Context(), ref, engine.Choice{From: "implement"}); err != nil || sum.State != reprise.Complete {
		t.Errorf("%+v %v", sum, err)
	}
}

// branching is a workflow whose steps count their launches; d needs a alone.
const branching = `name: chain
steps:
  - {id: a, command: [sh, -c, "echo a >> launched"], on_crash: rerun}
  - {id: b, needs: [a], command: [sh, -c, "echo b >> launched; test -e good"], attempts: 1, on_crash: rerun}
  - {id: c, needs: [b], command: [sh, -c, "echo c >> launched; test -e good"], attempts: 1, on_crash: rerun}
  - {id: d, needs: [a], command: [sh, -c, "echo d >> launched"], on_crash: rerun}
`

// What a person says about single steps counts together, in any way to continue.
func TestOR3_LR8_from_and_skip_are_heeded_together(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	for name, c := range map[string]struct {
		choice engine.Choice
		want   string // launched after that
	}{
		"from a step that is done": {engine.Choice{From: "a"}, "a b c d"},
		"from and without":         {engine.Choice{From: "a", Skip: []string{"b"}}, "a c d"},
		"without two":              {engine.Choice{Skip: []string{"c", "b"}}, ""},
		"afresh and without":       {engine.Choice{Option: "fresh", Skip: []string{"b"}}, "a c d"},
		// Nothing that is done can rest on what is not.
		"from a step that failed": {engine.Choice{From: "b"}, "b c"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEngine(repository(t))
			ref := start(t, e, branching)
			if sum, err := e.Resume(t.Context(), ref, engine.Choice{}); err != nil || !slices.Equal(sum.Parked, []string{"b"}) {
				t.Fatalf("%+v %v", sum, err)
			}
			put(t, e.Dir, "launched", "")
			put(t, e.Dir, "good", "")
			sum, err := e.Resume(t.Context(), ref, c.choice)
			if err != nil || sum.State != reprise.Complete {
				t.Fatalf("%+v %v", sum, err)
			}
			got := strings.Fields(get(t, e.Dir, "launched"))
			slices.Sort(got)
			if strings.Join(got, " ") != c.want {
				t.Errorf("launched %q, want %s", got, c.want)
			}
			// Whoever is killed on the way has said all of it before: the first
			// event names those that follow.
			for _, step := range c.choice.Skip {
				if c.choice.From == "" && c.choice.Option == "" {
					break
				}
				if !slices.ContainsFunc(events(t, e.Dir, ref), func(ev reprise.Event) bool {
					decides := ev.Kind == reprise.RunRenewed || ev.Kind == reprise.StepReset && ev.Actor == reprise.Person
					return decides && slices.ContainsFunc(ev.Then, func(next reprise.Event) bool { return next.Kind == reprise.StepSkipped && next.Step == step })
				}) {
					t.Errorf("that %s is left out is not part of what was decided", step)
				}
			}
			var left []string
			for _, s := range sum.Skipped {
				left = append(left, s.ID)
			}
			if !slices.Equal(left, c.choice.Skip) {
				t.Errorf("said to be left out: %q", left)
			}
		})
	}
}

// A step that cannot be left out is refused before anything is changed.
func TestLR8_a_step_that_cannot_be_left_out_changes_nothing(t *testing.T) {
	t.Parallel()
	for _, option := range []string{"", "fresh"} {
		e := newEngine(repository(t))
		ref := start(t, e, branching)
		if _, err := e.Resume(t.Context(), ref, engine.Choice{Until: "a"}); err != nil {
			t.Fatal(err)
		}
		before := events(t, e.Dir, ref)
		if sum, err := e.Resume(t.Context(), ref, engine.Choice{Option: option, Skip: []string{"nowhere"}}); err == nil {
			t.Errorf("%q: it is not refused: %+v", option, sum)
		}
		if now := events(t, e.Dir, ref); len(now) != len(before) {
			t.Errorf("%q: recorded %+v", option, now[len(before):])
		}
	}
}

// What could not be started was not found done, and did not fail.
func TestX10_a_command_that_cannot_be_started_is_not_found_done(t *testing.T) {
	t.Parallel()
	e := newEngine(repository(t))
	ref := start(t, e, "name: none\nsteps:\n  - {id: a, command: [/no/such/thing]}\n")
	sum, err := e.Resume(t.Context(), ref, engine.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	if len(sum.Finished)+len(sum.Failed) > 0 || len(sum.Refused) != 1 || sum.Launches != 0 || !slices.Equal(sum.Left, []string{"a"}) {
		t.Errorf("%+v", sum)
	}
}

// Whether the step a person named as the last was reached is told, also where the
// files do not keep it.
func TestAC3_the_last_step_that_was_named_is_told_to_be_reached(t *testing.T) {
	t.Parallel()
	w := workflows[slices.IndexFunc(workflows, func(w workflow) bool { return w.name == "build" })]
	e := w.project(t)
	good, _ := failing(e, "qa-review", noLuck)
	ref, err := e.Begin(t.Context(), w.layout, w.kind, w.goal, engine.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	sum, err := e.Resume(t.Context(), ref, engine.Choice{Until: "qa-review"})
	if err != nil || sum.Reached || !slices.Equal(sum.Parked, []string{"qa-review"}) {
		t.Fatalf("%+v %v", sum, err)
	}
	good.Store(true)
	sum, err = e.Resume(t.Context(), ref, engine.Choice{From: "qa-review", Until: "qa-review"})
	if err != nil || !sum.Reached || len(sum.Parked) > 0 {
		t.Errorf("%+v %v", sum, err)
	}
}
