package reprise

import (
	"slices"
	"testing"
)

func TestX_Recall(t *testing.T) {
	t.Parallel()
	asked := Event{Kind: QuestionAsked, Step: "qa", Question: "escalation", Text: "How?"}
	answered := Event{Kind: QuestionAnswered, Question: "escalation", Text: "go on"}
	rejected := Event{Kind: StepFinished, Step: "qa", Outcome: "rejected"}
	applied := Event{Kind: AnswerApplied, Question: "escalation"}
	for name, tt := range map[string]struct {
		events   []Event
		state    State
		rejected int
		pending  int
		applied  bool
	}{
		"nothing":                {nil, Interrupted, 0, 0, false},
		"sent back":              {[]Event{rejected, rejected}, Interrupted, 2, 0, false},
		"sent back, then good":   {[]Event{rejected, {Kind: StepFinished, Step: "qa"}}, Interrupted, 0, 0, false},
		"asked":                  {[]Event{rejected, asked}, Waiting, 1, 1, false},
		"answered":               {[]Event{rejected, asked, answered}, Interrupted, 0, 0, false},
		"applied":                {[]Event{rejected, asked, answered, applied}, Interrupted, 0, 0, true},
		"asked again":            {[]Event{asked, answered, applied, rejected, asked}, Waiting, 1, 1, false},
		"stopped":                {[]Event{{Kind: RunStopped, Outcome: "archived"}}, Stopped, 0, 0, false},
		"stopped, brought back":  {[]Event{{Kind: RunStopped, Outcome: "archived"}, {Kind: StateRestored}}, Interrupted, 0, 0, false},
		"answer without a place": {[]Event{answered}, Interrupted, 0, 0, false},
	} {
		r := &Run{State: Interrupted, Steps: []Step{{ID: "qa"}}}
		r.Recall(tt.events)
		if r.State != tt.state || r.Steps[0].Rejected != tt.rejected || len(r.PendingQuestions()) != tt.pending {
			t.Errorf("%s: %s, sent back %d times, questions %+v", name, r.State, r.Steps[0].Rejected, r.Questions)
		}
		if len(r.Questions) > 0 && r.Questions[0].Applied != tt.applied {
			t.Errorf("%s: %+v", name, r.Questions[0])
		}
	}
	for want, events := range map[State][]Event{
		NotStarted:  {{Kind: RunStarted}},
		Interrupted: {{Kind: RunStarted}, {Kind: StepStarted, Step: "qa"}},
	} {
		r := &Run{State: NotStarted, Steps: []Step{{ID: "qa"}}}
		if r.Recall(events); r.State != want {
			t.Errorf("%v: %s, want %s", events, r.State, want)
		}
	}
	r := &Run{State: Waiting, Questions: []Question{{ID: "escalation", Text: "How?"}}}
	if r.Recall([]Event{answered}); !r.Questions[0].Answered || r.Questions[0].Answer != "go on" {
		t.Errorf("the answer to a question of the files: %+v", r.Questions)
	}
}

func TestSL7_X8_a_run_started_again_knows_nothing_of_the_one_before(t *testing.T) {
	t.Parallel()
	r := &Run{State: Interrupted, Steps: []Step{{ID: "a"}}}
	r.Recall([]Event{
		{Kind: RunStarted},
		{Kind: StepStarted, Step: "a", Attempt: 3},
		{Kind: QuestionAsked, Step: "a", Question: "q1", Text: "which?"},
		{Kind: RunStopped, Outcome: "archived"},
		{Kind: RunStarted},
	})
	if len(r.PendingQuestions()) != 0 || r.State != Interrupted || r.Steps[0].Attempts != 0 {
		t.Errorf("%v %+v attempts %d", r.State, r.Questions, r.Steps[0].Attempts)
	}
}

func TestSL4_what_is_asked_again_can_be_answered_again(t *testing.T) {
	t.Parallel()
	r := &Run{State: Interrupted, Questions: []Question{{ID: "q1", Text: "which?"}}}
	r.Recall([]Event{
		{Kind: QuestionAsked, Question: "q1", Text: "which?"},
		{Kind: QuestionAnswered, Question: "q1", Text: "this"},
		{Kind: AnswerApplied, Question: "q1"},
		{Kind: QuestionAnswered, Question: "q1", Text: "that"},
	})
	if !r.Questions[0].Answered || r.Questions[0].Answer != "that" {
		t.Errorf("%+v", r.Questions[0])
	}
}

