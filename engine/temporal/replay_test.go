package temporal_test

import (
	"path/filepath"
	"testing"

	"go.temporal.io/sdk/worker"

	"reprise/engine/temporal"
)

// Histories that an earlier build recorded are replayed by this one: a worker can be
// upgraded under open runs. A change of the workflow that would break them fails here; it
// needs workflow.GetVersion. `make record-fleet` records the histories anew. (issue 19)
func TestReplay_histories_of_earlier_builds(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/histories/*.json")
	if err != nil || len(files) < 2 {
		t.Fatalf("%v %v", files, err)
	}
	for _, file := range files {
		r := worker.NewWorkflowReplayer()
		temporal.Register(r)
		if err := r.ReplayWorkflowHistoryFromJSONFile(nil, file); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}
