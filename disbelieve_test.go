package reprise

import (
	"slices"
	"testing"
)

// What the files say of a step, and with that of the run, while an attempt at it has no
// recorded end, or because of an attempt at another step, is not believed.
func TestX4_what_attempts_write_of_the_run_is_not_believed(t *testing.T) {
	t.Parallel()
	started, over := Event{Kind: StepStarted, Step: "a", Attempt: 1}, Event{Kind: StepOverstepped, Step: "a", By: "b"}
	failed := Event{Kind: StepFailed, Step: "a", Attempt: 1}
	said := func(status Status, word string, state State) Event {
		return Event{Kind: StepOverstepped, Step: "a", By: "a", Says: &Says{Status: status, Word: word, State: state}}
	}
	word := []Claim{{Word: "Done", Won: true}}
	for name, tt := range map[string]struct {
		step   Step
		filed  State
		events []Event
		want   Status
		state  State
	}{
		"complete":                {Step{Status: Done}, Complete, []Event{started}, InProgress, Interrupted},
		"ended":                   {Step{Status: Done}, Stopped, []Event{started}, InProgress, Interrupted},
		"ended, and it is open":   {Step{Status: Pending}, Stopped, []Event{started}, Pending, Stopped},
		"complete, on record":     {Step{Status: Done}, Complete, []Event{started, {Kind: StepFinished, Step: "a", Attempt: 1}}, Done, Complete},
		"failed, and it says so":  {Step{Status: Done, Claims: word}, Complete, []Event{started, failed, said(Done, "Done", Complete)}, InProgress, Interrupted},
		"failed, and reset":       {Step{Status: Done}, Complete, []Event{started, failed, said(Done, "Done", Complete), {Kind: StepReset, Step: "a", Actor: Person}}, InProgress, Interrupted},
		"failed, and it ended it": {Step{Status: Pending}, Stopped, []Event{started, failed, said(Pending, "", Stopped)}, Pending, Interrupted},
		"closed by hand":          {Step{Status: Done, Claims: word}, Complete, []Event{started, failed}, Done, Complete},
		"reworded by hand":        {Step{Status: Done, Claims: word}, Complete, []Event{started, failed, said(Done, "Ready for Review", Interrupted)}, Done, Complete},
		"ended by hand":           {Step{Status: Pending}, Stopped, []Event{started, failed, said(Done, "", Complete)}, Pending, Stopped},
		"failed, then left out":   {Step{Status: Done}, Complete, []Event{started, failed, said(Done, "", Complete), {Kind: StepSkipped, Step: "a"}}, Done, Complete},
		"failed, then taken back": {Step{Status: Done}, Complete, []Event{started, failed, said(Done, "", Complete), {Kind: StateRestored}}, Done, Complete},
		"done by another":         {Step{Status: Done}, Complete, []Event{over}, Unknown, Interrupted},
		"optional by another":     {Step{Status: Pending, Optional: true}, Complete, []Event{over}, Pending, Interrupted},
		"optional, left out":      {Step{Status: Pending, Optional: true}, Complete, []Event{over, {Kind: StepSkipped, Step: "a"}}, Pending, Complete},
		"optional from the start": {Step{Status: Pending, Optional: true}, Complete, nil, Pending, Complete},
	} {
		tt.step.ID = "a"
		r := &Run{Ref: Ref{ID: "r"}, State: tt.filed, Steps: []Step{tt.step}, Findings: []Finding{{Code: CodeClosedOpen, Subject: "r"}}}
		r.Recall(tt.events)
		if r.State != tt.state || r.Steps[0].Status != tt.want {
			t.Errorf("%s: %s, %s", name, r.State, r.Steps[0].Status)
		}
		open := tt.state == Interrupted
		if offered := slices.ContainsFunc(r.Next, func(u Unit) bool { return u.ID == "a" }); offered != open {
			t.Errorf("%s: next is %+v", name, r.Next)
		}
		if told := slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Code == CodeClosedOpen }); told == open {
			t.Errorf("%s: %+v", name, r.Findings)
		}
		if open && r.Steps[0].Optional {
			t.Errorf("%s: it is optional", name)
		}
		if as := r.AsFiled("a").Steps[0].Status; tt.want == InProgress && as != Done || tt.want != InProgress && as != tt.want {
			t.Errorf("%s: its end is judged by %s", name, as)
		}
	}
}

// Some files call an answer used as soon as it is written. What follows from a decision is
// carried out once, as the journal records.
func TestX4_a_decision_is_carried_out_whatever_the_files_say(t *testing.T) {
	t.Parallel()
	events := []Event{
		{Kind: QuestionAsked, Question: "q", Text: "Is it done?", Options: []string{"it is done", "do it"}, Closed: true},
		{Kind: QuestionAnswered, Question: "q", Text: "do it"},
	}
	for _, applied := range []bool{false, true} {
		if applied {
			events = append(events, Event{Kind: AnswerApplied, Question: "q"})
		}
		r := &Run{State: Interrupted, Questions: []Question{{ID: "q", Text: "Is it done?", Answer: "do it", Answered: true, Applied: true, UseUntold: true}}}
		r.Recall(events)
		if q := r.Questions[0]; !q.Answered || q.Applied != applied {
			t.Errorf("%+v", q)
		}
	}
}