// An answer that was withdrawn is used up, also where the files keep it, until it is
// asked again or given anew.
func TestX2_an_answer_that_was_withdrawn_does_not_count(t *testing.T) {
	t.Parallel()
	kept := Question{ID: "q1", Text: "ship it?", Subject: "a", Answered: true, Answer: "go on"}
	told := []Event{
		{Kind: QuestionAsked, Step: "a", Question: "q1", Text: "ship it?", Own: "x"},
		{Kind: QuestionAnswered, Step: "a", Question: "q1", Text: "go on"},
		{Kind: AnswerWithdrawn, Step: "a", Question: "q1"},
	}
	for name, files := range map[string][]Question{"in the files": {kept}, "in the journal alone": nil} {
		r := &Run{State: Interrupted, Steps: []Step{{ID: "a"}}, Questions: files}
		r.Recall(told)
		if q := r.Questions[0]; !q.Applied || q.Own != "x" || len(r.PendingQuestions()) != 0 {
			t.Errorf("%s: %+v", name, q)
		}
	}
	r := &Run{State: Interrupted, Steps: []Step{{ID: "a"}}}
	r.Recall(append(told, Event{Kind: QuestionAsked, Step: "a", Question: "q1", Text: "ship it?"}))
	if len(r.PendingQuestions()) != 1 {
		t.Errorf("asked again: %+v", r.Questions)
	}
	r = &Run{State: Interrupted, Steps: []Step{{ID: "a"}}, Questions: []Question{{ID: "q1", Text: "ship it?"}}}
	r.Recall(append(told, Event{Kind: QuestionAnswered, Question: "q1", Text: "stop"}))
	if q := r.Questions[0]; !q.Answered || q.Applied || q.Answer != "stop" {
		t.Errorf("answered anew: %+v", q)
	}
}

// X2: an approval that was used counts for nothing else. Where its step begins again the
// files no longer show that it was used; the journal does.
func TestAn_answer_that_was_used_is_not_used_again(t *testing.T) {
	t.Parallel()
	r := &Run{State: Interrupted, Steps: []Step{{ID: "a"}}, Questions: []Question{{ID: "q1", Text: "ship it?", Subject: "a", Answered: true, Answer: "go on"}}}
	told := []Event{
		{Kind: QuestionAsked, Step: "a", Question: "q1", Text: "ship it?"},
		{Kind: QuestionAnswered, Step: "a", Question: "q1", Text: "go on"},
		{Kind: AnswerApplied, Step: "a", Question: "q1"},
		{Kind: StepReset, Step: "a"},
	}
	r.Recall(told)
	if q := r.Questions[0]; !q.Applied {
		t.Errorf("it would be used again: %+v", q)
	}
}

func TestOR1_a_run_keeps_the_mode_it_was_started_in(t *testing.T) {
	for _, tc := range []struct {
		want   string
		events []Event
	}{
		{"", nil},
		{"interactive", []Event{{Kind: RunStarted, Outcome: "interactive"}, {Kind: RunResumed, Outcome: "autopilot"}, {Kind: RunResumed}}},
		{"autopilot", []Event{{Kind: RunResumed, Outcome: "autopilot"}, {Kind: RunResumed, Outcome: "preflight"}}},
		{"", []Event{{Kind: RunResumed, Outcome: "autopilot"}, {Kind: RunStarted}}},
		// A fresh start that was cut off continues as the run did.
		{"preflight", []Event{{Kind: RunStarted, Outcome: "preflight"}, {Kind: RunRenewed, Outcome: "fresh"}}},
		{"preflight", []Event{{Kind: RunStarted, Outcome: "preflight"}, {Kind: StepFinished, Step: "a", Outcome: "rejected"}}},
	} {
		r := Run{State: Interrupted}
		if r.Recall(tc.events); r.Mode != tc.want {
			t.Errorf("%v: mode %q, want %q", tc.events, r.Mode, tc.want)
		}
	}
}

func TestX_Recall_stages_that_the_files_keep_no_step_for(t *testing.T) {
	t.Parallel()
	r := &Run{State: Interrupted, Steps: []Step{{ID: "a"}}, Stages: []string{"old"}}
	r.Recall([]Event{
		{Kind: StepStarted, Step: "before"},
		{Kind: RunStarted},
		{Kind: QuestionAsked, Step: "wave 1", Question: "gate", Text: "Go on?"},
		{Kind: StepStarted, Step: "qa-review"},
		{Kind: StepFailed, Step: "qa-review"},
		{Kind: StepStarted, Step: "a"},
		{Kind: StepStarted, Step: "qa-fix"},
		{Kind: StepStarted, Step: "qa-review"},
	})
	if !slices.Equal(r.Stages, []string{"qa-review", "qa-fix"}) {
		t.Errorf("%q", r.Stages)
	}
}

