package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"reprise"
	"reprise/report"
)

// shownCompleted is how many completed phases are listed one by one.
const shownCompleted = 8

// orchestrate shows a run in the form seed 001 gives for its situation.
func (f *face) orchestrate(j judged) {
	switch {
	case j.d.Unrecoverable(j.run):
		f.unrecoverable(j)
	case len(j.d.Again) > 0:
		f.partial(j)
	default:
		f.summary(j)
	}
}

// summary is the saved state before a person decides to resume it.
func (f *face) summary(j judged) {
	verb, since := "Resume: ", "Interrupted: "
	switch j.d.State {
	case reprise.Interrupted:
	case reprise.NotStarted:
		verb, since = "Start: ", "Last active: "
	default:
		since = "Last active: "
	}
	f.banner(verb + subject(j.run))
	f.gap()
	f.pair(since, fmt.Sprintf("%s (%s)", f.ago(j), j.plan.AgeBand))
	f.place("State source: ", j.plan.StateSource)
	f.completed(j)
	f.heading("Resume point:")
	f.para("  -> ", pointWords(j), linesTitle)
	f.inputs(j)
	f.validation(j)
	f.question("Resume this workflow? (yes / restart from scratch / cancel)")
}

func (f *face) pair(name, value string) { f.para(name+" ", value, linesMessage) }

// inputs lists what is passed to the next phase.
func (f *face) inputs(j judged) {
	if j.plan.Next == nil {
		return
	}
	inputs := j.plan.Next.Inputs
	if len(inputs) == 0 {
		f.line("     Input: none on record")
	}
	lead := "     Input: "
	for i, in := range inputs {
		if i == 5 && !f.preflight {
			f.line("%sand %d more", lead, len(inputs)-i)
			break
		}
		f.place(lead, in)
		lead = strings.Repeat(" ", len(lead))
	}
}

// completed lists the phases that are done, or how many of each group where
// there are many.
func (f *face) completed(j judged) {
	f.heading("Completed phases:")
	var done []*reprise.Step
	for i := range j.run.Steps {
		if s := &j.run.Steps[i]; s.Status.Closed() && !slices.Contains(j.d.Again, s.ID) {
			done = append(done, s)
		}
	}
	if len(done) == 0 {
		f.line("  none")
		return
	}
	if len(done) > shownCompleted || j.run.Kind == reprise.KindEpic {
		f.groups(j.run)
		return
	}
	for i, s := range done {
		text := clip(s.ID, 60)
		if title := plain(s.Title); title != "" && title != text {
			text += " " + clip(title, 60)
		}
		if s.Role != "" {
			text += " -- @" + clip(s.Role, 30)
		}
		f.para(fmt.Sprintf("  %d. ", i+1), text+" -- "+stepWords(s), linesTitle)
	}
}

// groups counts the closed steps of each wave or phase that has any.
func (f *face) groups(r *reprise.Run) {
	type group struct {
		done, all int
		ids       []string
	}
	var order []string
	groups := map[string]*group{}
	for i := range r.Steps {
		s := &r.Steps[i]
		g := groups[s.Phase]
		if g == nil {
			g = &group{}
			groups[s.Phase] = g
			order = append(order, s.Phase)
		}
		g.all++
		if s.Status.Closed() {
			g.done++
			g.ids = append(g.ids, plain(s.ID))
		}
	}
	for _, name := range order {
		g := groups[name]
		if g.done == 0 {
			continue
		}
		label := clip(name, 40)
		if label == "" {
			label = "steps"
		}
		f.para("  - ", fmt.Sprintf("%s -- %d of %d done: %s", label, g.done, g.all, strings.Join(g.ids, ", ")), linesTitle)
	}
}

// stepWords tells the status of a step and how well it is founded.
func stepWords(s *reprise.Step) string {
	text := strings.ReplaceAll(s.Status.String(), "_", " ")
	if s.Status == reprise.Done && s.Grade != 0 {
		text += " (" + s.Grade.String() + ")"
	}
	return text
}

// validation tells what was found: in a prompt every warning and conflict, in a
// report how many, since they follow in full.
func (f *face) validation(j judged) {
	if !f.asking {
		f.gap()
		f.pair("Validation:", validationWords(j.plan.Validation))
		return
	}
	for i, q := range j.run.PendingQuestions() {
		if i == 0 {
			f.heading("Waiting for an answer:")
		}
		f.para("  - ", q.Text, linesMessage)
	}
	f.listFindings("Conflicts (must be resolved before resuming):", j.run.Findings, reprise.Blocking)
	f.listFindings("Warnings:", j.run.Findings, reprise.Warning)
}

func (f *face) listFindings(title string, findings []reprise.Finding, s reprise.Severity) {
	first := true
	for _, x := range findings {
		if x.Severity != s {
			continue
		}
		if first {
			f.heading(title)
			first = false
		}
		f.para("  - ", findingWords(x), linesMessage)
	}
}

func findingWords(x reprise.Finding) string {
	if x.Subject == "" || strings.Contains(x.Message, x.Subject) {
		return x.Message
	}
	return clip(x.Subject, 60) + ": " + x.Message
}

func validationWords(v report.Validation) string {
	var parts []string
	if v.Conflicts > 0 {
		parts = append(parts, count(v.Conflicts, "conflict"))
	}
	if v.Warnings > 0 {
		parts = append(parts, count(v.Warnings, "warning"))
	}
	if len(parts) == 0 {
		return "clean"
	}
	return strings.Join(parts, ", ")
}

