package orchestrate_test

import (
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"reprise"
	"reprise/convention/conventiontest"
	"reprise/convention/orchestrate"
)

// mend asks for the mends of every run and holds them against the contract.
func mend(t *testing.T, fsys fstest.MapFS) (map[string]string, []reprise.Mend) {
	t.Helper()
	l, out := orchestrate.New(), map[string]string{}
	var all []reprise.Mend
	for _, r := range read(t, fsys) {
		mends, err := l.Mend(fsys, r)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, mends...)
		for _, m := range mends {
			if m.What == "" || m.From == "" || len(m.Edits) != 1 {
				t.Errorf("a mend that says too little: %+v", m)
			}
			next, err := conventiontest.Apply(fsys, m.Edits)
			if err != nil {
				t.Fatal(err)
			}
			name := m.Edits[0].Path
			out[name] = string(next[name].Data)
			now, _ := l.Load(next, r.Ref)
			for _, f := range now.Findings {
				if f.Source.File == name && (f.Code == reprise.CodeUnreadable || f.Code == reprise.CodeSalvaged || f.Code == reprise.CodeDamagedLine) {
					t.Errorf("%s: still damaged: %s", name, f.Message)
				}
			}
			for i := range now.Steps {
				s := &now.Steps[i]
				if old := r.Step(s.ID); old != nil && s.Status.Closed() && !old.Status.Closed() {
					t.Errorf("%s: mending made %s %s", name, s.ID, s.Status)
				}
			}
			if now.State == reprise.Unreadable {
				t.Errorf("%s: unreadable after mending", name)
			}
			was := map[string]reprise.State{}
			for _, other := range read(t, fsys) {
				was[other.Path] = other.State
			}
			for _, other := range read(t, next) {
				if old, ok := was[other.Path]; ok && other.Path != name && other.State == reprise.Complete && old != reprise.Complete {
					t.Errorf("mending %s completed %s (was %s)", name, other.Path, old)
				}
			}
			if again, err := l.Mend(next, now); err != nil || len(again) > 0 {
				t.Errorf("mended, and still to mend: %+v (%v)", again, err)
			}
		}
	}
	return out, all
}

// OR9: every tree of the package gives mends that apply and make nothing more
// done.
func TestOR9_Mend_every_scenario(t *testing.T) {
	conventiontest.MendsEvery(t, "testdata/scenarios/*.txtar", func(t *testing.T, fsys fstest.MapFS) []reprise.Mend {
		_, mends := mend(t, fsys)
		return mends
	})
}

func withStatus(status string) string {
	return "# Story\n\n" + status + "\n\n## Acceptance Criteria\n\n- [ ] AC1\n"
}

