package engine

import (
	"testing"

	"reprise"
)

// An answer can be changed until something used it; after that it is said what did.
func TestWhatUsedAnAnswerIsTold(t *testing.T) {
	t.Parallel()
	about := func(kind reprise.EventKind, step string) reprise.Event {
		return reprise.Event{Kind: kind, Question: "q", Step: step}
	}
	given, applied := about(reprise.QuestionAnswered, ""), about(reprise.AnswerApplied, "build")
	started := reprise.Event{Kind: reprise.StepStarted, Step: "plan"}
	for name, c := range map[string]struct {
		applied bool // as the run is read
		due     map[string]string
		events  []reprise.Event
		by      string
		used    bool
	}{
		"nothing used it":                       {events: []reprise.Event{started, given, started}},
		"a step applied it":                     {applied: true, events: []reprise.Event{given, started, applied}, by: "build", used: true},
		"a finished step, not yet recorded":     {due: map[string]string{"q": "build"}, events: []reprise.Event{given}, by: "build", used: true},
		"the files mark it used when it came":   {applied: true, events: []reprise.Event{started, given}},
		"the files mark it used, work followed": {applied: true, events: []reprise.Event{given, started}, by: "plan", used: true},
		"the files alone know of it":            {applied: true, used: true},
		"it was withdrawn":                      {applied: true, events: []reprise.Event{given, about(reprise.AnswerWithdrawn, "plan")}, used: true},
		"it was closed without an answer":       {applied: true, events: []reprise.Event{about(reprise.QuestionSkipped, "")}, used: true},
	} {
		w := &work{state: state{Recalled: Recalled{due: c.due, events: c.events}}}
		if by, used := w.usedAnswer(&reprise.Question{ID: "q", Answered: true, Applied: c.applied}); by != c.by || used != c.used {
			t.Errorf("%s: %q, %v; want %q, %v", name, by, used, c.by, c.used)
		}
	}
}
