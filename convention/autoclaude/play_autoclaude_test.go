package autoclaude_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/convention/autoclaude"
	"reprise/convention/conventiontest"
	"reprise/convention/playtest"
)

const (
	specID   = "001-dark-mode"
	home     = ".auto-claude/specs/" + specID + "/"
	checkout = ".auto-claude/worktrees/tasks/" + specID + "/"
)

func put(fsys fstest.MapFS, name, text string) {
	fsys[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644, ModTime: conventiontest.Epoch}
}

// planned is a plan with three items in two phases.
func planned(statuses ...string) string {
	for len(statuses) < 3 {
		statuses = append(statuses, "pending")
	}
	return fmt.Sprintf(`{
  "feature": "Dark mode", "status": "in_progress",
  "phases": [
    {"id": "p1", "name": "Base", "subtasks": [
      {"id": "1.1", "description": "store the choice", "status": %q, "files_to_create": ["store.go"]},
      {"id": "1.2", "description": "read the choice", "status": %q}
    ]},
    {"id": "p2", "name": "Switch", "depends_on": ["p1"], "subtasks": [
      {"id": "2.1", "description": "show the switch", "status": %q}
    ]}
  ]
}
`, statuses[0], statuses[1], statuses[2])
}

// agent is one that does what it is told, and leaves the plan to us. The
// checkout is made where the engine would make it.
func agent(j playtest.Job) reprise.Reply {
	if j.Worktree && j.Read(checkout+"implementation_plan.json") == "" {
		at := checkout + home
		if j.Read(at+"implementation_plan.json") == "" {
			j.Write(at+"implementation_plan.json", j.Read(home+"implementation_plan.json"))
		}
	}
	switch j.Step {
	case "planning":
		j.Write(j.Expect[0].Path, planned())
	case "spec_writing":
		j.Write(j.Expect[0].Path, "# Dark mode\n")
	case "qa-review":
		return reprise.Reply{Outcome: "done", Verdict: "approved"}
	case "qa-fix":
	case "1.1":
		j.Write(checkout+"store.go", "package store\n")
	default:
		if len(j.Expect) == 1 {
			j.Write(j.Expect[0].Path, `{"complexity": "standard"}`)
		}
	}
	return reprise.Reply{Outcome: "done", Summary: "did " + j.Step}
}

func player(agent func(playtest.Job) reprise.Reply) playtest.Player {
	return playtest.Player{Layout: autoclaude.New(), Book: autoclaude.NewPlaybook(), Goal: reprise.Goal{Text: "Dark mode\nwith a switch"}, Agent: agent}
}

// built asks that the build waits for a person's review, each item done once.
func built(t testing.TB, r playtest.Result) {
	t.Helper()
	if r.GaveUp != "" || r.Run.State != reprise.Waiting || r.Run.Phase != "human review" || r.Ref.ID != specID {
		t.Fatalf("%s %s in %q: %s\n%s", r.Ref.ID, r.Run.State, r.Run.Phase, r.Run.Reason, r.Story())
	}
	for _, id := range []string{"1.1", "1.2", "2.1"} {
		if s := r.Run.Step(id); s == nil || s.Status != reprise.Done || r.Ends(id) != 1 {
			t.Errorf("%s: %+v, %d ends", id, s, r.Ends(id))
		}
	}
}

func TestAC9_FromNothing(t *testing.T) {
	t.Parallel()
	r := player(agent).Play(t, fstest.MapFS{})
	built(t, r)
	want := []string{
		"spec-discovery discovery", "complexity-assessor complexity_assessment", "spec-context context", "spec-writer spec_writing",
		"planner planning", "coder 1.1", "coder 1.2", "coder 2.1", "qa-reviewer qa-review",
	}
	if !slices.Equal(r.Launches, want) {
		t.Errorf("%q", r.Launches)
	}
}

func TestAC9_FromNothing_killed_everywhere(t *testing.T) {
	t.Parallel()
	player(agent).EveryKill(t, fstest.MapFS{}, func(t testing.TB, r playtest.Result) {
		built(t, r)
		if r.Files[".auto-claude/specs/002-dark-mode/requirements.json"] != nil {
			t.Error("the goal was begun twice")
		}
	})
}

