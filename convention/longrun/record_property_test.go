package longrun_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/convention/conventiontest"
	"reprise/convention/longrun"
	"reprise/internal/sample"
)

// TestLR9_RecordsFirstVersion holds a whole run to the suite for recorders.
func TestLR9_RecordsFirstVersion(t *testing.T) {
	t.Parallel()
	events := []conventiontest.Recorded{
		{Event: reprise.Event{Kind: reprise.RunStarted, At: at(8)}, State: reprise.Interrupted},
		{Event: reprise.Event{Kind: reprise.StepStarted, Step: "01", Agent: "a1", At: at(9)}, Status: reprise.InProgress},
		{Event: reprise.Event{Kind: reprise.StepFinished, Step: "01/1", Commit: "abc1111", At: at(9)}, Moves: []string{"01"}},
		{Event: reprise.Event{Kind: reprise.StepFinished, Step: "01/3", At: at(9)}, Cannot: true},
		{Event: reprise.Event{Kind: reprise.StepStarted, Step: "01/3", At: at(9)}, Cannot: true},
		{Event: reprise.Event{Kind: reprise.StepStarted, Step: "01/2", Agent: "a1b", At: at(9)}},
		{Event: reprise.Event{Kind: reprise.StepReset, Step: "01/2", At: at(9)}},
		{Event: reprise.Event{Kind: reprise.StepStarted, Step: "01/2", At: at(9)}},
		{Event: reprise.Event{Kind: reprise.StepFinished, Step: "01", Agent: "a1", At: at(10)}, Status: reprise.Done},
		{Event: reprise.Event{Kind: reprise.StepBlocked, Step: "02", At: at(10)}, Cannot: true},
		{Event: reprise.Event{Kind: reprise.QuestionAsked, Step: "02", Question: "q1", Text: "Which?", At: at(10)}, State: reprise.Waiting},
		{Event: reprise.Event{Kind: reprise.QuestionAnswered, Question: "q1", Text: "That.", At: at(10)}, State: reprise.Interrupted},
		{Event: reprise.Event{Kind: reprise.AnswerApplied, Question: "q1", At: at(10)}},
		{Event: reprise.Event{Kind: reprise.StepStarted, Step: "02", At: at(11)}, Status: reprise.InProgress},
		{Event: reprise.Event{Kind: reprise.StepReset, Step: "02", At: at(11)}, Status: reprise.Pending},
		{Event: reprise.Event{Kind: reprise.StepStarted, Step: "02", Agent: "a2", At: at(11)}, Status: reprise.InProgress},
		{Event: reprise.Event{Kind: reprise.StepFailed, Step: "02", Agent: "a2", Text: "no", At: at(12)}, Status: reprise.Failed},
		{Event: reprise.Event{Kind: reprise.RunStopped, At: at(12)}, State: reprise.Interrupted},
		{Event: reprise.Event{Kind: reprise.RunResumed, At: at(13)}, State: reprise.Interrupted},
		{Event: reprise.Event{Kind: reprise.StepStarted, Step: "02", Agent: "a3", At: at(13)}, Status: reprise.InProgress},
		{Event: reprise.Event{Kind: reprise.StepFinished, Step: "02", Agent: "a3", At: at(14)}, Status: reprise.Done},
		{Event: reprise.Event{Kind: reprise.RunEnded, Outcome: "completed", At: at(14)}, Cannot: true},
		{Event: reprise.Event{Kind: reprise.PhaseEnded, Phase: "ui", At: at(14)}, Cannot: true},
		{Event: reprise.Event{Kind: reprise.StepSkipped, Step: "03", At: at(15)}, Status: reprise.Skipped},
		{Event: reprise.Event{Kind: reprise.RunEnded, Outcome: "completed", At: at(16)}, State: reprise.Complete},
	}
	conventiontest.Records(t, longrun.New(), tree(t, "first-version"), "shop", events...)
}

// TestLR9_RecordsPlanning does the same for `.planning/`.
func TestLR9_RecordsPlanning(t *testing.T) {
	t.Parallel()
	conventiontest.Records(t, longrun.New(), tree(t, "gsd-whole"), "planning",
		conventiontest.Recorded{Event: reprise.Event{Kind: reprise.RunResumed, At: at(8)}, State: reprise.Interrupted},
		conventiontest.Recorded{Event: reprise.Event{Kind: reprise.StepStarted, Step: "03-02", Agent: "a", At: at(9)}, Status: reprise.InProgress},
		conventiontest.Recorded{Event: reprise.Event{Kind: reprise.StepFailed, Step: "03-02", At: at(9)}, Status: reprise.Failed},
		conventiontest.Recorded{Event: reprise.Event{Kind: reprise.StepReset, Step: "03-02", At: at(9)}, Status: reprise.Failed},
		conventiontest.Recorded{Event: reprise.Event{Kind: reprise.StepStarted, Step: "03-02", Agent: "a", At: at(9)}, Status: reprise.InProgress},
		conventiontest.Recorded{Event: reprise.Event{Kind: reprise.StepReset, Step: "03-02", At: at(9)}, Status: reprise.Pending},
		conventiontest.Recorded{Event: reprise.Event{Kind: reprise.StepBlocked, Step: "03-02", At: at(9)}, Cannot: true},
		conventiontest.Recorded{Event: reprise.Event{Kind: reprise.StepFinished, Step: "03-02", At: at(10)}, Status: reprise.Done},
		conventiontest.Recorded{Event: reprise.Event{Kind: reprise.PhaseEnded, Phase: "phase 03", At: at(10)}},
		conventiontest.Recorded{Event: reprise.Event{Kind: reprise.QuestionAsked, Question: "q", Text: "?", At: at(10)}, Cannot: true},
		conventiontest.Recorded{Event: reprise.Event{Kind: reprise.StepSkipped, Step: "04-01", At: at(11)}, Status: reprise.Skipped},
		conventiontest.Recorded{Event: reprise.Event{Kind: reprise.RunEnded, At: at(12)}, State: reprise.Complete},
	)
}

