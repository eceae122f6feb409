package longrun_test

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/convention/conventiontest"
	"reprise/convention/longrun"
	"reprise/convention/playtest"
)

const dir = "specs/shop/.long-run/"

func file(text string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte(text), Mode: 0o644, ModTime: conventiontest.Epoch}
}

func planText(group string, tasks ...string) string {
	text := "---\ntask_group: " + group + "\n---\n\n# " + group + "\n\n"
	for i, t := range tasks {
		text += fmt.Sprintf("<task>\n<name>Task %d: %s</name>\n<files>src/%s.go, src/none.go</files>\n</task>\n", i+1, t, t)
	}
	return text
}

// work does what it is told. Every task appends a line to a file of its own, so
// that doing it twice shows.
func work(j playtest.Job) reprise.Reply {
	switch j.Role {
	case "planner":
		if strings.HasSuffix(j.Facts["state"], ".planning") {
			j.Write(".planning/phases/03-polish/03-01-PLAN.md", "---\nphase: 03-polish\nplan: 01\nautonomous: true\n---\n")
			return reprise.Reply{Outcome: "done"}
		}
		j.Write(j.Facts["plans"]+"/01-PLAN.md", planText("schema", "model", "index"))
		j.Write(j.Facts["plans"]+"/02-PLAN.md", planText("ui"))
		return reprise.Reply{Outcome: "done"}
	case "executor":
		if name := j.Facts["summary"]; name != "" {
			j.Write(name, "---\nstatus: completed\n---\n\n# Summary of "+j.Facts["plan"]+"\n")
			j.Write("done/"+strings.ReplaceAll(j.Step, "/", "."), "whole plan\n")
			return reprise.Reply{Outcome: "done", Summary: "carried out"}
		}
		for _, l := range strings.Split(j.Data[0].Text, "\n") {
			if _, rest, ok := strings.Cut(l, "<files>"); ok {
				name, _, _ := strings.Cut(strings.TrimSuffix(rest, "</files>"), ",")
				j.Write(name, "package shop\n")
			}
		}
		j.Write("done/"+strings.ReplaceAll(j.Step, "/", "."), j.Unit.Title+"\n")
	}
	return reprise.Reply{Outcome: "done", Summary: "made"}
}

func player() playtest.Player {
	return playtest.Player{
		Layout: longrun.New(), Book: longrun.NewPlaybook(), Agent: work,
		Ref:    reprise.Ref{Layout: "longrun", ID: "shop", Path: "specs/shop/.long-run", Kind: reprise.KindPlans},
		Answer: func(q reprise.Question) (string, bool) { return "the short one", true },
	}
}

func complete(t testing.TB, r playtest.Result) {
	t.Helper()
	if r.Decision.Action != reprise.Finish || r.Run.State != reprise.Complete {
		t.Errorf("not complete: %s: %s (%s)\n%s", r.Run.State, r.Run.Reason, r.GaveUp, r.Story())
	}
	for i := range r.Run.Steps {
		if st := &r.Run.Steps[i]; r.Ends(st.ID) > 1 {
			t.Errorf("plan %s ended %d times:\n%s", st.ID, r.Ends(st.ID), r.Story())
		}
		for n := 1; n < 5; n++ {
			if id := fmt.Sprintf("%s/%d", r.Run.Steps[i].ID, n); r.Ends(id) > 1 {
				t.Errorf("task %s ended %d times:\n%s", id, r.Ends(id), r.Story())
			}
		}
	}
}

func has(t testing.TB, r playtest.Result, name string, wants ...string) {
	t.Helper()
	f := r.Files[name]
	if f == nil {
		t.Errorf("%s is not there:\n%s", name, r.Story())
		return
	}
	for _, want := range wants {
		if !strings.Contains(string(f.Data), want) {
			t.Errorf("%s does not say %q:\n%s", name, want, f.Data)
		}
	}
}