// TestO3_Recall_words_that_a_closed_question_does_not_offer are no answer, whoever
// recorded them: in the journal, in the files, or in both.
func TestO3_Recall_words_that_a_closed_question_does_not_offer(t *testing.T) {
	t.Parallel()
	options := []string{"go on", "stop"}
	asked := Event{Kind: QuestionAsked, Question: "q", Text: "Go on?", Options: options}
	closed := asked
	closed.Closed = true
	said := func(text string) Event { return Event{Kind: QuestionAnswered, Question: "q", Text: text} }
	file := Question{ID: "q", Text: "Go on?", Options: options}
	shut, heard := file, file
	shut.Closed = true
	heard.Answered, heard.Answer = true, "no"
	used := heard
	used.Applied = true
	for name, c := range map[string]struct {
		files  []Question
		events []Event
		want   string // the answer, "" where it is still asked
	}{
		"in the journal":                       {nil, []Event{closed, said("no")}, ""},
		"in the journal, then understood":      {nil, []Event{closed, said("no"), said("stop")}, "stop"},
		"to a question of the files":           {[]Question{shut}, []Event{said("no")}, ""},
		"to a question of the files, then not": {[]Question{shut}, []Event{said("no"), said("stop")}, "stop"},
		"in the files":                         {[]Question{heard}, []Event{closed}, ""},
		"in the files, asked again":            {[]Question{heard}, []Event{asked, said("no"), closed}, ""},
		"in the files, answered again":         {[]Question{heard}, []Event{asked, said("no"), closed, said("go on")}, "go on"},
		"used, asked again":                    {[]Question{used}, []Event{asked, said("no"), closed}, ""},
		"an open question":                     {nil, []Event{asked, said("no")}, "no"},
	} {
		r := &Run{State: Interrupted, Questions: slices.Clone(c.files)}
		r.Recall(c.events)
		if q := r.Questions[0]; len(r.Questions) != 1 || q.Answered != (c.want != "") || q.Answer != c.want {
			t.Errorf("%s: %+v", name, r.Questions)
		}
		if waits := r.State == Waiting; waits != (c.want == "" && !(len(c.files) > 0 && c.files[0].Closed)) {
			t.Errorf("%s: %v", name, r.State) // the files of a question that is theirs say themselves that it waits
		}
	}
}

func TestOR1_a_run_that_was_stopped_asks_nothing(t *testing.T) {
	t.Parallel()
	r := &Run{State: Waiting, Questions: []Question{{ID: "escalation", Text: "How?"}}}
	r.Recall([]Event{{Kind: QuestionAnswered, Question: "escalation", Text: "stop"}, {Kind: RunStopped}, {Kind: AnswerApplied, Question: "escalation"}})
	if r.State != Stopped || len(r.PendingQuestions()) != 0 {
		t.Errorf("%v %+v", r.State, r.PendingQuestions())
	}
}

// A run that was handed over goes on elsewhere: what the files say once that is merged counts, and
// what was open here when it left does not. One that was taken up here again is ours. (issue 19)
func TestA_run_that_was_handed_over_is_told_by_its_files(t *testing.T) {
	t.Parallel()
	left := Event{Kind: EngineLeft, Outcome: HandedOver}
	for name, tt := range map[string]struct {
		last []Event
		done bool
	}{
		"here":           {nil, false},
		"left":           {[]Event{{Kind: EngineLeft}}, false},
		"handed over":    {[]Event{left}, true},
		"and taken back": {[]Event{left, {Kind: RunResumed}}, false},
	} {
		r := &Run{State: Complete, Steps: []Step{{ID: "a", Status: Done}, {ID: "b", Status: Done}}}
		r.RecallOwn(append([]Event{
			{Kind: RunStarted}, {Kind: StepStarted, Step: "a", Attempt: 1}, {Kind: QuestionAsked, Question: "q", Text: "How?"},
		}, tt.last...))
		if done := r.Steps[0].Status == Done && r.Steps[1].Status == Done && len(r.PendingQuestions()) == 0; done != tt.done {
			t.Errorf("%s: %+v, questions %+v", name, r.Steps, r.Questions)
		}
	}
}

// TestWhat_the_files_hold_is_not_let_go_by_an_answer_to_something_else: a question of ours about
// a run that its files hold for a review does not end that once it is answered or no longer asked.
func TestWhat_the_files_hold_is_not_let_go_by_an_answer_to_something_else(t *testing.T) {
	t.Parallel()
	ends := map[string]func(*Run){
		"answered":        func(r *Run) { r.Hear("doubt", "yes") },
		"no longer asked": func(r *Run) { r.Lapse("doubt") },
	}
	for how, end := range ends {
		for state, want := range map[State]State{Waiting: Waiting, Interrupted: Interrupted} {
			r := &Run{Ref: Ref{ID: "r"}, State: state, Reason: "a person reviews it"}
			r.Recall([]Event{{Kind: QuestionAsked, Question: "doubt", Text: "is it done?", Options: []string{"yes", "no"}}})
			if r.State != Waiting {
				t.Fatalf("%v, asked: it is %v", state, r.State)
			}
			if end(r); r.State != want || want == Waiting && r.Reason != "a person reviews it" {
				t.Errorf("%v by its files, %s: it is %v (%s), want %v", state, how, r.State, r.Reason, want)
			}
		}
	}
}
