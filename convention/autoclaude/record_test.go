package autoclaude_test

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
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"

	"reprise"
	"reprise/convention/autoclaude"
	"reprise/convention/conventiontest"
)

var noon = time.Date(2026, 2, 3, 12, 13, 14, 567_890_123, time.UTC)

func recorder() reprise.Recorder { return autoclaude.New().(reprise.Recorder) }

// specOf makes a file system of one spec.
func specOf(files map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, data := range files {
		fsys[".auto-claude/specs/001-x/"+name] = &fstest.MapFile{Data: []byte(data), Mode: 0o644, ModTime: conventiontest.Epoch}
	}
	return fsys
}

func event(kind reprise.EventKind, step string) reprise.Event {
	return reprise.Event{Kind: kind, Step: step, At: noon}
}

// A whole run, from nothing to its end, through every kind of event that the
// files have a place for. What agents write themselves is put in between.
func TestAC5_WholeRun(t *testing.T) {
	l := autoclaude.New()
	start := event(reprise.RunStarted, "")
	start.Text = "Dark mode\nwith a switch in \"settings\""
	fsys := conventiontest.Records(t, l, fstest.MapFS{}, "001-dark-mode", conventiontest.Recorded{Event: start, State: reprise.Interrupted})
	dir := ".auto-claude/specs/001-dark-mode/"
	if len(fsys) != 2 || !strings.Contains(string(fsys[dir+"requirements.json"].Data), `switch in \"settings\"`) {
		t.Fatalf("%d files: %s", len(fsys), fsys[dir+"requirements.json"].Data)
	}
	fsys[dir+"spec.md"] = &fstest.MapFile{Data: []byte("# Dark mode\n")}
	conventiontest.Records(t, l, fsys, "001-dark-mode", conventiontest.Recorded{Event: event(reprise.StepFinished, "spec_writing")})
	plan := string(fsys[dir+"implementation_plan.json"].Data)
	plan = strings.Replace(plan, `"phases": []`, `"phases": [
    {"id": "p1", "subtasks": [
      {"id": "s-1", "status": "pending"},
      {"id": "s-2", "status": "pending"}
    ]}
  ]`, 1)
	fsys[dir+"implementation_plan.json"] = &fstest.MapFile{Data: []byte(plan)}

	finished := event(reprise.StepFinished, "s-1")
	finished.Commit = strings.Repeat("ab", 20)
	failed := event(reprise.StepFailed, "s-2")
	failed.Text = "tests fail"
	approved, rejected := event(reprise.StepFinished, "qa-review"), event(reprise.StepFinished, "qa-review")
	approved.Outcome, rejected.Outcome = "approved", "rejected"
	ended := event(reprise.RunEnded, "")
	ended.Outcome = "completed"
	fsys = conventiontest.Records(t, l, fsys, "001-dark-mode",
		conventiontest.Recorded{Event: event(reprise.RunStarted, "")},
		conventiontest.Recorded{Event: event(reprise.StepFinished, "planning")},
		conventiontest.Recorded{Event: event(reprise.StepStarted, "s-1"), Status: reprise.InProgress, State: reprise.Interrupted},
		conventiontest.Recorded{Event: finished, Status: reprise.Done},
		conventiontest.Recorded{Event: ended, Cannot: true},
		conventiontest.Recorded{Event: reprise.Event{Kind: reprise.PhaseEnded, Phase: "p1", At: noon}, Cannot: true},
		conventiontest.Recorded{Event: event(reprise.StepStarted, "s-2"), Status: reprise.InProgress},
		conventiontest.Recorded{Event: failed, Status: reprise.Failed},
		conventiontest.Recorded{Event: event(reprise.StepReset, "s-2"), Status: reprise.Pending},
		conventiontest.Recorded{Event: event(reprise.StepBlocked, "s-2"), Status: reprise.Blocked, State: reprise.Waiting},
		conventiontest.Recorded{Event: event(reprise.StepSkipped, "s-2"), Cannot: true},
		conventiontest.Recorded{Event: event(reprise.StepStarted, "s-2"), Status: reprise.InProgress},
		conventiontest.Recorded{Event: event(reprise.StepFinished, "s-2"), Status: reprise.Done, State: reprise.Interrupted},
		conventiontest.Recorded{Event: event(reprise.StepReset, "s-2"), Cannot: true},
		conventiontest.Recorded{Event: reprise.Event{Kind: reprise.PhaseEnded, Phase: "p1", At: noon}},
		conventiontest.Recorded{Event: event(reprise.StepStarted, "qa-review"), Cannot: true},
		conventiontest.Recorded{Event: event(reprise.StepFinished, "qa-review"), Cannot: true},
		conventiontest.Recorded{Event: rejected, State: reprise.Interrupted},
		conventiontest.Recorded{Event: event(reprise.StepFinished, "qa-fix"), State: reprise.Interrupted},
		conventiontest.Recorded{Event: approved, State: reprise.Waiting},
		conventiontest.Recorded{Event: ended, State: reprise.Complete},
		conventiontest.Recorded{Event: event(reprise.RunStopped, ""), State: reprise.Complete},
		conventiontest.Recorded{Event: event(reprise.RunResumed, ""), State: reprise.Waiting},
	)
	r := load(t, fsys)
	if s := r.Step("s-2"); s.Attempts != 3 || len(r.Step("s-1").Commits) != 1 {
		t.Errorf("%s", conventiontest.Describe(r))
	}
}