func TestLR9_from_a_goal_to_the_end_and_through_every_kill(t *testing.T) {
	t.Parallel()
	p := player()
	p.Ref, p.Goal = reprise.Ref{}, reprise.Goal{ID: "shop", Text: "a shop | with invoices"}
	p.EveryKill(t, fstest.MapFS{"README.md": file("mine\n")}, func(t testing.TB, r playtest.Result) {
		complete(t, r)
		has(t, r, dir+"STATE.md", "Status: Complete", "Goal: a shop", "2 of 2", "100%")
		if goal := (longrun.Playbook{}).GoalOf(r.Files, r.Run); !strings.HasPrefix(goal, "a shop") {
			t.Errorf("goal %q", goal)
		}
		has(t, r, dir+"plans/01-CHECKPOINT.json", `"last_completed_task": 2`, `"total_tasks": 2`)
		has(t, r, dir+"summaries/01-SUMMARY.md", "status: completed", "Task 1: model", "Task 2: index")
		has(t, r, dir+"agent-history.json", `"plan": "01"`, `"plan": "02"`, `"completed"`)
		has(t, r, "done/01.1", "Task 1: model")
		has(t, r, "done/02", "whole plan")
		if len(r.Launches) > 5 {
			t.Errorf("%v", r.Launches)
		}
		for name := range r.Files {
			if name != "README.md" && !strings.HasPrefix(name, dir) && !strings.HasPrefix(name, "src/") && !strings.HasPrefix(name, "done/") {
				t.Errorf("%s was made", name)
			}
		}
	})
}

func TestLR9_from_each_interruption_of_the_seed_to_the_end(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"active-agent":     {"executor 02/1", "executor 02/2", "executor 02/3", "executor 03"},
		"partial-plan":     {"executor 02/2", "executor 02/3", "executor 03"},
		"between-plans":    {"executor 02/1", "executor 02/2", "executor 02/3", "executor 03"},
		"pending-question": {"executor 02/1", "executor 02/2", "executor 02/3", "executor 03"},
		"all-tasks-done":   {"executor 01", "executor 03"},
		"half-planned":     {"planner transform", "executor 01/1", "executor 01/2", "executor 02", "executor 03"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := conventiontest.LoadFS(t, "testdata/play/"+name+".txtar")
			check := func(t testing.TB, r playtest.Result) {
				complete(t, r)
				has(t, r, dir+"STATE.md", "Status: Complete", "Kim watches the mail server.", "Started: 2025-12-30T09:00:00Z")
			}
			p := player()
			r := p.Play(t, tree)
			check(t, r)
			if !slices.Equal(r.Launches, want) {
				t.Errorf("launches %v, want %v\n%s", r.Launches, want, r.Story())
			}
			if name == "partial-plan" {
				p.EveryKill(t, tree, check)
				has(t, r, dir+"plans/02-CHECKPOINT.json", `"1": "abc1111"`, `"last_completed_task": 3`)
			}
			for file, f := range tree {
				if strings.HasPrefix(path.Base(file), "0") && strings.HasSuffix(file, "PLAN.md") && name != "half-planned" && string(f.Data) != string(r.Files[file].Data) {
					t.Errorf("%s was changed", file)
				}
			}
		})
	}
}

func TestLR9_agents_that_ask_and_are_told(t *testing.T) {
	t.Parallel()
	p := player()
	p.Agent = func(j playtest.Job) reprise.Reply {
		said := slices.ContainsFunc(j.Data, func(d reprise.Data) bool { return strings.Contains(d.Text, "Answer: the short one") })
		switch {
		case j.Step == "02/2" && !said:
			return reprise.Reply{Outcome: "question", Questions: []reprise.Asked{{ID: "q1", Text: "Which token?", Options: []string{"long", "short"}}}}
		case j.Step == "02/3" && !said:
			t.Error("an answer is not told to later tasks of the plan")
		}
		return work(j)
	}
	tree := conventiontest.LoadFS(t, "testdata/play/partial-plan.txtar")
	p.EveryKill(t, tree, func(t testing.TB, r playtest.Result) {
		complete(t, r)
		if n := r.Count(reprise.QuestionAnswered, ""); n != 1 {
			t.Errorf("%d answers:\n%s", n, r.Story())
		}
		has(t, r, dir+"clarifications.md", "Task Group 2", "Which token?", "the short one", "**Status:** answered")
	})
	p.Answer = nil
	if r := p.Play(t, tree); r.Run.State != reprise.Waiting || len(r.Run.PendingQuestions()) != 1 {
		t.Errorf("%s\n%s", r.Run.State, r.Story())
	}
}

