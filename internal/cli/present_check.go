package cli

import (
	"fmt"
	"slices"
	"strings"

	"reprise"
	"reprise/report"
)

// check is the whole report about one run.
func (f *face) check(j judged) {
	f.headline(j)
	f.why(j)
	if j.d.Action != reprise.Finish {
		f.gap()
		f.layout(j)
	}
	f.attention(j)
	f.findingsBySeverity(report.Sorted(j.run.Findings))
	f.air(j)
	f.evidence(j)
	f.files(j)
	f.remaining(j)
	f.options(j)
	f.world(j)
	if f.asking && f.preflight {
		f.question(`Type "proceed" to go on.`)
	}
}

// headline names the run and says whether going on is safe.
func (f *face) headline(j judged) {
	text := subject(j.run) + " -- " + f.since(j)
	f.marked("", symbols[j.d.State], colours[j.d.State], text, linesTitle)
	if title := plain(j.run.Title); title != "" && title != plain(j.run.ID) {
		f.line("  %s", fit(title, f.columns-2))
	}
	mark, text := f.verdict(j)
	f.marked("", mark, verdictColours[j.d.Verdict], text, linesSource)
	switch {
	case j.d.Point == nil || j.d.Unrecoverable(j.run):
	case j.d.Action == reprise.Start:
		f.para("→ from ", pointWords(j), linesTitle)
	case j.d.Action == reprise.Refuse:
		f.para("→ then from ", pointWords(j), linesTitle)
	}
}

// world tells what was seen beside the state files, and the digest of it all.
func (f *face) world(j judged) {
	f.gap()
	if w := j.run.Owner; w != nil {
		text := clip(orUnknown(w.Agent), 60) + ", recorded in " + w.Source.String()
		if life, ok := j.o.Owners[w.Source]; ok {
			text += ": " + life.Life.String() + ", " + life.Reason
		} else {
			text += ": a marker proves nothing about life or death"
		}
		f.para("Owner:  ", text, linesMessage)
	}
	if text := gitWords(j.o); text != "" {
		f.para("Git:    ", text, linesSource)
	}
	if digest := j.digest(); digest != "" {
		f.para("Digest: ", digest, linesSource)
	}
}

// gitWords tells in short how the repository stands.
func gitWords(o reprise.Observed) string {
	g := o.Git
	switch {
	case g == nil && o.GitError != "":
		return "could not be asked: " + o.GitError
	case g == nil:
		return ""
	}
	text := "on " + clip(g.Branch, 100)
	if g.Branch == "" {
		text = "on no branch"
	}
	if g.Head != "" {
		text += " at " + shortHash(g.Head)
	}
	if g.Operation != "" {
		text += ", in the middle of a " + clip(g.Operation, 30)
	}
	if n := len(g.Changed) + g.ChangedMore; n > 0 {
		text += ", " + count(n, "file") + " not committed"
	} else {
		text += ", everything committed"
	}
	if g.HasRemote && g.Unpushed > 0 {
		text += ", " + count(g.Unpushed, "commit") + " not pushed"
	}
	return text
}

func (f *face) why(j judged) {
	if len(j.d.Reasons) == 0 {
		return
	}
	f.heading("Why:")
	// What blocks is what a person must know first.
	blocks := func(reason string) bool {
		return slices.ContainsFunc(j.run.Findings, func(x reprise.Finding) bool { return x.Severity == reprise.Blocking && x.Message == reason })
	}
	reasons := slices.Clone(j.d.Reasons)
	slices.SortStableFunc(reasons, func(a, b string) int {
		switch blocksA, blocksB := blocks(a), blocks(b); {
		case blocksA == blocksB:
			return 0
		case blocksA:
			return -1
		}
		return 1
	})
	for i, reason := range reasons {
		if i == 10 && !f.preflight {
			f.line("  - and %d more", len(reasons)-i)
			break
		}
		f.para("  - ", reason, 4)
	}
}

// attention names the steps that are neither plainly done nor plainly open.
func (f *face) attention(j judged) {
	f.units("Check and mark these instead of doing them again:", j.d.Verify)
	f.units("Called done, but in doubt:", j.d.Doubtful)
}

