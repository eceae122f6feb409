package engine

import (
	"testing"

	"reprise"
)

// Of a step that the files do not keep, the journal tells whether it is closed: an
// answer that it used does not open it again, an earlier state that was brought back
// does.
func TestAC3_reached_by_the_journal_alone(t *testing.T) {
	t.Parallel()
	const step = "planning"
	started, finished := reprise.Event{Kind: reprise.StepStarted, Step: step}, reprise.Event{Kind: reprise.StepFinished, Step: step}
	for name, c := range map[string]struct {
		told []reprise.Event
		want bool
	}{
		"nothing":                     {nil, false},
		"at work":                     {[]reprise.Event{started}, false},
		"finished":                    {[]reprise.Event{started, finished}, true},
		"reset":                       {[]reprise.Event{started, finished, {Kind: reprise.StepReset, Step: step}}, false},
		"with an answer that it used": {[]reprise.Event{started, finished, {Kind: reprise.AnswerApplied, Step: step, Question: "q"}}, true},
		"with another question":       {[]reprise.Event{started, finished, {Kind: reprise.QuestionAsked, Step: step, Question: "q"}}, true},
		"undone":                      {[]reprise.Event{started, finished, {Kind: reprise.StateRestored}}, false},
		"undone and done again":       {[]reprise.Event{finished, {Kind: reprise.StateRestored}, started, finished}, true},
	} {
		w := &work{state: state{run: &reprise.Run{}, Recalled: Recalled{events: c.told}}, choice: Choice{Until: step}}
		if got := w.reached(); got != c.want {
			t.Errorf("%s: reached is %v", name, got)
		}
	}
}
