package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"reprise"
	"reprise/engine"
	"reprise/internal/durable"
	"reprise/internal/sample"
	"reprise/project"
)

// Plans of a person's own are not moved away to start afresh.
func TestLR6_planning_is_not_started_afresh(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	put(t, dir, ".planning/PROJECT.md", "# Mine\n\nMonths of thought.\n")
	put(t, dir, ".planning/ROADMAP.md", "# Roadmap\n\n## Phases\n\n- [ ] **Phase 1: Base** - things\n\n## Phase Details\n\n### Phase 1: Base\n\nPlans:\n- [ ] 01-01: one\n")
	put(t, dir, ".planning/STATE.md", "# State\n\n## Current Position\n\nPhase: 1 of 1 (Base)\nPlan: 1 of 1 in current phase\nStatus: In progress\n")
	put(t, dir, ".planning/phases/01-base/01-01-PLAN.md", "---\nphase: 01-base\nplan: 01\n---\n\n# one\n")
	ref := reprise.Ref{Layout: "longrun", ID: "planning", Path: ".planning", Kind: reprise.KindPlans}
	sum, err := newEngine(dir).Resume(t.Context(), ref, engine.Choice{Option: "fresh"})
	if err == nil {
		t.Errorf("it is not refused: %v", sum)
	}
	if _, err := os.Stat(filepath.Join(dir, ".planning/PROJECT.md")); err != nil {
		t.Error(err)
	}
}

// Every workflow that was stopped on the way can be started afresh, but for a list of
// tasks: that is a person's.
func TestOR9_fresh_begins_again(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	for _, w := range workflows {
		if w.kind == reprise.KindTasks {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			e := w.project(t)
			ref, err := e.Begin(t.Context(), w.layout, w.kind, w.goal, engine.Choice{})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			n := 0
			e.Tell = func(p engine.Progress) {
				if p.Kind == engine.Began {
					if n++; n == 3 {
						cancel()
					}
				}
			}
			if _, err := e.Resume(ctx, ref, engine.Choice{}); err != nil {
				t.Fatal(err)
			}
			e.Tell = nil
			sum, err := e.Resume(t.Context(), ref, engine.Choice{Option: "fresh"})
			if err != nil {
				t.Fatal(err)
			}
			if sum.State != reprise.Complete && !(w.waits && sum.State == reprise.Waiting) {
				t.Errorf("it leads to %v %v: %q failed %v", sum.State, sum.Action, sum.Reasons, sum.Failed)
			}
			// What attempts before it left is not taken for someone else's word.
			for _, f := range sum.Findings {
				if f.Code == reprise.CodeLeftover && f.Severity == reprise.Warning {
					t.Errorf("after a fresh start: %s", f.Message)
				}
			}
		})
	}
}

// What could not be begun again is not archived first.
func TestOR9_fresh_without_what_it_needs_changes_nothing(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	const at = "qa/2.2/loop-status.json"
	put(t, dir, at, `{"storyId": "2.2", "currentIteration": 1, "maxIterations": 5, "status": "in_progress", "history": [{"iteration": 1, "reviewedAt": "2026-02-12T10:20:00Z", "verdict": "REJECT", "issuesFound": 3}]}`)
	before := get(t, dir, at)
	ref := reprise.Ref{Layout: "orchestrate", ID: "qa-loop-2.2", Path: at, Kind: reprise.KindQALoop}
	sum, err := newEngine(dir).Resume(t.Context(), ref, engine.Choice{Option: "fresh"})
	if !errors.Is(err, reprise.ErrNotFromNothing) {
		t.Errorf("%v %v", sum, err)
	}
	if get(t, dir, at) != before {
		t.Error("the state was changed")
	}
}

