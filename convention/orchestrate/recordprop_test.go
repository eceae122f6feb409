package orchestrate_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"pgregory.net/rapid"

	"reprise"
	"reprise/convention/conventiontest"
	"reprise/convention/orchestrate"
)

var noon = time.Date(2026, 2, 3, 12, 0, 0, 0, time.UTC)

func event(kind reprise.EventKind, step string) reprise.Event {
	return reprise.Event{Kind: kind, Step: step, At: noon}
}

func outcome(kind reprise.EventKind, step, how string) reprise.Event {
	ev := event(kind, step)
	ev.Outcome = how
	return ev
}

func treeOf(files map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for name, data := range files {
		out[name] = &fstest.MapFile{Data: []byte(data), Mode: 0o644, ModTime: conventiontest.Epoch}
	}
	return out
}

const storyText = "# Story %\n\n**Status:** Ready\n\n## Acceptance Criteria\n\n- [ ] AC1\n\n## Change Log\n\n| Date | Author | Change |\n|---|---|---|\n| 2026-01-01 | @sm | created |\n"

func story(id string) string { return strings.ReplaceAll(storyText, "%", id) }

// A story from nothing to its end.
func TestOR11_StoryFromNothing(t *testing.T) {
	t.Parallel()
	start := event(reprise.RunStarted, "")
	start.Text = "As a user\nStatus: Done\n- [x] x"
	conventiontest.Records(t, orchestrate.New(), fstest.MapFS{}, "4.1",
		conventiontest.Recorded{Event: start, State: reprise.NotStarted},
		// The form that was just made is no story that was written.
		conventiontest.Recorded{Event: event(reprise.StepFinished, "create"), Cannot: true},
		conventiontest.Recorded{Event: event(reprise.StepStarted, "validate"), Cannot: true},
		conventiontest.Recorded{Event: event(reprise.StepFinished, "validate"), Status: reprise.Done, State: reprise.NotStarted, Moves: []string{"create"}},
		conventiontest.Recorded{Event: event(reprise.StepStarted, "implement"), Status: reprise.InProgress, State: reprise.Interrupted},
		conventiontest.Recorded{Event: event(reprise.StepFinished, "implement"), Status: reprise.Done, Moves: []string{"qa"}},
		conventiontest.Recorded{Event: event(reprise.StepStarted, "qa"), Status: reprise.InReview},
		conventiontest.Recorded{Event: event(reprise.StepFailed, "qa"), Status: reprise.Pending, Moves: []string{"implement"}},
		conventiontest.Recorded{Event: event(reprise.StepBlocked, "implement"), Status: reprise.Blocked, State: reprise.Waiting},
		conventiontest.Recorded{Event: event(reprise.StepReset, "implement"), Status: reprise.Pending, State: reprise.NotStarted},
		conventiontest.Recorded{Event: event(reprise.StepStarted, "implement"), Status: reprise.InProgress},
		conventiontest.Recorded{Event: reprise.Event{Kind: reprise.PhaseEnded, Phase: "implement", At: noon}, Moves: []string{"implement", "qa"}},
		conventiontest.Recorded{Event: outcome(reprise.StepFinished, "qa", "approved"), Status: reprise.Done, State: reprise.Complete},
		conventiontest.Recorded{Event: outcome(reprise.RunEnded, "", "completed"), State: reprise.Complete},
		conventiontest.Recorded{Event: event(reprise.RunStopped, ""), State: reprise.Complete},
		conventiontest.Recorded{Event: event(reprise.StepReset, "implement"), Cannot: true},
	)
}

