package journal_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reprise"
	"reprise/journal"
)

func TestO2_O3_what_a_journal_adds_up_to(t *testing.T) {
	t.Parallel()
	tick := at
	ev := func(kind reprise.EventKind, step string, attempt int, more ...func(*reprise.Event)) journal.Entry {
		tick = tick.Add(time.Minute)
		e := reprise.Event{Kind: kind, Step: step, Attempt: attempt, At: tick}
		for _, f := range more {
			f(&e)
		}
		return journal.Entry{Event: e}
	}
	cause := func(s string) func(*reprise.Event) { return func(e *reprise.Event) { e.Cause = s } }
	outcome := func(s string) func(*reprise.Event) { return func(e *reprise.Event) { e.Outcome = s } }
	actor := func(s string) func(*reprise.Event) { return func(e *reprise.Event) { e.Actor = s } }
	agent := func(s string) func(*reprise.Event) { return func(e *reprise.Event) { e.Agent = s } }
	until := at.Add(time.Hour)
	type want struct {
		Attempts, Failures, Cutoffs int
		Open                        int // attempt, 0 for none
		Cause                       string
		Until                       time.Time
		Session                     string
	}
	for _, tc := range []struct {
		name    string
		entries []journal.Entry
		want    want
	}{
		{"started", []journal.Entry{ev(reprise.StepStarted, "a", 1, agent("s1"))}, want{Attempts: 1, Open: 1, Session: "s1"}},
		{"finished", []journal.Entry{ev(reprise.StepStarted, "a", 1), ev(reprise.StepFinished, "a", 1)}, want{Attempts: 1}},
		{"failed twice", []journal.Entry{
			ev(reprise.StepStarted, "a", 1), ev(reprise.StepFailed, "a", 1, cause("x")),
			ev(reprise.StepStarted, "a", 2), ev(reprise.StepFailed, "a", 2, cause("y")),
		}, want{Attempts: 2, Failures: 2, Cause: "y"}},
		{"a success forgives", []journal.Entry{
			ev(reprise.StepStarted, "a", 1), ev(reprise.StepFailed, "a", 1, cause("x")),
			ev(reprise.StepStarted, "a", 2), ev(reprise.StepFinished, "a", 2),
		}, want{Attempts: 2}},
		{"a person forgives", []journal.Entry{
			ev(reprise.StepStarted, "a", 1), ev(reprise.StepFailed, "a", 1, cause("x")), ev(reprise.StepReset, "a", 0, actor("person")),
		}, want{Attempts: 1}},
		{"our own reset does not", []journal.Entry{
			ev(reprise.StepStarted, "a", 1), ev(reprise.StepFailed, "a", 1, cause("x")), ev(reprise.StepStarted, "a", 2), ev(reprise.StepReset, "a", 2),
		}, want{Attempts: 2, Failures: 1, Cause: "x"}},
		{"cut off and run again", []journal.Entry{
			ev(reprise.StepStarted, "a", 1), ev(reprise.StepResolved, "a", 1, outcome("rerun")), ev(reprise.StepStarted, "a", 2),
		}, want{Attempts: 2, Cutoffs: 1, Open: 2}},
		{"cut off and landed stays open until it is finished", []journal.Entry{
			ev(reprise.StepStarted, "a", 1), ev(reprise.StepResolved, "a", 1, outcome("landed")),
		}, want{Attempts: 1, Open: 1}},
		{"a late end of an older attempt closes nothing", []journal.Entry{
			ev(reprise.StepStarted, "a", 2), ev(reprise.StepFailed, "a", 1),
		}, want{Attempts: 2, Open: 2, Failures: 1}},
		{"a limit", []journal.Entry{
			ev(reprise.StepStarted, "a", 1), ev(reprise.StepDeferred, "a", 1, func(e *reprise.Event) { e.Until = until }),
		}, want{Attempts: 1, Until: until}},
		{"undo voids what is open", []journal.Entry{
			ev(reprise.StepStarted, "a", 1), ev(reprise.StateRestored, "", 0),
		}, want{Attempts: 1}},
		{"undo takes nothing back that was done outside", []journal.Entry{
			ev(reprise.StepStarted, "a", 1, func(e *reprise.Event) { e.Policy = reprise.AskWho }), ev(reprise.StateRestored, "", 0),
		}, want{Attempts: 1, Open: 1}},
	} {
		s := journal.Fold(tc.entries).Step("a")
		got := want{Attempts: s.Attempts, Failures: s.Failures, Cutoffs: s.Cutoffs, Until: s.DeferredUntil, Session: s.Session}
		if s.Open != nil {
			got.Open = s.Open.Attempt
		}
		if s.LastFailure != nil {
			got.Cause = s.LastFailure.Cause
		}
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%s: %s", tc.name, d)
		}
	}
}

