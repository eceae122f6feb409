package cli

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"reprise"
	"reprise/project"
	"reprise/report"
)

// How much is listed without --all. A backlog of a hundred stories must not bury the one
// interrupted run.
const (
	shownInterrupted = 10
	shownOthers      = 5  // of each other state, and those in progress
	shownOf          = 2  // findings of one run
	shownFindings    = 10 // of all runs
	shownReasons     = 5  // runs whose position is explained
)

// status prints the runs of a project as a table, the most urgent first.
func (p *page) status(res *project.Judgement) {
	shown, hidden := p.choose(res)
	where := plain(filepath.Base(res.Root))
	if all := projectsOf(res); slices.ContainsFunc(all, func(at string) bool { return strings.HasPrefix(at, "..") }) {
		where = count(len(all), "project")
	}
	p.line("%s", fit(fmt.Sprintf("%s in %s: %s", count(len(res.Runs), "run"), where, tally(states(res, res.Runs))), p.columns))
	if len(shown) > 0 {
		p.gap()
		p.runs(shown, res)
	}
	if p.why {
		p.reasons(shown[:min(len(shown), shownReasons)], reprise.Names(res.Runs))
	} else {
		p.findings(shown, reprise.Names(res.Runs), res.Findings)
	}
	if len(shown) > 0 {
		p.gap()
		p.at(shown[0])
		p.say("The verdicts come from a quick look; " + checkOf(p.nameThere(res.Runs, shown[0])) + " looks at git, processes and files.")
	}
	if hidden != "" {
		p.say("Not shown: " + hidden + ". `" + cmp.Or(p.every, "reprise status --all") + "` shows them.")
	}
}

// projectsOf returns the projects that the runs belong to.
func projectsOf(res *project.Judgement) []string {
	return slices.Compact(slices.Sorted(slices.Values(report.Each(res.Runs, func(r *reprise.Run) string { return r.Project }))))
}

// nameThere is what a person calls a run: with several projects, its name in its own.
func (p *page) nameThere(runs []*reprise.Run, one *reprise.Run) string {
	if p.apart {
		return nameIn(runs, one)
	}
	return reprise.Names(runs)[one]
}

// at makes a run's project, if there are several, the one that commands refer to.
func (p *page) at(r *reprise.Run) {
	if !p.apart {
		return
	}
	at := filepath.Join(p.from, filepath.FromSlash(r.Project))
	here, err := filepath.Abs(".")
	if rel, no := filepath.Rel(here, at); err == nil && no == nil {
		at = rel
	}
	if p.site.dir = at; at == "." {
		p.site.dir = ""
	}
}

// choose omits closed runs, and all but the first few of each other state. The first open
// run of each layout is always listed, so that one tool's backlog does not hide another's
// run; but a run that was never begun is not listed while an interrupted one is omitted.
// A stopped run is listed if it can be continued, since its state was kept for that. So
// is one marked complete although something contradicts that.
func (p *page) choose(res *project.Judgement) (shown []*reprise.Run, hidden string) {
	runs := byState(res)
	if p.all {
		return runs, ""
	}
	left, listed := map[reprise.State]int{}, map[reprise.State]int{}
	seen := map[string]bool{}
	most := map[reprise.State]int{reprise.Interrupted: shownInterrupted, reprise.Running: len(runs)}
	for _, r := range runs {
		d := res.Decisions[r]
		kept := d.State == reprise.Stopped && slices.ContainsFunc(d.Options(r), func(o reprise.Option) bool { return o.Means().Works })
		backlog := d.State == reprise.NotStarted && left[reprise.Interrupted] > 0
		switch first := d.State.Open() && !seen[r.Layout]; {
		case !d.State.Open() && !kept && !d.Contested(), backlog, !first && listed[d.State] >= cmp.Or(most[d.State], shownOthers):
			left[d.State]++
		default:
			seen[r.Layout] = true
			listed[d.State]++
			shown = append(shown, r)
		}
	}
	return shown, tally(left)
}

// byState returns the runs in display order.
func byState(res *project.Judgement) []*reprise.Run {
	return reprise.ByState(res.Runs, func(r *reprise.Run) reprise.State { return r.Shown(res.Decisions[r].State) })
}

// leastNext is the minimum width of the column for what comes next.
const leastNext = 16

// row is one line of the table; the last cell takes the remaining width.
type row [8]string

const (
	colState = iota
	colProject
	colName
	colLayout
	colDone
	colAge
	colVerdict
	colNext
)

