package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"reprise"
	"reprise/convention"
	"reprise/report"
)

// decidingLines is the height of the decision screen including what check prints below
// it, so that it fits a small terminal. What matters gets the lines that the rest leaves,
// at least leastWeighs; `check --full` shows everything.
const (
	decidingLines = 24
	leastWeighs   = 8

	decidingReasons = 2
	reasonLines     = 3
	decidingSteps   = 6
)

// decision is the single screen for deciding, the same for every kind of run and in
// check, resume and the picker: what was interrupted, the verdict and why, what to look
// at, what is started, what is asked, and the ways to continue. whole reports whether
// everything that matters is shown.
func (p *page) decision(j judged) (whole bool) {
	head := p.drawn(func(p *page) { p.grounds(j) })
	rest := p.drawn(func(p *page) { p.gap(); p.prospect(j); p.ways(j) })
	fmt.Fprint(p.w, head)
	whole = p.weighs(j, decidingLines-checkFoot-strings.Count(head+rest, "\n"))
	fmt.Fprint(p.w, rest)
	return whole
}

// checkFoot is how many lines check prints below the screen: a blank line, a hint if
// there is more, the verdict, and the command to continue with.
const checkFoot = 4

// drawn returns what draw prints on a page like this one.
func (p *page) drawn(draw func(*page)) string {
	var out strings.Builder
	on := *p
	on.w = &out
	draw(&on)
	return out.String()
}

// grounds prints the verdict and its reasons on few lines, omitting what is shown below as
// a finding or a question.
func (p *page) grounds(j judged) {
	p.headline(j)
	open, room := j.open(), reasonLines
	_, says := verdict(j)
	for _, reason := range j.d.Reasons[:min(decidingReasons, len(j.d.Reasons))] {
		found := slices.ContainsFunc(weighty(j), func(x reprise.Finding) bool { return strings.Contains(findingWords(x), reason) })
		found = found || strings.Contains(strings.ToLower(says), strings.ToLower(reason))
		if asked := len(open) > 0 && strings.HasSuffix(reason, open[0].Text); !found && !asked && room > 0 {
			text := p.drawn(func(p *page) { p.para("  ", reason, room) })
			fmt.Fprint(p.w, text)
			room -= strings.Count(text, "\n")
		}
	}
}

// prospect prints the progress, what is started next and by whom, and what is asked.
func (p *page) prospect(j judged) {
	if done := j.run.Progress(); done.Total > 0 {
		p.field("done", done.Words(" of "))
	}
	p.field("starts", startsWith(j, p.twoLines()))
	p.starter(j)
	if asks := report.Each(j.open(), textOf); len(asks) > 0 {
		p.field("asks", clip(asks[0], p.twoLines())+more(len(asks)-1))
	} else if forPerson(j) {
		p.field("asks", "whether you have done it")
	} else if j.stuck() {
		p.field("yours", p.site.yourTurn(j))
	} else {
		p.field("asks", "nothing")
	}
	p.unsure("unsure", "marked done, but not confirmed: ", j.d.Doubtful)
	p.unsure("checks", "and marks done, without doing it again: ", j.d.Verify)
	if len(j.d.Again) > 0 {
		p.field("again", clip(strings.Join(j.d.Again, ", "), p.twoLines())+": what they left is missing")
	}
}

// starter prints who does the next step, and what resuming its session costs.
func (p *page) starter(j judged) {
	if p.ahead == nil {
		return
	}
	next := p.ahead(j)
	if next.who != "" {
		p.field("with", p.site.fill(clip(next.who, p.twoLines())))
	}
	if first := next.first(); first != "" && p.asking {
		p.field("first", p.site.fill(clip(first, p.twoLines())))
	}
	if says := sessionWords(next.session); says != "" {
		p.field("session", says)
	}
}

// twoLines is the longest value of a field that fits on two lines.
func (p *page) twoLines() int { return 2 * (p.columns - 14) }

// startsWith says what is started next, in at most columns columns, and who does it.
func startsWith(j judged, columns int) string {
	text := clip(pointWords(j), columns)
	switch {
	case j.d.Point == nil || j.d.Unrecoverable(j.run):
		return "nothing"
	case j.d.Verdict == reprise.BlockedVerdict && !startsUnanswered(j):
		return text + ", once nothing blocks it and you have answered"
	case j.d.Action == reprise.Refuse, j.d.Verdict == reprise.BlockedVerdict:
		return text + ", once nothing blocks it"
	case forPerson(j):
		return "nothing; your turn: " + text
	case !startsUnanswered(j):
		return text + ", once you have answered"
	case j.d.Action == reprise.Ask && len(j.open()) == 0:
		return text + ", once you have decided"
	}
	if n := len(j.d.Units) - 1; n > 0 {
		text += fmt.Sprintf("; %d more may be started", n)
	}
	return text
}

// forPerson reports whether the next step is a person's own and there is no other
// question.
func forPerson(j judged) bool {
	return j.d.Point != nil && slices.Contains(people, j.d.Point.Role) && len(j.open()) == 0
}

