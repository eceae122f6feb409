package orchestrate_test

import (
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/convention/conventiontest"
	"reprise/convention/orchestrate"
)

func TestOR2_Scenarios(t *testing.T) {
	t.Parallel()
	conventiontest.RankedScenarios(t, orchestrate.New(), "testdata/scenarios", orchestrate.New().Rank)
}

// TestX9_Conform damages one tree with most of the state files in it.
func TestX9_Conform(t *testing.T) {
	for _, name := range []string{"epic-wave-from-stories", "epic-pending-merge", "loop-crash-in-review", "bob-second-lap-story-gone", "build-failed", "workflow-by-schema", "spec-pipeline", "other-ledgers"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conventiontest.Conform(t, orchestrate.New(), small(conventiontest.LoadFS(t, "testdata/scenarios/"+name+".txtar")))
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

// TestOR1_the_mode_of_an_epic_is_read: a run keeps the mode it was started in; a word
// that no one knows is none.
func TestOR1_the_mode_of_an_epic_is_read(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{"yolo": "autopilot", "YOLO": "autopilot", "interactive": "interactive", "preflight": "preflight", "pre-flight": "preflight", "wild": "", "": ""} {
		const name = ".aiox/epic-1-state.yaml"
		files := fstest.MapFS{name: {Data: []byte("epic_state:\n  epicId: \"1\"\n  mode: \"" + word + "\"\n  status: active\n  waves: {1: {status: pending, stories: {\"1.1\": {status: pending}}}}\n")}}
		run, err := orchestrate.New().Load(files, reprise.Ref{Layout: "orchestrate", ID: "1", Path: name, Kind: reprise.KindEpic})
		if err != nil || run.Mode != want {
			t.Errorf("%q is read as %q, not %q: %v", word, run.Mode, want, err)
		}
		run.Recall([]reprise.Event{{Kind: reprise.RunResumed, Outcome: "autopilot"}})
		if want != "" && run.Mode != want {
			t.Errorf("%q: resuming it once in another mode made it %q", word, run.Mode)
		}
	}
}
