package project

import (
	"slices"
	"testing"
	"time"

	"reprise"
	"reprise/internal/durable"
	"reprise/journal"
)

func TestX2_OR5_what_we_recorded_is_activity(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	file, journal := reprise.Source{File: "story.md", Line: 3}, reprise.Source{File: ".reprise/journal/x-000001.log", Line: 9}
	for name, c := range map[string]struct {
		active, event time.Time
		ours          bool
	}{
		"a day on record, an event of it":    {day, day.Add(11 * time.Hour), true},
		"an event of the day before":         {day, day.Add(-time.Hour), false},
		"an event long after what files say": {day.Add(time.Second), day.Add(200 * 24 * time.Hour), true},
		"somebody else continued after it":   {day.Add(2 * time.Hour), day.Add(time.Hour), false},
		"nothing on record":                  {time.Time{}, day, true},
	} {
		r := &reprise.Run{LastActivity: c.active, LastActivitySource: file}
		v := &View{Run: r, Events: []reprise.Event{
			{Kind: reprise.RunResumed, At: day.Add(-48 * time.Hour)}, {Kind: reprise.StepStarted, At: c.event},
			// Neither a person's word nor an undo is activity of the work.
			{Kind: reprise.QuestionAnswered, At: day.Add(300 * 24 * time.Hour), Actor: reprise.Person},
			{Kind: reprise.RunStopped, At: day.Add(300 * 24 * time.Hour)}, {Kind: reprise.StateRestored, At: day.Add(300 * 24 * time.Hour)},
			{Kind: reprise.EngineLeft, At: day.Add(300 * 24 * time.Hour)},
		}}
		v.recall(&Scope{last: journal})
		want, source := c.active, file
		if c.ours {
			want, source = c.event, journal
		}
		if !r.LastActivity.Equal(want) || r.LastActivitySource != source {
			t.Errorf("%s: %s by %v, want %s by %v", name, r.LastActivity, r.LastActivitySource, want, source)
		}
	}
}

// Between the making of a run and its first step, the program that made it is working on it
// for as long as it lives.
func TestWho_made_a_run_works_on_it(t *testing.T) {
	t.Parallel()
	entry := func(generation uint64, kind reprise.EventKind, outcome string) journal.Entry {
		return journal.Entry{Generation: generation, Event: reprise.Event{Kind: kind, Outcome: outcome}}
	}
	made := []journal.Entry{entry(3, reprise.RunStarted, ""), entry(3, reprise.EngineLeft, "")}
	for name, c := range map[string]struct {
		entries []journal.Entry
		holder  uint64
		want    bool
	}{
		"made, and nothing begun":           {made, 3, true},
		"taken up, and nothing recorded":    {made, 4, true},
		"others took the lease since":       {made, 5, false},
		"worked on and left":                {append(slices.Clone(made), entry(4, reprise.EngineLeft, "ask")), 4, false},
		"answered by another, never begun":  {append(slices.Clone(made), entry(4, reprise.EngineLeft, "")), 4, false},
		"begun afresh and left by the same": {[]journal.Entry{entry(3, reprise.RunStarted, ""), entry(3, reprise.EngineLeft, "ask")}, 3, false},
	} {
		h := home{holder: durable.Holder{PID: 1, Generation: c.holder}, entries: map[string]journal.Entry{"x": c.entries[len(c.entries)-1]}}
		if got := h.begins(c.entries); got != c.want {
			t.Errorf("%s: %t, not %t", name, got, c.want)
		}
	}
}
