package web

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"reprise"
)

// Sizes of the timeline, and how long nothing must have happened for it to be drawn
// short: that share of all the work.
const (
	chartWide, chartLabel = 720, 124
	rowHigh, barHigh      = 28, 18
	axisHigh, pauseWide   = 26, 36
	pauseShare            = 12
	barLeast              = 4
	chartLetters          = 16
)

// chart is the picture of when what was worked on. Times in which no one worked are drawn
// short and marked: a run that was taken up a week later would show nothing else.
type chart struct {
	Width, Height, Right, Bottom int
	Alone                        bool // it is a file of its own
	Rows                         []chartRow
	Bars                         []bar
	Ticks                        []tick
	Pauses                       []pause
	Legend                       []legend
	Linked                       bool // it leads elsewhere
}

type chartRow struct {
	Label, Full string
	Y           int
	Shade       bool
}

// bar is one attempt, or a time of waiting.
type bar struct {
	reprise.TimelineSpan
	Step, Mark, Colour, Words string
	X, Y, Width, Height       int
	Wide                      bool // there is room for the mark
	Began, Took               string
	Output, Changes           string // the addresses of what its agent printed and of what it changed, "" for none
}

type tick struct {
	X    int
	Text string
}

// letter is how wide a letter on the axis is at most.
const letter = 7

// pause is a time that is drawn short.
type pause struct {
	X     int
	Words string
}

type legend struct {
	Kind                reprise.SpanKind
	Mark, Colour, Words string
	X                   int
}

// spanLook is how a kind of span is drawn: what the colour says, the mark says too. The
// colours are for a file of its own; in a page the style sheet has others.
type spanLook struct{ mark, colour, words string }

var spanLooks = map[reprise.SpanKind]spanLook{
	reprise.SpanWorking:  {"▸", "#3450c4", "at work"},
	reprise.SpanFinished: {"✓", "#1d7036", "finished"},
	reprise.SpanFailed:   {"✗", "#b3261e", "failed"},
	reprise.SpanCutOff:   {"⌁", "#8a5200", "cut off"},
	reprise.SpanStopped:  {"■", "#566070", "stopped"},
	reprise.SpanLimit:    {"‖", "#7a4bb0", "waiting for a limit"},
	reprise.SpanPerson:   {"?", "#0b6a7d", "waiting for a person"},
}

// chartOf draws a timeline, nil where it has nothing to show.
func chartOf(t reprise.Timeline) *chart {
	scale := scaleOf(t)
	if len(scale) == 0 {
		return nil
	}
	c := &chart{Width: chartWide, Right: chartWide - 8, Bottom: axisHigh + len(t.Steps)*rowHigh}
	c.Height = c.Bottom + 34
	used := map[reprise.SpanKind]bool{}
	for i, row := range t.Steps {
		y, name := axisHigh+i*rowHigh, cmp.Or(row.ID, "the run")
		c.Rows = append(c.Rows, chartRow{Label: cut(name, chartLetters), Full: name, Y: y, Shade: i%2 == 0})
		for _, s := range row.Spans {
			c.Bars = append(c.Bars, barOf(name, s, scale, y))
			used[s.Kind] = true
		}
	}
	c.axis(scale)
	x := chartLabel
	for kind := reprise.SpanWorking; kind <= reprise.SpanPerson; kind++ {
		if look := spanLooks[kind]; used[kind] {
			c.Legend = append(c.Legend, legend{kind, look.mark, look.colour, look.words, x})
			x += 38 + 6*len(look.words)
		}
	}
	return c
}

// link leads from each attempt to what its agent printed, and to what it changed.
func (c *chart) link(t target) {
	c.Linked = true
	for i := range c.Bars {
		if b := &c.Bars[i]; b.Attempt > 0 {
			b.Output, b.Changes = t.attempt("output", b.Step, b.Attempt), t.attempt("changes", b.Step, b.Attempt)
		}
	}
}

// Beside is where the mark of a bar stands that is too narrow for it.
func (b bar) Beside() int { return b.X + b.Width + 2 }

// Used is what an attempt used in words, "" if no agent was at work.
func (b bar) Used() string {
	if b.Usage == nil {
		return ""
	}
	return reprise.Sum(*b.Usage).String() // of a sum that knows nothing, that is said
}

