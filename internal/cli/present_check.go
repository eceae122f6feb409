package cli

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"reprise"
	"reprise/convention"
	"reprise/internal/redact"
	"reprise/project"
	"reprise/report"
)

// check is the report about one run: the decision screen, or everything.
func (p *page) check(j judged) {
	if !p.full {
		whole := p.decision(j)
		p.gap()
		if whole {
			p.say("Evidence for every step and file: `reprise check --full`.")
		}
		p.verdictAgain(j)
		return
	}
	p.headline(j)
	switch {
	case j.d.Point == nil || j.d.Unrecoverable(j.run):
	case j.d.Action == reprise.Start:
		p.para("→ from ", pointWords(j), linesTitle)
	case j.d.Action == reprise.Refuse:
		p.para("→ then from ", pointWords(j), linesTitle)
	}
	p.section("Why:", j.d.Reasons, 10, 4)
	if j.d.Action != reprise.Finish {
		p.gap()
		p.show(j)
		p.starter(j)
	}
	p.section("Check and mark these instead of doing them again:", report.Each(j.d.Verify, unitWords), shownPhases, linesSource)
	p.section("Marked done, but not confirmed:", report.Each(j.d.Doubtful, unitWords), shownPhases, linesSource)
	for i, f := range j.run.Failures {
		if i == 0 {
			p.heading("What failed:")
		}
		p.failed(f, false)
	}
	p.findingsBySeverity(report.Sorted(j.run.Findings))
	p.sessions(j)
	p.evidence(j)
	p.files(j)
	p.remaining(j)
	p.ways(j)
	p.world(j)
	if p.asking {
		p.question(`Type "proceed" to continue.`)
		return
	}
	p.verdictAgain(j)
}

// headline names the run and says whether resuming is safe.
func (p *page) headline(j judged) {
	p.marked("", symbols[j.d.State], colours[j.d.State], subject(j.run)+" -- "+p.since(j), linesTitle)
	if title := ownTitle(j.run); title != "" {
		p.line("  %s", fit(title, p.columns-2))
	}
	mark, text := verdict(j)
	p.marked("", mark, standingColours[j.d.Standing()], text, linesSource)
}

// ways prints the ways to continue under a title that says what they lead to.
func (p *page) ways(j judged) {
	options := j.d.Options(j.run)
	if len(options) == 0 {
		return
	}
	title := "Ways to continue:"
	switch {
	case j.d.Unrecoverable(j.run):
		title = "Ways out:"
	case j.d.Verdict == reprise.BlockedVerdict:
		title = "Ways to continue, once that is resolved:"
	}
	p.heading(title)
	p.options(options)
	if why := j.run.NoGroup(); why != "" {
		p.para("  ", why, linesSource)
	}
}

// world prints what was observed outside the state files, and the digest of everything.
func (p *page) world(j judged) {
	p.gap()
	if w := j.run.Owner; w != nil {
		text := clip(cmp.Or(w.Agent, unknownOwner), 60) + ", recorded in " + w.Source.String()
		if life, ok := j.o.Owners[w.Source]; ok {
			text += ": " + life.Life.String() + ", " + life.Reason
		} else {
			text += ": a marker does not prove that it is alive or dead"
		}
		p.para("Owner:  ", text, linesMessage)
	}
	if text := gitWords(j.o); text != "" {
		p.para("Git:    ", text, linesSource)
	}
	if digest := j.digest(); digest != "" {
		p.para("Digest: ", digest, linesSource)
	}
}

// shownOutput is how many lines of an agent's output the decision screen shows.
const shownOutput = 2

// failed shows how one attempt failed, in full or on one line.
func (p *page) failed(f reprise.Failure, brief bool) {
	most, output := linesMessage, f.Output
	if !p.full {
		most, output = linesTitle, output[max(0, len(output)-shownOutput):]
	}
	if brief {
		most = 1
	}
	p.marked("  ", "✗", red, fmt.Sprintf("%s, attempt %d: %s", clip(f.Step, 60), f.Attempt, f.Reason), most)
	if !brief {
		p.output(f.Log, output)
	}
}

// output shows the last lines of an agent's output, and where the rest is.
func (p *page) output(log string, lines []string) {
	for _, l := range lines {
		p.line("      | %s", clip(l, p.columns-8))
	}
	if log != "" {
		p.place("      log: ", log)
	}
}

var severityTitles = map[reprise.Severity]string{
	reprise.Blocking: "Must be resolved first", reprise.Warning: "Be aware", reprise.Info: "Worth knowing",
}

// findingsBySeverity prints sorted findings, each with its source and hint.
func (p *page) findingsBySeverity(findings []reprise.Finding) {
	for i, x := range findings {
		if i == 0 || x.Severity != findings[i-1].Severity {
			p.heading(fmt.Sprintf("%s (%d):", severityTitles[x.Severity], len(findingTexts(findings, x.Severity))))
		}
		p.wholeFinding(x, x.Source.String())
	}
}

