package eventrun_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/convention/conventiontest"
	"reprise/convention/eventrun"
)

func TestScenarios(t *testing.T) {
	conventiontest.Scenarios(t, eventrun.New(), "testdata/scenarios")
}

// X9: whatever is damaged in a rich run, nothing is lost in silence and nothing
// becomes done.
func TestX9_Conform(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"execution", "manifest", "state_file_execution"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conventiontest.Conform(t, eventrun.New(), conventiontest.LoadFS(t, "testdata/scenarios/"+name+".txtar"))
		})
	}
}

func FuzzGraph(f *testing.F) {
	f.Add([]byte(`{"tasks":[{"id":"T001","dependencies":["T002"]},{"id":"T002","dependencies":["T001"],"status":"done"}]}`), false)
	f.Add([]byte("task_graph:\n  tasks:\n    T001: {title: x}\n  execution_order: [T001, [T002]]\n"), true)
	f.Fuzz(func(t *testing.T, data []byte, yaml bool) {
		const dir = ".agent-memory/runs/r/"
		name := "task-graph.json"
		if yaml {
			name = "task-graph.yaml"
		}
		runs, err := conventiontest.Read(eventrun.New(), fstest.MapFS{dir + name: {Data: data}, dir + "prd.md": {Data: []byte("# x\n")}, dir + "plan.md": {Data: []byte("# x\n")}, dir + "constitution.md": {Data: []byte("# x\n")}})
		if err != nil || len(runs) != 1 || runs[0].State == 0 {
			t.Fatal(runs, err)
		}
	})
}

func FuzzLedgers(f *testing.F) {
	f.Add([]byte(`{"workflow":{"current_phase":9,"status":"paused"},"approvals":{"bootstrap":{"approved":true}}}`), []byte("state:\n  phase: EXECUTION\n"))
	f.Add([]byte("# x\n```json\n{}\n```\n"), []byte("state: [\n"))
	f.Fuzz(func(t *testing.T, state, manifest []byte) {
		const dir = ".agent-memory/runs/r/"
		runs, err := conventiontest.Read(eventrun.New(), fstest.MapFS{dir + "workflow-state.json": {Data: state}, dir + "manifest.yaml": {Data: manifest}})
		if err != nil || len(runs) != 1 || runs[0].State == 0 {
			t.Fatal(runs, err)
		}
	})
}

// locked is a file system in which one folder may not be read.
type locked struct {
	fstest.MapFS
	dir string
}

func (l locked) Open(name string) (fs.File, error) {
	if name == l.dir || strings.HasPrefix(name, l.dir+"/") {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return l.MapFS.Open(name)
}

func (l locked) ReadDir(name string) ([]fs.DirEntry, error) {
	if _, err := l.Open(name); err != nil {
		return nil, err
	}
	return l.MapFS.ReadDir(name)
}

func TestRunWhoseFolderMayNotBeReadIsListedAndBlocked(t *testing.T) {
	files := locked{fstest.MapFS{
		".agent-memory/runs/a/prd.md": {Data: []byte("# a\n")}, ".agent-memory/runs/b/prd.md": {Data: []byte("# b\n")},
	}, ".agent-memory/runs/a"}
	refs, err := eventrun.New().Find(files)
	if err != nil || len(refs) != 2 {
		t.Fatalf("%v, %v", refs, err)
	}
	r, err := reprise.Load(eventrun.New(), files, refs[0])
	if err != nil || r.State != reprise.Unreadable || len(r.Findings) != 1 || r.Findings[0].Severity != reprise.Blocking {
		t.Errorf("%+v, %v", r, err)
	}
}