// OR9: what is rebuilt of each state, byte for byte.
func TestOR9_Mend(t *testing.T) {
	t.Parallel()
	const epic, qa, flow = ".aiox/epic-EPIC-4-state.yaml", "qa/3.1/loop-status.json", ".aiox/dev-x-state.yaml"
	head := "epic_state:\n  epicId: \"EPIC-4\"\n"
	for _, row := range []struct {
		name, file, bad, good string // good "" for what is beyond repair or whole
		stories               map[string]string
	}{
		{"epic", epic, "{ epic_state: [\n", head + "  updated_at: \"2026-01-03T00:00:00Z\"\n  status: active\n  waves:\n    1:\n      status: in_progress\n      stories:\n" +
			"        \"4.1\":\n          status: completed\n        \"4.2\":\n          status: in_progress\n        \"4.3\":\n          status: in_progress\n        \"4.4\":\n          status: pending\n        \"4.5\":\n          status: pending\n        \"4.6\":\n          status: in_progress\n",
			map[string]string{
				"4.1": withStatus("**Status:** Done"), "4.2": withStatus("**Status:** InProgress"), "4.3": withStatus("**Status:** Ready for Review"), "4.4": withStatus("**Status:** Ready"), "4.5": withStatus(""),
				"4.6": withStatus("") + "## Change Log\n\n- 2026-01-03: InReview → Done\n",
			}},
		{"all stories done", epic, "[", head + "  status: active\n  waves:\n    1:\n      status: in_progress\n      stories:\n        \"4.1\":\n          status: completed\n", map[string]string{"4.1": withStatus("**Status:** Done")}},
		{"fields that disagree about done", epic, "[", head + "  status: active\n  waves:\n    1:\n      status: in_progress\n      stories:\n        \"4.1\":\n          status: in_progress\n", map[string]string{"4.1": withStatus("**Status:** Done\n\n## Status\n\nInProgress")}},
		{"nothing to rebuild from", epic, "[", "", map[string]string{"5.1": withStatus("**Status:** Done")}},
		{"whole", epic, "epic_state: {epicId: EPIC-4, status: active, waves: {1: {stories: {\"4.1\": {status: pending}}}}}\n", "", map[string]string{"4.1": withStatus("**Status:** Done")}},
		{"only without stories", epic, "epic_state: {epicId: EPIC-4, status: aborted}\n", "", map[string]string{"4.1": withStatus("**Status:** Done")}},
		{"loop", qa, `{"storyId": "3.1", "currentIteration": 2, "maxIterations": 7, "sta`, "{\n  \"storyId\": \"3.1\",\n  \"currentIteration\": 2,\n  \"maxIterations\": 7,\n  \"status\": \"in_progress\",\n  \"history\": []\n}\n", map[string]string{"3.1": withStatus("**Status:** InReview")}},
		{"loop that may have lost digits", qa, `{"storyId": "3.1", "currentIteration": 1`, "{\n  \"storyId\": \"3.1\",\n  \"currentIteration\": 0,\n  \"maxIterations\": 5,\n  \"status\": \"in_progress\",\n  \"history\": []\n}\n", map[string]string{"3.1": withStatus("**Status:** InReview")}},
		{"loop by the story's results", qa, `{"st`, "{\n  \"storyId\": \"3.1\",\n  \"currentIteration\": 3,\n  \"maxIterations\": 5,\n  \"status\": \"in_progress\",\n  \"history\": []\n}\n", map[string]string{"3.1": withStatus("**Status:** InReview") + "\n## QA Results\n\n### Iteration 2\n\nREJECT\n\n### Iteration 3\n\nREJECT\n"}},
		{"loop in the short form", qa, `{"storyId": "3.1", "iteration": 2, "lastVerdict": "APP`, "{\n  \"storyId\": \"3.1\",\n  \"iteration\": 2,\n  \"maxIterations\": 5,\n  \"status\": \"running\",\n  \"lastVerdict\": null\n}\n", map[string]string{"3.1": withStatus("**Status:** InReview")}},
		{"loop handed to a person", qa, `{"storyId": "3.1", "currentIteration": 5, "status": "escalated", "his`, "{\n  \"storyId\": \"3.1\",\n  \"currentIteration\": 5,\n  \"maxIterations\": 5,\n  \"status\": \"escalated\",\n  \"history\": []\n}\n", map[string]string{"3.1": withStatus("**Status:** InReview")}},
		{"loop called completed", qa, `{"storyId": "3.1", "currentIteration": 1, "status": "completed", "his`, "{\n  \"storyId\": \"3.1\",\n  \"currentIteration\": 1,\n  \"maxIterations\": 5,\n  \"status\": \"in_progress\",\n  \"history\": []\n}\n", map[string]string{"3.1": withStatus("**Status:** InReview")}},
		{"loop in snake case, read line by line", qa, "story_id: \"3.1\"\ncurrent_iteration: 2\nhistory: [\n", "", map[string]string{"3.1": withStatus("**Status:** InReview")}},
		{"loop without a story", qa, `{"st`, "", map[string]string{"5.1": withStatus("**Status:** Done")}},
		{"workflow that names no steps", flow, "steps\nstory_id: \"3.1\"\n", "", map[string]string{"3.1": withStatus("**Status:** InProgress")}},
		{"workflow without quotes", flow, "status: active\r\nsteps:\r\n  - step_index: 0\r\n    action: Plan: it's first\r\n    status: completed\r\n  - step_index: 1\r\n    action: Make\r\n    status: pending\r\n", "status: active\r\nsteps:\r\n  - step_index: 0\r\n    action: 'Plan: it''s first'\r\n    status: completed\r\n  - step_index: 1\r\n    action: Make\r\n    status: pending\r\n", nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			fsys := fstest.MapFS{row.file: {Data: []byte(row.bad), ModTime: conventiontest.Epoch}}
			for id, text := range row.stories {
				fsys["docs/stories/"+id+".story.md"] = &fstest.MapFile{Data: []byte(text), ModTime: conventiontest.Epoch.AddDate(0, 1, 0)}
			}
			out, _ := mend(t, fsys)
			if got := out[row.file]; got != row.good || len(out) > 1 {
				t.Errorf("got\n%s\nwant\n%s", got, row.good)
			}
		})
	}
}

