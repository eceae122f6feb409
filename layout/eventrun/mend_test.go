package eventrun_test

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/layout/eventrun"
	"reprise/layout/layouttest"
)

const mendRun = ".agent-memory/runs/20260115-1030-export-csv-a1b2/"

// mendFS makes a run at its execution with further files.
func mendFS(files map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	put := func(name, data string) {
		fsys[mendRun+name] = &fstest.MapFile{Data: []byte(data), Mode: 0o644, ModTime: layouttest.Epoch}
	}
	for _, name := range []string{"prd.md", "plan.md", "constitution.md"} {
		put(name, "# Text\n")
	}
	for name, data := range files {
		put(name, data)
	}
	return fsys
}

// mendAll applies what is offered for every run and asks for what holds for
// every mend: it fits the bytes, finishes nothing, takes the damage away,
// leaves the log alone and leaves nothing to mend.
func mendAll(t *testing.T, fsys fstest.MapFS) (mends []reprise.Mend, runs []*reprise.Run, after fstest.MapFS) {
	t.Helper()
	l := eventrun.New()
	before, err := layouttest.Read(l, fsys)
	if err != nil {
		t.Fatal(err)
	}
	was := map[string]*reprise.Run{}
	after = maps.Clone(fsys)
	touched := map[string]bool{}
	for _, r := range before {
		was[r.Path] = r
		offered, err := l.(reprise.Mender).Mend(fsys, r)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range offered {
			if m.What == "" || m.From == "" || len(m.Edits) == 0 {
				t.Errorf("an incomplete mend: %+v", m)
			}
			if after, err = layouttest.Apply(after, m.Edits); err != nil {
				t.Fatal(err)
			}
			for _, e := range m.Edits {
				touched[e.Path] = true
				if strings.Contains(e.Path, "/events/") {
					t.Errorf("the log is changed: %s", e.Path)
				}
			}
		}
		mends = append(mends, offered...)
	}
	if runs, err = layouttest.Read(l, after); err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		if old := was[r.Path]; r.State == reprise.Complete && old.State != reprise.Complete {
			t.Errorf("%s became complete", r.ID)
		}
		for i := range r.Steps {
			s := &r.Steps[i]
			if old := was[r.Path].Step(s.ID); s.Status == reprise.Done && (old == nil || old.Status != reprise.Done) {
				t.Errorf("step %q became done", s.ID)
			}
		}
		for _, f := range r.Findings {
			if touched[f.Source.File] && (f.Code == reprise.CodeUnreadable || f.Code == reprise.CodeSalvaged || f.Code == reprise.CodeIntegrity) {
				t.Errorf("mended, and still: %s: %s", f.Source, f.Message)
			}
		}
		if again, err := l.(reprise.Mender).Mend(after, r); err != nil || len(again) > 0 {
			t.Errorf("mended, and still %d mends to make (%v)", len(again), err)
		}
	}
	return mends, runs, after
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
			mends, runs, after := mendAll(t, fsys)
			if len(mends) != tc.mends {
				t.Fatalf("%d mends, want %d: %+v", len(mends), tc.mends, mends)
			}
			if tc.mends == 0 && len(after) != len(fsys) {
				t.Error("files were made")
			}
			var steps []string
			for _, s := range runs[0].Steps {
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
		mends, runs, _ := mendAll(t, fsys)
		if len(mends) != 1 || len(runs[0].Steps) != 2 || runs[0].State != reprise.Interrupted {
			t.Errorf("cut after %d bytes: %d mends, %d steps, %s", cut, len(mends), len(runs[0].Steps), runs[0].State)
		}
	}
}

func TestMend_beforeTheGraphIsDue(t *testing.T) {
	t.Parallel()
	fsys := mendFS(map[string]string{"tasks/T001.md": "# One\n"})
	delete(fsys, mendRun+"constitution.md")
	if mends, _, _ := mendAll(t, fsys); len(mends) > 0 {
		t.Errorf("%+v", mends)
	}
}

// What cannot be opened is nobody's to overwrite.
func TestMend_folderInTheGraphsPlace(t *testing.T) {
	t.Parallel()
	fsys := mendFS(map[string]string{"task-graph.json/x": "y", "tasks/T001.md": "# One\n"})
	if mends, _, _ := mendAll(t, fsys); len(mends) > 0 {
		t.Errorf("%+v", mends)
	}
}

func TestMend_scenarios(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/scenarios/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { mendAll(t, layouttest.LoadFS(t, file)) })
	}
}