// AC3 AC9: what a person gave a build is not progress: it is there after a fresh start
// as it was, and what it asks for holds again.
func TestAC3_AC9_fresh_keeps_what_a_person_gave(t *testing.T) {
	t.Parallel()
	const wanted = "{\"task_description\":\"Health endpoint\",\r\n\t\"workflow_type\":\"refactor\", \"acceptance_criteria\":[\"it answers\"],\"odd\":1e0}"
	const byHand = "# Mine\n\nAs I want it.\n"
	for name, c := range map[string]struct {
		option string
		files  map[string]string // beside requirements and settings
		spec   string            // what spec.md is to be after it, "" for made anew
		broken bool
	}{
		"fresh":                {"fresh", nil, "", false},
		"discard":              {"discard", nil, "", false},
		"a spec by hand":       {"discard", map[string]string{"spec.md": byHand}, byHand, false},
		"a spec of the phases": {"discard", map[string]string{"spec.md": byHand, "context.json": "{}"}, "", false},
		"requirements cut off": {"discard", map[string]string{"requirements.json": wanted[:40]}, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := repository(t)
			const at = ".auto-claude/specs/001-health"
			const settings = "{\"sourceType\":\"manual\", \"requireReviewBeforeCoding\" : true}\n\n"
			put(t, dir, at+"/requirements.json", wanted)
			put(t, dir, at+"/task_metadata.json", settings)
			put(t, dir, at+"/review_state.json", `{"approved": true}`)
			put(t, dir, at+"/implementation_plan.json", `{"feature":"Health","status":"in_progress","phases":[{"id":"p","name":"P","subtasks":[{"id":"subtask-1-1","description":"d","status":"completed"},{"id":"subtask-1-2","description":"d","status":"in_progress"}]}]}`)
			for name, text := range c.files {
				put(t, dir, at+"/"+name, text)
			}
			git(t, dir, "worktree", "add", "-q", "-b", "auto-claude/001-health", ".auto-claude/worktrees/tasks/001-health")
			e := newEngine(dir)
			ref := reprise.Ref{Layout: "autoclaude", ID: "001-health", Path: at, Kind: reprise.KindBuild}
			sum, err := e.Resume(t.Context(), ref, engine.Choice{Option: c.option})
			if c.broken {
				if err == nil || !strings.Contains(err.Error(), "requirements.json: it cannot be read") {
					t.Errorf("it is not refused: %v", err)
				}
				if got := git(t, dir, "branch", "--list", "auto-claude/*"); !strings.Contains(got, "001-health") {
					t.Errorf("what was built is given up all the same: %q", got)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := get(t, dir, at+"/requirements.json"); got != wanted {
				t.Errorf("requirements.json is %q", got)
			}
			if got := get(t, dir, at+"/task_metadata.json"); got != settings {
				t.Errorf("task_metadata.json is %q", got)
			}
			if got := get(t, dir, at+"/spec.md"); (got == byHand) != (c.spec == byHand) {
				t.Errorf("spec.md is %q", got)
			}
			if sum.State != reprise.Waiting || len(sum.Questions) != 1 || sum.Questions[0].ID != "plan-approval" {
				t.Errorf("it does not wait for the approval: %v %q %+v", sum.State, sum.Reasons, sum.Questions)
			}
		})
	}
}

// What cannot be archived is not started afresh, and nothing is decided.
func TestAC9_fresh_beside_secrets_changes_nothing(t *testing.T) {
	t.Parallel()
	dir, ref := stopped(t, "build")
	put(t, dir, ref.Path+"/.env", "KEY=1\n")
	before, all := oldState(t, dir, ref), len(events(t, dir, ref))
	var secret *durable.SecretError
	if sum, err := newEngine(dir).Resume(t.Context(), ref, engine.Choice{Option: "fresh"}); !errors.As(err, &secret) {
		t.Errorf("%v %v", sum, err)
	}
	if !maps.EqualFunc(oldState(t, dir, ref), before, slices.Equal[[]string]) || len(events(t, dir, ref)) != all {
		t.Error("something was changed")
	}
}

// clockShift is what the clocks of a test and its engines are behind: they begin at
// a full hour, for some files are named after it.
var clockShift = sync.OnceValue(func() time.Duration {
	if shift, err := time.ParseDuration(os.Getenv("REPRISE_TEST_SHIFT")); err == nil {
		return shift
	}
	now := time.Now()
	return now.Truncate(time.Hour).Sub(now)
})

func shiftedNow() time.Time { return time.Now().Add(clockShift()) }

// listed finds the run of a workflow in the list of runs that can be resumed.
func listed(dir, name string) (reprise.Ref, error) {
	j, err := project.Judge(context.Background(), dir, project.JudgeOptions{Options: project.Options{Now: time.Now()}, Full: true, Adopt: true})
	if err != nil {
		return reprise.Ref{}, err
	}
	layout, kind := kindOf(name)
	var found []*reprise.Run
	for _, r := range j.Runs {
		if r.Layout == layout && r.Kind == kind {
			found = append(found, r)
		}
	}
	if len(found) != 1 {
		return reprise.Ref{}, fmt.Errorf("of %d runs %d are of %s", len(j.Runs), len(found), name)
	}
	d := j.Decisions[found[0]]
	if !d.State.Open() || d.State == reprise.NotStarted || d.Verdict == reprise.BlockedVerdict {
		return reprise.Ref{}, fmt.Errorf("the run of %s is not to be resumed: %v %v %q", name, d.State, d.Verdict, d.Reasons)
	}
	return found[0].Ref, nil
}

func kindOf(name string) (string, reprise.Kind) {
	for _, w := range workflows {
		if w.name == name {
			return w.layout, w.kind
		}
	}
	return "eventrun", reprise.KindGraph // the workflow file
}

// stopped makes a project with a run that was stopped on the way.
func stopped(t *testing.T, name string) (dir string, ref reprise.Ref) {
	t.Helper()
	dir = template(t, name)
	e := newEngine(dir)
	e.Ask, e.Now = answering, shiftedNow
	e.Settings.Agents["actor"].Env["DEMO_LAUNCHES"] = launchesOf(dir)
	e.Environ = append(e.Environ, "DEMO_LAUNCHES="+launchesOf(dir))
	e.Settings.Env = append(e.Settings.Env, "DEMO_LAUNCHES")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n, enough := 0, 2
	if name == "qa-loop" {
		enough = 1
	}
	e.Tell = func(p engine.Progress) {
		if p.Kind == engine.Began {
			if n++; n == enough {
				cancel()
			}
		}
	}
	var err error
	if name == "file" {
		w, hash, readErr := readFlow(filepath.Join(dir, "flow.yaml"))
		if readErr != nil {
			t.Fatal(readErr)
		}
		ref, err = e.BeginFlow(ctx, w, "flow.yaml", hash, reprise.Goal{ID: "small"}, engine.Choice{})
	} else {
		for _, w := range workflows {
			if w.name == name {
				ref, err = e.Begin(ctx, w.layout, w.kind, w.goal, engine.Choice{})
			}
		}
	}
	if err == nil {
		_, err = e.Resume(ctx, ref, engine.Choice{})
	}
	if err != nil || n < enough {
		t.Fatalf("%s: %v after %d steps", name, err, n)
	}
	return dir, ref
}

// oldState are the files of a run, each as the archive would name it.
func oldState(t *testing.T, dir string, ref reprise.Ref) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	top := filepath.Join(dir, ref.Path)
	err := filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(filepath.Dir(top), name)
		data, err := os.ReadFile(name)
		out[rel] = []string{string(data)}
		return err
	})
	if err != nil || len(out) == 0 {
		t.Fatal(err, out)
	}
	return out
}