func load(t testing.TB, fsys fstest.MapFS) *reprise.Run {
	t.Helper()
	runs, err := conventiontest.Read(autoclaude.New(), fsys)
	if err != nil || len(runs) != 1 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	return runs[0]
}

// Scenarios of writing: a tree, one line `event KIND STEP [key=value…]` for
// each event in the comment, and under want/ what the files that changed hold
// afterwards. -update of the reading scenarios does not touch them; they are
// written by hand.
func TestAC5_RecordScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/record/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d scenarios, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			before, want := fstest.MapFS{}, map[string]string{}
			for name, f := range conventiontest.LoadFS(t, file) {
				if rest, ok := strings.CutPrefix(name, "want/"); ok {
					want[rest] = string(f.Data)
				} else {
					before[name] = f
				}
			}
			id := load(t, before).ID
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			after := conventiontest.Records(t, autoclaude.New(), before, id, eventsOf(t, string(ar.Comment))...)
			got := map[string]string{}
			for name, f := range after {
				if old := before[name]; old == nil || !bytes.Equal(old.Data, f.Data) {
					got[name] = string(f.Data)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func eventsOf(t *testing.T, comment string) []conventiontest.Recorded {
	t.Helper()
	var out []conventiontest.Recorded
	for line := range strings.Lines(comment) {
		words := strings.Fields(line)
		if len(words) < 3 || words[0] != "event" {
			continue
		}
		rec := conventiontest.Recorded{Event: event(reprise.EventKind(words[1]), strings.Trim(words[2], "-"))}
		for _, w := range words[3:] {
			key, value, _ := strings.Cut(w, "=")
			switch key {
			case "attempt":
				fmt.Sscan(value, &rec.Event.Attempt)
			case "commit":
				rec.Event.Commit = value
			case "text":
				rec.Event.Text = strings.ReplaceAll(value, "_", " ")
			case "outcome":
				rec.Event.Outcome = value
			case "question":
				rec.Event.Question = value
			case "cannot":
				rec.Cannot = true
			case "is":
				if err := rec.Status.UnmarshalText([]byte(value)); err != nil {
					t.Fatal(err)
				}
			case "run":
				if err := rec.State.UnmarshalText([]byte(value)); err != nil {
					t.Fatal(err)
				}
			default:
				t.Fatalf("%s: unknown word %q", line, w)
			}
		}
		out = append(out, rec)
	}
	return out
}

// Statuses are written as the other items of the plan spell them.
func TestAC5_WrittenAsFound(t *testing.T) {
	for _, c := range []struct{ siblings, kind, want string }{ // the first sibling's manner is that of the item too
		{"pending", "step_started", "in_progress"},
		{"completed", "step_finished", "completed"},
		{"done", "step_finished", "done"},
		{"complete done done", "step_finished", "complete"},
		{"complete done", "step_finished", "complete"},
		{"in-progress", "step_started", "in-progress"},
		{"not-started", "step_started", "in-progress"},
		{"wip", "step_started", "wip"},
		{"not_started", "step_reset", "not_started"},
		{"todo", "step_reset", "todo"},
		{"DONE PENDING", "step_started", "IN_PROGRESS"},
		{"Done", "step_failed", "Failed"},
		{"stuck", "step_blocked", "stuck"},
		{"skipped", "step_finished", "completed"}, // a word without a meaning is no example
		{"done✅", "step_finished", "completed"},
	} {
		for _, list := range []string{"subtasks", "chunks", "tasks", "steps"} {
			was := "failed"
			switch c.siblings[:1] {
			case "D":
				was = map[bool]string{true: "FAILED", false: "Pending"}[c.siblings[1:2] == "O"]
			}
			items := []string{fmt.Sprintf(`{"id":"a","status":%q}`, was)}
			for i, w := range strings.Fields(c.siblings) {
				items = append(items, fmt.Sprintf(`{"id":"s%d","status":%q}`, i, w))
			}
			before := fmt.Sprintf(`{"phases":[{"id":1,%q:[%s]}]}`, list, strings.Join(items, ","))
			fsys := specOf(map[string]string{"implementation_plan.json": before})
			edits, err := recorder().Record(fsys, load(t, fsys), event(reprise.EventKind(c.kind), "a"))
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Replace(before, fmt.Sprintf(`"id":"a","status":%q`, was), fmt.Sprintf(`"id":"a","status":%q`, c.want), 1)
			if got := string(edits[0].Content); got != want {
				t.Errorf("%s after %s: %s, want %s", c.kind, c.siblings, got, want)
			}
		}
	}
}

// Times are written as the file writes them, in its zone, and never moved back.
func TestAC5_TimesAsFound(t *testing.T) {
	for written, want := range map[string]string{
		"2026-01-17T22:32:56.123Z":         "2026-02-03T12:13:14.567Z",
		"2026-01-17T22:32:56Z":             "2026-02-03T12:13:14Z",
		"2026-01-17T22:32:56.123456":       "2026-02-03T12:13:14.567890",
		"2026-01-17T22:32:56.123456+00:00": "2026-02-03T12:13:14.567890+00:00",
		"2026-01-17T22:32:56+05:30":        "2026-02-03T17:43:14+05:30",
		"2026-01-17 22:32:56":              "2026-02-03 12:13:14",
		"2026-01-17T22:32":                 "2026-02-03T12:13",
		"2026-01-17":                       "2026-02-03",
		"yesterday":                        "2026-02-03T12:13:14.567Z",
		"":                                 "2026-02-03T12:13:14.567Z",
		"2027-01-01T00:00:00Z":             "2027-01-01T00:00:00Z",
	} {
		fsys := specOf(map[string]string{"implementation_plan.json": fmt.Sprintf(`{"updated_at": %q, "last_updated": null, "subtasks": [{"id": "a"}]}`, written)})
		edits, err := recorder().Record(fsys, load(t, fsys), event(reprise.StepStarted, "a"))
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			UpdatedAt   string  `json:"updated_at"`
			LastUpdated *string `json:"last_updated"`
		}
		if err := json.Unmarshal(edits[0].Content, &got); err != nil || got.UpdatedAt != want || got.LastUpdated != nil {
			t.Errorf("%q becomes %q, want %q (%v)", written, got.UpdatedAt, want, err)
		}
	}
}

// A file that is damaged is named, and nothing is changed, whatever the event.
func TestX4_DamagedTargets(t *testing.T) {
	good := map[string]string{
		"implementation_plan.json":    `{"status":"human_review","phases":[{"id":1,"subtasks":[{"id":"a","status":"in_progress"},{"id":"b"}]}]}`,
		"memory/attempt_history.json": `{"subtasks":{"a":{"attempts":[{"session":1,"success":null}],"status":"pending"}},"stuck_subtasks":[]}`,
		"memory/build_commits.json":   `{"commits":[]}`,
	}
	finished := event(reprise.StepFinished, "a")
	finished.Commit = "abcdef1234567"
	for name, whole := range good {
		for _, broken := range []string{whole[:len(whole)-2], "", "[]", "\x00", `{"subtasks":[],"commits":{},"phases":7}`} {
			files := map[string]string{}
			for k, v := range good {
				files[k] = v
			}
			files[name] = broken
			fsys := specOf(files)
			edits, err := recorder().Record(fsys, load(t, fsys), finished)
			if err == nil || len(edits) > 0 || !strings.Contains(err.Error(), name) || errors.Is(err, reprise.ErrCannotRecord) {
				t.Errorf("%s as %q: %d edits, %v", name, broken, len(edits), err)
			}
		}
	}
}

// Whatever stands in an event, the files can be read afterwards, everything
// else in them is as before, and recording twice is recording once.
func TestX9_HostileEvents(t *testing.T) {
	base := specOf(map[string]string{
		"implementation_plan.json":    `{"status":"pending","updated_at":"2026-01-01T00:00:00Z","phases":[{"id":1,"subtasks":[{"id":"a","status":"in_progress"},{"id":"b","status":"completed"},{"status":"todo"},{"id":"b"}]}]}`,
		"memory/attempt_history.json": `{"subtasks":{"b":{"attempts":[{"session":1,"success":true}],"status":"completed"}},"stuck_subtasks":[]}`,
		"spec.md":                     "# X\n",
	})
	hostile := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"a\nb\r\nc", "|\t|", `"quoted" \ back`, "\x00\x1b[31m\u202e", strings.Repeat("long ", 50_000), "\xff\xfe", "-->", "```", "# x", "",
	}))
	kinds := []reprise.EventKind{
		reprise.RunStarted, reprise.RunResumed, reprise.RunEnded, reprise.RunStopped, reprise.PhaseEnded, reprise.StepStarted, reprise.StepFinished,
		reprise.StepFailed, reprise.StepBlocked, reprise.StepSkipped, reprise.StepReset, reprise.QuestionAsked, reprise.QuestionAnswered, reprise.AnswerApplied, "odd",
	}
	ids := []string{"a", "b", "1.3", "b#2", "qa-review", "qa-fix", "planning", "human"}
	rapid.Check(t, func(rt *rapid.T) {
		fsys := base
		for range rapid.IntRange(1, 6).Draw(rt, "events") {
			ev := reprise.Event{
				Kind: rapid.SampledFrom(kinds).Draw(rt, "kind"), At: noon.Add(time.Duration(rapid.IntRange(-1e6, 1e6).Draw(rt, "at")) * time.Second),
				Step: rapid.OneOf(rapid.SampledFrom(ids), hostile).Draw(rt, "step"), Phase: rapid.OneOf(rapid.Just("1"), hostile).Draw(rt, "phase"),
				Question: rapid.OneOf(rapid.SampledFrom([]string{"plan-approval", "HUMAN_INPUT.md", "QA_ESCALATION.md"}), hostile).Draw(rt, "question"),
				Attempt:  rapid.IntRange(-1, 5).Draw(rt, "attempt"), Actor: hostile.Draw(rt, "actor"), Text: rapid.OneOf(rapid.Just("approve"), hostile).Draw(rt, "text"),
				Commit: rapid.OneOf(rapid.SampledFrom([]string{"", "abc1234", strings.Repeat("0f", 20)}), hostile).Draw(rt, "commit"), Outcome: rapid.OneOf(rapid.SampledFrom([]string{"approved", "rejected", "aborted"}), hostile).Draw(rt, "outcome"),
			}
			before := load(t, fsys)
			edits, err := recorder().Record(fsys, before, ev)
			if err != nil {
				if len(edits) > 0 {
					rt.Fatalf("an error and %d edits", len(edits))
				}
				continue
			}
			next, err := conventiontest.Apply(fsys, edits)
			if err != nil {
				rt.Fatal(err)
			}
			after := load(t, next)
			checkOthers(rt, before, after, ev.Step)
			if more, err := recorder().Record(next, after, ev); err != nil || len(more) > 0 {
				rt.Fatalf("%v: recorded, and %d edits again (%v)", ev, len(more), err)
			}
			fsys = next
		}
	})
}