func TestLR9_agents_that_lie_do_not_count(t *testing.T) {
	t.Parallel()
	nothing := func(playtest.Job) reprise.Reply { return reprise.Reply{Outcome: "done", Summary: "all done"} }
	p := player()
	p.Agent = nothing
	for name, step := range map[string]string{"between-plans": "02/1", "half-planned": "transform"} {
		tree := conventiontest.LoadFS(t, "testdata/play/"+name+".txtar")
		if name == "half-planned" {
			for file := range tree {
				if strings.HasSuffix(file, "PLAN.md") {
					delete(tree, file)
				}
			}
		}
		if r := p.Play(t, tree); r.Ends(step) != 0 || r.GaveUp == "" {
			t.Errorf("%s: %s\n%s", name, r.GaveUp, r.Story())
		}
	}
	p.Agent = func(j playtest.Job) reprise.Reply {
		if j.Step == "03" {
			j.Write(j.Facts["summary"], "---\nstatus: partial\n---\n\n# Summary\n")
			return reprise.Reply{Outcome: "done"}
		}
		return work(j)
	}
	if r := p.Play(t, conventiontest.LoadFS(t, "testdata/play/partial-plan.txtar")); r.Ends("03") != 0 || r.Run.State == reprise.Complete {
		t.Errorf("a partial summary counted:\n%s", r.Story())
	}
}

func TestLR9_an_agent_that_writes_the_state_itself(t *testing.T) {
	t.Parallel()
	p := player()
	p.Agent = func(j playtest.Job) reprise.Reply {
		reply := work(j)
		if name := dir + "plans/02-CHECKPOINT.json"; j.Step == "02/2" {
			j.Write(name, strings.Replace(j.Read(name), `"last_completed_task": 1`, `"last_completed_task": 2`, 1))
		}
		if j.Step == "02/3" {
			j.Write(dir+"summaries/02-SUMMARY.md", "---\nplan: 02\nstatus: completed\n---\n\n# Mine\n")
		}
		return reply
	}
	r := p.Play(t, conventiontest.LoadFS(t, "testdata/play/partial-plan.txtar"))
	complete(t, r)
	has(t, r, dir+"summaries/02-SUMMARY.md", "# Mine")
	if want := []string{"executor 02/2", "executor 02/3", "executor 03"}; !slices.Equal(r.Launches, want) {
		t.Errorf("%v", r.Launches)
	}
}

func TestLR8_restart_and_skip(t *testing.T) {
	t.Parallel()
	l := longrun.New()
	for _, c := range []struct {
		ev   reprise.Event
		want []string
	}{
		{reprise.Event{Kind: reprise.StepReset, Step: "02", Actor: "person"}, []string{"executor 02/1", "executor 02/2", "executor 02/3", "executor 03"}},
		{reprise.Event{Kind: reprise.StepReset, Step: "02", Actor: "person", Outcome: reprise.NotDone}, []string{"executor 02/2", "executor 02/3", "executor 03"}},
		{reprise.Event{Kind: reprise.StepReset, Step: "02"}, []string{"executor 02/2", "executor 02/3", "executor 03"}},
		{reprise.Event{Kind: reprise.StepReset, Step: "01", Actor: "person"}, []string{"executor 01", "executor 01/1", "executor 01/2", "executor 02/2", "executor 02/3", "executor 03"}},
		{reprise.Event{Kind: reprise.StepSkipped, Step: "02"}, []string{"executor 03"}},
	} {
		tree := conventiontest.LoadFS(t, "testdata/play/partial-plan.txtar")
		p := player()
		r, err := l.Load(tree, p.Ref)
		if err != nil {
			t.Fatal(err)
		}
		c.ev.At = conventiontest.Epoch
		edits, err := l.Record(tree, r, c.ev)
		if err != nil {
			t.Fatal(err)
		}
		if tree, err = conventiontest.Apply(tree, edits); err != nil {
			t.Fatal(err)
		}
		got := p.Play(t, tree)
		complete(t, got)
		slices.Sort(got.Launches)
		if !slices.Equal(got.Launches, c.want) {
			t.Errorf("%s %s: %v", c.ev.Kind, c.ev.Step, got.Launches)
		}
	}
}