// startsUnanswered reports whether something is started before a person answers. Nothing is
// while a question is not about one open step.
func startsUnanswered(j judged) bool {
	var asked []string
	one := true
	for _, q := range j.open() {
		s := j.run.Step(q.Subject)
		one, asked = one && s != nil && !s.Status.Closed(), append(asked, q.Subject)
	}
	book, err := convention.Playbook(j.run.Layout, j.run.Kind)
	return err != nil || len(asked) == 0 || slices.Contains(people, j.d.Point.Role) || (one || j.d.Action != reprise.Ask) && len(book.Pick(j.run, j.d, asked)) > 0
}

// unsure names the steps of a decision that are not simply skipped.
func (p *page) unsure(name, what string, units []reprise.Unit) {
	if len(units) == 0 {
		return
	}
	ids := report.Each(units[:min(decidingSteps, len(units))], func(u reprise.Unit) string { return clip(u.ID, 40) })
	p.field(name, what+strings.Join(ids, ", ")+more(len(units)-decidingSteps))
}

// more counts what is not shown, "" if nothing.
func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" (and %d more)", n)
}

// weighty returns the findings that matter for the decision, worst first. Questions are
// shown separately. Of a run that someone is at work on, only what must be resolved is
// told, and about whom: the rest is what continuing it would find now.
func weighty(j judged) []reprise.Finding {
	working := j.d.Standing() == reprise.StandsRunning
	return slices.DeleteFunc(report.Sorted(j.run.Findings), func(x reprise.Finding) bool {
		return x.Severity == reprise.Info || working && x.Severity < reprise.Blocking && x.Code != reprise.CodeLiveOwner || x.Code == reprise.CodePendingQuestion
	})
}

// part is one part of the decision screen, shown point by point; name is the noun for a
// point.
type part struct {
	title, name string
	points      []point
}

// point is one thing to look at: in full, or on one line if there is no room.
type point struct{ whole, line string }

// points draws both forms of each thing to look at.
func points[T any](p *page, list []T, draw func(p *page, v T, brief bool)) []point {
	return report.Each(list, func(v T) point {
		return point{p.drawn(func(p *page) { draw(p, v, false) }), p.drawn(func(p *page) { draw(p, v, true) })}
	})
}

// weighs prints what matters for the decision, in at most room lines: findings, failed
// attempts and what agents had in progress. The first point of each part is shown in
// full; the others get a line each while there is room, or are shown in full if there is
// more. The rest is counted; whole reports whether nothing was omitted.
func (p *page) weighs(j judged, room int) (whole bool) {
	parts := []part{{name: "finding"}, {title: "What failed:", name: "failed step"}, {title: underWay, name: "call"}}
	parts[0].points = points(p, weighty(j), (*page).notice)
	parts[1].points = points(p, j.run.Failures, (*page).failed)
	parts[2].points = p.calls(j)
	parts = slices.DeleteFunc(parts, func(x part) bool { return len(x.points) == 0 })
	shown, left := fitted(parts, max(room, leastWeighs)-1) // one line is for what is omitted
	for i, x := range parts {
		p.gap()
		if x.title != "" {
			p.line("%s", p.paint(bold, fit(x.title, p.columns)))
		}
		fmt.Fprint(p.w, strings.Join(shown[i], ""))
	}
	if len(left) > 0 {
		p.say("… and " + strings.Join(left, ", ") + ": `reprise check --full`")
	}
	return len(left) == 0
}

// fitted chooses what to show of each part in the given number of lines, and counts the
// rest.
func fitted(parts []part, room int) (shown [][]string, left []string) {
	lines := func(text string) int { return strings.Count(text, "\n") }
	for _, x := range parts {
		shown = append(shown, []string{x.points[0].whole})
		if room -= 1 + lines(x.points[0].whole); x.title != "" {
			room--
		}
	}
	for i, x := range parts {
		for _, next := range x.points[1:] {
			if lines(next.line) > room {
				left = append(left, count(len(x.points)-len(shown[i]), "more "+x.name))
				break
			}
			room -= lines(next.line)
			shown[i] = append(shown[i], next.line)
		}
	}
	for i, x := range parts {
		for k := 1; k < len(shown[i]); k++ {
			if more := lines(x.points[k].whole) - lines(x.points[k].line); more <= room {
				room -= more
				shown[i][k] = x.points[k].whole
			}
		}
	}
	return shown, left
}

// notice prints a finding and its hint, or one line of it.
func (p *page) notice(x reprise.Finding, brief bool) {
	most := linesSource
	if brief {
		most = 1
	}
	p.marked("", severityMarks[x.Severity], severityColours[x.Severity], findingWords(x)+" ["+x.Code+"]", most)
	if x.Hint != "" && !brief {
		p.para("  to do: ", x.Hint, linesTitle)
	}
}

// verdictAgain repeats the verdict at the end of a report, where the reader is looking.
func (p *page) verdictAgain(j judged) {
	mark, text := verdict(j)
	p.marked("", mark, standingColours[j.d.Standing()], cmp.Or(clip(j.name, 40), j.run.ID)+": "+text, 1)
}