// An epic from its first to its last event.
func TestOR11_EpicToItsEnd(t *testing.T) {
	t.Parallel()
	l := orchestrate.New()
	fsys := treeOf(map[string]string{"docs/stories/4.1.story.md": story("4.1"), "docs/stories/4.2.story.md": story("4.2")})
	edits, err := l.Record(fsys, &reprise.Run{
		Ref:   reprise.Ref{Layout: "orchestrate", ID: "EPIC-4", Kind: reprise.KindEpic},
		Steps: []reprise.Step{{ID: "4.1", Phase: "wave 1"}, {ID: "4.2", Phase: "wave 2"}},
	}, event(reprise.RunStarted, ""))
	if err != nil {
		t.Fatal(err)
	}
	if fsys, err = conventiontest.Apply(fsys, edits); err != nil {
		t.Fatal(err)
	}
	ended := func(wave, how string) reprise.Event {
		return reprise.Event{Kind: reprise.PhaseEnded, Phase: wave, Outcome: how, At: noon}
	}
	asked := reprise.Event{Kind: reprise.QuestionAsked, Question: "Q1", Text: "go on?", At: noon}
	answered, applied := asked, asked
	answered.Kind, applied.Kind = reprise.QuestionAnswered, reprise.AnswerApplied
	fsys = conventiontest.Records(t, l, fsys, "EPIC-4",
		conventiontest.Recorded{Event: event(reprise.StepStarted, "4.1"), Status: reprise.InProgress, State: reprise.Interrupted},
		conventiontest.Recorded{Event: event(reprise.StepFailed, "4.1"), Status: reprise.Failed},
		conventiontest.Recorded{Event: event(reprise.StepBlocked, "4.1"), Status: reprise.Blocked},
		conventiontest.Recorded{Event: event(reprise.StepReset, "4.1"), Status: reprise.Pending},
		conventiontest.Recorded{Event: event(reprise.StepStarted, "4.1"), Status: reprise.InProgress},
		conventiontest.Recorded{Event: ended("wave 1", ""), Cannot: true},
		conventiontest.Recorded{Event: event(reprise.StepFinished, "4.1"), Status: reprise.Done},
		conventiontest.Recorded{Event: event(reprise.StepReset, "4.1"), Cannot: true},
		conventiontest.Recorded{Event: event(reprise.StepStarted, "wave-1-gate")},
		conventiontest.Recorded{Event: ended("wave 1", "rejected"), State: reprise.Interrupted},
		conventiontest.Recorded{Event: ended("wave 1", "approved"), State: reprise.Interrupted},
		conventiontest.Recorded{Event: asked}, conventiontest.Recorded{Event: answered}, conventiontest.Recorded{Event: applied},
		conventiontest.Recorded{Event: event(reprise.RunStopped, ""), State: reprise.Stopped},
		conventiontest.Recorded{Event: event(reprise.RunResumed, ""), State: reprise.Interrupted},
		conventiontest.Recorded{Event: event(reprise.StepSkipped, "4.2"), Status: reprise.Skipped},
		conventiontest.Recorded{Event: event(reprise.StepFinished, "wave-2-gate")},
		conventiontest.Recorded{Event: event(reprise.StepFinished, "final-gate")},
		conventiontest.Recorded{Event: outcome(reprise.RunEnded, "", "completed"), State: reprise.Complete},
	)
	if !slices.ContainsFunc(slices.Collect(maps.Keys(fsys)), func(n string) bool { return strings.HasPrefix(n, ".aiox/orchestration-log-") }) {
		t.Error("the resumption is not in an orchestration log")
	}
}

// trees are runs of every shape for the properties.
func trees() []fstest.MapFS {
	return []fstest.MapFS{
		treeOf(map[string]string{"docs/stories/1.1.story.md": story("1.1")}),
		treeOf(map[string]string{"docs/stories/1.1.story.md": "---\r\nstatus: Em andamento\r\n---\r\n# S\r\n**Status:** Em andamento\r\n\r\n## Tasks\r\n- [ ] T"}),
		treeOf(map[string]string{
			".aiox/epic-EPIC-1-state.yaml": "epic_state:\n  status: active # x\n  updated_at: 2026-01-01\n  waves:\n    1: {status: pending, stories: {\"1.1\": {status: pending}}}\n  gate_verdicts: {}\n",
			"docs/stories/1.1.story.md":    story("1.1"),
		}),
		treeOf(map[string]string{"qa/1.1/loop-status.json": `{"storyId":"1.1","currentIteration":1,"maxIterations":3,"status":"in_progress","history":[{"iteration":1,"verdict":"REJECT"}]}`, "docs/stories/1.1.story.md": story("1.1")}),
		treeOf(map[string]string{".aiox/x-state.yaml": "workflow_id: x\nstatus: active\nsteps:\n  - {step_index: 0, status: pending}\n  - {step_index: 1, status: pending}\n"}),
		treeOf(map[string]string{".aios/workflow-state/1.1-state.yaml": "currentPhase: 2_development\ncurrentStory: docs/stories/1.1.story.md\nphaseResults:\n  1_validation: {status: completed}\naccumulatedContext: {}\n", "docs/stories/1.1.story.md": story("1.1")}),
		treeOf(map[string]string{"plan/build-state.json": `{"storyId":"1.1","status":"in_progress","currentSubtask":"a","completedSubtasks":[],"failedAttempts":[],"checkpoints":[]}`, "docs/stories/1.1.story.md": story("1.1")}),
		treeOf(map[string]string{"docs/stories/9.1/spec/requirements.json": "{}", "docs/stories/9.1/spec/.pipeline-state.json": `{"status":"x"}`}),
	}
}

