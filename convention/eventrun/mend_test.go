package eventrun_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/convention/conventiontest"
	"reprise/convention/eventrun"
)

const mendRun = ".agent-memory/runs/20260115-1030-export-csv-a1b2/"

// mendFS makes a run at its execution with further files.
func mendFS(files map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	put := func(name, data string) {
		fsys[mendRun+name] = &fstest.MapFile{Data: []byte(data), Mode: 0o644, ModTime: conventiontest.Epoch}
	}
	for _, name := range []string{"prd.md", "plan.md", "constitution.md"} {
		put(name, "# Text\n")
	}
	for name, data := range files {
		put(name, data)
	}
	return fsys
}

// mendAll mends a tree and asks that the log is left alone.
func mendAll(t *testing.T, fsys fstest.MapFS) conventiontest.Mended {
	t.Helper()
	got := conventiontest.Mends(t, eventrun.New(), fsys, reprise.CodeIntegrity)
	for _, m := range got.Mends {
		for _, e := range m.Edits {
			if strings.Contains(e.Path, "/events/") {
				t.Errorf("the log is changed: %s", e.Path)
			}
		}
	}
	return got
}

const (
	wholeGraph = `{"tasks": [{"id": "T001", "title": "One"}, {"id": "T002", "title": "Two", "dependencies": ["T001"]}]}`
	yamlGraph  = "tasks:\n  - id: T001\n    title: 'One: a'\n  - id: T002\n    phase: 007\n    title: Two\n    dependencies: [T001]\n"
	oneDone    = `{"event_type": "task-completed", "task_id": "T001", "timestamp": "2026-01-15T10:00:00Z"}` + "\n"
)

func TestMend(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		files map[string]string
		mends int
		// steps is what the run has afterwards: id, status, title, needs.
		steps string
	}{
		{"clean", map[string]string{"task-graph.json": wholeGraph, "events/a/x.jsonl": oneDone}, 0,
			`T001 done "One" []; T002 pending "Two" [T001]`},
		{"JSON from YAML", map[string]string{"task-graph.json": `{"tasks": [`, "task-graph.yaml": yamlGraph, "events/a/x.jsonl": oneDone}, 1,
			`T001 done "One: a" []; T002 pending "Two" [T001]`},
		{"YAML from JSON", map[string]string{"task-graph.json": wholeGraph, "task-graph.yaml": "\x00\x00"}, 1,
			`T001 pending "One" []; T002 pending "Two" [T001]`},
		{"YAML that is read line by line is no source", map[string]string{"task-graph.json": `{"tasks": [`, "task-graph.yaml": "tasks:\n  - id: T001\n    title: One: a\n"}, 0, "-"},
		{"contracts and events", map[string]string{
			"task-graph.json": "", "tasks/T001.md": "# One\n", "tasks/T002.md": "# Two\n\n**Dependencies:** T001, `t003`, none\n",
			"tasks/T003/contract.yaml": "title: Three\ndepends_on: [T001]\n", "tasks/T002-work.md": "# Notes\n", "tasks/overview.md": "# All\n",
			"events/a/x.jsonl": oneDone + `{"event_type": "task-started", "task_id": "Q001", "timestamp": "2026-01-15T11:00:00Z"}` + "\n{\"event_ty"}, 1,
			`T001 done "One" []; T003 pending "Three" [T001]; T002 pending "Two" [T001 T003]; Q001 in_progress "" []`},
		{"dependencies in a section", map[string]string{
			"task-graph.json": "[", "tasks/T001.md": "# One\n", "tasks/T002.md": "# Two\n\n## Dependencies\n\n- T001\n- see T002 and T001\n\n## Scope\n\n- T009\n"}, 1,
			`T001 pending "One" []; T002 pending "Two" [T001]`},
		{"what is whole in a cut graph is kept, but for its statuses", map[string]string{
			"task-graph.json": `{"title": "x", "tasks": [{"id": "T002", "title": "Second", "status": "completed", "dependencies": ["T001"]}, {"id": "T001", "ti`,
			"tasks/T001.md":   "# One\n", "tasks/T002.md": "# Two\n"}, 1,
			`T001 pending "One" []; T002 pending "Second" [T001]`},
		{"both notations broken", map[string]string{"task-graph.json": "{", "task-graph.yaml": "\x00", "tasks/T001.md": "# One\n"}, 1,
			`T001 pending "One" []`},
		{"a graph that is gone", map[string]string{"tasks/T001.md": "# One\n", "events/a/x.jsonl": oneDone}, 1, `T001 done "One" []`},
		{"a graph without tasks", map[string]string{"task-graph.json": "{}", "tasks/T001.md": "# One\n"}, 1, `T001 pending "One" []`},
		{"a graph that says something, but has no tasks", map[string]string{"task-graph.json": `{"title": "x", "tasks": []}`, "tasks/T001.md": "# One\n"}, 0, "-"},
		{"more tasks announced than known", map[string]string{"task-graph.json": `{"summary": {"total_tasks": 3}, "tasks": [`, "tasks/T001.md": "# One\n"}, 0, "-"},
		{"no contracts", map[string]string{"task-graph.json": `{"tasks":[{"id":"T001"}`, "events/a/x.jsonl": oneDone}, 0, "-"},
		{"torn lines stay", map[string]string{"task-graph.json": wholeGraph, "events/a/x.jsonl": oneDone + `{"event_type": "task-comp`}, 0,
			`T001 done "One" []; T002 pending "Two" [T001]`},
		{"a damaged state file is a cache", map[string]string{"task-graph.json": wholeGraph, "workflow-state.json": "{"}, 0, "-"},
		{"Markdown around a broken graph", map[string]string{"task-graph.json": "# Graph\n```json\n{\"tasks\": [\n```\n", "tasks/T001.md": "# One\n"}, 1,
			`T001 pending "One" []`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			fsys := mendFS(tc.files)
			got := mendAll(t, fsys)
			mends := got.Mends
			if len(mends) != tc.mends {
				t.Fatalf("%d mends, want %d: %+v", len(mends), tc.mends, mends)
			}
			if tc.mends == 0 && len(got.Tree) != len(fsys) {
				t.Error("files were made")
			}
			var steps []string
			for _, s := range got.Runs[0].Steps {
				steps = append(steps, s.ID+" "+s.Status.String()+` "`+s.Title+`" [`+strings.Join(s.Needs, " ")+"]")
			}
			if got := strings.Join(steps, "; "); tc.steps != "-" && got != tc.steps {
				t.Errorf("steps\n%s\nwant\n%s", got, tc.steps)
			}
		})
	}
}

