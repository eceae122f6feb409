package longrun_test

import (
	"slices"
	"strings"
	"testing"

	"reprise"
	"reprise/convention/conventiontest"
	"reprise/convention/longrun"
	"reprise/convention/playtest"
	"reprise/internal/sample"
)

var planning = reprise.Ref{Layout: "longrun", ID: "planning", Path: ".planning", Kind: reprise.KindPlans}

// A project in the middle of a phase: the open plan, a plan for a person, the
// next phase that no one has planned, and its only plan.
func TestLR9_a_planning_project_from_mid_phase_to_the_end(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	tree := conventiontest.LoadFS(t, "testdata/play/gsd-mid-phase.txtar")
	p := player()
	p.Ref = planning
	p.Answer = func(q reprise.Question) (string, bool) { return "done", true }
	check := func(t testing.TB, r playtest.Result) {
		complete(t, r)
		if r.Count(reprise.QuestionAnswered, "") > 1 {
			t.Errorf("asked twice:\n%s", r.Story())
		}
		has(t, r, ".planning/ROADMAP.md", "- [x] 02-02", "- [x] 02-03", "| 2. Core | 3/3 |")
		has(t, r, ".planning/STATE.md", "Milestone complete", "Kim watches the mail server.")
		has(t, r, ".planning/phases/02-core/02-03-SUMMARY.md", "A person did it")
		for name, f := range tree {
			if strings.HasSuffix(name, "PLAN.md") && string(f.Data) != string(r.Files[name].Data) {
				t.Errorf("%s was changed", name)
			}
		}
	}
	r := p.Play(t, tree)
	check(t, r)
	has(t, r, ".planning/ROADMAP.md", "- [x] **Phase 2: Core**", "- [x] **Phase 3: Polish**")
	if want := []string{"executor 02-02", "planner phase-03", "executor 03-01"}; !slices.Equal(r.Launches, want) {
		t.Errorf("%v\n%s", r.Launches, r.Story())
	}
	p.EveryKill(t, tree, check)

	p.Answer = nil
	if r := p.Play(t, tree); r.Run.State != reprise.Waiting || len(r.Run.PendingQuestions()) != 1 {
		t.Errorf("%s\n%s", r.Run.State, r.Story())
	}
	p.Answer = func(q reprise.Question) (string, bool) { return "skip it: not needed", true }
	has(t, p.Play(t, tree), ".planning/phases/02-core/02-03-SUMMARY.md", "status: skipped")
}