// scenarios of seed 003.
func seeds() map[string]fstest.MapFS {
	out := map[string]fstest.MapFS{}
	for name, files := range map[string]map[string]string{
		"1 plan without worktree": {home + "implementation_plan.json": planned()},
		"2 plan and worktree":     {home + "implementation_plan.json": planned("completed"), checkout + home + "implementation_plan.json": planned("completed")},
		"3 no plan":               {home + "requirements.json": `{"task_description": "Dark mode"}`},
		"3 a stub":                {home + "implementation_plan.json": `{"status": "human_review", "phases": []}`},
		"4 crash while coding":    {home + "implementation_plan.json": planned("in_progress"), checkout + home + "implementation_plan.json": planned("completed", "in_progress")},
		"4 a failed item":         {home + "implementation_plan.json": planned("completed", "failed")},
	} {
		fsys := fstest.MapFS{}
		put(fsys, home+"spec.md", "# Dark mode\n")
		put(fsys, checkout+"store.go", "package store\n")
		for file, text := range files {
			put(fsys, file, text)
		}
		if !strings.Contains(name, "worktree") && !strings.Contains(name, "crash") || strings.Contains(name, "without") {
			delete(fsys, checkout+"store.go")
		}
		out[name] = fsys
	}
	return out
}

func TestAC7_Scenarios_of_the_seed_killed_everywhere(t *testing.T) {
	t.Parallel()
	for name, fsys := range seeds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := player(agent)
			p.Ref = reprise.Ref{Layout: "autoclaude", Kind: reprise.KindBuild, ID: specID, Path: strings.TrimSuffix(home, "/")}
			p.EveryKill(t, fsys, func(t testing.TB, r playtest.Result) {
				if r.GaveUp != "" || r.Run.State != reprise.Waiting || r.Run.Phase != "human review" {
					t.Fatalf("%s in %q: %s\n%s", r.Run.State, r.Run.Phase, r.Run.Reason, r.Story())
				}
				for i := range r.Run.Steps {
					if s := &r.Run.Steps[i]; s.Status != reprise.Done || r.Ends(s.ID) > 1 {
						t.Errorf("%s is %s with %d ends", s.ID, s.Status, r.Ends(s.ID))
					}
				}
			})
		})
	}
}

// An agent that keeps the plan in the checkout itself, as the original's does.
func TestAC5_Agents_that_mark_the_plan_themselves(t *testing.T) {
	t.Parallel()
	self := func(j playtest.Job) reprise.Reply {
		reply := agent(j)
		if at := checkout + home + "implementation_plan.json"; j.Role == "coder" {
			plan := j.Read(at)
			head, rest, ok := strings.Cut(plan, `"id": "`+j.Step+`"`)
			if !ok {
				t.Errorf("%s is not in %s", j.Step, plan)
			}
			for _, word := range []string{"pending", "in_progress"} {
				line, after, _ := strings.Cut(rest, "\n")
				rest = strings.Replace(line, `"`+word+`"`, `"completed"`, 1) + "\n" + after
			}
			j.Write(at, head+`"id": "`+j.Step+`"`+rest)
		}
		return reply
	}
	// What it called completed is, also where its end was never seen: so it
	// may have no end on record, but never two.
	player(self).EveryKill(t, fstest.MapFS{}, func(t testing.TB, r playtest.Result) {
		if r.GaveUp != "" || r.Run.Phase != "human review" {
			t.Fatalf("%s in %q: %s\n%s", r.Run.State, r.Run.Phase, r.Run.Reason, r.Story())
		}
		for _, id := range []string{"1.1", "1.2", "2.1"} {
			if s := r.Run.Step(id); s == nil || s.Status != reprise.Done || r.Ends(id) > 1 || r.Count(reprise.StepStarted, id) > 2 {
				t.Errorf("%s: %+v, %d ends", id, s, r.Ends(id))
			}
		}
	})
}

