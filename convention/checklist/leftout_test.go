package checklist_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/convention/checklist"
	"reprise/convention/conventiontest"
)

// What holds only parts that are left out is left out with them. It is done if one of them is.
// Leaving out deletes nothing.
func TestA_whole_is_left_out_with_all_its_parts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path, text, run, one, two string
		out, done                 string // what the list has of the whole with both left out, and with one done
	}{
		"kiro": {
			".kiro/specs/a/tasks.md", "# Implementation Plan\n\n- [x] 1. One\n- [ ] 2. Two\n  - [ ] 2.1 First\n  - [ ] 2.2 Second\n", "a", "2.1", "2.2",
			"- [ ] 2. Two (skipped)\n", "- [x] 2. Two\n",
		},
		"taskmaster": {
			".taskmaster/tasks/tasks.json", `{"master":{"tasks":[{"id":1,"title":"Whole","status":"pending","dependencies":[],"subtasks":[` +
				`{"id":1,"title":"a","status":"pending","dependencies":[]},{"id":2,"title":"b","status":"pending","dependencies":[]}]}]}}`, "tasks", "master:1.1", "master:1.2",
			`"Whole","status":"cancelled"`, `"Whole","status":"done"`,
		},
		"bmad": {
			"docs/sprint-status.yaml", "development_status:\n  epic-1: in-progress\n  1-1-a: ready-for-dev\n  1-2-b: ready-for-dev\n", "sprint-status", "1-1-a", "1-2-b",
			"epic-1: cancelled\n", "epic-1: done\n",
		},
		"beads": {
			".beads/issues.jsonl", `{"id":"h-1","title":"a","status":"open","priority":1,"issue_type":"task"}` + "\n" +
				`{"id":"h-2","title":"b","status":"open","priority":1,"issue_type":"task"}` + "\n", "issues", "h-1", "h-2",
			`"title":"b","status":"closed","priority":1,"issue_type":"task","close_reason":"skipped"`, `"title":"a","status":"closed","priority":1,"issue_type":"task","closed_at"`,
		},
	} {
		f := checklist.Families()[slices.IndexFunc(checklist.Families(), func(f checklist.Family) bool { return f.Name == name })]
		tree := func() fstest.MapFS {
			return fstest.MapFS{c.path: {Data: []byte(c.text), ModTime: conventiontest.Epoch}}
		}
		ev := func(kind reprise.EventKind, id string, status reprise.Status) conventiontest.Recorded {
			return conventiontest.Recorded{Event: reprise.Event{Kind: kind, Step: id, At: conventiontest.Epoch}, Status: status}
		}
		after := conventiontest.Records(t, checklist.New(f), tree(), c.run, ev(reprise.StepSkipped, c.one, reprise.Skipped), ev(reprise.StepSkipped, c.two, reprise.Skipped))
		if got := string(after[c.path].Data); !strings.Contains(got, c.out) {
			t.Errorf("%s: no %q with both left out:\n%s", name, c.out, got)
		}
		for _, way := range [][]conventiontest.Recorded{
			{ev(reprise.StepFinished, c.one, reprise.Done), ev(reprise.StepSkipped, c.two, reprise.Skipped)},
			{
				ev(reprise.StepSkipped, c.one, reprise.Skipped), ev(reprise.StepSkipped, c.two, reprise.Skipped),
				ev(reprise.StepReset, c.one, reprise.Pending), ev(reprise.StepFinished, c.one, reprise.Done),
			},
		} {
			after = conventiontest.Records(t, checklist.New(f), tree(), c.run, way...)
			if got := strings.ReplaceAll(string(after[c.path].Data), `"close_reason":null,`, ""); !strings.Contains(got, c.done) {
				t.Errorf("%s: no %q with one done:\n%s", name, c.done, got)
			}
		}
	}
}