func TestLR9_begin(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{"specs/a/tasks.md": file("x"), "specs/b/.long-run/STATE.md": file("x"), ".planning/ROADMAP.md": file("x"), "c/notes.md": file("x")}
	for _, c := range []struct {
		goal reprise.Goal
		path string
		id   string
		new  bool
	}{
		{reprise.Goal{Path: "specs/a"}, "specs/a/.long-run", "a", true},
		{reprise.Goal{Path: "specs/a/tasks.md"}, "specs/a/.long-run", "a", true},
		{reprise.Goal{Path: "specs/b/.long-run/"}, "specs/b/.long-run", "b", false},
		{reprise.Goal{ID: "b", Text: "x"}, "specs/b/.long-run", "b", false},
		{reprise.Goal{Text: "Pay: by CARD"}, "specs/pay-by-card/.long-run", "pay-by-card", true},
		{reprise.Goal{ID: "long-run", Text: "x"}, ".long-run", "long-run", true},
		{reprise.Goal{Path: ".planning"}, ".planning", "planning", false},
		{reprise.Goal{Path: ".planning/ROADMAP.md"}, ".planning", "planning", false},
		{reprise.Goal{ID: "planning"}, ".planning", "planning", false},
	} {
		ref, events, err := longrun.NewPlaybook().Begin(tree, c.goal)
		if err != nil || ref.Path != c.path || ref.ID != c.id || (len(events) > 0) != c.new {
			t.Errorf("%+v: %+v %v %v", c.goal, ref, events, err)
		}
	}
	for _, goal := range []reprise.Goal{{}, {Path: "c"}, {Path: "sub/.planning"}, {ID: "new"}} {
		var hint interface{ Hint() string }
		if _, _, err := longrun.NewPlaybook().Begin(tree, goal); !errors.Is(err, reprise.ErrNotFromNothing) || !errors.As(err, &hint) {
			t.Errorf("%+v: %v", goal, err)
		}
	}
	for _, goal := range []reprise.Goal{{ID: "../x", Text: "x"}, {Path: "../x", Text: "x"}, {Path: "/x", Text: "x"}} {
		if ref, _, err := longrun.NewPlaybook().Begin(tree, goal); err == nil {
			t.Errorf("%+v: %+v", goal, ref)
		}
	}
}

// A task without a commit does not get that of another.
func TestLR9_the_summary_names_each_task_with_its_own_commit(t *testing.T) {
	t.Parallel()
	for _, commits := range []string{`"task_commits": {"2": "abc2222", "3": "abc3333"}`, `"completed_tasks": ["Routes", {"commit": "abc2222"}, {"commit": "abc3333"}]`} {
		tree := conventiontest.LoadFS(t, "testdata/play/all-tasks-done.txtar")
		name := dir + "plans/02-CHECKPOINT.json"
		tree[name] = file(strings.Replace(string(tree[name].Data), `"task_commits": {"1": "abc1111"}`, commits, 1))
		p := player()
		has(t, p.Play(t, tree), dir+"summaries/02-SUMMARY.md", "Task 1: Routes; Task 2: Auth (abc2222); Task 3: Docs (abc3333)")
	}
}
