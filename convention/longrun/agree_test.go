package longrun_test

import (
	"errors"
	"maps"
	"path"
	"strings"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/convention/conventiontest"
	"reprise/convention/longrun"
)

func text(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s), Mode: 0o644} }

const (
	lr   = "specs/shop/.long-run/"
	plan = "---\nplan: %\ntask_group: g%\n---\n\n<tasks>\n<task><name>Model</name></task>\n<task><name>Routes</name></task>\n<task><name>Tests</name></task>\n</tasks>\n"
)

func longRunSample() fstest.MapFS {
	return fstest.MapFS{
		lr + "STATE.md":                 text("# Long-Run Implementation State\n\n## Current Position\nPlan: 2 of 3\nTask Group: g02\nStatus: Executing\n"),
		lr + "plans/01-PLAN.md":         text(strings.ReplaceAll(plan, "%", "01")),
		lr + "plans/02-PLAN.md":         text(strings.ReplaceAll(plan, "%", "02")),
		lr + "plans/03-PLAN.md":         text(strings.ReplaceAll(plan, "%", "03")),
		lr + "plans/01-CHECKPOINT.json": text(`{"plan": "01", "last_completed_task": 3, "total_tasks": 3, "task_commits": {}}` + "\n"),
		lr + "plans/02-CHECKPOINT.json": text(`{"plan": "02", "last_completed_task": 1, "total_tasks": 3, "task_commits": {"1": "abc1234"}}` + "\n"),
		lr + "summaries/01-SUMMARY.md":  text("---\nplan: 01\nstatus: completed\ncompleted_at: 2026-01-15T10:00:00Z\n---\n\n# Done\n"),
		lr + "agent-history.json":       text(`{"version": "1.0", "max_entries": 50, "entries": [{"agent_id": "a2", "plan": "02", "timestamp": "2026-01-15T10:30:00Z", "status": "spawned"}]}` + "\n"),
		lr + "current-agent-id.txt":     text("a2\n"),
	}
}

const planningRoad = "# Roadmap\n\n- [x] **Phase 1: Base**\n- [ ] **Phase 2: Cart**\n\n### Phase 2: Cart\n- [x] 02-01-PLAN.md\n- [ ] 02-02-PLAN.md\n"

func planningSample() fstest.MapFS {
	return fstest.MapFS{
		".planning/STATE.md":                     text("# Project State\n\n## Current Position\n\nPhase: 2 of 2 (Cart)\nPlan: 1 of 2\nStatus: In progress\n"),
		".planning/ROADMAP.md":                   text(planningRoad),
		".planning/phases/01-base/01-01-PLAN.md": text("# Base\n"), ".planning/phases/01-base/01-01-SUMMARY.md": text("---\ncompleted: 2026-02-01\n---\n# Base\n"),
		".planning/phases/02-cart/02-01-PLAN.md": text("# Cart\n"), ".planning/phases/02-cart/02-01-SUMMARY.md": text("---\ncompleted: 2026-02-03\n---\n# Cart\n"),
		".planning/phases/02-cart/02-02-PLAN.md": text("# Pay\n"),
		".planning/agent-history.json":           text(`{"version": "1.0", "max_entries": 50, "entries": []}` + "\n"),
		".planning/HANDOFF.json":                 text(`{"version": "1.0", "phase": "02", "plan": 2, "status": "paused", "timestamp": "2026-02-04T00:00:00Z"}` + "\n"),
	}
}

