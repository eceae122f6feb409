package web

import (
	"slices"
	"strings"
	"testing"
	"time"

	"reprise"
)

// An attempt of which nothing is known did not use nothing.
func TestWhat_an_attempt_used_is_not_known_unless_it_was_told(t *testing.T) {
	t.Parallel()
	none := reprise.NoUsage()
	for want, usage := range map[string]*reprise.Usage{"": nil, "not known": {}, "0 tokens: 0 in, 0 out, $0.00": &none} {
		if got := (bar{TimelineSpan: reprise.TimelineSpan{Usage: usage}}).Used(); got != want {
			t.Errorf("%+v is %q, want %q", usage, got, want)
		}
	}
}

func TestA_time_line_draws_work_to_scale_and_long_pauses_short(t *testing.T) {
	t.Parallel()
	at := func(minutes int) time.Time {
		return time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC).Add(time.Duration(minutes) * time.Minute)
	}
	span := func(kind reprise.SpanKind, attempt, from, to int) reprise.TimelineSpan {
		return reprise.TimelineSpan{Kind: kind, Attempt: attempt, From: at(from), To: at(to)}
	}
	c := chartOf(reprise.Timeline{From: at(0), To: at(3000), Steps: []reprise.TimelineStep{
		{ID: "a", Spans: []reprise.TimelineSpan{span(reprise.SpanCutOff, 1, 0, 10), span(reprise.SpanFinished, 2, 2000, 2020)}},
		{ID: "b", Spans: []reprise.TimelineSpan{span(reprise.SpanPerson, 0, 2020, 3000)}},
		{ID: "", Spans: []reprise.TimelineSpan{span(reprise.SpanFailed, 1, 2005, 2005)}},
	}})
	if len(c.Pauses) != 2 || c.Pauses[0].Words != "33 h" {
		t.Errorf("pauses: %+v", c.Pauses)
	}
	widths := []int{c.Bars[0].Width, c.Bars[1].Width, c.Bars[2].Width, c.Bars[3].Width}
	if widths[1] < 2*widths[0]-2 || widths[1] > 2*widths[0]+2 || widths[2] != pauseWide || widths[3] != barLeast {
		t.Errorf("widths: %v", widths)
	}
	for _, b := range c.Bars {
		if b.X < chartLabel || b.X+b.Width > chartWide || b.Y < axisHigh || b.Y+b.Height > c.Bottom {
			t.Errorf("%s lies outside: %+v", b.Step, b)
		}
	}
	if c.Rows[2].Label != "the run" || len(c.Legend) != 4 {
		t.Errorf("%+v %+v", c.Rows, c.Legend)
	}
	for _, nothing := range []reprise.Timeline{{}, {From: at(0), To: at(5)}, {From: at(0), To: at(5), Steps: []reprise.TimelineStep{{ID: "a"}}}} {
		if chartOf(nothing) != nil {
			t.Errorf("a picture of %+v", nothing)
		}
	}
}

// A label on the axis stands where an attempt begins, and none covers another.
func TestThe_axis_of_a_time_line_tells_when_attempts_began(t *testing.T) {
	t.Parallel()
	at := func(seconds int) time.Time { return time.Date(2026, 3, 1, 9, 0, seconds, 0, time.UTC) }
	row := reprise.TimelineStep{ID: "a"}
	for i, from := range []int{1, 5, 7, 20, 21, 40} {
		row.Spans = append(row.Spans, reprise.TimelineSpan{Kind: reprise.SpanFailed, Attempt: i + 1, From: at(from), To: at(from + 1)})
	}
	c := chartOf(reprise.Timeline{From: at(0), To: at(60), Steps: []reprise.TimelineStep{row}})
	free := 0
	for _, tick := range c.Ticks {
		i := slices.IndexFunc(c.Bars, func(b bar) bool { return b.X == tick.X })
		if i < 0 || !strings.HasSuffix(tick.Text, c.Bars[i].From.Format("15:04:05")) || tick.X < free {
			t.Errorf("%+v stands at no beginning, or covers another", tick)
		}
		free = tick.X + len(tick.Text)*6
	}
	if c.Bars[0].X != chartLabel {
		t.Errorf("the first attempt begins at %d", c.Bars[0].X)
	}
	if len(c.Ticks) < 3 || !strings.HasPrefix(c.Ticks[0].Text, "Mar 1 ") {
		t.Errorf("%+v", c.Ticks)
	}
}
