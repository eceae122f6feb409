package project_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"reprise"
	"reprise/convention/conventiontest"
	"reprise/evidence/grade"
	"reprise/journal"
	"reprise/project"
)

// whole is everything of a run, as text.
func whole(t *testing.T, r *reprise.Run) string {
	t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// X8: a run that is held is judged and not changed, and neither is anything that
// was read with it.
func TestX8_judging_a_run_that_is_held_does_not_change_it(t *testing.T) {
	t.Parallel()
	archives, err := filepath.Glob("../convention/*/testdata/scenarios/*.txtar")
	if err != nil || len(archives) < 100 {
		t.Fatal(len(archives), err)
	}
	now := time.Date(2026, 11, 15, 9, 0, 0, 0, time.UTC)
	judged := 0
	for i, archive := range archives {
		if i%5 != 0 {
			continue
		}
		dir := t.TempDir()
		for name, f := range conventiontest.LoadFS(t, archive) {
			at := filepath.Join(dir, name)
			if f.Mode.IsDir() {
				_ = os.MkdirAll(at, 0o755)
				continue
			}
			_ = os.MkdirAll(filepath.Dir(at), 0o755)
			if err := os.WriteFile(at, f.Data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.MkdirAll(filepath.Join(dir, ".reprise"), 0o755); err != nil {
			t.Fatal(err)
		}
		l := layoutOf(t, archive)
		runs, err := conventiontest.Read(l, os.DirFS(dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range runs {
			events := []reprise.Event{{Kind: reprise.QuestionAsked, Question: "Q", Text: "?", At: now, Options: []string{"a"}}}
			for _, q := range r.Questions {
				events = append(events, reprise.Event{Kind: reprise.QuestionAnswered, Question: q.ID, Text: "yes", At: now})
			}
			for i := range r.Steps {
				events = append(events, reprise.Event{Kind: reprise.StepStarted, Step: r.Steps[i].ID, Attempt: 3, At: now},
					reprise.Event{Kind: reprise.StepFinished, Step: r.Steps[i].ID, Outcome: "rejected", At: now})
			}
			was := whole(t, r)
			_, err := project.Judge(t.Context(), dir, project.JudgeOptions{
				Options: project.Options{Now: now}, Full: true,
				Held: &project.Held{Run: r, Events: events, History: journal.Fold(nil), Findings: []reprise.Finding{{Code: reprise.CodeMovedOn, Severity: reprise.Info, Message: "x"}}},
			})
			if err != nil {
				t.Fatal(err)
			}
			judged++
			if whole(t, r) != was {
				t.Errorf("%s: %s was changed", filepath.Base(archive), r.ID)
			}
		}
	}
	if judged < 30 {
		t.Errorf("only %d runs were judged", judged)
	}
}

// A copy can be judged again without changing what it was copied from.
func TestX8_grading_a_copy_leaves_the_evidence_of_the_run(t *testing.T) {
	t.Parallel()
	r := &reprise.Run{Steps: []reprise.Step{{ID: "a", Status: reprise.Done, Evidence: []reprise.Evidence{
		{Kind: reprise.EvidenceCommit, Text: "one", For: true}, {Kind: reprise.EvidenceCommand, Text: "two", For: true},
	}}}}
	want := slices.Clone(r.Steps[0].Evidence)
	grade.New(reprise.Observed{}).Run(r.Clone())
	if !slices.Equal(r.Steps[0].Evidence, want) {
		t.Errorf("%+v", r.Steps[0].Evidence)
	}
}
