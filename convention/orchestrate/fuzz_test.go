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
	f.Add(2, []byte(`{"status":"FAILED","currentSubtask":"1","completedSubtasks":["0"]}`))
	f.Add(3, []byte(`{"status":"spec_written"}`))
	names := []string{
		".aiox/w-state.yaml", ".aios/workflow-state/1.1-state.yaml",
		"plan/build-state.json", "docs/specs/x/.pipeline-state.json",
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

// FuzzRecord records an event on any story and asks that the edit holds: what
// was recorded is not recorded again, and reads as the event says.
func FuzzRecord(f *testing.F) {
	f.Add(0, []byte("---\nstatus: Ready\n---\n# Story\n\n## Status\n\n- [x] Rascunho\n- [ ] Concluída\n"))
	f.Add(1, []byte("# S\n\n**Status:** Done · x | **Status:** y\n| Status | Draft |\n|---|---|\n2026-01-01"))
	f.Add(2, []byte("状态：进行中\n\n## Change Log\n\n| Date | Change |\n|--|--|\n"))
	f.Add(3, []byte("\xef\xbb\xbf# S\r\n## Status: 80% done\r\n"))
	f.Add(4, []byte("Status: x\n<!--\n"))
	steps := []string{"validate", "implement", "qa"}
	kinds := []reprise.EventKind{reprise.StepStarted, reprise.StepFinished, reprise.StepFailed, reprise.StepBlocked, reprise.StepReset}
	const name = "docs/stories/1.1.story.md"
	f.Fuzz(func(t *testing.T, which int, data []byte) {
		l := New()
		ref := reprise.Ref{Layout: layoutName, ID: "1.1", Path: name, Kind: reprise.KindStory}
		ev := reprise.Event{
			Kind: kinds[uint(which)%uint(len(kinds))], Step: steps[uint(which/8)%uint(len(steps))],
			At: time.Date(2026, 2, 3, 0, 0, 0, 0, time.UTC), Text: "a | b\n**Status:** Done",
		}
		fsys := fstest.MapFS{name: {Data: data}}
		edits, err := l.Record(fsys, load(fsys, ref), ev)
		if err != nil || len(edits) == 0 {
			return
		}
		if len(edits) != 1 || edits[0].Path != name || edits[0].Base != reprise.HashOf(data) {
			t.Fatalf("%d edits, of %q", len(edits), edits[0].Path)
		}
		next := fstest.MapFS{name: {Data: edits[0].Content}}
		after := load(next, ref)
		if more, err := l.Record(next, after, ev); err != nil || len(more) > 0 {
			t.Fatalf("recorded %q, and still %d edits: %v", edits[0].Content, len(more), err)
		}
		if s := after.Step(ev.Step).Status; ev.Kind == reprise.StepFinished && s != reprise.Done {
			t.Fatalf("%s is %s in %q", ev.Step, s, edits[0].Content)
		}
	})
}