// wholeFinding prints a finding with its code, source and hint.
func (p *page) wholeFinding(x reprise.Finding, where string) {
	p.marked("  ", severityMarks[x.Severity], severityColours[x.Severity], findingWords(x)+" ["+x.Code+"]", linesMessage)
	if where != "" {
		p.place("      where: ", where)
	}
	if x.Hint != "" {
		p.para("      to do: ", x.Hint, linesMessage)
	}
}

// folder prints findings about the project rather than a single run.
func (p *page) folder(findings []reprise.Finding) {
	if len(findings) > 0 {
		p.heading("About the folder:")
	}
	for _, x := range report.Sorted(findings) {
		p.wholeFinding(x, "")
	}
}

// evidence prints for every step what each ledger says, which one decides, and what else
// supports or contradicts it.
func (p *page) evidence(j judged) {
	steps := j.run.Steps
	if len(steps) == 0 {
		return
	}
	p.heading("Evidence per step (▸ decides, ≠ says otherwise, + for done, - against):")
	wide := max(len("STEP"), min(p.columns/4, widest(steps, func(s reprise.Step) string { return plain(s.ID) })))
	p.line("%s", fit(fmt.Sprintf("    %s  %s  %s  %s", pad("STEP", wide), pad("STATUS", 11), pad("GRADE", 9), "WHAT"), p.columns))
	for i := range steps {
		p.step(&steps[i], wide)
	}
}

func (p *page) step(s *reprise.Step, wide int) {
	grade := "-"
	if s.Grade != 0 {
		grade = s.Grade.String()
	}
	what, role := plain(s.Title), ""
	if what == plain(s.ID) {
		what = ""
	}
	if s.Role != "" {
		role = " (" + clip(s.Role, 20) + ")"
	}
	row := fmt.Sprintf("  %s %s  %s  %s  ", cmp.Or(statusMarks[s.Status], "?"), pad(clip(s.ID, wide), wide), pad(words(s.Status), 11), pad(grade, 9))
	what = strings.TrimLeft(fit(what, p.columns-width(row)-width(role))+role, " ")
	p.line("%s", strings.TrimRight(row+fit(what, p.columns-width(row)), " "))
	for _, c := range s.Claims {
		p.claim(s, c)
	}
	for _, c := range s.Noted {
		p.para("      ~ ", fmt.Sprintf("%s noted, without proof, that it %s", c.Ledger, c.Word), linesSource)
	}
	for _, e := range s.Evidence {
		mark, text := "-", e.Text
		if e.For {
			mark = "+"
		}
		if e.Kind == reprise.EvidenceArtifact { // for others the text names the commit
			text += " [" + e.Source + "]"
		}
		p.para("      "+mark+" ", text, linesSource)
	}
	if len(s.Claims)+len(s.Evidence)+len(s.Noted) == 0 {
		p.line("        no record of it")
	}
}

// claim prints what one ledger says, on one line if it fits. A long source keeps its end,
// which has the file and line.
func (p *page) claim(s *reprise.Step, c reprise.Claim) {
	text := fmt.Sprintf("%s says \"%s\"", clip(c.Ledger, 40), clip(c.Word, 60))
	if c.Word == "" {
		text = clip(c.Ledger, 40) + " has no word for it"
	}
	lead := "        "
	switch {
	case c.Won:
		lead = "      ▸ "
	case c.Status != s.Status:
		lead = "      ≠ "
	}
	if c.Status != s.Status {
		text += ", that is " + words(c.Status)
	}
	src := plain(c.Source.String())
	room := p.columns - width(lead)
	if width(text)+2+width(src) > room {
		short := tail(src, room-width(text)-2)
		if !strings.HasPrefix(short, "…/") {
			p.para(lead, text, linesSource)
			p.line("          %s", tail(src, p.columns-10))
			return
		}
		src = short
	}
	p.line("%s", strings.TrimRight(lead+text+"  "+src, " "))
}

// tail cuts off the beginning of a path so that at most n columns remain, at a slash if
// possible.
func tail(s string, n int) string {
	if width(s) <= n {
		return s
	}
	runes := []rune(s)
	runes = runes[max(0, len(runes)-max(n, 0)):]
	for len(runes) > 0 && width(string(runes))+1 > n {
		runes = runes[1:]
	}
	if i := slices.Index(runes, '/'); i >= 0 {
		runes = runes[i:]
	}
	return "…" + string(runes)
}

// files lists the files the run refers to.
func (p *page) files(j judged) {
	there := 0
	for _, a := range j.run.Artifacts {
		if a.Presence == reprise.Present {
			there++
		}
	}
	title := fmt.Sprintf("Files it refers to: %d of %d are there", there, len(j.run.Artifacts))
	if len(j.run.Artifacts) == 0 {
		title = "Files: the run refers to none."
	}
	p.heading(title)
	for _, a := range j.run.Artifacts {
		mark, about := fileWords(a)
		p.place("  "+mark+" ", a.Path)
		p.para("      ", about, linesTitle)
	}
}