// Who continues with a plan of a hand-off is told what is done of it; who begins it
// again, that all of it is to be done.
func TestLR8_a_plan_of_a_hand_off_is_gone_on_with_or_begun_again(t *testing.T) {
	t.Parallel()
	tree := conventiontest.LoadFS(t, "testdata/play/gsd-mid-phase.txtar")
	tree[".planning/HANDOFF.json"] = file(`{"timestamp": "2027-01-01T10:00:00Z", "phase": "02", "plan": 2, "task": 2, "total_tasks": 3, "status": "paused",
 "completed_tasks": [{"id": 1, "name": "Mail template", "status": "done", "commit": "b61d9e4"}], "next_action": "Write the sender"}`)
	r, err := longrun.New().Load(tree, planning)
	if err != nil || len(r.Next) == 0 || r.Next[0].ID != "02-02" {
		t.Fatalf("%v: %+v", err, r)
	}
	told := func() (task, data string) {
		a, err := longrun.NewPlaybook().Assign(tree, r, r.Next[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range a.Data {
			data += d.Name + ": " + d.Text + "\n"
		}
		return a.Facts["task"], data
	}
	if task, data := told(); !strings.Contains(task, "Tasks that are done: 1 of 3") || !strings.Contains(data, "tasks that are done: id 1, name Mail template, status done, commit b61d9e4\n") {
		t.Errorf("go on: %s\n%s", task, data)
	}
	reset := []reprise.Event{{Kind: reprise.StepReset, Step: "02-02", Actor: reprise.Person}}
	r.Recall(reset)
	if task, data := told(); !strings.Contains(task, "from its beginning") || strings.Contains(data, "tasks that are done") {
		t.Errorf("begin again: %s\n%s", task, data)
	}
	r.Recall(append(reset, reprise.Event{Kind: reprise.StepFinished, Step: "02-02"}))
	if r.Step("02-02").Again {
		t.Error("to be done again after it was finished")
	}
}

func TestLR9_agents_that_lie_about_a_planning_project_do_not_count(t *testing.T) {
	t.Parallel()
	tree := conventiontest.LoadFS(t, "testdata/play/gsd-mid-phase.txtar")
	p := player()
	p.Ref = planning
	p.Answer = func(q reprise.Question) (string, bool) { return "done", true }
	for role, step := range map[string]string{"executor": "02-02", "planner": "phase-03"} {
		p.Agent = func(j playtest.Job) reprise.Reply {
			if j.Role == role {
				return reprise.Reply{Outcome: "done", Summary: "all done"}
			}
			return work(j)
		}
		if r := p.Play(t, tree); r.Ends(step) != 0 || r.GaveUp == "" {
			t.Errorf("%s: %s\n%s", role, r.GaveUp, r.Story())
		}
	}
	p.Agent = func(j playtest.Job) reprise.Reply {
		j.Write(j.Facts["summary"], "---\nstatus: blocked\n---\n\n# Summary\n")
		return reprise.Reply{Outcome: "done"}
	}
	if r := p.Play(t, tree); r.Ends("02-02") != 0 {
		t.Errorf("a summary that says blocked counted:\n%s", r.Story())
	}
}

func TestLR9_a_plan_of_the_roadmap_that_nobody_wrote_is_written_first(t *testing.T) {
	t.Parallel()
	tree := conventiontest.LoadFS(t, "testdata/play/gsd-mid-phase.txtar")
	plan := tree[".planning/phases/02-core/02-02-PLAN.md"]
	delete(tree, ".planning/phases/02-core/02-02-PLAN.md")
	delete(tree, ".planning/phases/02-core/02-03-PLAN.md")
	tree[".planning/ROADMAP.md"] = file(strings.Replace(string(tree[".planning/ROADMAP.md"].Data), "- [ ] 02-03: by hand\n", "", 1))
	p := player()
	p.Ref = planning
	p.Agent = func(j playtest.Job) reprise.Reply {
		if j.Step == "plan-02-02" {
			j.Files[".planning/phases/02-core/02-02-PLAN.md"] = plan
			return reprise.Reply{}
		}
		return work(j)
	}
	r := p.Play(t, tree)
	complete(t, r)
	if want := []string{"planner plan-02-02", "executor 02-02", "planner phase-03", "executor 03-01"}; !slices.Equal(r.Launches, want) {
		t.Errorf("%v\n%s", r.Launches, r.Story())
	}
}

// The work of a phase is judged by a person; "not yet" changes nothing.
func TestLR9_verification_is_a_gate(t *testing.T) {
	t.Parallel()
	tree := conventiontest.LoadFS(t, "testdata/play/gsd-mid-phase.txtar")
	for _, name := range []string{"02-02", "02-03"} {
		tree[".planning/phases/02-core/"+name+"-SUMMARY.md"] = file("---\nphase: 02-core\n---\n\n# Done\n")
	}
	tree[".planning/STATE.md"] = file(strings.Replace(string(tree[".planning/STATE.md"].Data), "Status: In progress", "Status: Verifying", 1))
	p := player()
	p.Ref = planning
	said := 0
	p.Answer = func(q reprise.Question) (string, bool) {
		said++
		return []string{"not yet", "approved"}[min(said, 2)-1], true
	}
	r := p.Play(t, tree)
	complete(t, r)
	if r.Count(reprise.QuestionAsked, "") != 2 {
		t.Errorf("%s", r.Story())
	}
	has(t, r, ".planning/ROADMAP.md", "- [x] **Phase 2: Core**")
}
