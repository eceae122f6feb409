package eventrun_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/convention/eventrun"
)

func TestEV9_question_of_a_workflow_is_done_once_it_is_answered_and_every_step_is_told(t *testing.T) {
	t.Parallel()
	book := eventrun.WithSteps(func(id string) (reprise.Assignment, bool) {
		if id == "approve" {
			return reprise.Assignment{Ask: &reprise.Asked{ID: "approve", Text: "Go on?"}}, true
		}
		return reprise.Assignment{Role: "dev", Answers: []string{"approve"}}, true
	})
	assign := func(id string, q ...reprise.Question) reprise.Assignment {
		t.Helper()
		r := &reprise.Run{Steps: []reprise.Step{{ID: "approve"}, {ID: "build"}}, Questions: q}
		a, err := book.Assign(fstest.MapFS{}, r, reprise.Unit{ID: id})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	asked := reprise.Question{ID: "approve", Text: "Go on?", Subject: "approve"}
	answered := asked
	answered.Answered, answered.Answer = true, "yes"
	applied := answered
	applied.Applied = true

	if a := assign("approve", asked); a.Ask == nil || a.Local != "" {
		t.Errorf("a question without an answer: %+v", a)
	}
	if a := assign("approve", answered); a.Ask != nil || !strings.Contains(a.Local, "yes") {
		t.Errorf("a question with its answer is asked again: %+v", a)
	}
	// An answer that was used was given for other work, one to an agent for none.
	ofAgent := answered
	ofAgent.By = "build"
	for _, q := range []reprise.Question{applied, ofAgent} {
		if a := assign("approve", q); a.Ask == nil || a.Local != "" {
			t.Errorf("an answer that was not given for this: %+v", a)
		}
	}
	// What is not used yet comes with Answers, what is used already as data:
	// once in either case.
	if a := assign("build", answered); len(a.Data) != 0 || len(a.Answers) != 1 {
		t.Errorf("an answer that is not used: %+v", a)
	}
	if a := assign("build", applied); len(a.Data) != 2 || a.Data[1].Text != "yes" {
		t.Errorf("an answer that another step used: %+v", a)
	}
}
