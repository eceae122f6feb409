package orchestrate_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/convention/playtest"
)

func TestOR11_workflow_from_nothing(t *testing.T) {
	t.Parallel()
	p := player(reprise.KindWorkflow, reprise.Goal{ID: "greenfield", Text: "analyst: look around\n@dev: build: it\nqa: check it"}, team)
	p.EveryKill(t, tree(".aiox/x", ""), func(t testing.TB, r playtest.Result) {
		over("step 0", "step 1", "step 2")(t, r)
		only(t, tree(".aiox/x", ""), r.Files, ".aiox/greenfield-state.yaml", "src/")
	})
	for _, goal := range []reprise.Goal{{}, {ID: "x"}, {ID: "x", Text: "just words"}, {Text: "dev: x"}, {Path: ".aiox/gone-state.yaml"}} {
		if ref, _, err := books[reprise.KindWorkflow].Begin(tree(), goal); err == nil {
			t.Errorf("%+v begins %v", goal, ref)
		}
	}
}

// TestOR11_workflow_review_leads_back: what a review sends back is made again,
// and a person is asked when that does not end.
func TestOR11_workflow_review_leads_back(t *testing.T) {
	t.Parallel()
	back := func(n int) func(playtest.Job) reprise.Reply {
		return func(job playtest.Job) reprise.Reply {
			if job.Step == "step 1" && (n < 0 || job.Run.Step("step 1").Rejected < n) {
				return reprise.Reply{Outcome: "done", Verdict: "FAIL"}
			}
			return team(job)
		}
	}
	goal := reprise.Goal{ID: "small", Text: "dev: build it\nqa: check it"}
	p := player(reprise.KindWorkflow, goal, back(2))
	p.EveryKill(t, tree(".aiox/x", ""), func(t testing.TB, r playtest.Result) {
		over("step 1")(t, r)
		if n := r.Ends("step 0"); n != 3 {
			t.Errorf("built %d times", n)
		}
	})
	p.Agent = back(-1)
	if r := p.Play(t, tree(".aiox/x", "")); r.Run.State != reprise.Waiting || r.Count(reprise.StepFinished, "step 1") != 5 {
		t.Errorf("it is %s (%s)\n%s", r.Run.State, r.Run.Reason, r.Story())
	}
}

const executor = `workflowId: development-cycle
currentPhase: 1_validation
currentStory: docs/stories/1.2.login.md
executor: '@dev'
attemptCount: 0
startedAt: 2026-01-31T04:38:53.739Z
lastUpdated: 2026-01-31T04:39:08.586Z
phaseResults: {}
accumulatedContext:
  validatedAt: 2026-01-31T04:39:07.754Z
`

func TestOR11_executor(t *testing.T) {
	t.Parallel()
	files := tree(".aios/workflow-state/1.2-state.yaml", executor, "docs/stories/1.2.login.md", strings.Replace(draft, "Draft", "Ready", 1))
	goal := reprise.Goal{Path: ".aios/workflow-state/1.2-state.yaml"}
	phases := []string{"1_validation", "4_quality_gate", "5_push", "6_checkpoint"}
	for _, back := range []int{0, 2} {
		p := player(reprise.KindWorkflow, goal, reviewer(back, team))
		p.Stride = 1 + 2*back
		p.EveryKill(t, files, func(t testing.TB, r playtest.Result) {
			over(phases...)(t, r)
			if n := r.Ends("2_development"); n != back+1 {
				t.Errorf("developed %d times", n)
			}
			only(t, files, r.Files, ".aios/workflow-state/1.2-state.yaml", "docs/stories/1.2.login.md", "src/")
		})
		if t.Failed() {
			return
		}
	}
	p := player(reprise.KindWorkflow, goal, reviewer(-1, team))
	if r := p.Play(t, files); r.Run.State != reprise.Waiting || len(r.Run.PendingQuestions()) != 1 {
		t.Errorf("never approved: %s (%s)\n%s", r.Run.State, r.Run.Reason, r.Story())
	}
	p = player(reprise.KindWorkflow, goal, func(job playtest.Job) reprise.Reply { return reprise.Reply{Outcome: "done"} })
	if r := p.Play(t, files); r.Ends("4_quality_gate") != 0 || r.Run.State == reprise.Complete {
		t.Errorf("a gate without a verdict was passed\n%s", r.Story())
	}
	// Its story is closed outside.
	p = player(reprise.KindWorkflow, goal, team)
	p.Between = func(turn int, files fstest.MapFS) {
		if turn >= 2 {
			files["docs/stories/1.2.login.md"] = &fstest.MapFile{Data: []byte(strings.Replace(draft, "Draft", "Done", 1))}
		}
	}
	r := p.Play(t, files)
	if r.Decision.Action != reprise.Ask || len(r.Run.PendingQuestions()) != 1 || r.Ends("2_development") > 0 {
		t.Errorf("closed outside: %s %v\n%s", r.Run.State, r.Run.Questions, r.Story())
	}
	p.Answer = func(reprise.Question) (string, bool) { return "close it", true }
	over()(t, p.Play(t, files))
}

