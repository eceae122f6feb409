package engine

import (
	"testing"
	"time"

	"reprise"
)

// Events follow each other in time whatever the clock says, and do not run ahead of
// it by more than what someone else recorded forces them to.
func TestTime_on_record_stays_with_the_clock(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		active time.Duration   // what is on record, after noon
		takes  []time.Duration // when each event was taken down, after noon; the clock is 10 ms on
		most   time.Duration   // how far the last one may be ahead of the clock
	}{
		"a file made after the event was taken down": {active: 5 * time.Millisecond, takes: []time.Duration{0, 20e6, 40e6}},
		"a record of the next second":                {active: time.Second, takes: []time.Duration{0, 20e6, 40e6, 60e6}, most: 2 * time.Second},
		"a clock that went back an hour":             {active: time.Hour, takes: []time.Duration{0, 20e6, 40e6, 60e6}, most: time.Hour + time.Second},
		"a clock that stands still":                  {takes: []time.Duration{0, 0, 0, 0, 0, 0}, most: 5 * time.Millisecond},
		"a clock that goes back meanwhile":           {takes: []time.Duration{time.Minute, 0, 0, 0}, most: time.Minute + 5*time.Millisecond},
	} {
		clock := noon
		w := &work{Engine: &Engine{Now: func() time.Time { return clock }}, state: state{run: &reprise.Run{LastActivity: noon.Add(c.active)}}}
		for i, d := range c.takes {
			before := w.run.LastActivity
			clock = noon.Add(d + 10*time.Millisecond)
			at := w.timeOf(reprise.Event{At: noon.Add(d)})
			if !at.After(before) {
				t.Errorf("%s: event %d counts as of %s, %s is on record", name, i, at, before)
			}
			if ahead := at.Sub(clock); ahead > c.most {
				t.Errorf("%s: event %d runs %s ahead of the clock", name, i, ahead)
			}
			// As most files keep it.
			w.run.Active(at.Truncate(time.Millisecond), reprise.Source{})
		}
	}
	// What is not read again in between is on record all the same.
	w := &work{Engine: &Engine{Now: func() time.Time { return noon }}, state: state{run: &reprise.Run{LastActivity: noon.Add(time.Second)}}}
	first := w.timeOf(reprise.Event{})
	w.Engine.Now = func() time.Time { return noon.Add(1500 * time.Millisecond) }
	if second := w.timeOf(reprise.Event{}); !second.After(first) {
		t.Errorf("%s counts as before %s", second, first)
	}
}
