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

// small leaves out what only makes the suite slow, and a file that is torn to
// begin with.
func small(fsys fstest.MapFS) fstest.MapFS {
	for _, name := range []string{
		"docs/stories/7.3/spec/complexity.json", "docs/stories/7.2/spec/requirements.json", "docs/stories/7.2/spec/complexity.json",
		"docs/stories/6.2.story.md", "docs/stories/6.3.story.md", "docs/stories/8.1.story.md", "docs/stories/9.1.story.md",
		"docs/qa/gates/8.1-x.yml", "docs/qa/gates/epic-9-final-gate.yml", "docs/qa/gates/epic-9-wave-1-gate.yml",
	} {
		delete(fsys, name)
	}
	return fsys
}
