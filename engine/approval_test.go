package engine_test

import (
	"context"
	"testing"

	"reprise"
	"reprise/engine"
)

// AC6: a commit that names an item does not stand for the approval of a plan that no one
// has begun. Once that is given, the item is not done again.
func TestAC6_a_commit_does_not_approve_the_plan(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	const at = ".auto-claude/specs/001-health"
	put(t, dir, at+"/spec.md", "# Health\n")
	put(t, dir, at+"/requirements.json", `{"task_description":"Health"}`)
	put(t, dir, at+"/review_state.json", `{"approved": false, "review_count": 0, "feedback": []}`)
	put(t, dir, at+"/implementation_plan.json", `{"feature":"Health","status":"pending","phases":[{"id":"p","name":"P","subtasks":[{"id":"subtask-1-1","description":"d","status":"pending"},{"id":"subtask-1-2","description":"d","status":"pending"}]}]}`)
	const tree = ".auto-claude/worktrees/tasks/001-health"
	git(t, dir, "worktree", "add", "-q", "-b", "auto-claude/001-health", tree)
	git(t, dir+"/"+tree, "commit", "-q", "--allow-empty", "-m", "auto-claude: subtask-1-1 - d")
	ref := reprise.Ref{Layout: "autoclaude", ID: "001-health", Path: at, Kind: reprise.KindBuild}
	launched := func() (out []string) {
		for _, ev := range events(t, dir, ref) {
			if ev.Kind == reprise.StepStarted {
				out = append(out, ev.Step)
			}
		}
		return out
	}

	e := newEngine(dir)
	sum, err := e.Resume(t.Context(), ref, engine.Choice{})
	if err != nil || sum.State != reprise.Waiting || len(sum.Questions) != 1 || len(launched()) > 0 {
		t.Fatalf("%v: %v %+v, started %q", err, sum.State, sum.Questions, launched())
	}
	asked := 0
	e.Ask = func(ctx context.Context, q reprise.Question) (string, bool) {
		asked++
		return answering(ctx, q)
	}
	if sum, err = e.Resume(t.Context(), ref, engine.Choice{}); err != nil || asked == 0 {
		t.Fatalf("%v: asked %d times", err, asked)
	}
	if got := launched(); len(got) < 2 || got[0] != "subtask-1-2" || got[1] != "qa-review" {
		t.Errorf("started %q, %v %q", got, sum.State, sum.Reasons)
	}
}

// AC7 OR1: what a person holds with a file is not continued before someone says
// how, whoever calls; and nothing is changed.
func TestAC7_OR1_a_pause_stays_until_somebody_says_how_it_goes_on(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	const at = ".auto-claude/specs/001-health"
	put(t, dir, at+"/spec.md", "# Health\n")
	put(t, dir, at+"/requirements.json", `{"task_description":"Health"}`)
	put(t, dir, at+"/implementation_plan.json", `{"feature":"Health","status":"in_progress","phases":[{"id":"p","name":"P","subtasks":[{"id":"subtask-1-1","description":"d","status":"pending"}]}]}`)
	put(t, dir, at+"/PAUSE", "until Monday")
	ref := reprise.Ref{Layout: "autoclaude", ID: "001-health", Path: at, Kind: reprise.KindBuild}
	for _, mode := range []engine.Mode{engine.Autopilot, engine.Interactive} {
		e := newEngine(dir)
		e.Mode = mode
		sum, err := e.Resume(t.Context(), ref, engine.Choice{})
		if err != nil || sum.State != reprise.Waiting || sum.Action != reprise.Ask || sum.Launches > 0 || count(events(t, dir, ref), reprise.RunResumed, "") > 0 {
			t.Fatalf("%s: %v %+v", mode, err, sum)
		}
		if get(t, dir, at+"/PAUSE") != "until Monday" {
			t.Errorf("%s: the pause was lifted", mode)
		}
		p, err := e.Preview(t.Context(), ref, engine.Choice{})
		if err != nil || len(p.Starts) > 0 {
			t.Errorf("%s: %v %+v", mode, err, p)
		}
	}
	sum, err := newEngine(dir).Resume(t.Context(), ref, engine.Choice{Option: "continue"})
	if err != nil || sum.Launches == 0 {
		t.Errorf("%v %+v", err, sum)
	}
}
