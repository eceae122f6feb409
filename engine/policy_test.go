package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/engine"
	"reprise/internal/sample"
	"reprise/settings"
)

// start makes a run of a workflow that is given as text.
func start(t *testing.T, e *engine.Engine, text string) reprise.Ref {
	t.Helper()
	put(t, e.Dir, "flow.yaml", text)
	w, hash, err := readFlow(filepath.Join(e.Dir, "flow.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	ref, err := e.BeginFlow(t.Context(), w, "flow.yaml", hash, reprise.Goal{ID: "one"}, engine.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// stopAt cancels once a file is there.
func stopAt(t *testing.T, name string) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for ctx.Err() == nil {
			if _, err := os.Stat(name); err == nil {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	return ctx
}

// TestO3_only_a_person_repeats_what_must_not_be_done_twice cuts a step with the
// policy ask off in every way an engine lives to see.
func TestO3_only_a_person_repeats_what_must_not_be_done_twice(t *testing.T) {
	t.Parallel()
	for how, c := range map[string]struct{ end, more string }{
		"stopped":       {"sleep 30", ""},
		"timed out":     {"sleep 30", "\n    timeout: 500ms"},
		"killed":        {"kill -9 $$", ""},
		"keeper killed": {"kill -9 $PPID; sleep 30", ""},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			e := newEngine(repository(t))
			ref := start(t, e, `name: f
steps:
  - id: a
    command: [sh, -c, 'echo pay >> effect; if [ $(wc -l < effect) = 1 ]; then touch paid; `+c.end+`; fi']
    on_crash: ask`+c.more+"\n")
			ctx := t.Context()
			if how == "stopped" {
				ctx = stopAt(t, filepath.Join(e.Dir, "paid"))
			}
			if _, err := e.Resume(ctx, ref, engine.Choice{}); err != nil {
				t.Fatal(err)
			}
			sum, err := e.Resume(t.Context(), ref, engine.Choice{})
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(get(t, e.Dir, "effect"), "pay"); n != 1 || len(sum.Questions) != 1 {
				t.Fatalf("paid %d times, asked %+v", n, sum.Questions)
			}
			if err := e.Answer(t.Context(), ref, map[string]string{sum.Questions[0].ID: "run it again"}); err != nil {
				t.Fatal(err)
			}
			if sum, err = e.Resume(t.Context(), ref, engine.Choice{}); err != nil || sum.State != reprise.Complete {
				t.Fatalf("%+v %v", sum, err)
			}
			if n := strings.Count(get(t, e.Dir, "effect"), "pay"); n != 2 {
				t.Errorf("paid %d times after a person said so once", n)
			}
		})
	}
}

// TestO3_what_ended_while_it_was_stopped_is_not_done_again stops an agent that
// comes to its end all the same.
func TestO3_what_ended_while_it_was_stopped_is_not_done_again(t *testing.T) {
	t.Parallel()
	e := newEngine(repository(t))
	e.Settings.Grace = 5 * time.Second
	ref := start(t, e, `name: f
steps:
  - id: a
    command: [sh, -c, 'trap "echo pay >> effect; echo {\\\"outcome\\\":\\\"done\\\"} > $REPRISE_RESULT; exit 0" TERM; touch begun; while :; do sleep 0.05; done']
    on_crash: verify
`)
	if _, err := e.Resume(stopAt(t, filepath.Join(e.Dir, "begun")), ref, engine.Choice{}); err != nil {
		t.Fatal(err)
	}
	sum, err := e.Resume(t.Context(), ref, engine.Choice{})
	if err != nil || sum.State != reprise.Complete {
		t.Fatalf("%+v %v", sum, err)
	}
	if got := get(t, e.Dir, "effect"); strings.Count(got, "pay") != 1 || count(events(t, e.Dir, ref), reprise.StepFinished, "a") != 1 {
		t.Errorf("effect %q", got)
	}
}

// TestAC6_X4_half_a_file_is_done_again kills the agent of a phase that its layout
// calls done as soon as its file is there.
func TestAC6_X4_half_a_file_is_done_again(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	for _, c := range []struct {
		layout string
		kind   reprise.Kind
		step   string
		goal   reprise.Goal
	}{
		{"autoclaude", reprise.KindBuild, "discovery", reprise.Goal{Text: "Health endpoint"}},
		{"autoclaude", reprise.KindBuild, "spec_writing", reprise.Goal{Text: "Health endpoint"}},
		{"eventrun", reprise.KindGraph, "prd", reprise.Goal{Text: "CSV export"}},
		{"longrun", reprise.KindPlans, "transform", reprise.Goal{Path: "specs/checkout"}},
		{"orchestrate", reprise.KindSpecPipeline, "write", reprise.Goal{Text: "Login with a link"}},
	} {
		t.Run(c.step, func(t *testing.T) {
			t.Parallel()
			dir := repository(t)
			e := newEngine(dir)
			e.Ask = answering
			put(t, dir, "agent.sh", `if [ "$REPRISE_STEP" = `+c.step+` ] && [ "$REPRISE_ATTEMPT" = 1 ]; then
  echo "$REPRISE_STEP" >> cut
  half=${REPRISE_EXPECT:-specs/checkout/.long-run/plans/01-PLAN.md}
  mkdir -p "$(dirname "$half")"; printf '# Plan' > "$half"; kill -9 $$
fi
exec "$ACTOR" act
`)
			put(t, dir, "specs/checkout/tasks.md", "# Tasks\n\n- [ ] 1. Cart\n- [ ] 2. Payment\n")
			actor := e.Settings.Agents["actor"]
			actor.Env["ACTOR"], actor.Command = os.Args[0], []string{"sh", filepath.Join(dir, "agent.sh")}
			e.Settings.Agents = map[string]settings.Agent{"actor": actor}
			ref, err := e.Begin(t.Context(), c.layout, c.kind, c.goal, engine.Choice{})
			if err != nil {
				t.Fatal(err)
			}
			sum, err := e.Resume(t.Context(), ref, engine.Choice{})
			if err != nil {
				t.Fatal(err)
			}
			all := events(t, dir, ref)
			if count(all, reprise.StepStarted, c.step) != 2 || count(all, reprise.StepFinished, c.step) != 1 || sum.State != reprise.Complete && sum.State != reprise.Waiting {
				for _, ev := range all {
					t.Logf("%s %s %d %s %q", ev.Kind, ev.Step, ev.Attempt, ev.Outcome, ev.Text)
				}
				t.Errorf("%v: what was cut off was taken for done", sum.State)
			}
			if kept, _ := filepath.Glob(filepath.Join(dir, ".reprise/runs/*/attempts/transform.1/taken-out/specs/checkout/.long-run/plans/01-PLAN.md")); c.step == "transform" && len(kept) != 1 {
				t.Errorf("what was taken out of the plan is kept as %q", kept)
			}
		})
	}
}

// The engine is killed while a phase writes the file by which its layout calls it done: the
// next engine does not take the phase for finished.
func TestHalf_a_file_of_a_killed_engine_is_not_done(t *testing.T) {
	t.Parallel()
	e := newEngine(repository(t))
	ref, err := e.Begin(t.Context(), "autoclaude", reprise.KindBuild, reprise.Goal{Text: "Health endpoint"}, engine.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	file := ref.Path + "/project_index.json"
	byAnOlderBuild(t, e, ref, reprise.Event{
		Kind: reprise.StepStarted, Step: "discovery", Attempt: 1, Key: "k", Policy: reprise.Verify, Expect: []reprise.Expected{{Path: file}},
	})
	put(t, e.Dir, file, `{"project`)
	if _, err := e.Resume(t.Context(), ref, engine.Choice{Until: "discovery"}); err != nil {
		t.Fatal(err)
	}
	all := events(t, e.Dir, ref)
	reset, started, finished := count(all, reprise.StepReset, "discovery"), count(all, reprise.StepStarted, "discovery"), count(all, reprise.StepFinished, "discovery")
	if reset != 1 || started != 2 || finished != 1 {
		t.Errorf("reset %d times, started %d times, finished %d times", reset, started, finished)
	}
}

// TestX8_one_step_that_cannot_be_prepared_holds_up_nobody has an output whose name is
// too long for the system.
func TestX8_one_step_that_cannot_be_prepared_holds_up_nobody(t *testing.T) {
	t.Parallel()
	e := newEngine(repository(t))
	sum, err := e.Resume(t.Context(), start(t, e, `name: f
steps:
  - {id: a, command: [sh, -c, 'echo a > a.txt'], outputs: [a.txt]}
  - {id: b, command: [sh, -c, 'true'], outputs: [`+strings.Repeat("n", 300)+`]}
  - {id: c, needs: [a], command: [sh, -c, 'echo c > c.txt'], outputs: [c.txt]}
`), engine.Choice{})
	if err != nil || len(sum.Finished) != 2 || len(sum.Refused) != 1 || sum.Action != reprise.Ask {
		t.Errorf("%+v %v", sum, err)
	}
}
