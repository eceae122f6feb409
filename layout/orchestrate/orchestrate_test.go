package orchestrate_test

import (
	"testing"
	"testing/fstest"

	"reprise/layout/layouttest"
	"reprise/layout/orchestrate"
)

func TestOR2_Scenarios(t *testing.T) {
	t.Parallel()
	layouttest.Scenarios(t, orchestrate.New(), "testdata/scenarios")
}

// TestX9_Conform damages one tree with most of the state files in it.
func TestX9_Conform(t *testing.T) {
	for _, name := range []string{"epic-wave-from-stories", "epic-pending-merge", "loop-crash-in-review", "bob-second-lap-story-gone", "session-crashed", "master-and-build", "workflow-by-schema", "spec-pipeline", "other-ledgers"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			layouttest.Conform(t, orchestrate.New(), small(layouttest.LoadFS(t, "testdata/scenarios/"+name+".txtar")))
		})
	}
}

// small leaves out what another sample of the suite covers: a torn file is no
// valid state to begin with.
func small(fsys fstest.MapFS) fstest.MapFS {
	delete(fsys, "docs/stories/7.3/spec/complexity.json")
	return fsys
}