// unrecoverable tells why a run cannot be resumed, and what is left to choose.
func (f *face) unrecoverable(j judged) {
	f.banner("Cannot resume: " + subject(j.run))
	f.gap()
	reason := "files it cannot do without are missing"
	if j.d.Action == reprise.Repair {
		reason = j.run.Reason
	}
	f.pair("Reason:", reason)
	told := map[string]bool{}
	for _, a := range j.d.Missing {
		text := a.Path + " is " + a.Presence.String()
		if a.NeededBy != "" {
			text += ", " + clip(a.NeededBy, 40) + " needs it"
		}
		if !a.Critical {
			text += " (it can go on without it)"
		}
		f.para("  - ", text, linesSource)
		told[a.Path] = true
	}
	for _, x := range j.run.Findings {
		if f.asking && x.Severity == reprise.Blocking && !told[x.Subject] && !told[x.Source.File] {
			f.para("  - ", findingWords(x), linesMessage)
		}
	}
	if f.asking {
		f.heading("Options:")
		f.numbered(j.d.Options(j.run))
	}
	f.question("Which would you prefer?")
}

// partial tells which phases stay valid and which must run again.
func (f *face) partial(j judged) {
	f.banner("Partial resume possible: " + subject(j.run))
	f.heading("Valid phases (can be preserved):")
	kept := f.phases(j, j.d.Keep, func(string) string { return "output still valid" })
	f.heading("Phases that must run again:")
	f.phases(j, j.d.Again, func(id string) string {
		for _, a := range j.d.Missing {
			if a.MadeBy == id {
				return a.Path + " is " + a.Presence.String()
			}
		}
		return "what it should have left is missing"
	})
	suggestion := "Suggestion: resume from " + clip(j.d.Again[0], 60)
	if kept {
		suggestion += ", using what the valid phases left"
	}
	f.gap()
	f.say(suggestion + ".")
	f.validation(j)
	f.question("Proceed? (yes / restart from scratch / cancel)")
}

func (f *face) phases(j judged, ids []string, why func(id string) string) bool {
	if len(ids) == 0 {
		f.line("  none")
		return false
	}
	for k, id := range ids {
		if k == 20 && !f.preflight {
			f.line("  - and %d more", len(ids)-k)
			break
		}
		label := clip(id, 60)
		if i := slices.IndexFunc(j.run.Steps, func(s reprise.Step) bool { return s.ID == id }); i >= 0 && numbered(j.run.Kind) {
			label = fmt.Sprintf("Phase %d: %s", i+1, label)
		}
		f.para("  - ", label+" -- "+why(id), linesSource)
	}
	return true
}

// confirmation is shown when a run is being resumed.
func (f *face) confirmation(j judged) {
	f.banner("Resuming: " + subject(j.run))
	if j.run.Title != "" {
		f.para("Title:      ", j.run.Title, linesTitle)
	}
	agent := ""
	if j.d.Point != nil {
		agent = clip(j.d.Point.Role, 30)
	}
	f.para("Phase:      ", strings.TrimPrefix(strings.TrimSuffix(pointWords(j), " -- @"+agent), "phase "), linesTitle)
	if agent != "" {
		f.para("Agent:      ", "@"+agent, linesTitle)
	}
	f.line("State age:  %s (%s)", strings.TrimSuffix(f.ago(j), " ago"), j.plan.AgeBand)
	f.line("Validation: %s", validationWords(j.plan.Validation))
	f.gap()
	if agent == "" {
		f.line("Going on...")
		return
	}
	f.say("Handing off to @" + agent + "...")
}

// failure tells why nothing was resumed and what to do about it.
func (f *face) failure(j judged, action string) {
	title := "Cannot resume now"
	if f.asking {
		title = "Resume failed"
	}
	f.banner(title)
	f.para("Workflow:   ", subject(j.run), linesTitle)
	reason := "it cannot go on as it stands"
	if len(j.d.Reasons) > 0 {
		reason = j.d.Reasons[0]
	}
	f.para("Reason:     ", reason, linesMessage)
	f.place("State file: ", j.plan.StateSource)
	f.gap()
	f.say("Recommended action: " + action)
}

// shownCandidates is how many candidates are listed.
const shownCandidates = 12

// candidates lists several runs of which one is to be chosen.
func (f *face) candidates(list []judged) {
	f.banner("Several interrupted workflows found")
	f.gap()
	digits := len(strconv.Itoa(len(list)))
	for i, j := range list {
		if i == shownCandidates {
			f.gap()
			f.say(fmt.Sprintf("  … and %d more: `reprise status` lists them.", len(list)-i))
			break
		}
		lead := fmt.Sprintf("  %*d. ", digits, i+1)
		f.para(lead, fmt.Sprintf("%s -- %s -- %s", subject(j.run), f.since(j), whereWords(j)), linesSource)
		indent := strings.Repeat(" ", len(lead))
		if title := plain(j.run.Title); title != "" && title != plain(j.run.ID) {
			f.line("%s%s", indent, fit(title, f.columns-len(indent)))
		}
		mark, text := f.verdict(j)
		f.marked(indent, mark, verdictColours[j.d.Verdict], text, linesTitle)
	}
	if f.asking {
		f.question(fmt.Sprintf("Which would you like to resume? (1-%d, or \"none\" to start fresh)", len(list)))
		return
	}
	f.gap()
	f.say("Look at one of them with `reprise check RUN`, for example `reprise check " + clip(list[0].name, 60) + "`.")
}

// whereWords tells where a run stands, short: "phase 3 (implement)".
func whereWords(j judged) string {
	if u := j.d.Point; u != nil {
		if i := report.PointStep(j.run, *u); i >= 0 && numbered(j.run.Kind) {
			return fmt.Sprintf("phase %d (%s)", i+1, clip(j.run.Steps[i].ID, 40))
		}
	}
	if j.run.Phase != "" {
		return clip(j.run.Phase, 60)
	}
	p := j.run.Progress()
	return fmt.Sprintf("%d of %d done", p.Done, p.Total)
}
