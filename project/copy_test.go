package project_test

import (
	"encoding/json"
	"slices"
	"testing"

	"reprise"
	"reprise/evidence/grade"
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
