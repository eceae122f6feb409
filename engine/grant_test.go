package engine

import (
	"testing"

	"reprise"

	"github.com/google/go-cmp/cmp"
)

// What a person granted follows from the journal alone: only an answer of a person to a
// question about a refused call grants anything, in the words of that question, and it
// ends with the step or the run it was given for.
func TestGrants_come_from_answers_of_a_person_alone(t *testing.T) {
	t.Parallel()
	ask := reprise.Event{Kind: reprise.QuestionAsked, Question: "q", Step: "a", By: "a", Grant: &reprise.Grant{Agent: "claude", Once: []string{"Bash(npm test x:*)"}, Run: []string{"Bash(npm test:*)"}}}
	bare := ask
	bare.Grant = nil
	answer := func(text string) reprise.Event {
		return reprise.Event{Kind: reprise.QuestionAnswered, Question: "q", Text: text, Actor: person}
	}
	forged := answer("allow in this run")
	forged.Actor = "coder"
	once, all := []string{"Bash(npm test x:*)"}, []string{"Bash(npm test:*)"}
	type grants struct{ A, B, Other []string }
	for name, tc := range map[string]struct {
		events []reprise.Event
		want   grants
	}{
		"nothing is answered":         {[]reprise.Event{ask}, grants{}},
		"once":                        {[]reprise.Event{ask, answer("allow once")}, grants{A: once}},
		"in this run":                 {[]reprise.Event{ask, answer("2")}, grants{A: all, B: all}},
		"refused":                     {[]reprise.Event{ask, answer("refuse: use the cache")}, grants{}},
		"other words than were asked": {[]reprise.Event{ask, answer("allow once: Bash(rm:*)")}, grants{A: once}},
		"not a person":                {[]reprise.Event{ask, forged}, grants{}},
		"no question about a call":    {[]reprise.Event{bare, answer("allow in this run: Bash(rm:*)")}, grants{}},
		"taken back":                  {[]reprise.Event{ask, answer("2"), answer("refuse")}, grants{}},
		"withdrawn":                   {[]reprise.Event{ask, answer("2"), {Kind: reprise.AnswerWithdrawn, Question: "q"}}, grants{}},
		"asked again":                 {[]reprise.Event{ask, answer("2"), ask}, grants{}},
		"the step is finished":        {[]reprise.Event{ask, answer("1"), {Kind: reprise.StepFinished, Step: "a"}}, grants{}},
		"another step is finished":    {[]reprise.Event{ask, answer("1"), {Kind: reprise.StepFinished, Step: "b"}}, grants{A: once}},
		"the run goes on":             {[]reprise.Event{ask, answer("2"), {Kind: reprise.StepFinished, Step: "a"}}, grants{A: all, B: all}},
		"an earlier state is back":    {[]reprise.Event{ask, answer("2"), {Kind: reprise.StateRestored}}, grants{}},
		"the run begins again":        {[]reprise.Event{ask, answer("2"), {Kind: reprise.RunRenewed}}, grants{}},
	} {
		got := grants{granted(tc.events, "a", "claude"), granted(tc.events, "b", "claude"), granted(tc.events, "a", "codex")}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