func (f *face) units(title string, units []reprise.Unit) {
	if len(units) == 0 {
		return
	}
	f.heading(title)
	for i, u := range units {
		if i == 20 && !f.preflight {
			f.line("  - and %d more", len(units)-i)
			break
		}
		f.para("  - ", unitWords(u), linesSource)
	}
}

var severityTitles = map[reprise.Severity]string{
	reprise.Blocking: "Must be resolved first", reprise.Warning: "Be aware", reprise.Info: "Worth knowing",
}

var severityColours = map[reprise.Severity]string{reprise.Blocking: "31", reprise.Warning: "33"}

// findingsBySeverity prints every finding with its source and what can be done.
func (f *face) findingsBySeverity(findings []reprise.Finding) {
	for s := reprise.Blocking; s >= reprise.Info; s-- {
		n := 0
		for _, x := range findings {
			if x.Severity == s {
				n++
			}
		}
		if n == 0 {
			continue
		}
		f.heading(fmt.Sprintf("%s (%d):", severityTitles[s], n))
		for _, x := range findings {
			if x.Severity != s {
				continue
			}
			f.marked("  ", marks[s], severityColours[s], findingWords(x)+" ["+x.Code+"]", linesMessage)
			if src := x.Source.String(); src != "" {
				f.place("      where: ", src)
			}
			if x.Hint != "" {
				f.para("      to do: ", x.Hint, linesMessage)
			}
		}
	}
}

// shownSteps is how many steps are listed before those that need no
// explanation are left out.
const shownSteps = 40

var statusMarks = map[reprise.Status]string{
	reprise.Pending: "○", reprise.InProgress: "◐", reprise.InReview: "◑", reprise.Done: "✓", reprise.Failed: "✗",
	reprise.Blocked: "■", reprise.Skipped: "-", reprise.Unknown: "?",
}

// evidence prints for every step what each ledger says, which one decides, and
// what there is beside the ledgers.
func (f *face) evidence(j judged) {
	steps := j.run.Steps
	if len(steps) == 0 {
		return
	}
	f.heading("Evidence per step (▸ decides, ≠ says otherwise, + for done, - against):")
	wide := width("STEP")
	for i := range steps {
		wide = max(wide, min(f.columns/4, width(plain(steps[i].ID))))
	}
	f.line("%s", fit(fmt.Sprintf("    %s  %s  %s  %s", pad("STEP", wide), pad("STATUS", 11), pad("GRADE", 9), "WHAT"), f.columns))
	left := 0
	for i := range steps {
		s := &steps[i]
		if len(steps) > shownSteps && !f.preflight && !remarkable(j, s) {
			left++
			continue
		}
		f.step(s, wide)
	}
	if left > 0 {
		f.say(fmt.Sprintf("  … and %s about which nothing disagrees: `reprise check --mode preflight` shows them.", count(left, "step")))
	}
}

func (f *face) step(s *reprise.Step, wide int) {
	grade := "-"
	if s.Grade != 0 {
		grade = s.Grade.String()
	}
	what := plain(s.Title)
	if what == plain(s.ID) {
		what = ""
	}
	role := ""
	if s.Role != "" {
		role = " (" + clip(s.Role, 20) + ")"
	}
	row := fmt.Sprintf("  %s %s  %s  %s  ", orQuestion(statusMarks[s.Status]), pad(clip(s.ID, wide), wide),
		pad(strings.ReplaceAll(s.Status.String(), "_", " "), 11), pad(grade, 9))
	what = strings.TrimLeft(fit(what, f.columns-width(row)-width(role))+role, " ")
	f.line("%s", strings.TrimRight(row+fit(what, f.columns-width(row)), " "))
	for _, c := range s.Claims {
		f.claim(s, c)
	}
	for _, e := range s.Evidence {
		mark, text := "-", e.Text
		if e.For {
			mark = "+"
		}
		// A commit is named in the sentence by the beginning of its hash.
		if e.Source != "" && !strings.Contains(e.Text, e.Source[:min(7, len(e.Source))]) {
			text += " [" + e.Source + "]"
		}
		f.para("      "+mark+" ", text, linesSource)
	}
	if len(s.Claims) == 0 && len(s.Evidence) == 0 {
		f.line("        no ledger speaks of it")
	}
}

