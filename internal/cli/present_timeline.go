package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/journal"
	"reprise/project"
	"reprise/report"
)

// timeline returns the document of when the parts of a run were worked on.
func (a *app) timeline(l logged) report.Timeline {
	doc := report.Timeline{Schema: report.TimelineSchema, Root: l.root, Layout: l.Run.Layout, ID: l.Run.ID, Path: l.Run.Path, Timeline: l.when(a.now())}
	doc.Steps = report.List(doc.Steps)
	if l.Damage != nil {
		doc.Damage = l.Damage.Error()
	}
	return doc
}

// when returns the timeline of a journal. An attempt that was cut off was working until
// its last output, which the journal does not know.
func (l logged) when(now time.Time) reprise.Timeline {
	var events []reprise.Event
	for _, e := range l.Entries {
		if l.step == "" || e.Event.Step == l.step || e.Event.By == l.step || e.Event.Kind == reprise.RunStarted {
			events = append(events, e.Event)
		}
	}
	out, began := reprise.TimelineOf(events, l.working, now), journal.Fold(l.Entries).Began
	for _, row := range out.Steps {
		for i := range row.Spans {
			s := &row.Spans[i]
			until := s.Recorded
			if until.IsZero() {
				until = now
			}
			if s.Kind == reprise.SpanCutOff {
				if at := project.PrintedAt(l.root, l.Run.Ref, began, row.ID, s.Attempt); at.After(s.To) && at.Before(until) {
					s.To = at
					if at.After(out.To) {
						out.To = at
					}
				}
			}
		}
	}
	return out
}

// spanMarks define how spans are drawn, in the order in which they are explained. If two
// share a cell, the later kind is shown.
var spanMarks = []struct {
	kind               reprise.SpanKind
	mark, colour, word string
}{
	{reprise.SpanLimit, "╌", faint, "waiting for a limit"},
	{reprise.SpanPerson, "◇", cyan, "waiting for a person"},
	{reprise.SpanFinished, "█", green, "finished"},
	{reprise.SpanStopped, "░", faint, "stopped"},
	{reprise.SpanCutOff, "▒", yellow, "cut off"},
	{reprise.SpanFailed, "▚", red, "failed"},
	{reprise.SpanWorking, "▓", bold, "at work"},
}

// spanMark returns the place of a kind among the marks, -1 if it has none.
func spanMark(kind reprise.SpanKind) int {
	for i, m := range spanMarks {
		if m.kind == kind {
			return i
		}
	}
	return -1
}

// worked counts the rows of steps that were worked on.
func worked(rows []reprise.TimelineStep) (n int) {
	for _, row := range rows {
		if slices.ContainsFunc(row.Spans, func(s reprise.TimelineSpan) bool { return s.Attempt > 0 }) {
			n++
		}
	}
	return n
}

// timeline draws a row of cells for each step, from the first moment to the last.
func (p *page) timeline(name string, doc report.Timeline) {
	if len(doc.Steps) == 0 && doc.Damage == "" {
		p.line("reprise has not worked on %s.", plain(name))
		p.line("`reprise check %s` shows what its own files say.", plain(name))
		return
	}
	whole := doc.To.Sub(doc.From)
	p.line("%s", fit(fmt.Sprintf("%s, %s in %s since %s", plain(name), count(worked(doc.Steps), "step"), took(whole), doc.From.UTC().Format(time.RFC3339)), p.columns))
	p.gap()
	wide := max(4, min(p.columns/4, widest(doc.Steps, func(row reprise.TimelineStep) string { return plain(row.ID) })))
	const about = 22 // the width of the text after a row
	cells := max(10, p.columns-wide-about-4)
	p.line("%s", p.paint(faint, "  "+pad("", wide)+"  "+scale(doc.From, whole, cells)))
	used := map[reprise.SpanKind]bool{}
	for _, row := range doc.Steps {
		p.line("  %s  %s  %s", pad(fit(cmp.Or(plain(row.ID), "run"), wide), wide), p.bar(doc.Timeline, row, cells), fit(rowWords(row), about-2))
		for _, s := range row.Spans {
			used[s.Kind] = true
		}
	}
	p.gap()
	var legend []string
	for _, m := range spanMarks {
		if used[m.kind] {
			legend = append(legend, p.paint(m.colour, m.mark)+" "+m.word)
		}
	}
	p.line("  %s", strings.Join(legend, "  "))
	if doc.Damage != "" {
		p.line("✗ %s", fit(plain(doc.Damage), p.columns-2))
	}
}

// bar draws the spans of a step in the given number of cells. Even the shortest has a
// cell.
func (p *page) bar(t reprise.Timeline, row reprise.TimelineStep, cells int) string {
	drawn, rank := make([]string, cells), make([]int, cells)
	cell := func(at time.Time) int {
		whole := max(t.To.Sub(t.From), 1)
		return max(0, min(cells-1, int(float64(at.Sub(t.From))/float64(whole)*float64(cells))))
	}
	for i := range drawn {
		drawn[i] = " "
	}
	for _, s := range row.Spans {
		i := spanMark(s.Kind)
		for c := cell(s.From); i >= 0 && c <= max(cell(s.From), cell(s.To.Add(-1))); c++ {
			if i >= rank[c] {
				drawn[c], rank[c] = p.paint(spanMarks[i].colour, spanMarks[i].mark), i
			}
		}
	}
	return strings.Join(drawn, "")
}

// rowWords says how often a step was tried, its status, and how long the work took.
func rowWords(row reprise.TimelineStep) string {
	attempts, work, last := 0, time.Duration(0), ""
	for _, s := range row.Spans {
		if s.Attempt > 0 {
			attempts++
			work += s.Took()
		}
		if i := spanMark(s.Kind); i >= 0 {
			last = spanMarks[i].word
		}
	}
	if attempts == 0 {
		return last
	}
	text := took(work) + " " + last
	if attempts > 1 {
		text = fmt.Sprintf("%d× ", attempts) + text
	}
	return text
}

// scale returns a line of times of day, each at its position.
func scale(from time.Time, whole time.Duration, cells int) string {
	form := "15:04"
	switch {
	case whole < 5*time.Minute:
		form = "15:04:05"
	case whole > 36*time.Hour:
		form = "01-02 15h"
	}
	var b strings.Builder
	for at := 0; at+len(form) <= cells; at += 2 * len(form) {
		b.WriteString(pad("", at-b.Len()))
		b.WriteString(from.Add(time.Duration(float64(whole) * float64(at) / float64(cells))).UTC().Format(form))
	}
	return b.String()
}