func (p *page) runs(runs []*reprise.Run, res *project.Judgement) {
	names := reprise.Names(res.Runs)
	rows := []row{{"  STATE", "PROJECT", "RUN", "CONVENTION", "DONE", "AGE", "VERDICT", "NEXT"}}
	for _, r := range runs {
		d := res.Decisions[r]
		cells := row{
			colState: symbols[d.State] + " " + words(d.State), colProject: fit(plain(cmp.Or(r.Project, ".")), max(12, p.columns/5)),
			colName: fit(plain(names[r]), max(12, p.columns/4)), colLayout: r.Layout,
			colAge: p.age(r), colVerdict: standingWord(d), colNext: cmp.Or(nextWords(r, d), "-"),
		}
		if done := r.Progress(); done.Total > 0 {
			cells[colDone] = done.Words("/")
		}
		rows = append(rows, cells)
	}
	var widths [colNext]int
	for c := range widths {
		for _, cells := range rows {
			widths[c] = max(widths[c], width(cells[c]))
		}
	}
	if len(projectsOf(res)) < 2 && (!p.apart || res.Runs[0].Project == "") {
		widths[colProject] = 0
	}
	// On a narrow terminal the layout's name is dropped first.
	if p.columns < 100 {
		widths[colLayout] = 0
	}
	for _, c := range []int{colAge, colVerdict} { // then these, so that what comes next stays readable
		room := p.columns
		for _, w := range widths {
			if w > 0 {
				room -= w + 2
			}
		}
		if room < leastNext {
			widths[c] = 0
		}
	}
	head, _ := p.row(rows[0], widths, false)
	p.line("%s", p.paint(bold, head))
	for i, r := range runs {
		d := res.Decisions[r]
		mark := symbols[d.State]
		text, rest := p.row(rows[i+1], widths, d.Action != reprise.Start) // nothing else on the page says why nothing is started
		p.line("%s%s", p.paint(colours[d.State], mark), strings.TrimPrefix(text, mark))
		if rest != "" {
			p.para("    ", rest, linesMessage)
		}
	}
}

// row is a line of the table. If what comes next is to be shown whole, rest is what the line has no
// room for.
func (p *page) row(r row, widths [colNext]int, whole bool) (text, rest string) {
	var cells []string
	for c, w := range widths {
		if w > 0 {
			cells = append(cells, pad(r[c], w))
		}
	}
	text = strings.Join(cells, "  ")
	next := r[colNext]
	cell := fit(next, p.columns-width(text)-2)
	if head := strings.TrimSuffix(cell, "…"); whole && head != next {
		at := strings.LastIndexByte(head, ' ') + 1
		cell, rest = next[:at]+"…", "… "+strings.TrimSpace(next[at:])
	}
	return strings.TrimRight(text+"  "+cell, " "), rest
}

// inTable are findings that the table's age column already shows.
var inTable = map[string]bool{reprise.CodeStaleRun: true, reprise.CodeFutureTime: true}

// findings prints one line per finding worth a look: warnings and worse, a few for each
// run, everything with --all.
func (p *page) findings(runs []*reprise.Run, names map[*reprise.Run]string, general []reprise.Finding) {
	gap := func() { p.gap() }
	show := func(name string, f reprise.Finding) {
		gap()
		gap = func() {}
		p.finding(name, f)
	}
	for _, f := range general {
		show("", f)
	}
	all, unsaid := 0, 0
	for _, r := range runs {
		told, left := 0, 0
		p.at(r)
		for _, f := range r.Findings {
			if !p.all && (f.Severity < reprise.Warning || inTable[f.Code]) {
				continue
			}
			if !p.all && all >= shownFindings {
				unsaid++
				continue
			}
			if !p.all && told >= shownOf {
				left++
				continue
			}
			told, all = told+1, all+1
			if f.Subject == r.ID {
				f.Subject = "" // the line begins with its name
			}
			show(names[r], f)
		}
		if left > 0 {
			name := names[r]
			if p.apart {
				name = p.nameThere(runs, r)
			}
			p.para("  … ", fmt.Sprintf("%s: %d more, `reprise detect %s` shows them", names[r], left, quoted(name)), linesAll)
		}
	}
	if unsaid > 0 {
		p.para("  … ", fmt.Sprintf("%s of these runs, `%s` shows them", count(unsaid, "more warning"), cmp.Or(p.every, "reprise status --all")), linesAll)
	}
}

// reasons explains the positions of the first runs.
func (p *page) reasons(runs []*reprise.Run, names map[*reprise.Run]string) {
	p.gap()
	p.line("%s", p.paint(bold, "Why this order"))
	p.say("What was interrupted comes before what waits for a person, cannot be read or was not begun; runs in the same state are ordered by:")
	for i, r := range runs {
		list, sum, name := r.Reasons(), 0.0, fit(plain(names[r]), p.columns/2)
		for _, why := range list {
			sum += why.Points()
		}
		if list[0].Weight == 0 {
			p.line("%2d. %s", i+1, name)
		} else {
			p.line("%2d. %s: %d points", i+1, name, int(math.Round(sum)))
		}
		for _, why := range list {
			p.marked("    ", "-", "", reasonWords(why), linesAll)
		}
	}
}

// reasonWords formats the points of a reason, where they come from, and why that counts.
func reasonWords(why reprise.Reason) string {
	switch {
	case why.Weight == 0:
		return why.Term + ": " + why.Why
	case why.Value == 1:
		return fmt.Sprintf("%+.0f, %s: %s", why.Points(), why.Term, why.Why)
	}
	return fmt.Sprintf("%+.0f, %s (%.3g times %.0f): %s", why.Points(), why.Term, why.Value, why.Weight, why.Why)
}

func (p *page) finding(name string, f reprise.Finding) {
	if f.Subject == name {
		f.Subject = ""
	}
	text := plain(findingWords(f))
	if src := f.Source.String(); src != "" {
		text += " [" + plain(src) + "]"
	}
	if name != "" {
		text = plain(name) + ": " + text
	}
	most := linesAll
	if !p.all {
		text, most = fit(text, p.columns-2), 1
	}
	p.marked("", severityMarks[f.Severity], severityColours[f.Severity], text, most)
}