// claim prints what one ledger says, on one line where it fits; of a source
// that is too long the end is shown, which tells file and line.
func (f *face) claim(s *reprise.Step, c reprise.Claim) {
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
		text += ", that is " + strings.ReplaceAll(c.Status.String(), "_", " ")
	}
	src := plain(c.Source.String())
	room := f.columns - width(lead)
	if width(text)+2+width(src) > room {
		short := tail(src, room-width(text)-2)
		if !strings.HasPrefix(short, "…/") {
			f.para(lead, text, linesSource)
			f.line("          %s", tail(src, f.columns-10))
			return
		}
		src = short
	}
	f.line("%s", strings.TrimRight(lead+text+"  "+src, " "))
}

// tail cuts the beginning of a path off so that at most n columns remain, at a
// slash if there is one.
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

func orQuestion(s string) string {
	if s == "" {
		return "?"
	}
	return s
}

// remarkable reports whether there is more to say of a step than its status.
func remarkable(j judged, s *reprise.Step) bool {
	if len(s.Evidence) > 0 || s.Status == reprise.Unknown || s.Status == reprise.Failed || s.Status == reprise.Blocked || s.Status == reprise.InProgress {
		return true
	}
	// A plan calls every step pending; that is no disagreement.
	if slices.ContainsFunc(s.Claims, func(c reprise.Claim) bool { return c.Status != s.Status && c.Status != reprise.Pending }) {
		return true
	}
	if slices.Contains(j.d.Again, s.ID) {
		return true
	}
	has := func(units []reprise.Unit) bool {
		return slices.ContainsFunc(units, func(u reprise.Unit) bool { return u.ID == s.ID })
	}
	return has(j.d.Units) || has(j.d.Verify) || has(j.d.Doubtful)
}

// files lists the files the run refers to: all of them in a pre-flight check,
// else those that are not simply there.
func (f *face) files(j judged) {
	var list []reprise.Artifact
	present := 0
	for _, a := range j.run.Artifacts {
		if a.Presence == reprise.Present {
			present++
		}
		if f.preflight || a.Presence != reprise.Present {
			list = append(list, a)
		}
	}
	total := len(j.run.Artifacts)
	switch {
	case total == 0 && f.preflight:
		f.heading("Files: the run refers to none.")
		return
	case total == 0, len(list) == 0:
		return
	}
	f.heading(fmt.Sprintf("Files it refers to: %d of %d are there", present, total))
	for _, a := range list {
		text := strings.Join(fileWords(a), ", ")
		f.place("  "+fileMark(a)+" ", a.Path)
		f.para("      ", text, linesTitle)
	}
}

func fileMark(a reprise.Artifact) string {
	switch {
	case a.Presence == reprise.Present:
		return "✓"
	case a.Presence == reprise.Unchecked:
		return "?"
	case a.Critical:
		return "✗"
	}
	return "!"
}

// fileWords tells what a file is for and what its absence means.
func fileWords(a reprise.Artifact) []string {
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
	switch {
	case a.Critical:
		parts = append(parts, "critical")
	case a.Presence != reprise.Present:
		parts = append(parts, "not critical")
	}
	return parts
}

// remaining prints, before a pre-flight approval, everything that is left to do.
func (f *face) remaining(j judged) {
	if !f.preflight || len(j.plan.Remaining) == 0 {
		return
	}
	f.heading(fmt.Sprintf("Plan from here to the end (%s):", count(len(j.plan.Remaining), "step")))
	for i, u := range j.plan.Remaining {
		text := clip(u.ID, 60)
		if title := plain(u.Title); title != "" && title != text {
			text += " " + title
		}
		if u.Role != "" {
			text += " -- @" + clip(u.Role, 30)
		}
		if s := j.run.Step(u.ID); s != nil && len(s.Needs) > 0 {
			text += ", after " + strings.Join(s.Needs, ", ")
		}
		f.para(fmt.Sprintf("  %d. ", i+1), text, linesTitle)
	}
}
