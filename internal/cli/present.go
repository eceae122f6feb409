package cli

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"reprise"
	"reprise/project"
	"reprise/report"
)

// judged is one run with what was decided about it.
type judged struct {
	run    *reprise.Run
	name   string // what a person calls it on the command line
	d      reprise.Decision
	o      reprise.Observed
	plan   report.Plan
	digest func() string // of a large run it takes a moment, and few ask for it
}

func newJudged(r *reprise.Run, name string, found *project.Judgement) judged {
	return presented(r, name, found.Decisions[r], found.Observed, func() string { return found.Digest(r) })
}

func presented(r *reprise.Run, name string, d reprise.Decision, o reprise.Observed, digest func() string) judged {
	return judged{run: r, name: name, d: d, o: o, plan: report.NewPlan(r, d, o), digest: digest}
}

// face shows runs that were judged, in the words of the seeds. It only turns
// data into text: the same arguments give the same lines, none wider than the
// columns, and nothing from a file that is not escaped.
type face struct {
	view
	// asking is set where a person is prompted and the work starts on a yes;
	// without it the same text is part of a report that starts nothing.
	asking bool
	// preflight shows everything: every file, every step, the whole plan.
	preflight bool
}

// How many lines a text from a file may take before it is cut.
const (
	linesTitle   = 2
	linesSource  = 3
	linesMessage = 6
)

// para prints a text after a lead, wrapped under itself, cut after so many lines.
func (f *face) para(lead, text string, most int) { f.marked(lead, "", "", text, most) }

// marked is para with a painted mark between the lead and the text.
func (f *face) marked(indent, mark, colour, text string, most int) {
	lead := indent
	if mark != "" {
		lead += mark + " "
	}
	room := f.columns - width(lead)
	lines := wrap(fit(plain(text), room*(most+1)), room)
	if len(lines) > most {
		lines = lines[:most]
		last := fit(lines[most-1], room-2)
		if !strings.HasSuffix(last, "…") {
			last += " …"
		}
		lines[most-1] = last
	}
	for i, l := range lines {
		if i == 0 && mark != "" {
			f.line("%s%s %s", indent, f.paint(colour, mark), l)
		} else {
			f.line("%s%s", lead, l)
		}
		lead = strings.Repeat(" ", width(lead))
	}
}

// linesCommand is how many lines of one command a person is shown; that there is more
// is said.
const linesCommand = 40

// command prints what would be started, words and blanks exactly as they are. The text
// must be fit for a terminal, as commandWords makes it.
func (f *face) command(lead, text string) {
	lines := wrapExact(text, f.columns-width(lead))
	more := 0
	for len(lines) > linesCommand {
		more += utf8.RuneCountInString(lines[len(lines)-1])
		lines = lines[:len(lines)-1]
	}
	for _, l := range lines {
		f.line("%s%s", lead, l)
		lead = strings.Repeat(" ", width(lead))
	}
	if more > 0 {
		f.marked("  ", "!", "33", count(more, "character")+" more, which are not shown: look into the file", linesMessage)
	}
}

// place prints a path or another source after a lead. One that is too long for
// the line goes on below, at a slash where it can.
func (f *face) place(lead, text string) {
	room := f.columns - width(lead)
	var lines []string
	line := ""
	for _, part := range strings.SplitAfter(fit(plain(text), room*linesSource), "/") {
		switch {
		case width(line)+width(part) <= room:
			line += part
		case line == "" || width(part) > room:
			f.para(lead, text, linesSource) // a name that no line could hold
			return
		default:
			lines, line = append(lines, line), part
		}
	}
	if lines = append(lines, line); len(lines) > linesSource {
		f.para(lead, text, linesSource)
		return
	}
	for _, l := range lines {
		f.line("%s%s", lead, strings.TrimRight(l, " "))
		lead = strings.Repeat(" ", width(lead))
	}
}

