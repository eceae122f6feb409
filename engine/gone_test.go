package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/engine"
	"reprise/internal/durable"
	"reprise/internal/sample"
	"reprise/project"
	"reprise/upkeep"
)

// goneFlow is a workflow of two steps that leave a line each.
const goneFlow = `name: f
steps:
  - {id: a, command: [sh, -c, "echo A >> log"]}
  - {id: b, needs: [a], command: [sh, -c, "echo B >> log"]}
`

// judged looks at the only run of a project.
func judgedRun(t *testing.T, e *engine.Engine, ref reprise.Ref, full bool) (*reprise.Run, reprise.Decision) {
	t.Helper()
	j, err := project.Judge(t.Context(), e.Dir, project.JudgeOptions{Options: project.Options{Now: time.Now()}, Full: full})
	if err != nil {
		t.Fatal(err)
	}
	r := j.Find(ref)
	if r == nil {
		for _, r := range j.Runs {
			t.Logf("%v %v also %v", r.Ref, r.State, r.Also)
		}
		t.Fatalf("it is not listed: %v %+v", ref, j.Findings)
	}
	return r, j.Decisions[r]
}

// mend repairs a run. What it says it cannot rebuild is put back from what was there,
// as git would have it.
func mend(t *testing.T, e *engine.Engine, ref reprise.Ref, was map[string][]byte) {
	t.Helper()
	tender := upkeep.Tender{Dir: e.Dir, Now: time.Now()}
	for range 3 {
		r, _ := judgedRun(t, e, ref, true)
		plan, err := tender.PlanRepair(t.Context(), []*reprise.Run{r})
		if err != nil {
			t.Fatal(err)
		}
		if len(plan.Mends) > 0 {
			free(t, func() error {
				_, err := tender.Repair(t.Context(), plan)
				return err
			})
			continue
		}
		for _, f := range plan.Hopeless {
			t.Log(f.Message)
			for name, text := range was {
				// Whatever else lies there, too: no one else knows of it.
				if strings.Contains(f.Message, name) || strings.HasSuffix(name, "-PLAN.md") {
					put(t, e.Dir, name, string(text))
				}
			}
		}
	}
}

// stopAfter works on a run and is stopped once some steps are done.
func stopAfter(t *testing.T, e *engine.Engine, ref reprise.Ref, steps int) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := 0
	e.Tell = func(p engine.Progress) {
		if p.Kind == engine.Ended {
			if done++; done == steps {
				stop()
			}
		}
	}
	if _, err := e.Resume(ctx, ref, engine.Choice{}); err != nil && ctx.Err() == nil {
		t.Fatal(err)
	}
	e.Tell = nil
}

// state is what stands in the files at or below a place.
func state(t *testing.T, dir, at string) string {
	t.Helper()
	var out strings.Builder
	all := files(t, dir)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		text := all[name]
		if name == at || strings.HasPrefix(name, at+"/") {
			fmt.Fprintf(&out, "%s\n%s\n", name, text)
		}
	}
	return out.String()
}