// TestLR9_RecordsFromNothing begins a run in an empty project.
func TestLR9_RecordsFromNothing(t *testing.T) {
	t.Parallel()
	conventiontest.Records(t, longrun.New(), fstest.MapFS{}, "long-run",
		conventiontest.Recorded{Event: reprise.Event{Kind: reprise.RunStarted, At: at(8)}, State: reprise.NotStarted})
	conventiontest.Records(t, longrun.New(), fstest.MapFS{}, "../outside",
		conventiontest.Recorded{Event: reprise.Event{Kind: reprise.RunStarted, At: at(8)}, Cannot: true})
}

func tree(t *testing.T, name string) fstest.MapFS {
	t.Helper()
	fsys := conventiontest.LoadFS(t, "testdata/record/"+name+".txtar")
	delete(fsys, "events")
	return fsys
}

// eventsFor lists every kind of event about a run, with given texts.
func eventsFor(r *reprise.Run, text string) []reprise.Event {
	var out []reprise.Event
	if len(r.Steps) > 0 {
		out = append(out, reprise.Event{Kind: reprise.StepFinished, Step: r.Steps[0].ID}) // at no time
	}
	for _, kind := range []reprise.EventKind{reprise.RunStarted, reprise.RunResumed, reprise.RunStopped, reprise.RunEnded, "mystery"} {
		out = append(out, reprise.Event{Kind: kind, At: at(9), Text: text, Agent: text, Phase: text})
	}
	for _, outcome := range []string{"failed", "aborted", text} {
		out = append(out, reprise.Event{Kind: reprise.RunEnded, At: at(9), Outcome: outcome, Text: text})
	}
	phases := map[string]bool{text: true}
	for i := range r.Steps {
		id := r.Steps[i].ID
		phases[r.Steps[i].Phase] = true
		for _, kind := range []reprise.EventKind{reprise.StepStarted, reprise.StepFinished, reprise.StepFailed, reprise.StepBlocked, reprise.StepSkipped, reprise.StepReset} {
			out = append(out, reprise.Event{Kind: kind, At: at(9), Step: id, Agent: text, Commit: text, Text: text})
			if strings.HasSuffix(r.Path, ".long-run") && (kind == reprise.StepStarted || kind == reprise.StepFinished || kind == reprise.StepFailed) {
				for _, task := range []string{"1", "2", text} {
					out = append(out, reprise.Event{Kind: kind, At: at(9), Step: id + "/" + task, Commit: text, Text: text})
				}
			}
		}
	}
	for phase := range phases {
		out = append(out, reprise.Event{Kind: reprise.PhaseEnded, At: at(9), Phase: phase})
	}
	ids := []string{"new", text}
	for _, q := range r.Questions {
		ids = append(ids, q.ID)
	}
	for _, id := range ids {
		for _, kind := range []reprise.EventKind{reprise.QuestionAsked, reprise.QuestionAnswered, reprise.AnswerApplied, reprise.QuestionSkipped} {
			out = append(out, reprise.Event{Kind: kind, At: at(9), Question: id, Text: text, Phase: text, Options: []string{text, "b"}})
		}
	}
	return out
}

var hostile = []string{
	"plain", "", "two\nlines\r\n\r\n", "| a | b |", "**Status:** answered", "Status: Complete", "```", "<!--", "-->", "---\nstatus: completed\n---",
	"# heading", "\"quoted\" 'text' \\ {}[]", "\x00\x1b[31m\u202eevil\u2028x", "\xff\xfe broken", "- [x] 03-02-PLAN.md", "Completed 04-01-PLAN.md",
	"## Task Group 1: schema", "Phase 9 complete", "../../etc/passwd", strings.Repeat("long ", 20_000), "日本語 — ✅ 완료", "null", "12",
}