// fileWords says what a file is for and what its absence means.
func fileWords(a reprise.Artifact) (mark, about string) {
	parts := []string{a.Presence.String()}
	if a.Name != "" {
		parts[0] += ": " + clip(a.Name, 40)
	}
	if a.NeededBy != "" {
		parts = append(parts, "needed by "+clip(a.NeededBy, 40))
	}
	if a.MadeBy != "" {
		parts = append(parts, "made by "+clip(a.MadeBy, 40))
	}
	mark = "!"
	switch {
	case a.Critical:
		mark, parts = "✗", append(parts, "critical")
	case a.Presence != reprise.Present:
		parts = append(parts, "not critical")
	}
	switch a.Presence {
	case reprise.Present:
		mark = "✓"
	case reprise.Unchecked:
		mark = "?"
	}
	return mark, strings.Join(parts, ", ")
}

// remaining prints everything left to do.
func (p *page) remaining(j judged) {
	if len(j.plan.Remaining) == 0 {
		return
	}
	p.heading(fmt.Sprintf("Plan from here to the end (%s):", count(len(j.plan.Remaining), "step")))
	p.numbered("  ", report.Each(j.plan.Remaining, func(u report.Unit) string {
		text := withRole(stepName(u.ID, u.Title), u.Role)
		if s := j.run.Step(u.ID); s != nil && len(s.Needs) > 0 {
			text += ", after " + strings.Join(s.Needs, ", ")
		}
		return text
	}), linesTitle)
}

// shownTail is how many of the last lines of a command's output are shown.
const shownTail = 8

// verified says how the user's command ended and, if it failed, what it printed last.
func (p *page) verified(v *report.Verified) {
	if v == nil {
		return
	}
	p.gap()
	if v.OK {
		p.para("Verify: ", fmt.Sprintf("`%s` succeeded on %s", v.Command, shortHash(v.Commit)), linesSource)
		return
	}
	p.para("Verify: ", fmt.Sprintf("`%s` failed: %s", v.Command, v.Reason), linesMessage)
	lines := strings.Split(strings.TrimSpace(redact.Text(v.Tail)), "\n")
	for _, l := range lines[max(0, len(lines)-shownTail):] {
		if l = clip(l, p.columns-4); l != "" {
			p.line("  | %s", l)
		}
	}
}

// nothing is the friendly answer for a folder without runs.
func (p *page) nothing(found *project.Judgement) {
	res := found.Result
	if p.sessionsHere(found) {
		p.findings(nil, nil, res.Findings)
		return
	}
	where := ""
	if res.Nothing() == reprise.OutcomeUnreadable {
		where = "what can be read of "
	}
	p.line("No workflow state found in %s%s.", where, plain(res.Root))
	p.gap()
	p.say("Looked here and in subfolders for state of " + strings.Join(convention.Names(), ", ") + ", and for sessions of agents that stopped here within 14 days.")
	p.findings(nil, nil, res.Findings)
	p.gap()
	p.line("`reprise demo` plays an interrupted run, in a folder of its own.")
	if n := len(res.Skipped); n > 0 {
		p.say(fmt.Sprintf("%s skipped because git ignores them: `reprise status --ignored` looks there too.", count(n, "folder")))
	} else {
		p.line("Is the work somewhere else? `reprise status ..` looks one folder up.")
	}
}

// uninterrupted is the answer for a project in which nothing is waiting to be resumed.
// That is not a failure.
func (p *page) uninterrupted(res *project.Judgement) {
	p.say(fmt.Sprintf("Nothing was interrupted in %s: %s.", clip(filepath.Base(res.Root), 60), tally(states(res, res.Runs))))
	for _, j := range contested(res) {
		mark, text := verdict(j)
		p.marked("", mark, standingColours[j.d.Standing()], j.name+": "+text+"; "+checkOf(j.name)+" shows more", linesSource)
	}
	p.gap()
	names := reprise.Names(res.Runs)
	p.say("`reprise status --all` lists the runs, " + checkOf(names[res.Runs[0]]) + " looks at one of them.")
	if i := slices.IndexFunc(res.Runs, func(r *reprise.Run) bool {
		return r.State == reprise.NotStarted && len(r.Next) > 0 && res.Decisions[r].Verdict != reprise.BlockedVerdict
	}); i >= 0 {
		p.say(commandOf("resume", names[res.Runs[i]]) + " starts one that has not begun.")
	}
}

// nothingToResume is the answer if nothing is interrupted, which is not a failure: it
// says what can be done instead.
func (p *page) nothingToResume(res *project.Judgement) {
	if len(res.Runs) == 0 {
		p.nothing(res)
		return
	}
	p.uninterrupted(res)
	p.gap()
	p.say("`reprise run --help` shows how to start something new: " + strings.Join(startable(), ", ") + ", or a workflow file.")
}