// say prints a sentence of our own, wrapped.
func (f *face) say(text string) { f.para("", text, 100) }

func (f *face) gap() { f.line("") }

// banner prints a heading in the manner of seed 001.
func (f *face) banner(text string) {
	f.line("%s", f.paint("1", "=== "+fit(plain(text), f.columns-8)+" ==="))
}

// heading prints the name of a section.
func (f *face) heading(text string) {
	f.gap()
	f.line("%s", f.paint("1", fit(text, f.columns)))
}

// kinds are the workflow types as the seeds call them.
var kinds = map[reprise.Kind]string{
	reprise.KindPlans: "Plans", reprise.KindBuild: "Build", reprise.KindGraph: "Task graph", reprise.KindSpecLoop: "Spec loop", reprise.KindTasks: "Tasks",
	reprise.KindStory: "SDC", reprise.KindEpic: "Epic execution", reprise.KindQALoop: "QA loop",
	reprise.KindWorkflow: "Workflow", reprise.KindSpecPipeline: "Spec pipeline",
}

// workflow names the sort of a run.
func workflow(r *reprise.Run) string {
	if name, ok := kinds[r.Kind]; ok {
		return name
	}
	return plain(string(r.Kind))
}

// subject names a run as a person would: "SDC for story 3.2".
func subject(r *reprise.Run) string {
	id := clip(r.ID, 60)
	switch r.Kind {
	case reprise.KindStory:
		return workflow(r) + " for story " + id
	case reprise.KindQALoop:
		id = strings.TrimLeft(strings.TrimPrefix(id, "qa-loop"), "- ")
		if id != "" && id[0] >= '0' && id[0] <= '9' {
			id = "story " + id
		}
		return workflow(r) + " for " + id
	case reprise.KindEpic, reprise.KindSpecPipeline:
		return workflow(r) + " for " + id
	case reprise.KindPlans:
		return workflow(r) + " in " + clip(r.Path, 60)
	}
	return workflow(r) + " " + id
}

// clip makes text from a file harmless and no wider than n columns.
func clip(s string, n int) string { return fit(plain(s), n) }

// ago tells how long ago a run was active, in words that can end a sentence.
func (f *face) ago(j judged) string {
	if j.plan.AgeSeconds == nil {
		if j.run.LastActivity.After(f.now) {
			return "at a time that has not come yet"
		}
		return "at an unknown time"
	}
	if text := age(time.Duration(*j.plan.AgeSeconds) * time.Second); text != "just now" {
		return text + " ago"
	}
	return "just now"
}

// since begins a sentence about a run's last activity with what it was then.
func (f *face) since(j judged) string {
	switch j.d.State {
	case reprise.Running:
		return "running, last active " + f.ago(j)
	case reprise.Interrupted:
		return "interrupted " + f.ago(j)
	}
	return words(j.d.State) + ", last active " + f.ago(j)
}

var verdictMarks = map[reprise.Verdict]string{
	reprise.Safe: "✓", reprise.Caution: "!", reprise.BlockedVerdict: "✗", reprise.VerdictNone: "·", reprise.UncheckedVerdict: "·",
}

var verdictColours = map[reprise.Verdict]string{reprise.Safe: "32", reprise.Caution: "33", reprise.BlockedVerdict: "31"}

