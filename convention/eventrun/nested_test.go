package eventrun_test

import (
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/convention/eventrun"
)

// A task graph within a task graph is read; entries without an id are work that is unknown,
// and not an empty graph that is made again.
func TestA_nested_graph_is_never_an_empty_one(t *testing.T) {
	t.Parallel()
	const dir = ".agent-memory/runs/20260212-0915-export-k3f9"
	for graph, want := range map[string]struct {
		steps int
		worst reprise.Severity
	}{
		`{"task_graph": {"task_graph": {"tasks": [{"id": "T001"}]}}}`: {1, reprise.Info},
		`{"tasks": [{"tasks": [{"id": "T001"}]}]}`:                    {0, reprise.Blocking},
		`{"tasks": []}`: {0, reprise.Warning},
	} {
		tree := fstest.MapFS{}
		for _, name := range []string{"prd.md", "plan.md", "constitution.md"} {
			tree[dir+"/"+name] = &fstest.MapFile{Data: []byte("# Export\n")}
		}
		tree[dir+"/events/orchestrator/1.jsonl"] = &fstest.MapFile{Data: []byte(`{"event_type":"run-started","timestamp":"2026-02-12T10:30:00Z"}` + "\n")}
		tree[dir+"/task-graph.json"] = &fstest.MapFile{Data: []byte(graph)}
		refs, err := eventrun.Layout{}.Find(tree)
		if err != nil || len(refs) != 1 {
			t.Fatalf("%s: %d runs, %v", graph, len(refs), err)
		}
		r, err := reprise.Load(eventrun.Layout{}, tree, refs[0])
		if err != nil {
			t.Fatal(err)
		}
		tasks := 0
		for _, s := range r.Steps {
			if s.ID == "T001" {
				tasks++
			}
		}
		if worst := max(r.Worst(), reprise.Info); tasks != want.steps || worst != want.worst {
			t.Errorf("%s: %d tasks, %v: %v", graph, tasks, worst, r.Findings)
		}
	}
}