// A graph cut anywhere, with contracts beside it.
func TestMend_cutAnywhere(t *testing.T) {
	t.Parallel()
	for cut := range len(wholeGraph) {
		fsys := mendFS(map[string]string{"task-graph.json": wholeGraph[:cut], "tasks/T001.md": "# One\n", "tasks/T002.md": "# Two\n", "events/a/x.jsonl": oneDone})
		got := mendAll(t, fsys)
		if run := got.Runs[0]; len(got.Mends) != 1 || len(run.Steps) != 2 || run.State != reprise.Interrupted {
			t.Errorf("cut after %d bytes: %d mends, %d steps, %s", cut, len(got.Mends), len(run.Steps), run.State)
		}
	}
}

func TestMend_beforeTheGraphIsDue(t *testing.T) {
	t.Parallel()
	fsys := mendFS(map[string]string{"tasks/T001.md": "# One\n"})
	delete(fsys, mendRun+"constitution.md")
	if got := mendAll(t, fsys); len(got.Mends) > 0 {
		t.Errorf("%+v", got.Mends)
	}
}

// What cannot be opened is no one's to overwrite.
func TestMend_folderInTheGraphsPlace(t *testing.T) {
	t.Parallel()
	fsys := mendFS(map[string]string{"task-graph.json/x": "y", "tasks/T001.md": "# One\n"})
	if got := mendAll(t, fsys); len(got.Mends) > 0 {
		t.Errorf("%+v", got.Mends)
	}
}

func TestMend_scenarios(t *testing.T) {
	t.Parallel()
	conventiontest.MendsEvery(t, "testdata/scenarios/*.txtar", func(t *testing.T, fsys fstest.MapFS) []reprise.Mend { return mendAll(t, fsys).Mends })
}