// OR5: executor and qualityGate of the state are who develops and who judges; what they
// are to do stays that of the role. A result in the place of the gate is no one.
func TestOR5_executor_names_who_works(t *testing.T) {
	t.Parallel()
	for state, want := range map[string][2]string{
		"executor: '@data-engineer'\nqualityGate: '@architect'":           {"data-engineer", "architect"},
		"executor: data-engineer (lead)\nqualityGate: PASS":               {"data-engineer", "qa"},
		"executor: '../x'\nqualityGate: \"@a b\"":                         {"dev", "a"},
		"executor: null\nqualityGate: '@\u202eevil'\nquality_gate: '@po'": {"dev", "qa"},
	} {
		files := tree(".aios/workflow-state/1.2-state.yaml", strings.Replace(executor, "executor: '@dev'", state, 1), "docs/stories/1.2.login.md", strings.Replace(draft, "Draft", "Ready", 1))
		jobs := map[string]reprise.Assignment{}
		p := player(reprise.KindWorkflow, reprise.Goal{Path: ".aios/workflow-state/1.2-state.yaml"}, func(job playtest.Job) reprise.Reply {
			jobs[job.Step] = job.Assignment
			if job.Template == "qa" {
				return reprise.Reply{Outcome: "done", Verdict: "PASS"}
			}
			return team(job)
		})
		over("4_quality_gate")(t, p.Play(t, files))
		dev, gate := jobs["2_development"], jobs["4_quality_gate"]
		if got := [2]string{dev.Role, gate.Role}; got != want || dev.Template != "dev" || !dev.Commit || gate.Template != "qa" || gate.Commit {
			t.Errorf("%q: %v, as %s and %s", state, got, dev.Template, gate.Template)
		}
	}
}

func TestOR11_workflow_states_as_met(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		path, text string
		want       reprise.State
		steps      []string
	}{
		"short form": {".nexos/workflow-state/one-state.yaml", "workflow: one\nstatus: active\ncurrent_phase: build\nphases_completed: [plan]\ncurrent_agent: '@dev'\n", reprise.Complete, []string{"build"}},
		"build": {"plan/build-state.json", `{
  "status": "in_progress",
  "startedAt": "2026-01-31T09:00:00.000Z",
  "currentSubtask": "1.2",
  "completedSubtasks": ["1.1"],
  "failedAttempts": [],
  "checkpoints": []
}
`, reprise.Complete, []string{"1.2"}},
		"engine state": {".aiox/two-state.yaml", "engine_state:\n  workflow_id: two\n  status: paused\n  current_step_index: 1\n  steps:\n    - {step_index: 0, phase: a, agent: '@dev', status: completed}\n    - {step_index: 1, phase: b, agent: '@qa', status: pending}\n", reprise.Complete, []string{"step 1"}},
	} {
		p := player(reprise.KindWorkflow, reprise.Goal{Path: tt.path}, team)
		p.Answer = func(reprise.Question) (string, bool) { return "close it", true }
		r := p.Play(t, tree(tt.path, tt.text))
		if over(tt.steps...)(t, r); t.Failed() {
			t.Fatalf("%s:\n%s%s", name, r.Story(), r.Files[tt.path].Data)
		}
	}
}
