package engine_test

import (
	"testing"

	"reprise"
	"reprise/engine"
)

// A phase that the files cannot take back is refused before any later one is.
func TestOR3_from_a_phase_that_cannot_be_taken_back_changes_nothing(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	e := newEngine(dir)
	ref, err := e.Begin(t.Context(), "orchestrate", reprise.KindStory, reprise.Goal{ID: "4.2", Text: "Refunds"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Resume(t.Context(), ref, engine.Choice{Until: "validate"}); err != nil {
		t.Fatal(err)
	}
	before, told := get(t, dir, ref.Path), count(events(t, dir, ref), reprise.StepReset, "")
	if sum, err := e.Resume(t.Context(), ref, engine.Choice{From: "create"}); err == nil {
		t.Errorf("it is not refused: %v", sum)
	}
	if get(t, dir, ref.Path) != before || count(events(t, dir, ref), reprise.StepReset, "") != told {
		t.Errorf("later phases were reset:\n%s", get(t, dir, ref.Path))
	}
	if sum, err := e.Resume(t.Context(), ref, engine.Choice{From: "validate"}); err != nil || sum.State != reprise.Complete {
		t.Errorf("%v %v", sum, err)
	}
}

// A person may stop behind a phase that leaves no step in the files: what the plan
// of a build is made by is none of the plan.
func TestAC3_until_a_phase_that_the_files_do_not_keep(t *testing.T) {
	t.Parallel()
	w := workflow{layout: "autoclaude", kind: reprise.KindBuild, goal: reprise.Goal{Text: "Health endpoint"}}
	e := w.project(t)
	ref, err := e.Begin(t.Context(), w.layout, w.kind, w.goal)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := e.Resume(t.Context(), ref, engine.Choice{Until: "planning"})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(sum.Finished); n == 0 || sum.Finished[n-1].ID != "planning" || len(sum.Left) == 0 {
		t.Errorf("finished %+v, left %v", sum.Finished, sum.Left)
	}
}
