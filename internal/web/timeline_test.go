package web

import (
	"testing"
	"time"

	"reprise"
)

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
	if chartOf(reprise.Timeline{}) != nil {
		t.Error("a picture of nothing")
	}
}
