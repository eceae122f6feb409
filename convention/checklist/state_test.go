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

// layoutOf returns the convention of a family of the table.
func layoutOf(name string) checklist.Layout {
	i := slices.IndexFunc(checklist.Families(), func(f checklist.Family) bool { return f.Name == name })
	return checklist.New(checklist.Families()[i])
}

func TestA_status_that_an_entry_gives_twice_is_recorded_in_both_places(t *testing.T) {
	t.Parallel()
	const list = `{"userStories": [
  {"id": "US-1", "title": "a", "passes": true, "status": "completed"},
  {"id": "US-2", "title": "b", "passes": false, "status": "completed"},
  {"id": "US-3", "title": "c", "status": "in_progress", "passes": false},
  {"id": "US-4", "title": "d", "passes": false}
]}`
	event := func(kind reprise.EventKind, id string) reprise.Event { return reprise.Event{Kind: kind, Step: id} }
	after := conventiontest.Records(t, layoutOf("ralph"), fstest.MapFS{"prd.json": {Data: []byte(list)}}, "prd",
		conventiontest.Recorded{Event: event(reprise.StepFinished, "US-3"), Status: reprise.Done},
		conventiontest.Recorded{Event: event(reprise.StepReset, "US-2"), Status: reprise.Pending},
		conventiontest.Recorded{Event: event(reprise.StepStarted, "US-2"), Status: reprise.InProgress},
		conventiontest.Recorded{Event: event(reprise.StepStarted, "US-4"), Cannot: true},
		conventiontest.Recorded{Event: event(reprise.StepFinished, "US-2"), Status: reprise.Done},
		conventiontest.Recorded{Event: event(reprise.StepFinished, "US-4"), Status: reprise.Done, State: reprise.Complete},
	)
	want := strings.NewReplacer(`"status": "in_progress", "passes": false`, `"status": "completed", "passes": true`, `false`, `true`).Replace(list)
	if got := string(after["prd.json"].Data); got != want {
		t.Errorf("got %s", got)
	}
}

func TestA_word_in_brackets_is_recorded_as_a_word(t *testing.T) {
	t.Parallel()
	const list = "# Export\n\n## Phases\n- [complete] Phase 1: Read\n- [in_progress] Phase 2: Write\n  - [pending] the rows\n- [pending] Phase 3: Test\n"
	event := func(kind reprise.EventKind, id string) reprise.Event { return reprise.Event{Kind: kind, Step: id} }
	after := conventiontest.Records(t, layoutOf("planfiles"), fstest.MapFS{"task_plan.md": {Data: []byte(list)}}, "task_plan",
		conventiontest.Recorded{Event: event(reprise.StepFinished, "2"), Status: reprise.Done},
		conventiontest.Recorded{Event: event(reprise.StepFinished, "3"), Status: reprise.Done, State: reprise.Complete},
		conventiontest.Recorded{Event: event(reprise.StepReset, "3"), Status: reprise.Pending},
	)
	want := strings.NewReplacer("[in_progress] Phase 2", "[complete] Phase 2", "[pending] the rows", "[complete] the rows").Replace(list)
	if got := string(after["task_plan.md"].Data); got != want {
		t.Errorf("got %s", got)
	}
}

func TestWords_of_one_meaning_are_equally_near(t *testing.T) {
	t.Parallel()
	for _, words := range [][2]string{{"todo", "pending"}, {"not_started", "failing"}, {"planned", "open"}, {"spec_ready", "ready"}} {
		run := loadList(t, "features", "feature_list.json", `{"features": [{"id": "1", "status": "`+words[0]+`"}, {"id": "2", "status": "`+words[1]+`"}]}`)
		if len(run.Next) == 0 || run.Next[0].ID != "1" {
			t.Errorf("%q and %q: %+v, %s", words[0], words[1], run.Next, run.Reason)
		}
	}
}