// X9: wherever a state is cut off, mending never makes it complete.
func TestX9_Mend_cut_off(t *testing.T) {
	t.Parallel()
	whole := "epic_state:\n  epicId: EPIC-4\n  status: completed\n  waves: {1: {status: completed, stories: {\"4.1\": {status: completed}, \"4.2\": {status: completed}}}}\n"
	for i := range whole {
		fsys := fstest.MapFS{".aiox/epic-EPIC-4-state.yaml": {Data: []byte(whole[:i])}, "docs/stories/4.1.story.md": {Data: []byte(withStatus("**Status:** Done"))}, "docs/stories/4.2.story.md": {Data: []byte(withStatus("**Status:** InProgress"))}}
		if out, _ := mend(t, fsys); strings.Count(strings.Join(slices.Collect(maps.Values(out)), ""), "status: completed") > 1 {
			t.Fatalf("cut at %d: %s", i, out)
		}
	}
}

// TestOR9_an_epic_state_that_was_cut_off_is_rebuilt at every length: until it is, it is
// blocked, and afterwards every story of its plan is in it and nothing is damaged.
func TestOR9_an_epic_state_that_was_cut_off_is_rebuilt(t *testing.T) {
	t.Parallel()
	const name = ".aiox/epic-EPIC-2-state.yaml"
	tree := os.DirFS("../../examples/orchestrate")
	whole, err := fs.ReadFile(tree, name)
	if err != nil {
		t.Fatal(err)
	}
	ref := reprise.Ref{Layout: "orchestrate", ID: "EPIC-2", Path: name, Kind: reprise.KindEpic}
	l := orchestrate.New()
	for n := 20; n < len(whole); n += 3 {
		files := fstest.MapFS{name: {Data: whole[:n]}}
		for _, p := range []string{"docs/stories/2.1.cart.md", "docs/stories/2.2.vouchers.md", "docs/stories/2.3.card-payment.md", "docs/stories/2.4.refunds.md", "docs/stories/epics/EPIC-2-EXECUTION.yaml"} {
			data, err := fs.ReadFile(tree, p)
			if err != nil {
				t.Fatal(err)
			}
			files[p] = &fstest.MapFile{Data: data}
		}
		run, err := l.Load(files, ref)
		if err != nil {
			t.Fatal(err)
		}
		blocked := slices.ContainsFunc(run.Findings, func(f reprise.Finding) bool { return f.Severity == reprise.Blocking })
		if _, err := l.Record(files, run, reprise.Event{Kind: reprise.RunResumed, At: time.Unix(1e9, 0)}); err != nil && !blocked {
			t.Errorf("cut after %d bytes: nothing can be recorded, and it is not blocked: %v", n, err)
		}
		mends, err := l.Mend(files, run)
		if err != nil || blocked && len(mends) != 1 {
			t.Errorf("cut after %d bytes: %d mends, %v\n%s", n, len(mends), err, whole[:n])
			continue
		}
		for _, m := range mends {
			files[name] = &fstest.MapFile{Data: m.Edits[0].Content}
			if run, err = l.Load(files, ref); err != nil || run.State != reprise.Interrupted || run.Step("2.4") == nil {
				t.Errorf("cut after %d bytes it is rebuilt to %s (%s), %v", n, run.State, run.Reason, err)
			}
		}
	}
}