// TestX2_X4_a_run_whose_files_are_gone_is_neither_forgotten_nor_done_again: git, or
// someone, takes the state of a run away while it is open. Its journal has what was
// accepted: the run is listed, no one begins it anew over that, and what is rebuilt is
// what was there; then it comes to its end, and nothing is done twice.
func TestX2_X4_a_run_whose_files_are_gone_is_neither_forgotten_nor_done_again(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	drawn := sample.Every(t, 4)
	for i, w := range workflows {
		for _, steps := range []int{1, 2} {
			if !drawn(i + steps) {
				continue
			}
			t.Run(fmt.Sprint(w.name, steps), func(t *testing.T) {
				t.Parallel()
				e := w.project(t)
				ref, err := e.Begin(t.Context(), w.layout, w.kind, w.goal, engine.Choice{})
				if err != nil {
					t.Fatal(err)
				}
				stopAfter(t, e, ref, steps)
				was, all := state(t, e.Dir, ref.Path), files(t, e.Dir)
				if r, _ := judgedRun(t, e, ref, false); !r.State.Open() {
					t.Skip("it is done")
				}
				before := events(t, e.Dir, ref)
				if err := os.RemoveAll(filepath.Join(e.Dir, ref.Path)); err != nil {
					t.Fatal(err)
				}
				for _, full := range []bool{false, true} {
					r, d := judgedRun(t, e, ref, full)
					if r.State != reprise.Unreadable || d.Verdict != reprise.BlockedVerdict || r.Gone() == nil || !strings.Contains(r.Gone().Source.File, "/journal") {
						t.Fatalf("%v %v %+v", r.State, d, r.Findings)
					}
				}
				var gone *engine.GoneError
				if _, err := e.Resume(t.Context(), ref, engine.Choice{}); !errors.As(err, &gone) {
					t.Fatalf("resume: %v", err)
				}
				if again, err := e.Begin(t.Context(), w.layout, w.kind, w.goal, engine.Choice{}); again == ref && !errors.As(err, &gone) {
					t.Fatalf("begin: %v", err)
				}
				if got := events(t, e.Dir, ref); len(got) != len(before) {
					t.Fatalf("%d events became %d", len(before), len(got))
				}
				mend(t, e, ref, all)
				if got := state(t, e.Dir, ref.Path); got != was {
					t.Errorf("there is\n%s\nthere was\n%s", got, was)
				}
				sum, err := e.Resume(t.Context(), ref, engine.Choice{})
				if err != nil || sum.State != reprise.Complete && !(w.waits && sum.State == reprise.Waiting) {
					t.Fatalf("%+v, %v", sum, err)
				}
			})
		}
	}
}

// TestX4_EV9_a_flow_whose_files_are_gone: all of a workflow file's run is in its journal.
// Whatever of its files is taken away is rebuilt to the byte; until then nothing is
// started, and no agent is asked to invent a graph.
func TestX4_EV9_a_flow_whose_files_are_gone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		without string // below the run
		gone    bool   // it cannot be told what the run is
	}{
		"all":       {".", true},
		"the graph": {"task-graph.json", true},
		"events":    {"events", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEngine(repository(t))
			ref := start(t, e, goneFlow)
			if _, err := e.Resume(t.Context(), ref, engine.Choice{Until: "a"}); err != nil {
				t.Fatal(err)
			}
			was := state(t, e.Dir, ref.Path)
			if err := os.RemoveAll(filepath.Join(e.Dir, ref.Path, c.without)); err != nil {
				t.Fatal(err)
			}
			r, d := judgedRun(t, e, ref, true)
			if (r.Gone() != nil) != c.gone || d.Verdict != reprise.BlockedVerdict {
				t.Fatalf("%v %+v %+v", d.Verdict, d.Reasons, r.Findings)
			}
			lost := func(f reprise.Finding) bool {
				return f.Code == reprise.CodeLostCompletion && f.Subject == "a" && strings.Contains(f.Source.File, ".reprise/journal") && f.Source.Line > 0
			}
			if c.without != "task-graph.json" && !slices.ContainsFunc(r.Findings, lost) {
				t.Errorf("it does not say that a was finished: %+v", r.Findings)
			}
			if c.gone {
				var gone *engine.GoneError
				if _, err := e.Resume(t.Context(), ref, engine.Choice{}); !errors.As(err, &gone) || !strings.Contains(gone.Hint(), "reprise repair one") {
					t.Fatal(err)
				}
				if c.without == "." {
					if err := beginAgain(t, e); !errors.As(err, &gone) {
						t.Fatal(err)
					}
				}
			}
			mend(t, e, ref, nil)
			if got := state(t, e.Dir, ref.Path); got != was {
				t.Errorf("there is\n%s\nthere was\n%s", got, was)
			}
			if r, d := judgedRun(t, e, ref, true); d.Verdict != reprise.Safe {
				t.Errorf("%v %+v", d, r.Findings)
			}
			sum, err := e.Resume(t.Context(), ref, engine.Choice{})
			if err != nil || sum.State != reprise.Complete {
				t.Fatalf("%+v, %v", sum, err)
			}
			if got := get(t, e.Dir, "log"); got != "A\nB\n" {
				t.Errorf("done: %q", got)
			}
		})
	}
}