func checkOthers(t *rapid.T, before, after *reprise.Run, step string) {
	for i := range before.Steps {
		old, now := &before.Steps[i], after.Step(before.Steps[i].ID)
		if now == nil || old.ID != step && now.Status != old.Status || old.Title != now.Title {
			t.Fatalf("%q became %+v", old.ID, now)
		}
	}
	for _, f := range after.Findings {
		if f.Code == reprise.CodeUnreadable || f.Code == reprise.CodeWrongType {
			t.Fatalf("broken: %s %s", f.Source, f.Message)
		}
	}
}

// The name of a new spec comes from a person and must stay one folder.
func TestX9_SpecNames(t *testing.T) {
	for _, id := range []string{"", ".", "..", "../x", "a/b", ".hidden", "/abs", "a\nb", "a\\b", "c:x", "a\x00"} {
		edits, err := recorder().Record(fstest.MapFS{}, &reprise.Run{Ref: reprise.Ref{ID: id}}, event(reprise.RunStarted, ""))
		if err == nil || len(edits) > 0 {
			t.Errorf("%q: %d edits", id, len(edits))
		}
	}
	edits, err := recorder().Record(fstest.MapFS{}, &reprise.Run{Ref: reprise.Ref{ID: "plain"}}, reprise.Event{Kind: reprise.RunStarted})
	if err != nil || len(edits) != 2 || slices.ContainsFunc(edits, func(e reprise.Edit) bool { return bytes.Contains(e.Content, []byte("_at")) }) {
		t.Errorf("%d edits, %v", len(edits), err)
	}
}