// verdict tells in one sentence whether going on is safe.
func (f *face) verdict(j judged) (mark, text string) {
	mark = verdictMarks[j.d.Verdict]
	v := j.plan.Validation
	switch {
	case j.d.Action == reprise.Finish:
		return "✓", "COMPLETE: nothing is left to do"
	case j.d.State == reprise.Running && j.d.Action == reprise.Refuse:
		return mark, "BLOCKED: it is running; a second one would do its work twice"
	case j.d.Action == reprise.Repair:
		return mark, "BLOCKED: its files do not tell where it stands; they must be mended first"
	case j.d.Verdict == reprise.BlockedVerdict:
		return mark, fmt.Sprintf("BLOCKED: %s must be resolved before it goes on", count(v.Conflicts, "conflict"))
	case j.d.Action == reprise.Ask && len(j.run.PendingQuestions()) > 0:
		return "?", fmt.Sprintf("NEEDS AN ANSWER: %s before it goes on", count(len(j.run.PendingQuestions()), "question"))
	case j.d.Action == reprise.Ask:
		return "?", "NEEDS A DECISION: a person has to say how it goes on"
	case j.d.Verdict == reprise.Caution:
		return mark, "CAUTION: it can go on, but " + f.cautions(j)
	case j.d.Verdict == reprise.Safe:
		return mark, "SAFE to go on: nothing was found that speaks against it"
	}
	return mark, "NOTHING TO RESUME"
}

// cautions names what a person should look at first.
func (f *face) cautions(j judged) string {
	var parts []string
	add := func(n int, one, many string) {
		switch {
		case n == 1:
			parts = append(parts, "1 "+one)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", n, many))
		}
	}
	add(len(j.d.Again), "phase has to run again", "phases have to run again")
	add(len(j.d.Verify), "step has a commit and is to be checked, not done again", "steps have commits and are to be checked, not done again")
	add(len(j.d.Doubtful), "step called done is in doubt", "steps called done are in doubt")
	add(j.plan.Validation.Warnings, "warning is to be looked at first", "warnings are to be looked at first")
	if len(parts) == 0 {
		return "look at the reasons first"
	}
	return strings.Join(parts, "; ")
}

// pointWords names the resume point: "phase 3: implement -- @dev".
func pointWords(j judged) string {
	u := j.d.Point
	if u == nil {
		return "nothing can be started"
	}
	text := clip(u.Phase, 60)
	switch i := report.PointStep(j.run, *u); {
	case i >= 0 && numbered(j.run.Kind):
		text = fmt.Sprintf("phase %d: %s", i+1, clip(j.run.Steps[i].ID, 60))
	case text == "" || j.run.Kind != reprise.KindQALoop && u.ID != u.Phase && u.ID != j.run.ID:
		id, title := clip(u.ID, 60), plain(u.Title)
		switch {
		case strings.Contains(title, id):
			id = title // many titles name the id themselves
		case title != "":
			id += " " + title
		}
		if text != "" && staged(j.run.Kind) {
			id = text + ": " + id
		}
		text = id
	}
	if u.Role != "" {
		text += " -- @" + clip(u.Role, 30)
	}
	return text
}

// numbered reports whether the steps of a kind are the numbered phases of the
// seed.
func numbered(k reprise.Kind) bool {
	return k == reprise.KindStory || k == reprise.KindSpecPipeline
}

// staged reports whether the phase of a unit tells a person more than its id
// and title do.
func staged(k reprise.Kind) bool { return k == reprise.KindEpic || k == reprise.KindWorkflow }

// options prints the ways to go on, numbered, with the word that chooses each.
func (f *face) options(j judged) {
	options := j.d.Options(j.run)
	if len(options) == 0 {
		return
	}
	title := "Ways to go on:"
	switch {
	case j.d.Unrecoverable(j.run):
		title = "Ways out:"
	case j.d.Verdict == reprise.BlockedVerdict:
		title = "Ways to go on, once what blocks is resolved:"
	}
	f.heading(title)
	f.numbered(options)
}

func (f *face) numbered(options []reprise.Option) {
	wide := 0
	for _, o := range options {
		wide = max(wide, min(16, width(plain(o.Key))))
	}
	for i, o := range options {
		f.para(fmt.Sprintf("  %d. %s  ", i+1, pad(clip(o.Key, wide), wide)), o.Label, linesTitle)
	}
}

// question prints what a prompt ends with; a report asks nothing.
func (f *face) question(text string) {
	if f.asking {
		f.gap()
		f.say(text)
	}
}