var kinds = []reprise.EventKind{
	reprise.RunStarted, reprise.RunResumed, reprise.RunEnded, reprise.RunStopped, reprise.PhaseEnded, reprise.StepStarted, reprise.StepFinished,
	reprise.StepFailed, reprise.StepBlocked, reprise.StepSkipped, reprise.StepReset, reprise.QuestionAsked, reprise.QuestionAnswered, reprise.AnswerApplied,
}

// hostile are texts that try to become something else in a file.
var hostile = []string{
	"", "plain", "**Status:** Done", "Status: Done", "a\nStatus: Done\n", "| Status | Done |", "---\nstatus: Done\n---", "<!-- x", "```", "# Status\n\nDone", "- [x] all",
	"→ Done", "{\"a\": 1}", "]}\n", "\"'`\\", "\x00\x1b[31m", "\u202eabc", "x: y # z", "&a *b !c", strings.Repeat("long ", 500), "\xff\xfe", "2099-12-31", "%s %d",
}

// Any row of events, with any text: no panic, what is recorded is not recorded
// again, and every file stays readable.
func TestOR7_HostileEvents(t *testing.T) {
	t.Parallel()
	l := orchestrate.New()
	rapid.Check(t, func(rt *rapid.T) {
		fsys := rapid.SampledFrom(trees()).Draw(rt, "tree")
		for range rapid.IntRange(1, 6).Draw(rt, "events") {
			runs, err := conventiontest.Read(l, fsys)
			if err != nil {
				rt.Fatal(err)
			}
			run := runs[rapid.IntRange(0, len(runs)-1).Draw(rt, "run")]
			steps := []string{"", "nobody", "fix-1", "review-2", "wave-1-gate", "final-gate"}
			for _, s := range run.Steps {
				steps = append(steps, s.ID)
			}
			ev := reprise.Event{
				Kind: rapid.SampledFrom(kinds).Draw(rt, "kind"), At: noon, Step: rapid.SampledFrom(steps).Draw(rt, "step"),
				Phase:    rapid.SampledFrom([]string{"", "wave 1", "implement", "2_development", "development", run.Phase}).Draw(rt, "phase"),
				Question: rapid.SampledFrom(append([]string{"Q1", "escalation"}, hostile...)).Draw(rt, "question"), Text: rapid.SampledFrom(hostile).Draw(rt, "text"),
				Actor: rapid.SampledFrom(hostile).Draw(rt, "actor"), Commit: rapid.SampledFrom(hostile).Draw(rt, "commit"),
				Outcome: rapid.SampledFrom([]string{"", "completed", "failed", "rejected", "approved", "aborted", "paused"}).Draw(rt, "outcome"),
			}
			fsys = recordOne(rt, l, fsys, run, ev)
		}
	})
}

