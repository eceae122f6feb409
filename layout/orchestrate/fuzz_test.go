package orchestrate

import (
	"testing"
	"testing/fstest"
	"time"

	"reprise"
)

// readAll reads a tree of one file as the layout would, with the ranking.
func readAll(t *testing.T, name string, data []byte) {
	t.Helper()
	fsys := fstest.MapFS{name: {Data: data, ModTime: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}}
	l := New()
	refs, err := l.Find(fsys)
	if err != nil {
		t.Fatal(err)
	}
	var runs []*reprise.Run
	for _, ref := range refs {
		r, err := l.Load(fsys, ref)
		if err != nil {
			t.Fatal(err)
		}
		if r.State == 0 || r.Reason == "" {
			t.Fatalf("%s has no state or reason", name)
		}
		runs = append(runs, r)
	}
	l.Rank(runs, reprise.Observed{Now: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)})
}

func FuzzStory(f *testing.F) {
	f.Add([]byte("---\nstatus: Ready\n---\n# Story\n\n## Status\n\n- [x] Rascunho\n"))
	f.Add([]byte("# S\n\n**Status:** Done · x | **Status:** y\n| Status | Draft |\n|---|---|\n2026-01-01"))
	f.Add([]byte("状态：完成\n"))
	f.Fuzz(func(t *testing.T, data []byte) { readAll(t, "docs/stories/1.1.story.md", data) })
}

func FuzzEpic(f *testing.F) {
	f.Add([]byte("epic_state:\n  status: active\n  waves:\n    1:\n      stories:\n        \"1.1\": { status: pending }\n"))
	f.Add([]byte("epic_state: [waves, {stories: 3}]"))
	f.Fuzz(func(t *testing.T, data []byte) { readAll(t, ".aiox/epic-EPIC-1-state.yaml", data) })
}

func FuzzLoop(f *testing.F) {
	f.Add([]byte(`{"storyId":"1.1","currentIteration":2,"status":"in_progress","history":[{"verdict":null}]}`))
	f.Add([]byte("story_id: 1.1\nhistory:\n  - iteration: 9\n    verdict: FAIL\n"))
	f.Fuzz(func(t *testing.T, data []byte) { readAll(t, "qa/1.1/loop-status.json", data) })
}

func FuzzStates(f *testing.F) {
	f.Add(0, []byte("workflow_id: x\nstatus: active\nsteps:\n  - {status: pending}\n"))
	f.Add(1, []byte("currentPhase: 2_development\nphaseResults:\n  2_development: {status: completed}\n"))
	f.Add(2, []byte("session_state:\n  progress: {current_story: \"1.1\"}\n"))
	f.Add(3, []byte(`{"status":"in_progress","epics":{"3":{"status":"pending"}}}`))
	f.Add(4, []byte(`{"status":"FAILED","currentSubtask":"1","completedSubtasks":["0"]}`))
	f.Add(5, []byte(`{"status":"spec_written"}`))
	names := []string{
		".aiox/w-state.yaml", ".aios/workflow-state/1.1-state.yaml", "docs/stories/.session-state.yaml",
		".aiox/master-orchestrator/1.1.json", "plan/build-state.json", "docs/specs/x/.pipeline-state.json",
	}
	f.Fuzz(func(t *testing.T, which int, data []byte) { readAll(t, names[uint(which)%uint(len(names))], data) })
}

func FuzzNames(f *testing.F) {
	f.Add("epic-1-story-2", "Ready for Review")
	f.Add("story-MX-16-20260527-x", "80% done → x")
	f.Fuzz(func(t *testing.T, name, word string) {
		storyKey("docs/stories/" + name)
		storyName("docs/stories/" + name + ".md")
		classify(word)
		boxClass(word)
		dates([]byte(word))
	})
}