func TestAC9_QA_rejects_until_it_is_fixed(t *testing.T) {
	t.Parallel()
	reviews := 0
	r := player(func(j playtest.Job) reprise.Reply {
		switch j.Step {
		case "qa-review":
			if reviews++; reviews < 3 {
				return reprise.Reply{Outcome: "done", Verdict: "rejected", Issues: []string{"the switch does nothing", "no test"}}
			}
		case "qa-fix":
			if !slices.ContainsFunc(j.Data, func(d reprise.Data) bool { return strings.Contains(d.Text, "the switch does nothing") }) || !j.Commit {
				t.Errorf("the fixer is not told what was found: %+v", j.Data)
			}
		}
		return agent(j)
	}).Play(t, fstest.MapFS{})
	built(t, r)
	if n := r.Count(reprise.StepFinished, "qa-fix"); n != 2 || reviews != 3 {
		t.Errorf("%d fixes, %d reviews", n, reviews)
	}
}

func TestAC9_QA_that_never_approves_asks_a_person(t *testing.T) {
	t.Parallel()
	for answer, wantRounds := range map[string]int{"": 10, "go on: look at the tests": 20, "approve": 10} {
		reviews, asked := 0, 0
		p := player(func(j playtest.Job) reprise.Reply {
			if j.Step == "qa-review" {
				reviews++
				return reprise.Reply{Outcome: "done", Verdict: "needs_work", Issues: []string{"no"}}
			}
			return agent(j)
		})
		p.Answer = func(q reprise.Question) (string, bool) {
			asked++
			return answer, asked == 1 && answer != ""
		}
		r := p.Play(t, fstest.MapFS{})
		approved := r.Run.Phase == "human review"
		if reviews != wantRounds || r.Run.State != reprise.Waiting || approved != (answer == "approve") {
			t.Errorf("%q: %d reviews, asked %d times, %s in %q\n%s", answer, reviews, asked, r.Run.State, r.Run.Phase, r.Story())
		}
	}
}

// What agents leave that must not count.
func TestAC1_Agents_that_lie(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		step   string
		do     func(j playtest.Job) reprise.Reply
		gaveUp bool // else the state is for a person to repair
	}{
		"no file":            {"discovery", func(playtest.Job) reprise.Reply { return reprise.Reply{Outcome: "done"} }, true},
		"file is no JSON":    {"complexity_assessment", leaves("{"), true},
		"empty spec":         {"spec_writing", leaves(" \n"), true},
		"plan untouched":     {"planning", func(playtest.Job) reprise.Reply { return reprise.Reply{Outcome: "done"} }, true},
		"plan without items": {"planning", leaves(`{"status": "in_progress", "phases": [{"id": "p", "subtasks": []}]}`), true},
		"plan all done":      {"planning", leaves(planned("completed", "completed", "completed")), true},
		"plan broken":        {"planning", leaves(`{"phases": [`), false},
		"nothing coded":      {"1.1", func(playtest.Job) reprise.Reply { return reprise.Reply{Outcome: "done"} }, true},
		"no verdict":         {"qa-review", func(playtest.Job) reprise.Reply { return reprise.Reply{Outcome: "done"} }, true},
		"odd verdict":        {"qa-review", func(playtest.Job) reprise.Reply { return reprise.Reply{Outcome: "done", Verdict: "fine"} }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := player(func(j playtest.Job) reprise.Reply {
				if j.Step == c.step {
					return c.do(j)
				}
				return agent(j)
			}).Play(t, fstest.MapFS{})
			if n := r.Count(reprise.StepFinished, c.step); n > 0 || r.Count(reprise.StepFailed, c.step) == 0 {
				t.Errorf("it counted\n%s", r.Story())
			}
			if c.gaveUp != strings.Contains(r.GaveUp, "failed 3 times") && name != "plan all done" {
				t.Errorf("gave up: %s", r.GaveUp)
			}
			if r.Run.State == reprise.Complete {
				t.Error("called complete")
			}
		})
	}
}

