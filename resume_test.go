package reprise

import (
	"encoding/json"
	"testing"
)

func TestLR7_resume_state_has_the_seeds_fields(t *testing.T) {
	t.Parallel()
	three, five := 3, 5
	s := ResumeState{Interrupted: true, Type: PartialPlan, Plan: "02", CompletedTasks: &three, TotalTasks: &five, LastCommit: "abc"}
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"interrupted":true,"type":"partial_plan","plan":"02","completed_tasks":3,"total_tasks":5,"last_commit":"abc"}`
	if string(raw) != want {
		t.Errorf("got  %s\nwant %s", raw, want)
	}
	raw, err = json.Marshal(ResumeState{CompletedPlans: new(int), TotalPlans: new(int)})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"interrupted":false,"completed_plans":0,"total_plans":0}`; string(raw) != want {
		t.Errorf("got %s", raw)
	}
}

func TestLR8_options_of_every_type(t *testing.T) {
	t.Parallel()
	two := 2
	for _, c := range []struct {
		state ResumeState
		keys  []string
	}{
		{ResumeState{Interrupted: true, Type: ActiveAgent}, []string{"resume-agent", "respawn", "skip", "fresh"}},
		{ResumeState{Interrupted: true, Type: PartialPlan, CompletedTasks: &two}, []string{"continue", "restart", "skip", "fresh"}},
		{ResumeState{Interrupted: true, Type: PendingClarification}, []string{"answer", "skip-group", "fresh"}},
		{ResumeState{Interrupted: true, Type: BetweenPlans, ResumeFrom: &two}, []string{"continue", "fresh"}},
		{ResumeState{}, nil},
	} {
		var keys []string
		for _, o := range c.state.Options() {
			keys = append(keys, o.Key)
		}
		if len(keys) != len(c.keys) {
			t.Errorf("%s: %q", c.state.Type, keys)
			continue
		}
		for i := range keys {
			if keys[i] != c.keys[i] {
				t.Errorf("%s: %q", c.state.Type, keys)
			}
		}
	}
	if got := (ResumeState{Interrupted: true, Type: PartialPlan, CompletedTasks: &two}).Options()[0].Label; got != "Continue at task 3" {
		t.Errorf("label %q", got)
	}
}

func TestLR6_a_question_does_not_hide_the_rest(t *testing.T) {
	t.Parallel()
	r := &Run{
		Ref: Ref{ID: "x"}, State: Waiting,
		Steps:     []Step{{ID: "1", Status: Done, Commits: []string{"c1"}}, {ID: "2", Status: Pending}},
		Questions: []Question{{ID: "q", Text: "which?", Subject: "g"}},
	}
	got := r.ResumeAnswer()
	if got.Type != PendingClarification || got.Question != "which?" || len(got.Also) != 1 || got.Also[0].Type != PartialPlan {
		t.Errorf("got %+v", got)
	}
	r.Questions[0].Answered = true
	if got := r.ResumeAnswer(); got.Type != PartialPlan || *got.CompletedTasks != 1 || got.LastCommit != "c1" {
		t.Errorf("answered: %+v", got)
	}
	r.State = Complete
	if got := r.ResumeAnswer(); got.Interrupted || *got.CompletedPlans != 1 {
		t.Errorf("complete: %+v", got)
	}
}