// TestX4_EV9_an_agent_that_takes_the_graph_away: nothing else is begun in its place, by
// the engine that sees it either.
func TestX4_EV9_an_agent_that_takes_the_graph_away(t *testing.T) {
	t.Parallel()
	e := newEngine(repository(t))
	ref := start(t, e, "name: f\nsteps:\n  - {id: a, command: [sh, -c, \"rm .agent-memory/runs/one/task-graph.json\"]}\n  - {id: b, needs: [a], command: [sh, -c, \"echo B >> log\"]}\n")
	var gone *engine.GoneError
	if _, err := e.Resume(t.Context(), ref, engine.Choice{}); !errors.As(err, &gone) || !strings.Contains(err.Error(), "task-graph.json is gone") {
		t.Fatal(err)
	}
	for _, ev := range events(t, e.Dir, ref) {
		if ev.Kind == reprise.StepStarted && ev.Step != "a" {
			t.Errorf("%s was started", ev.Step)
		}
	}
}

// TestX2_a_run_that_was_given_up_or_ended_is_not_missed: what someone archived, took
// back or finished may go.
func TestX2_a_run_that_was_given_up_or_ended_is_not_missed(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, e *engine.Engine, ref reprise.Ref){
		"cleaned": clean,
		"cleaned without files": func(t *testing.T, e *engine.Engine, ref reprise.Ref) {
			if err := os.RemoveAll(filepath.Join(e.Dir, ref.Path)); err != nil {
				t.Fatal(err)
			}
			clean(t, e, ref)
		},
		"finished": func(t *testing.T, e *engine.Engine, ref reprise.Ref) {
			if sum, err := e.Resume(t.Context(), ref, engine.Choice{}); err != nil || sum.State != reprise.Complete {
				t.Fatalf("%+v, %v", sum, err)
			}
			if err := os.RemoveAll(filepath.Join(e.Dir, ref.Path)); err != nil {
				t.Fatal(err)
			}
		},
		"taken back": func(t *testing.T, e *engine.Engine, ref reprise.Ref) {
			free(t, func() error {
				_, err := upkeep.Tender{Dir: e.Dir, Now: time.Now()}.Undo(t.Context(), "000001", upkeep.UndoChoice{})
				return err
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEngine(repository(t))
			ref := start(t, e, goneFlow)
			if _, err := e.Resume(t.Context(), ref, engine.Choice{Until: "a"}); err != nil {
				t.Fatal(err)
			}
			end(t, e, ref)
			j, err := project.Judge(t.Context(), e.Dir, project.JudgeOptions{Options: project.Options{Now: time.Now()}, Full: true})
			if err != nil || len(j.Runs) > 0 {
				t.Fatalf("%v, %v", j.Runs, err)
			}
			if err := beginAgain(t, e); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// beginAgain begins the run of the workflow as start did.
func beginAgain(t *testing.T, e *engine.Engine) error {
	t.Helper()
	put(t, e.Dir, "flow.yaml", goneFlow)
	w, hash, err := readFlow(filepath.Join(e.Dir, "flow.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.BeginFlow(t.Context(), w, "flow.yaml", hash, reprise.Goal{ID: "one"}, engine.Choice{})
	return err
}

// clean gives a run up.
func clean(t *testing.T, e *engine.Engine, ref reprise.Ref) {
	t.Helper()
	r, d := judgedRun(t, e, ref, true)
	tender := upkeep.Tender{Dir: e.Dir, Now: time.Now()}
	plan, err := tender.PlanClean(t.Context(), r, d)
	if err != nil {
		t.Fatal(err)
	}
	free(t, func() error {
		_, err := tender.Clean(t.Context(), plan)
		return err
	})
}

// free does something that takes the lease, once it is free: a program that another
// test starts just now may have the lock for a moment.
func free(t *testing.T, do func() error) {
	t.Helper()
	for {
		err := do()
		if _, held := errors.AsType[*durable.HeldError](err); held {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
}