func leaves(text string) func(playtest.Job) reprise.Reply {
	return func(j playtest.Job) reprise.Reply {
		j.Write(j.Expect[0].Path, text)
		return reprise.Reply{Outcome: "done"}
	}
}

func TestAC4_Parallel_only_where_files_differ(t *testing.T) {
	t.Parallel()
	fsys := fstest.MapFS{}
	put(fsys, home+"spec.md", "# X\n")
	put(fsys, home+"implementation_plan.json", `{"phases": [{"id": "p", "parallel_safe": true, "subtasks": [
  {"id": "a", "status": "pending", "files_to_modify": ["x.go"]},
  {"id": "b", "status": "pending", "files_to_modify": ["y.go"]},
  {"id": "c", "status": "pending", "files_to_modify": ["x.go"]}]}]}`)
	r, err := autoclaude.New().Load(fsys, reprise.Ref{Path: strings.TrimSuffix(home, "/")})
	if err != nil {
		t.Fatal(err)
	}
	d := reprise.Next(r, reprise.Observed{}, reprise.Policy{})
	ids := func(units []reprise.Unit) (out []string) {
		for _, u := range units {
			out = append(out, u.ID)
		}
		return out
	}
	book := autoclaude.NewPlaybook()
	if got := ids(book.Pick(r, d, nil)); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%q of %q", got, ids(d.Units))
	}
	if got := ids(book.Pick(r, d, []string{"b"})); !slices.Equal(got, []string{"a"}) {
		t.Errorf("beside b: %q", got)
	}
	a, err := book.Assign(fsys, r, d.Units[0])
	if err != nil || !a.Worktree || !a.Commit || a.Facts["commit_subject"] != "auto-claude: a - done" || a.Policy != reprise.Verify {
		t.Errorf("%+v %v", a, err)
	}
}

func TestAC9_Begin_numbers_and_finds(t *testing.T) {
	t.Parallel()
	fsys := fstest.MapFS{}
	put(fsys, ".auto-claude/specs/007-old/requirements.json", `{"task_description": "Old  thing\n now"}`)
	put(fsys, ".auto-claude/specs/003-closed/requirements.json", `{"task_description": "Closed"}`)
	put(fsys, ".auto-claude/specs/003-closed/implementation_plan.json", `{"status": "done", "phases": []}`)
	put(fsys, ".auto-claude/worktrees/tasks/011-gone/x", "")
	for _, c := range []struct {
		goal   reprise.Goal
		id     string
		events int
	}{
		{reprise.Goal{Text: "Ünïcode & <script> in the Title, which is much too long to be the name of any folder\nmore"}, "012-n-code-script-in-the-title-which-is-much-too-long", 1},
		{reprise.Goal{Text: "Old thing now"}, "007-old", 0},
		{reprise.Goal{Text: "Closed"}, "012-closed", 1},
		{reprise.Goal{Text: "../../etc"}, "012-etc", 1},
		{reprise.Goal{Text: "…"}, "012-", 1},
		{reprise.Goal{ID: "007-old"}, "007-old", 0},
		{reprise.Goal{ID: "020-mine", Text: "x"}, "020-mine", 1},
		{reprise.Goal{Path: ".auto-claude/specs/007-old/requirements.json"}, "007-old", 0},
		{reprise.Goal{ID: "005-again", Path: ".auto-claude/specs/005-again", Text: "archived"}, "005-again", 1},
	} {
		ref, events, err := autoclaude.NewPlaybook().Begin(fsys, c.goal)
		if err != nil || ref.ID != c.id || len(events) != c.events || ref.Path != ".auto-claude/specs/"+c.id {
			t.Errorf("%+v: %+v %v %v", c.goal, ref, events, err)
		}
	}
	for _, bad := range []reprise.Goal{{}, {ID: "../x", Text: "x"}, {ID: ".git", Text: "x"}, {Path: "no"}, {Path: "no/005-x", Text: "x"}, {Path: ".auto-claude/specs/005-x"}, {ID: "099-none"}} {
		if ref, _, err := autoclaude.NewPlaybook().Begin(fsys, bad); err == nil {
			t.Errorf("%+v: %+v", bad, ref)
		}
	}
}
