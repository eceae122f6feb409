package reprise

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A timeline is written as "step: kind from-to; …" with minutes since the start.
func TestA_timeline_tells_when_what_was_worked_on_or_waited_for(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(minute int, ev Event) Event {
		ev.At = start.Add(time.Duration(minute) * time.Minute)
		return ev
	}
	begun := at(0, Event{Kind: RunStarted})
	for name, c := range map[string]struct {
		events  []Event
		working bool
		want    string
	}{
		"nothing is on record": {},
		"an attempt that is at work lasts until now": {
			[]Event{begun, at(1, Event{Kind: StepStarted, Step: "a", Attempt: 1})}, true, "a: working 1-60…",
		},
		"one without an end was cut off where nobody is at work, after the last sign of it": {
			[]Event{begun, at(1, Event{Kind: StepStarted, Step: "a", Attempt: 1}), at(4, Event{Kind: StepStarted, Step: "b", Attempt: 1}), at(30, Event{Kind: QuestionAnswered, Question: "q"})},
			false, "a: cut-off 1-4\nb: cut-off 4-4",
		},
		"failed, then cut off by a kill and found again the next day, then finished": {
			[]Event{
				begun, at(1, Event{Kind: StepStarted, Step: "a", Attempt: 1}), at(3, Event{Kind: StepFailed, Step: "a", Attempt: 1}),
				at(4, Event{Kind: StepStarted, Step: "a", Attempt: 2}), at(6, Event{Kind: SessionCheckpoint}), at(40, Event{Kind: RunResumed}),
				at(40, Event{Kind: StepResolved, Step: "a", Attempt: 2, Outcome: "rerun"}), at(40, Event{Kind: StepReset, Step: "a", Attempt: 2}),
				at(41, Event{Kind: StepStarted, Step: "a", Attempt: 3}), at(45, Event{Kind: StepFinished, Step: "a", Attempt: 3}),
			}, false, "a: failed 1-3; cut-off 4-6; finished 41-45",
		},
		"two that were cut off by one kill ended then, whichever was settled first": {
			[]Event{
				begun, at(1, Event{Kind: StepStarted, Step: "a", Attempt: 1}), at(2, Event{Kind: StepStarted, Step: "b", Attempt: 1}), at(40, Event{Kind: RunResumed}),
				at(40, Event{Kind: StepResolved, Step: "a", Attempt: 1, Outcome: "rerun"}), at(40, Event{Kind: StepReset, Step: "a", Attempt: 1}),
				at(41, Event{Kind: StepStarted, Step: "a", Attempt: 2}), at(41, Event{Kind: StepResolved, Step: "b", Attempt: 1, Outcome: "rerun"}),
				at(41, Event{Kind: StepReset, Step: "b", Attempt: 1}), at(45, Event{Kind: StepFinished, Step: "a", Attempt: 2}),
			}, false, "a: cut-off 1-2; finished 41-45\nb: cut-off 2-2",
		},
		"work that landed before the kill ended when it was last seen": {
			[]Event{
				begun, at(1, Event{Kind: StepStarted, Step: "a", Attempt: 1}), at(2, Event{Kind: SessionKnown, Step: "a", Attempt: 1, Agent: "s"}), at(40, Event{Kind: RunResumed}),
				at(40, Event{Kind: StepResolved, Step: "a", Attempt: 1, Outcome: "landed"}), at(41, Event{Kind: StepFinished, Step: "a", Attempt: 1}),
			}, false, "a: finished 1-2",
		},
		"a limit is waited for until it ends or the step is started": {
			[]Event{
				begun, at(1, Event{Kind: StepStarted, Step: "a", Attempt: 1}), at(2, Event{Kind: StepDeferred, Step: "a", Attempt: 1, Until: start.Add(time.Hour / 2)}),
				at(2, Event{Kind: StepReset, Step: "a", Attempt: 1}), at(20, Event{Kind: StepStarted, Step: "a", Attempt: 2}),
				at(21, Event{Kind: StepDeferred, Step: "a", Attempt: 2, Until: start.Add(2 * time.Hour)}),
			}, false, "a: stopped 1-2; limit 2-20; stopped 20-21; limit 21-60…",
		},
		"an answer is waited for": {
			[]Event{
				begun, at(1, Event{Kind: QuestionAsked, Question: "q", Step: "a"}), at(9, Event{Kind: QuestionAnswered, Question: "q", Step: "a"}),
				at(10, Event{Kind: QuestionAsked, Question: "r", By: "b"}),
			}, false, "a: person 1-9\nb: person 10-60…",
		},
		"what was done before the run was started afresh is not shown": {
			[]Event{begun, at(1, Event{Kind: StepStarted, Step: "a", Attempt: 1}), at(5, Event{Kind: RunStarted}), at(6, Event{Kind: StepStarted, Step: "b", Attempt: 1}), at(7, Event{Kind: RunStopped})},
			false, "b: stopped 6-7",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var rows []string
			for _, row := range TimelineOf(c.events, c.working, start.Add(time.Hour)).Steps {
				var spans []string
				for _, s := range row.Spans {
					text := fmt.Sprintf("%s %v-%v", s.Kind, s.From.Sub(start).Minutes(), s.To.Sub(start).Minutes())
					if s.Lasts {
						text += "…"
					}
					spans = append(spans, text)
				}
				rows = append(rows, row.ID+": "+strings.Join(spans, "; "))
			}
			if got := strings.Join(rows, "\n"); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}