// OR7: that a review which never began is blocked does not make the fix before it
// done, in a dialect whose counter alone tells of fixes.
func TestA_review_that_has_not_begun_does_not_end_the_fix_before_it(t *testing.T) {
	t.Parallel()
	const state = `{"storyId":"1.1","currentIteration":1,"maxIterations":3,"status":"in_progress","history":[{"iteration":1,"verdict":"REJECT"}]}`
	conventiontest.Records(t, orchestrate.New(), treeOf(map[string]string{"qa/1.1/loop-status.json": state, "docs/stories/1.1.story.md": story("1.1")}), "qa-loop-1.1",
		conventiontest.Recorded{Event: event(reprise.StepBlocked, "review-2"), Cannot: true},
		conventiontest.Recorded{Event: outcome(reprise.StepFailed, "review-2", "rejected"), Cannot: true},
		conventiontest.Recorded{Event: event(reprise.StepFinished, "fix-1"), Status: reprise.Done, Moves: []string{"1.1"}},
		conventiontest.Recorded{Event: event(reprise.StepStarted, "review-2"), Status: reprise.InProgress},
		conventiontest.Recorded{Event: event(reprise.StepBlocked, "review-2"), Status: reprise.Done, State: reprise.Waiting},
	)
}

// OR7: a fix that begins again in a loop that was stopped sets the loop going again at
// once: recorded a second time, the event changes nothing.
func TestA_fix_that_begins_again_in_a_stopped_loop_is_recorded_once(t *testing.T) {
	t.Parallel()
	const state = `{"storyId":"1.1","currentIteration":1,"maxIterations":3,"status":"stopped","stoppedAt":"2026-02-03T12:00:00.000Z",` +
		`"history":[{"iteration":1,"verdict":"REJECT","fixedAt":"2026-02-03T11:00:00.000Z"}]}`
	conventiontest.Records(t, orchestrate.New(), treeOf(map[string]string{"qa/1.1/loop-status.json": state, "docs/stories/1.1.story.md": story("1.1")}), "qa-loop-1.1",
		conventiontest.Recorded{Event: event(reprise.StepStarted, "fix-1"), Status: reprise.InProgress, State: reprise.Interrupted},
	)
}

func recordOne(rt *rapid.T, l *orchestrate.Layout, fsys fstest.MapFS, run *reprise.Run, ev reprise.Event) fstest.MapFS {
	before := damage(rt, l, fsys)
	edits, err := l.Record(fsys, run, ev)
	if err != nil {
		if len(edits) > 0 || !errors.Is(err, reprise.ErrCannotRecord) {
			rt.Fatalf("%+v: %d edits, %v", ev, len(edits), err)
		}
		return fsys
	}
	next, err := conventiontest.Apply(fsys, edits)
	if err != nil {
		rt.Fatal(err)
	}
	if after := damage(rt, l, next); after > before {
		rt.Fatalf("%+v broke a file: %s", ev, next[edits[0].Path].Data)
	}
	again, err := l.Load(next, run.Ref)
	if err != nil {
		rt.Fatal(err)
	}
	if more, err := l.Record(next, again, ev); err != nil || len(more) > 0 {
		rt.Fatalf("%+v: recorded as %v, and still %d edits (%v)", ev, edits, len(more), err)
	}
	for i := range run.Steps {
		// A story has one word for all its phases: what is moved to
		// implementation counts as validated.
		if s := &run.Steps[i]; run.Kind != reprise.KindStory && s.ID != ev.Step && s.Status != reprise.Done && again.Step(s.ID) != nil && again.Step(s.ID).Status == reprise.Done && quiet(ev) {
			rt.Fatalf("%+v made step %s done", ev, s.ID)
		}
	}
	return next
}

// quiet reports whether an event finishes nothing.
func quiet(ev reprise.Event) bool {
	switch ev.Kind {
	case reprise.StepFinished, reprise.PhaseEnded, reprise.RunEnded, reprise.AnswerApplied, reprise.StepSkipped, reprise.StepStarted:
		return false
	}
	return true
}

// damage counts what reading finds broken.
func damage(rt *rapid.T, l *orchestrate.Layout, fsys fstest.MapFS) int {
	runs, err := conventiontest.Read(l, fsys)
	if err != nil || len(runs) == 0 {
		rt.Fatalf("%d runs, %v", len(runs), err)
	}
	n := 0
	for _, r := range runs {
		for _, f := range r.Findings {
			switch f.Code {
			case reprise.CodeUnreadable, reprise.CodeSalvaged, reprise.CodeWrongType, reprise.CodeDuplicateKey, reprise.CodeUnknownStatus:
				n++
			}
		}
	}
	return n
}