func FuzzRecordPlan(f *testing.F) {
	for _, name := range []string{"chunk-era", "item-and-phase-ids", "two-lists-in-one-phase", "flat-plans", "closed-specs", "qa-states"} {
		for file, data := range conventiontest.LoadFS(f, "testdata/scenarios/"+name+".txtar") {
			if strings.HasSuffix(file, "implementation_plan.json") {
				f.Add(data.Data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fsys := specOf(map[string]string{"implementation_plan.json": string(data)})
		r := load(t, fsys)
		for i := range r.Steps[:min(len(r.Steps), 5)] {
			id := r.Steps[i].ID
			for kind, want := range map[reprise.EventKind]reprise.Status{reprise.StepStarted: reprise.InProgress, reprise.StepFinished: reprise.Done, reprise.StepReset: reprise.Pending} {
				edits, err := recorder().Record(fsys, r, event(kind, id))
				if err != nil {
					continue
				}
				next, err := conventiontest.Apply(fsys, edits)
				if err != nil {
					t.Fatal(err)
				}
				after := load(t, next)
				if s := after.Step(id); s == nil || s.Status != want && !(want == reprise.Done && s.Status.Closed()) {
					t.Fatalf("%s of %q gives %+v in %s", kind, id, s, next[".auto-claude/specs/001-x/implementation_plan.json"].Data)
				}
				if more, err := recorder().Record(next, after, event(kind, id)); err != nil || len(more) > 0 {
					t.Fatalf("%s of %q: %d edits again, %v", kind, id, len(more), err)
				}
			}
		}
	})
}
