package cli

import (
	"cmp"
	"fmt"
	"strings"

	"reprise"
	"reprise/report"
)

// How much of each part the decision screen shows; `check --full` shows all of it.
const (
	decidingReasons  = 2
	decidingFindings = 4
	decidingSteps    = 6
)

// decision is the one screen by which a person decides, the same for every kind of run
// and in check, resume and the picker: what was interrupted, the verdict and why, what to
// look at, what is started, what is asked, and the ways to continue.
func (p *page) decision(j judged) {
	p.headline(j)
	for _, reason := range j.d.Reasons[:min(decidingReasons, len(j.d.Reasons))] {
		p.para("  ", reason, linesTitle)
	}
	p.notices(j)
	p.failures(j.run.Failures)
	p.sessions(j)
	p.gap()
	if done := j.run.Progress(); done.Total > 0 {
		p.field("done", done.Words(" of "))
	}
	p.field("starts", p.startsWith(j))
	if p.who != nil {
		if who := p.who(j); who != "" {
			p.field("with", p.site.fill(clip(who, 2*p.columns)))
		}
	}
	if p.costs != "" {
		p.field("session", p.costs)
	}
	if asks := questionTexts(j.open()); len(asks) > 0 {
		p.field("asks", clip(asks[0], 2*p.columns)+more(len(asks)-1))
	} else {
		p.field("asks", "nothing")
	}
	p.unsure("unsure", "marked done and not confirmed: ", j.d.Doubtful)
	p.unsure("checks", "and marks done, without doing it again: ", j.d.Verify)
	if len(j.d.Again) > 0 {
		p.field("again", clip(strings.Join(j.d.Again, ", "), 2*p.columns)+": what they left is missing")
	}
	p.ways(j)
}

// startsWith tells what the next start is, and who does it.
func (p *page) startsWith(j judged) string {
	switch {
	case j.d.Point == nil || j.d.Unrecoverable(j.run):
		return "nothing"
	case j.d.Action == reprise.Refuse:
		return clip(pointWords(j), 2*p.columns) + ", once nothing blocks it"
	}
	text := clip(pointWords(j), 2*p.columns)
	if n := len(j.d.Units) - 1; n > 0 {
		text += fmt.Sprintf("; %d more may be started", n)
	}
	return text
}

// unsure names the steps of a decision that are not simply passed over.
func (p *page) unsure(name, what string, units []reprise.Unit) {
	if len(units) == 0 {
		return
	}
	var ids []string
	for _, u := range units[:min(decidingSteps, len(units))] {
		ids = append(ids, clip(u.ID, 40))
	}
	p.field(name, what+strings.Join(ids, ", ")+more(len(units)-decidingSteps))
}

// more counts what is not shown, "" if that is nothing.
func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" (and %d more)", n)
}

// notices prints the findings that weigh, the gravest first, one paragraph each.
func (p *page) notices(j judged) {
	weighty := 0
	for _, x := range report.Sorted(j.run.Findings) {
		if x.Severity == reprise.Info || x.Code == reprise.CodePendingQuestion {
			continue // what is asked stands below
		}
		if weighty++; weighty == 1 {
			p.gap()
		}
		if weighty > decidingFindings {
			continue
		}
		p.marked("", severityMarks[x.Severity], severityColours[x.Severity], findingWords(x)+" ["+x.Code+"]", linesSource)
		if x.Hint != "" {
			p.para("  to do: ", x.Hint, linesSource)
		}
	}
	if n := weighty - decidingFindings; n > 0 {
		p.line("  and %s", count(n, "more finding"))
	}
}

// verdictAgain ends a report with what it began with, where the eye is then.
func (p *page) verdictAgain(j judged) {
	mark, text := verdict(j)
	p.marked("", mark, verdictColours[j.d.Verdict], cmp.Or(clip(j.name, 40), j.run.ID)+": "+text, linesTitle)
}