// TestLR9_Hostile records every kind of event with text that could break a
// file, and asks that nothing else reads otherwise afterwards.
func TestLR9_Hostile(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	for _, name := range []string{"second-version", "questions", "second-checkpoint", "gsd-questions"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fsys := tree(t, name)
			tried := sample.Every(t, 4)
			for i, text := range hostile {
				if tried(i) {
					recordAll(t, fsys, text, "")
				}
			}
		})
	}
}

// TestLR9_EveryScenario does so on every tree of the reader's scenarios, also
// with other line ends and a byte order mark.
func TestLR9_EveryScenario(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	files, err := filepath.Glob("testdata/scenarios/*.txtar")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d scenarios, %v", len(files), err)
	}
	tried := sample.Every(t, 3)
	for i, file := range files {
		if !tried(i) {
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			fsys := conventiontest.LoadFS(t, file)
			recordAll(t, fsys, "as planned", "")
			for name, f := range fsys {
				if !f.Mode.IsDir() && !bytes.Contains(f.Data, []byte("\r")) {
					data := bytes.ReplaceAll(f.Data, []byte("\n"), []byte("\r\n"))
					if strings.HasSuffix(name, ".md") && !bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) {
						data = append([]byte("\xef\xbb\xbf"), data...)
					}
					f.Data = data
				}
			}
			recordAll(t, fsys, "as planned", reprise.StepStarted, reprise.StepFinished, reprise.QuestionAsked, reprise.QuestionAnswered, reprise.RunStopped)
		})
	}
}

// recordAll records every event of some kinds, "" for all, each on its own on a
// tree that stays as it is.
func recordAll(t *testing.T, fsys fstest.MapFS, text string, kinds ...reprise.EventKind) {
	t.Helper()
	runs, err := conventiontest.Read(longrun.New(), fsys)
	if err != nil {
		t.Fatal(err)
	}
	for _, before := range runs {
		for _, ev := range eventsFor(before, text) {
			if kinds[0] != "" && !slices.Contains(kinds, ev.Kind) {
				continue
			}
			edits, err := longrun.Layout{}.Record(fsys, before, ev)
			if err != nil {
				if len(edits) > 0 {
					t.Fatalf("%+v: an error and %d edits", ev, len(edits))
				}
				continue
			}
			checkRecorded(t, fsys, before, ev, edits)
		}
	}
}

func checkRecorded(t *testing.T, fsys fstest.MapFS, before *reprise.Run, ev reprise.Event, edits []reprise.Edit) {
	t.Helper()
	what := fmt.Sprintf("%s %q %q %.60q", ev.Kind, ev.Step, ev.Question, ev.Text)
	next, err := conventiontest.Apply(fsys, edits)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	for _, e := range edits {
		if e.Why == "" || !strings.HasPrefix(e.Path, before.Path+"/") {
			t.Errorf("%s: edit of %q because of %q", what, e.Path, e.Why)
		}
		if strings.HasSuffix(e.Path, ".json") && !json.Valid(bytes.TrimPrefix(e.Content, []byte("\xef\xbb\xbf"))) {
			t.Errorf("%s: %s is no JSON any more", what, e.Path)
		}
		if old := fsys[e.Path]; old != nil && bytes.Contains(old.Data, []byte("\n")) && bytes.Count(old.Data, []byte("\n")) == bytes.Count(old.Data, []byte("\r\n")) &&
			bytes.Count(e.Content, []byte("\n")) != bytes.Count(e.Content, []byte("\r\n")) {
			t.Errorf("%s: %s has mixed line ends now", what, e.Path)
		}
	}
	after, err := longrun.New().Load(next, before.Ref)
	if err != nil {
		t.Fatal(err)
	}
	if more, err := (longrun.Layout{}).Record(next, after, ev); err != nil && !errors.Is(err, reprise.ErrCannotRecord) || len(more) > 0 {
		t.Errorf("%s: recorded, and still %d edits to make (%v)", what, len(more), err)
	}
	step, _, _ := strings.Cut(ev.Step, "/")
	for i := range before.Steps {
		old := &before.Steps[i]
		now := after.Step(old.ID)
		switch {
		case now == nil:
			t.Errorf("%s: step %q is gone", what, old.ID)
		case ev.Kind == reprise.RunEnded && ev.Outcome == "" && !old.Status.Closed() && now.Status == reprise.Skipped:
			// Left out of what is complete: only where nothing offers it.
		case old.ID != step && now.Status != old.Status:
			t.Errorf("%s: step %q became %s (was %s)", what, old.ID, now.Status, old.Status)
		case old.ID == ev.Step && ev.Kind == reprise.StepFinished && now.Status != reprise.Done:
			t.Errorf("%s: finished, and %s", what, now.Status)
		case old.ID == ev.Step && ev.Kind == reprise.StepSkipped && now.Status != reprise.Skipped:
			t.Errorf("%s: skipped, and %s", what, now.Status)
		case old.ID == ev.Step && ev.Kind == reprise.StepFailed && now.Status != reprise.Failed:
			t.Errorf("%s: failed, and %s", what, now.Status)
		}
	}
}