// TestOR8_OR11_a_fresh_epic_keeps_what_it_was_given: its plan is no progress. So
// stories that depend on each other are not worked on at once after it, either.
func TestOR8_OR11_a_fresh_epic_keeps_what_it_was_given(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	if err := os.CopyFS(dir, os.DirFS("../examples/orchestrate")); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "add", "-A", "-f")
	git(t, dir, "commit", "-q", "-m", "state")
	e := newEngine(dir)
	e.Ask = answering
	var running, together []string
	var mu sync.Mutex
	e.Tell = func(p engine.Progress) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case p.Kind == engine.Began && strings.HasPrefix(p.Step, "2."):
			running = append(running, p.Step)
			if slices.Contains(running, "2.3") && slices.Contains(running, "2.4") {
				together = running
			}
		case p.Kind == engine.Ended:
			running = slices.DeleteFunc(running, func(s string) bool { return s == p.Step })
		}
	}
	ref := reprise.Ref{Layout: "orchestrate", ID: "EPIC-2", Path: ".aiox/epic-EPIC-2-state.yaml", Kind: reprise.KindEpic}
	e.Mode = engine.Autopilot
	if sum, err := e.Resume(t.Context(), ref, engine.Choice{Option: "fresh"}); err != nil || sum.State != reprise.Complete {
		t.Fatalf("%+v, %v", sum, err)
	}
	state, err := os.ReadFile(filepath.Join(dir, ref.Path))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"title: Checkout", "execution_plan: docs/stories/epics/EPIC-2-EXECUTION.yaml", "mode: yolo", "name: Payment", "executor: \"@dev\"", "quality_gate: \"@architect\""} {
		if !strings.Contains(string(state), want) {
			t.Errorf("%s is gone:\n%s", want, state)
		}
	}
	if together != nil {
		t.Errorf("%v were worked on at once", together)
	}
}