func barOf(step string, s reprise.TimelineSpan, scale []stretch, y int) bar {
	look := spanLooks[s.Kind]
	b := bar{TimelineSpan: s, Step: step, Mark: look.mark, Colour: look.colour, Words: look.words, Height: barHigh}
	b.X = at(scale, s.From)
	b.Width = max(at(scale, s.To)-b.X, barLeast)
	if s.Attempt == 0 {
		b.Height = barHigh / 2
	}
	b.Y, b.Wide = y+(rowHigh-b.Height)/2, b.Width >= 18
	b.Began, b.Took = s.From.UTC().Format("2006-01-02 15:04:05"), took(s.Took())
	return b
}

// stretch is a time on the axis, with its place on it.
type stretch struct {
	from, to time.Time
	x1, x2   int
	work     bool // someone worked
	short    bool // drawn short
}

// scaleOf lays the time out from the first span on: what was worked on to scale, long
// times without work short. Without a span there is nothing to lay out.
func scaleOf(t reprise.Timeline) (out []stretch) {
	at := t.To
	for _, row := range t.Steps {
		for _, s := range row.Spans {
			if s.From.Before(at) {
				at = s.From
			}
		}
	}
	if at.IsZero() || !t.To.After(at) {
		return nil
	}
	var work time.Duration
	for _, s := range attempts(t) {
		if s.From.After(at) {
			out = append(out, stretch{from: at, to: s.From, short: true})
			at = s.From
		}
		if s.To.After(at) {
			out = append(out, stretch{from: at, to: s.To, work: true})
			work += s.To.Sub(at)
			at = s.To
		}
	}
	if t.To.After(at) {
		out = append(out, stretch{from: at, to: t.To, short: true})
	}
	least := max(work/pauseShare, time.Second)
	var total time.Duration
	pauses := 0
	for i := range out {
		if out[i].short = out[i].short && out[i].to.Sub(out[i].from) > least && work > 0; out[i].short {
			pauses++
		} else {
			total += out[i].to.Sub(out[i].from)
		}
	}
	room := max(float64(chartWide-8-chartLabel-pauses*pauseWide), 100)
	x := float64(chartLabel)
	for i := range out {
		out[i].x1 = int(x)
		if out[i].short {
			x += pauseWide
		} else {
			x += room * float64(out[i].to.Sub(out[i].from)) / float64(total)
		}
		out[i].x2 = int(x)
	}
	return out
}

// attempts are the spans in which someone worked, in the order of their beginnings.
func attempts(t reprise.Timeline) (out []reprise.TimelineSpan) {
	for _, row := range t.Steps {
		for _, s := range row.Spans {
			if s.Attempt > 0 {
				out = append(out, s)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b reprise.TimelineSpan) int { return a.From.Compare(b.From) })
	return out
}

// at is the place of a moment on the axis.
func at(scale []stretch, t time.Time) int {
	for _, s := range scale {
		if !t.After(s.to) {
			share := float64(max(t.Sub(s.from), 0)) / float64(s.to.Sub(s.from))
			return s.x1 + int(share*float64(s.x2-s.x1))
		}
	}
	return scale[len(scale)-1].x2
}

// axis marks when each stretch of work began, where there is room, and the pauses. Where
// no one worked it marks the beginning.
func (c *chart) axis(scale []stretch) {
	free, day := 0, ""
	idle := !slices.ContainsFunc(scale, func(s stretch) bool { return s.work })
	for i, s := range scale {
		switch {
		case s.short:
			words := took(s.to.Sub(s.from))
			at := s.x1 + pauseWide/2
			if at-letter*len(words)/2 < free {
				words = ""
			}
			c.Pauses = append(c.Pauses, pause{at, words})
			free = max(free, s.x2, at+letter*len(words)/2+letter)
		case (s.work || idle && i == 0) && s.x1 >= free:
			text, today := s.from.UTC().Format("15:04:05"), s.from.UTC().Format("Jan 2 ")
			if today != day {
				text, day = today+text, today
			}
			if wide := letter * len(text); s.x1+wide < chartWide {
				c.Ticks = append(c.Ticks, tick{s.x1, text})
				free = s.x1 + wide + letter
			}
		}
	}
}

// took is a length of time as people say it.
func took(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}
