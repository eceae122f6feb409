package longrun_test

import (
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/convention/conventiontest"
	"reprise/convention/longrun"
)

func mend(t *testing.T, fsys fstest.MapFS) ([]reprise.Mend, fstest.MapFS) {
	t.Helper()
	got := conventiontest.Mends(t, longrun.New(), fsys, reprise.CodeIntegrity)
	return got.Mends, got.Tree
}

// Every tree of the package: mends apply, and make nothing more done.
func TestX9_Mend_every_scenario(t *testing.T) {
	t.Parallel()
	conventiontest.MendsEvery(t, "testdata/*/*.txtar", func(t *testing.T, fsys fstest.MapFS) []reprise.Mend {
		mends, _ := mend(t, fsys)
		return mends
	})
}

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

func TestX9_Mend_leaves_what_is_whole(t *testing.T) {
	t.Parallel()
	for _, fsys := range []fstest.MapFS{longRunSample(), planningSample()} {
		if mends, _ := mend(t, fsys); len(mends) > 0 {
			t.Errorf("nothing is damaged: %+v", mends)
		}
	}
}

func TestX9_Mend(t *testing.T) {
	t.Parallel()
	second := `{"plan_number": "01", "completed_tasks": ["Model", "Routes", "Tests"], "remaining_tasks": [], "status": "completed", "total_tasks": 3}`
	rows := []struct {
		name   string
		tree   fstest.MapFS
		damage map[string]string // content by file; "-" removes it
		file   string            // the file that is mended, "" for none
		holds  []string
		lacks  []string
	}{
		{"checkpoint cut off", longRunSample(), map[string]string{lr + "plans/02-CHECKPOINT.json": `{"plan": "02", "last_com`}, lr + "plans/02-CHECKPOINT.json",
			[]string{`"plan": "02"`, `"last_completed_task": 0`, `"total_tasks": 3`}, []string{"completed_tasks"}},
		{"checkpoint of a plan with a summary", longRunSample(), map[string]string{lr + "plans/01-CHECKPOINT.json": "\x00\x00"}, lr + "plans/01-CHECKPOINT.json",
			[]string{`"last_completed_task": 3`, `"total_tasks": 3`}, nil},
		{"checkpoint in the second version", longRunSample(), map[string]string{lr + "plans/01-CHECKPOINT.json": second, lr + "plans/02-CHECKPOINT.json": ""}, lr + "plans/02-CHECKPOINT.json",
			[]string{`"plan_number": "02"`, `"completed_tasks": []`, `"current_task": "Model"`, `"status": "pending"`}, []string{"last_completed_task"}},
		{"checkpoint is a list", longRunSample(), map[string]string{lr + "plans/02-CHECKPOINT.json": "[]"}, lr + "plans/02-CHECKPOINT.json", []string{`"last_completed_task": 0`}, nil},
		{"checkpoint without a total keeps the rest", longRunSample(), map[string]string{lr + "plans/02-CHECKPOINT.json": `{"plan": "02", "last_completed_task": 2, "mine": 1.50}`}, lr + "plans/02-CHECKPOINT.json",
			[]string{`{"plan": "02", "last_completed_task": 2, "mine": 1.50, "total_tasks": 3}`}, nil},
		{"checkpoint with more done than there is", longRunSample(), map[string]string{lr + "plans/02-CHECKPOINT.json": `{"plan": "02", "last_completed_task": 7, "total_tasks": 3}`}, lr + "plans/02-CHECKPOINT.json",
			[]string{`"last_completed_task": 0, "total_tasks": 3`}, nil},
		{"checkpoint with more done than there is and commits", longRunSample(), map[string]string{lr + "plans/02-CHECKPOINT.json": `{"plan": "02", "last_completed_task": 7, "total_tasks": 3, "task_commits": {"1": "abc1234", "3": "def5678"}}`}, lr + "plans/02-CHECKPOINT.json",
			[]string{`"last_completed_task": 1, "total_tasks": 3`, "def5678"}, nil},
		{"checkpoint of a plan without tasks", longRunSample(), map[string]string{lr + "plans/02-CHECKPOINT.json": "{", lr + "plans/02-PLAN.md": "# Plan\n"}, "", nil, nil},
		{"history cut off", longRunSample(), map[string]string{lr + "agent-history.json": `{"version": "1.0", "entr`}, lr + "agent-history.json",
			[]string{`"agent_id": "a2"`, `"status": "interrupted"`, `"plan": "02"`, `"entries"`}, []string{"completed\""}},
		{"history cut off, nobody at work", longRunSample(), map[string]string{lr + "agent-history.json": `{`, lr + "current-agent-id.txt": "-"}, lr + "agent-history.json", []string{`"entries": []`}, nil},
		{"STATE.md missing", longRunSample(), map[string]string{lr + "STATE.md": "-"}, lr + "STATE.md", []string{"Plan: 2 of 3\n", "Task Group: g02\n", "Status: Executing\n", " 33%\n"}, []string{"Complete"}},
		{"STATE.md cut off", longRunSample(), map[string]string{lr + "STATE.md": "# Long-Run Implementation State\n\n## Curr"}, lr + "STATE.md", []string{"Plan: 2 of 3\n"}, nil},
		{"STATE.md zeroed", longRunSample(), map[string]string{lr + "STATE.md": "\x00\x00\x00"}, lr + "STATE.md", []string{"Plan: 2 of 3\n"}, nil},
		{"STATE.md holds prose", longRunSample(), map[string]string{lr + "STATE.md": "# State\n\nWe are nearly there.\n"}, "", nil, nil},
		{"STATE.md missing, all completed", longRunSample(), map[string]string{lr + "STATE.md": "-", lr + "summaries/02-SUMMARY.md": "---\nstatus: completed\n---\n", lr + "summaries/03-SUMMARY.md": "---\nstatus: completed\n---\n"}, lr + "STATE.md",
			[]string{"Plan: 3 of 3\n", "Status: Complete\n", "100%"}, nil},
		{"STATE.md missing, one skipped", longRunSample(), map[string]string{lr + "STATE.md": "-", lr + "summaries/02-SUMMARY.md": "---\nstatus: skipped\n---\n", lr + "summaries/03-SUMMARY.md": "---\nstatus: completed\n---\n"}, lr + "STATE.md",
			[]string{"Status: Executing\n"}, nil},
		{"planning: STATE.md missing", planningSample(), map[string]string{".planning/STATE.md": "-"}, ".planning/STATE.md", []string{"Phase: 2 of 2 (Cart)\n", "Plan: 1 of 2", "Status: In progress\n", "2026-02-04"}, []string{"omplete"}},
		{"planning: STATE.md empty", planningSample(), map[string]string{".planning/STATE.md": ""}, ".planning/STATE.md", []string{"Phase: 2 of 2 (Cart)\n"}, nil},
		{"planning: history cut off", planningSample(), map[string]string{".planning/agent-history.json": "{", ".planning/current-agent-id.txt": "a7\n"}, ".planning/agent-history.json", []string{`"agent_id": "a7"`, `"interrupted"`}, []string{`"plan"`}},
		{"planning: HANDOFF.json cut off", planningSample(), map[string]string{".planning/HANDOFF.json": `{"phase": `}, "", nil, nil},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			fsys := maps.Clone(row.tree)
			for name, content := range row.damage {
				if fsys[name] = text(content); content == "-" {
					delete(fsys, name)
				}
			}
			mends, after := mend(t, fsys)
			if row.file == "" {
				if len(mends) > 0 {
					t.Errorf("nothing tells how it was: %+v", mends)
				}
				return
			}
			if len(mends) != 1 || mends[0].Edits[0].Path != row.file {
				t.Fatalf("want one mend of %s: %+v", row.file, mends)
			}
			got := string(after[row.file].Data)
			for _, s := range row.holds {
				if !strings.Contains(got, s) {
					t.Errorf("%q is not in\n%s", s, got)
				}
			}
			for _, s := range row.lacks {
				if strings.Contains(got, s) {
					t.Errorf("%q is in\n%s", s, got)
				}
			}
		})
	}
}

// Any file cut off anywhere: what is mended is never further than the run was
// before the damage.
func TestX9_Mend_cut_anywhere(t *testing.T) {
	t.Parallel()
	for _, whole := range []fstest.MapFS{longRunSample(), planningSample()} {
		intact, err := conventiontest.Read(longrun.New(), whole)
		if err != nil || len(intact) != 1 {
			t.Fatal(intact, err)
		}
		for name, f := range whole {
			for cut := 0; cut < len(f.Data); cut += 2 {
				fsys := maps.Clone(whole)
				fsys[name] = text(string(f.Data[:cut]))
				mends, after := mend(t, fsys)
				if len(mends) == 0 {
					continue // what Load makes of it is tested elsewhere
				}
				now, err := longrun.New().Load(after, intact[0].Ref)
				if err != nil {
					t.Fatal(err)
				}
				conventiontest.NotFurther(t, intact[0], now)
				if t.Failed() {
					t.Fatalf("%s cut after %d bytes", name, cut)
				}
			}
		}
	}
}
