package eventrun_test

import (
	"testing"
	"testing/fstest"

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
