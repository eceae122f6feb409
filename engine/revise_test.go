package engine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"reprise"
	"reprise/engine"
	"reprise/flow"
	"reprise/internal/sample"
	"reprise/project"
)

// threeSteps is a workflow whose second step cannot be done.
const threeSteps = `name: three
steps:
  - {id: a, command: [sh, -c, "echo a >> launched"]}
  - {id: b, needs: [a], command: [/no/such/thing]}
  - {id: c, needs: [b], command: [sh, -c, "echo c >> launched"]}
`

// failedAt is a project whose run "one" of threeSteps failed at b for good.
func failedAt(t *testing.T) *engine.Engine {
	t.Helper()
	dir := repository(t)
	put(t, dir, "flow.yaml", threeSteps)
	e := newEngine(dir)
	e.Settings.Attempts = 1
	if sum := begin(t, e, "one", "flow.yaml"); sum.State == reprise.Complete || get(t, dir, "launched") != "a\n" {
		t.Fatalf("%+v", sum)
	}
	return e
}

func hashOf(t *testing.T, dir string) (reprise.Hash, reprise.Hash) {
	t.Helper()
	_, run, own := flow.Origin([]byte(get(t, dir, ".agent-memory/runs/one/task-graph.json")))
	if !own {
		t.Fatal("the graph names no file")
	}
	return run, reprise.HashOf([]byte(get(t, dir, "flow.yaml")))
}

// EV9: a mended file is taken over by the run that failed for it: what is done stays
// done, new steps are done, one that no one began is dropped, and it is on record
// before anything of it is started.
func TestEV9_a_run_goes_on_with_its_mended_workflow_file(t *testing.T) {
	t.Parallel()
	e := failedAt(t)
	put(t, e.Dir, "flow.yaml", `name: three
steps:
  - {id: a, command: [sh, -c, "echo a >> launched"]}
  - {id: b, needs: [a], command: [sh, -c, "echo b >> launched"]}
  - {id: d, needs: [b], command: [sh, -c, "echo d >> launched"]}
`)
	j, err := project.Judge(t.Context(), e.Dir, project.JudgeOptions{Options: project.Options{Now: e.Now()}, Full: true})
	if err != nil {
		t.Fatal(err)
	}
	told := func(r *reprise.Run) bool {
		return slices.ContainsFunc(r.Findings, func(f reprise.Finding) bool { return f.Code == reprise.CodeWorkflowChanged })
	}
	if r := j.Find(refOf("one")); !told(r) || j.Decisions[r].Verdict == reprise.Safe {
		t.Errorf("%v %+v", j.Decisions[r].Verdict, r.Findings)
	}
	before := files(t, e.Dir)
	p, err := e.Preview(t.Context(), refOf("one"), engine.Choice{})
	if err != nil || !strings.Contains(strings.Join(p.Would, "\n"), "new steps d; no more c") || !strings.Contains(p.Diff, `+      "id": "d"`) {
		t.Errorf("%+v %v", p, err)
	}
	if after := files(t, e.Dir); len(difference(before, after)) > 0 {
		t.Error("a preview changed something")
	}
	sum, err := e.Resume(t.Context(), refOf("one"), engine.Choice{From: "b"})
	if err != nil || sum.State != reprise.Complete {
		t.Fatalf("%+v %v", sum, err)
	}
	if got := get(t, e.Dir, "launched"); got != "a\nb\nd\n" {
		t.Errorf("launched %q", got)
	}
	if run, file := hashOf(t, e.Dir); run != file {
		t.Error("the run does not name the file as it is now")
	}
	all := events(t, e.Dir, refOf("one"))
	at := slices.IndexFunc(all, func(ev reprise.Event) bool { return ev.Kind == reprise.RunRevised })
	started := slices.IndexFunc(all, func(ev reprise.Event) bool { return ev.Kind == reprise.StepStarted && ev.Step == "d" })
	if at < 0 || at > started || count(all, reprise.RunRevised, "") != 1 || strings.Contains(all[at].Text, "echo") {
		t.Errorf("revised at %d, started at %d", at, started)
	}
	if !slices.ContainsFunc(sum.Findings, func(f reprise.Finding) bool { return strings.Contains(f.Message, "new steps d; no more c") }) {
		t.Errorf("nobody was told: %+v", sum.Findings)
	}
}

// EV9: where what was begun is not in the file any more, or needs something else,
// nothing is changed; starting afresh with the file as it is works.
func TestEV9_a_changed_file_that_does_not_fit_is_refused(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	const a, b, c = "  - {id: a, command: [sh, -c, \"echo A >> launched\"]}\n", "  - {id: b, needs: [a], command: [\"true\"]}\n", "  - {id: c, needs: [b], command: [\"true\"]}\n"
	for name, tc := range map[string]struct{ steps, want string }{
		"a done step is gone":       {"  - {id: b, command: [\"true\"]}\n" + c, "a is done and is not in it"},
		"a begun step is gone":      {a + "  - {id: c, needs: [a], command: [\"true\"]}\n", "b was begun and is not in it"},
		"a done step needs more":    {"  - {id: z}\n  - {id: a, needs: [z], command: [\"true\"]}\n" + b + c, "a is done and needs something else"},
		"a begun step needs no one": {a + "  - {id: b, command: [\"true\"]}\n" + c, "b was begun and needs something else"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := failedAt(t)
			put(t, e.Dir, "flow.yaml", "name: three\nsteps:\n"+tc.steps)
			before := events(t, e.Dir, refOf("one"))
			var changed *engine.FlowError
			if sum, err := e.Resume(t.Context(), refOf("one"), engine.Choice{From: "b"}); !errors.As(err, &changed) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%+v %v", sum, err)
			}
			if p, err := e.Preview(t.Context(), refOf("one"), engine.Choice{}); !errors.As(err, &changed) {
				t.Errorf("%+v %v", p, err)
			}
			if len(events(t, e.Dir, refOf("one"))) != len(before) {
				t.Error("something was recorded")
			}
			sum, err := e.Resume(t.Context(), refOf("one"), engine.Choice{Option: "fresh"})
			if err != nil || sum.State != reprise.Complete {
				t.Errorf("%+v %v", sum, err)
			}
			if run, file := hashOf(t, e.Dir); run != file {
				t.Error("the run does not name the file as it is now")
			}
		})
	}
}

// A run that is finished has nothing to take over.
func TestEV9_a_finished_run_does_not_heed_its_file(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	put(t, dir, "flow.yaml", diamond)
	begin(t, newEngine(dir), "one", "flow.yaml")
	put(t, dir, "flow.yaml", threeSteps)
	sum, err := newEngine(dir).Resume(t.Context(), refOf("one"), engine.Choice{})
	if err != nil || sum.Action != reprise.Finish || count(events(t, dir, refOf("one")), reprise.RunRevised, "") > 0 {
		t.Errorf("%+v %v", sum, err)
	}
}