// recorded gives the files of a tree after an event.
func recorded(t *testing.T, fsys fstest.MapFS, ev reprise.Event) fstest.MapFS {
	t.Helper()
	ev.At = at(9)
	edits, err := longrun.Layout{}.Record(fsys, load(t, fsys)[0], ev)
	if err != nil {
		t.Fatal(err)
	}
	next, err := conventiontest.Apply(fsys, edits)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// assigned is what the playbook tells of the first thing to do.
func assigned(t *testing.T, fsys fstest.MapFS) reprise.Assignment {
	t.Helper()
	r := load(t, fsys)[0]
	a, err := longrun.NewPlaybook().Assign(fsys, r, r.Next[0])
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// A tag that is left open is still a task: the playbook counts it as the checkpoint
// does, and the commit it asks for is the one that is looked for.
func TestPlaybook_and_checkpoint_count_the_same_tasks(t *testing.T) {
	t.Parallel()
	fsys := longRunSample()
	delete(fsys, lr+"plans/02-CHECKPOINT.json")
	fsys[lr+"plans/02-PLAN.md"] = text("---\nplan: 02\n---\n\n<task>\n<name>Use `model`\n</task>\n<task><name>Routes</name></task>\n")
	a := assigned(t, fsys)
	if a.Step != "02/1" || !strings.Contains(a.Facts["task"], "task 1 of 2") {
		t.Errorf("%s: %s", a.Step, a.Facts["task"])
	}
	after := recorded(t, fsys, reprise.Event{Kind: reprise.StepFinished, Step: "02/1"})
	if got := string(after[lr+"plans/02-CHECKPOINT.json"].Data); !strings.Contains(got, `"total_tasks": 2`) {
		t.Errorf("%s", got)
	}
	part := load(t, fsys)[0].Step("02").Parts[0]
	if _, name, _ := strings.Cut(a.Facts["commit_subject"], "): "); part.Title != name {
		t.Errorf("%q is asked for and %q looked for", name, part.Title)
	}
}

// A checkpoint that cannot be read does not tell the version of the others.
func TestNew_checkpoints_are_of_the_version_that_can_be_read(t *testing.T) {
	t.Parallel()
	fsys := longRunSample()
	fsys[lr+"plans/01-CHECKPOINT.json"] = text(`{"plan": "01", "last_com`)
	fsys[lr+"plans/02-CHECKPOINT.json"] = text(`{"plan_number": "02", "completed_tasks": ["Model"], "remaining_tasks": ["Tests"], "current_task": "Routes", "total_tasks": 3}`)
	after := recorded(t, fsys, reprise.Event{Kind: reprise.StepFinished, Step: "03/1"})
	if got := string(after[lr+"plans/03-CHECKPOINT.json"].Data); !strings.Contains(got, `"plan_number": "03"`) {
		t.Errorf("%s", got)
	}
}

// Commits stand in the list of tasks and in a map of their own: both count.
func TestCommits_of_both_places_of_a_checkpoint_count(t *testing.T) {
	t.Parallel()
	fsys := longRunSample()
	fsys[lr+"plans/02-CHECKPOINT.json"] = text(`{"plan_number": "02", "completed_tasks": [{"name": "Model", "commit": "aaa1111"}, {"name": "Routes"}], "total_tasks": 3, "task_commits": {"2": "bbb2222"}}`)
	if got := strings.Join(load(t, fsys)[0].Step("02").Commits, " "); got != "aaa1111 bbb2222" {
		t.Errorf("%q", got)
	}
}

// Whether a run is still being set up is read once, by one list of words.
func TestRun_that_is_initialized_still_needs_its_planner(t *testing.T) {
	t.Parallel()
	fsys := fstest.MapFS{
		lr + "STATE.md":         text("# Long-Run Implementation State\n\n## Current Position\nPlan: [X] of [Y]\nStatus: Initialized\n"),
		lr + "plans/01-PLAN.md": text(strings.ReplaceAll(plan, "%", "01")),
	}
	if a := assigned(t, fsys); a.Step != "transform" {
		t.Errorf("%s %s", a.Step, a.Role)
	}
}

// A status below a heading is not read as one, and is not written either.
func TestSummary_without_a_status_that_is_read_is_not_written_to(t *testing.T) {
	t.Parallel()
	fsys := longRunSample()
	fsys[lr+"summaries/02-SUMMARY.md"] = text("# Two\n\n## Status\n\nfailed\n")
	_, err := longrun.Layout{}.Record(fsys, load(t, fsys)[0], reprise.Event{Kind: reprise.StepFailed, Step: "02", At: at(9)})
	if err == nil || !strings.Contains(err.Error(), "states no status") {
		t.Errorf("%v", err)
	}
}

// The playbook asks for the summary under the name that the reader knows it by.
func TestSummary_is_asked_for_where_it_is_recorded(t *testing.T) {
	t.Parallel()
	fsys := planningSample()
	delete(fsys, ".planning/HANDOFF.json")
	dir := ".planning/phases/02-cart/"
	for _, name := range []string{"02-01-PLAN.md", "02-01-SUMMARY.md", "02-02-PLAN.md"} {
		delete(fsys, dir+name)
	}
	fsys[dir+"01-PLAN.md"], fsys[dir+"01-SUMMARY.md"], fsys[dir+"02-PLAN.md"] = text("# Cart\n"), text("# Cart\n"), text("# Pay\n")
	name := assigned(t, fsys).Facts["summary"]
	after := recorded(t, fsys, reprise.Event{Kind: reprise.StepFinished, Step: "02-02"})
	if after[name] == nil {
		t.Errorf("%s is asked for, and not what is recorded", name)
	}
}

// An agent that was cut off and is put to its plan again is no longer interrupted,
// in either dialect.
func TestAgent_that_continues_is_resumed(t *testing.T) {
	t.Parallel()
	fsys := planningSample()
	history := ".planning/agent-history.json"
	fsys[history] = text(`{"version": "1.0", "entries": [{"agent_id": "a7", "phase": "02", "plan": "02", "status": "interrupted"}]}`)
	after := recorded(t, maps.Clone(fsys), reprise.Event{Kind: reprise.StepStarted, Step: "02-02", Agent: "a7"})
	if got := string(after[history].Data); !strings.Contains(got, `"resumed"`) {
		t.Errorf("%s", got)
	}
}

// STATE.md that is made beside plans counts those that are closed.
func TestNew_STATE_counts_what_is_done(t *testing.T) {
	t.Parallel()
	fsys := longRunSample()
	delete(fsys, lr+"STATE.md")
	after := recorded(t, fsys, reprise.Event{Kind: reprise.RunStarted})
	if got := string(after[lr+"STATE.md"].Data); !strings.Contains(got, "] 33%") || !strings.Contains(got, "Plan: 2 of 3") {
		t.Errorf("%s", got)
	}
}

// A damaged file may hold what an event is about: nothing is recorded beside it, and
// that is an error and no lack of a place.
func TestNothing_is_recorded_beside_a_damaged_file(t *testing.T) {
	t.Parallel()
	for name, ev := range map[string]reprise.Event{
		".planning/ROADMAP.md":                         {Kind: reprise.StepFinished, Step: "02-02"},
		".planning/phases/02-cart/02-01-SUMMARY.md":    {Kind: reprise.StepFinished, Step: "02-01"},
		"specs/shop/.long-run/summaries/01-SUMMARY.md": {Kind: reprise.StepFinished, Step: "01"},
		"specs/shop/.long-run/clarifications.md":       {Kind: reprise.QuestionAnswered, Question: "q1", Text: "yes"},
	} {
		fsys := planningSample()
		if strings.HasPrefix(name, "specs") {
			fsys = longRunSample()
		}
		fsys[name] = text("\x00\x00")
		ev.At = at(9)
		edits, err := longrun.Layout{}.Record(fsys, load(t, fsys)[0], ev)
		if err == nil || len(edits) > 0 || errors.Is(err, reprise.ErrCannotRecord) {
			t.Errorf("%s: %d edits, %v", name, len(edits), err)
		}
	}
}

// TestA_marker_of_NULs_blocks: who is at work is unknown, as where the marker may not be read.
func TestA_marker_of_NULs_blocks(t *testing.T) {
	t.Parallel()
	files := conventiontest.LoadFS(t, "testdata/scenarios/lr1-active-agent.txtar")
	for name, f := range files {
		if path.Base(name) == "current-agent-id.txt" {
			f.Data = make([]byte, 40)
		}
	}
	runs, err := conventiontest.Read(longrun.New(), files)
	if err != nil || len(runs) != 1 || len(runs[0].Unread) != 1 {
		t.Errorf("%v, %v", runs, err)
	}
}