// TestX4_what_was_accepted_stands_until_something_takes_it_back: an end that was
// accepted counts until an event says that the step may have to be done again.
func TestX4_what_was_accepted_stands_until_something_takes_it_back(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		then   reprise.Event
		stands bool
	}{
		"another step":          {reprise.Event{Kind: reprise.StepFinished, Step: "b", Attempt: 1, Outcome: "approved"}, true},
		"a stop":                {reprise.Event{Kind: reprise.RunStopped}, true},
		"an answer to another":  {reprise.Event{Kind: reprise.QuestionAnswered, Step: "b", Question: "q"}, true},
		"a new attempt":         {reprise.Event{Kind: reprise.StepStarted, Step: "a", Attempt: 2}, false},
		"a reset":               {reprise.Event{Kind: reprise.StepReset, Step: "a"}, false},
		"left out":              {reprise.Event{Kind: reprise.StepSkipped, Step: "a"}, false},
		"an earlier state":      {reprise.Event{Kind: reprise.StateRestored}, false},
		"a fresh start":         {reprise.Event{Kind: reprise.RunStarted}, false},
		"a renewal":             {reprise.Event{Kind: reprise.RunRenewed}, false},
		"a verdict":             {reprise.Event{Kind: reprise.StepFinished, Step: "b", Attempt: 1, Outcome: "rejected"}, false},
		"its own verdict":       {reprise.Event{Kind: reprise.StepFinished, Step: "a", Attempt: 2, Outcome: "rejected"}, false},
		"an answer about it":    {reprise.Event{Kind: reprise.QuestionAnswered, Step: "a", Question: "q"}, false},
		"an answer it asked of": {reprise.Event{Kind: reprise.QuestionAnswered, Step: "b", By: "a", Question: "q"}, false},
	} {
		h := journal.Fold([]journal.Entry{
			{Event: reprise.Event{Kind: reprise.StepStarted, Step: "a", Attempt: 1, At: at}},
			{Event: reprise.Event{Kind: reprise.StepFinished, Step: "a", Attempt: 1, At: at.Add(1), Commit: "abc"}},
			{Event: c.then},
		})
		got := h.Step("a").Accepted
		if (got != nil) != c.stands || got != nil && (got.Commit != "abc" || !got.At.Equal(at.Add(1))) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestO2_the_run_s_own_history(t *testing.T) {
	t.Parallel()
	h := journal.Fold([]journal.Entry{
		{Event: reprise.Event{Kind: reprise.RunStarted, At: at, Outcome: "interactive"}},
		{Event: reprise.Event{Kind: reprise.WorktreeReady, At: at.Add(1), Text: "w/t", Commit: "abc"}},
		{Event: reprise.Event{Kind: reprise.StepDeferred, Step: "a", At: at.Add(2), Until: at.Add(time.Hour)}},
		{Event: reprise.Event{Kind: reprise.RunResumed, At: at.Add(3), Outcome: "autopilot"}},
		{Event: reprise.Event{Kind: reprise.RunResumed, At: at.Add(4)}},
	})
	if h.Began != at || h.Worktree == nil || h.Worktree.Text != "w/t" || h.Limit != at.Add(time.Hour) || h.Events != 5 {
		t.Errorf("%+v", h)
	}
	if open := h.Open(); len(open) != 0 {
		t.Errorf("nothing is open: %+v", open)
	}
}

// What was under way is behind a run once an agent that was told of it had its work
// accepted: it is looked for when the run is taken up, and again before another attempt.
func TestWhat_an_agent_was_told_of_is_behind_the_run(t *testing.T) {
	t.Parallel()
	minute := func(n int) time.Time { return at.Add(time.Duration(n) * time.Minute) }
	used := &reprise.Usage{}
	taken := reprise.Event{Kind: reprise.RunResumed, At: minute(1)}
	start := func(attempt, n int) reprise.Event {
		return reprise.Event{Kind: reprise.StepStarted, Step: "a", Attempt: attempt, At: minute(n)}
	}
	end := func(attempt, n int, u *reprise.Usage) reprise.Event {
		return reprise.Event{Kind: reprise.StepFinished, Step: "a", Attempt: attempt, At: minute(n), Usage: u}
	}
	for name, c := range map[string]struct {
		events []reprise.Event
		want   time.Time
	}{
		"nothing is accepted yet": {[]reprise.Event{taken, start(1, 3)}, time.Time{}},
		"no agent was at work":    {[]reprise.Event{taken, start(1, 3), end(1, 5, nil)}, time.Time{}},
		"its first attempt":       {[]reprise.Event{taken, start(1, 3), end(1, 5, used)}, minute(1)},
		"a later attempt":         {[]reprise.Event{taken, start(1, 3), start(2, 7), end(2, 9, used)}, minute(7)},
		"marked by a person":      {[]reprise.Event{taken, end(0, 5, nil)}, time.Time{}},
	} {
		h := &journal.History{}
		for i := range c.events {
			h.Add(&c.events[i])
		}
		if !h.Proven.Equal(c.want) {
			t.Errorf("%s: %s", name, h.Proven)
		}
	}
}

// What an attempt found is told apart from what we wrote ourselves: only what somebody else
// changed since the first attempt is work.
func TestWhat_we_wrote_is_no_work_of_an_attempt(t *testing.T) {
	t.Parallel()
	hash := func(s string) reprise.Hash { return reprise.HashOf([]byte(s)) }
	start := reprise.Event{Kind: reprise.StepStarted, At: at, Step: "create", Attempt: 1, Expect: []reprise.Expected{{Path: "s.md", Changed: true, Before: hash("a")}}}
	wrote := func(before, after string) []journal.Touch {
		return []journal.Touch{{Path: "s.md", Before: hash(before), After: hash(after)}}
	}
	for _, tc := range []struct {
		name  string
		wrote [][]journal.Touch
		want  string
	}{
		{"nothing", nil, "a"},
		{"with its start and its end", [][]journal.Touch{wrote("a", "b"), wrote("b", "c")}, "c"},
		{"after the agent had", [][]journal.Touch{wrote("a", "b"), wrote("agent's", "c")}, "b"},
		{"another file", [][]journal.Touch{{{Path: "t.md", Before: hash("a"), After: hash("b")}}}, "a"},
	} {
		entries := []journal.Entry{{Event: start}, {Event: reprise.Event{Kind: reprise.StepFailed, At: at, Step: "create", Attempt: 1}}}
		for _, files := range tc.wrote {
			entries = append(entries, journal.Entry{Event: reprise.Event{Kind: reprise.RunResumed, At: at}, Files: files})
		}
		if got := journal.Fold(entries).Step("create").First.Expect[0].Before; got != hash(tc.want) {
			t.Errorf("%s: not what the file was at %q", tc.name, tc.want)
		}
	}
}
