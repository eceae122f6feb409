package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"reprise"
	"reprise/report"
)

// How many of a list are shown one by one.
const (
	shownCompleted  = 8  // phases that are done
	shownActions    = 5  // units that may be started, questions, inputs
	shownPhases     = 20 // phases that are still valid or run again
	shownCandidates = 12 // runs to choose from
)

// show shows a run in the form of its own seed.
func (p *page) show(j judged) {
	if j.d.Outcome() == reprise.OutcomeHeld {
		p.failure(j, "wait until it ends, or stop it there; then check again.")
		return
	}
	formOf(j.run.Kind).show(p, j)
}

// options prints the ways to continue, numbered, with the word that chooses each.
func (p *page) options(options []reprise.Option) {
	wide := min(16, widest(options, func(o reprise.Option) string { return plain(o.Key) }))
	for i, o := range options {
		p.para(fmt.Sprintf("  %d. %s  ", i+1, pad(clip(o.Key, wide), wide)), o.Label, linesTitle)
	}
}

// asked prints an open question with the offered answers.
func (p *page) asked(q reprise.Question) {
	p.para("  ? "+clip(q.ID, p.columns/3)+"  ", q.Text, linesMessage)
	if q.Note != "" {
		p.para("      so far: ", q.Note, linesTitle)
	}
	p.facts("      ", q)
	p.numbered("      ", q.Options, linesTitle)
}

// facts prints what a person should know to answer a question.
func (p *page) facts(indent string, q reprise.Question) {
	for _, fact := range q.Facts {
		p.para(indent+"- ", fact, linesTitle)
	}
}

// staged shows a run with phases in the form that seed 001 defines for its situation.
func (p *page) staged(j judged) {
	switch {
	case j.d.Unrecoverable(j.run):
		p.unrecoverable(j)
	case len(j.d.Again) > 0:
		p.partial(j)
	default:
		p.summary(j)
	}
}

// summary shows the saved state before a person decides to resume it.
func (p *page) summary(j judged) {
	verb, since, when := "Resume: ", "Last active: ", fmt.Sprintf("%s (%s)", p.ago(j), j.plan.AgeBand)
	switch j.d.State {
	case reprise.Interrupted:
		since = "Interrupted: "
	case reprise.NotStarted:
		// A plan does not become stale: no check warns of its age.
		verb, when = "Start: ", p.ago(j)
	}
	p.banner(verb + subject(j.run))
	p.gap()
	p.pair(since, when)
	p.place("State source: ", j.plan.StateSource)
	p.completed(j)
	p.heading("Resume point:")
	p.para("  -> ", pointWords(j), linesTitle)
	p.inputs(j)
	p.validation(j)
}

// inputs lists what is passed to the next phase.
func (p *page) inputs(j judged) {
	if j.plan.Next == nil {
		return
	}
	lead, inputs := "     Input: ", j.plan.Next.Inputs
	if len(inputs) == 0 {
		p.line("%snone on record", lead)
	}
	for i, in := range inputs {
		if i == shownActions && !p.full {
			p.line("%sand %d more", lead, len(inputs)-i)
			break
		}
		p.place(lead, in)
		lead = strings.Repeat(" ", len(lead))
	}
}

// completed lists the phases that are done, or counts them by group if there are many.
func (p *page) completed(j judged) {
	p.heading("Completed phases:")
	var done []string
	for i := range j.run.Steps {
		if s := &j.run.Steps[i]; s.Status.Closed() && !slices.Contains(j.d.Again, s.ID) {
			done = append(done, withRole(stepName(s.ID, s.Title), s.Role)+" -- "+stepWords(s))
		}
	}
	switch {
	case len(done) == 0:
		p.line("  none")
	case len(done) > shownCompleted || j.run.Kind.Facts().Stories:
		p.groups(j.run)
	default:
		p.numbered("  ", done, linesTitle)
	}
}

// groups counts the done steps of each wave or phase that has any.
func (p *page) groups(r *reprise.Run) {
	var order []string
	all, done := map[string]int{}, map[string][]string{}
	for i := range r.Steps {
		s := &r.Steps[i]
		if all[s.Phase]++; all[s.Phase] == 1 {
			order = append(order, s.Phase)
		}
		if s.Status == reprise.Done {
			done[s.Phase] = append(done[s.Phase], plain(s.ID))
		}
	}
	for _, name := range order {
		if ids := done[name]; len(ids) > 0 {
			label := cmp.Or(clip(name, 40), "steps")
			p.para("  - ", fmt.Sprintf("%s -- %d of %d done: %s", label, len(ids), all[name], strings.Join(ids, ", ")), linesTitle)
		}
	}
}

// validation says how many findings matter.
func (p *page) validation(j judged) {
	p.gap()
	p.pair("Validation:", validationWords(j.plan.Validation))
}

// unrecoverable says why a run cannot be resumed.
func (p *page) unrecoverable(j judged) {
	p.banner("Cannot resume: " + subject(j.run))
	p.gap()
	reason := "essential files are missing"
	if j.d.Action == reprise.Repair {
		reason = j.run.Reason
	}
	p.pair("Reason:", reason)
	for _, a := range j.d.Missing {
		text := a.Path + " is " + a.Presence.String()
		if a.NeededBy != "" {
			text += ", " + clip(a.NeededBy, 40) + " needs it"
		}
		if !a.Critical {
			text += " (not essential)"
		}
		p.para("  - ", text, linesSource)
	}
}

// partial says which phases are still valid and which must run again.
func (p *page) partial(j judged) {
	p.banner("Partial resume possible: " + subject(j.run))
	p.phases(j, "Valid phases (can be preserved):", j.d.Keep, func(id string) string {
		if s := j.run.Step(id); s != nil && s.Status == reprise.Skipped {
			return "skipped"
		}
		return "output still valid"
	})
	p.phases(j, "Phases that must run again:", j.d.Again, func(id string) string {
		for _, a := range j.d.Missing {
			if a.MadeBy == id {
				return a.Path + " is " + a.Presence.String()
			}
		}
		return "what it should have left is missing"
	})
	suggestion := "Suggestion: resume from " + clip(j.d.Again[0], 60)
	if len(j.d.Keep) > 0 {
		suggestion += ", using the output of the valid phases"
	}
	p.gap()
	p.say(suggestion + ".")
	p.validation(j)
}

func (p *page) phases(j judged, title string, ids []string, why func(id string) string) {
	p.heading(title)
	if len(ids) == 0 {
		p.line("  none")
	}
	p.items("  - ", report.Each(ids, func(id string) string {
		label := clip(id, 60)
		if i := slices.IndexFunc(j.run.Steps, func(s reprise.Step) bool { return s.ID == id }); i >= 0 && formOf(j.run.Kind).numbered {
			label = fmt.Sprintf("Phase %d: %s", i+1, label)
		}
		return label + " -- " + why(id)
	}), shownPhases, linesSource)
}

// confirmation is shown when a run is being resumed.
func (p *page) confirmation(j judged) {
	p.banner("Resuming: " + subject(j.run))
	if j.run.Title != "" {
		p.para("Title:      ", j.run.Title, linesTitle)
	}
	agent := ""
	if j.d.Point != nil {
		agent = clip(j.d.Point.Role, 30)
	}
	p.para("Phase:      ", strings.TrimPrefix(strings.TrimSuffix(pointWords(j), " -- @"+agent), "phase "), linesTitle)
	if agent != "" {
		p.para("Agent:      ", "@"+agent, linesTitle)
	}
	p.line("State age:  %s (%s)", strings.TrimSuffix(p.ago(j), " ago"), j.plan.AgeBand)
	p.line("Validation: %s", validationWords(j.plan.Validation))
	p.gap()
	if agent == "" || p.asksFirst {
		p.line("Continuing...")
		return
	}
	p.say("Handing off to @" + agent + "...")
}

// failure says why nothing was resumed and what to do about it.
func (p *page) failure(j judged, action string) {
	title := "Cannot resume now"
	switch {
	case j.d.Standing() == reprise.StandsRunning:
		title = "Already being worked on"
	case p.asking:
		title = "Resume failed"
	}
	p.banner(title)
	p.para("Workflow:   ", subject(j.run), linesTitle)
	p.para("Reason:     ", firstReason(j.d, "it cannot be resumed as it is"), linesMessage)
	p.place("State file: ", j.plan.StateSource)
	p.gap()
	p.say("Recommended action: " + action)
}

// candidates lists several runs to choose from.
func (p *page) candidates(list []judged) {
	title := "Several open runs found"
	if slices.ContainsFunc(list, func(j judged) bool { return j.d.Contested() }) {
		title = "Several workflows need a look"
	}
	p.banner(title)
	p.gap()
	digits := len(strconv.Itoa(len(list)))
	for i, j := range list {
		if i == shownCandidates {
			p.gap()
			p.say(fmt.Sprintf("  … and %d more: `reprise status` lists them.", len(list)-i))
			break
		}
		lead := fmt.Sprintf("  %*d. ", digits, i+1)
		p.para(lead, fmt.Sprintf("%s -- %s -- %s", subject(j.run), p.since(j), whereWords(j)), linesSource)
		indent := strings.Repeat(" ", len(lead))
		if title := ownTitle(j.run); title != "" {
			p.line("%s%s", indent, fit(title, p.columns-len(indent)))
		}
		mark, text := verdict(j)
		p.marked(indent, mark, standingColours[j.d.Standing()], text, linesTitle)
	}
	if p.asking {
		p.question(fmt.Sprintf("Which would you like to resume? (1-%d, or \"none\" to start fresh)", len(list)))
		return
	}
	p.gap()
	p.say("Look at one of them: " + checkOf(list[0].name) + ".")
}

// detect prints how one run was interrupted.
func (p *page) detect(r *reprise.Run, name string, d report.Detect) {
	title := ""
	if r.Title != "" {
		title = ": " + plain(r.Title)
	}
	p.line("%s", fit(fmt.Sprintf("%s (%s, %s)%s", plain(name), r.Layout, r.Kind, title), p.columns))
	p.field("state", symbols[d.Run.State]+" "+words(d.Run.State)+", "+plain(d.Reason))
	if r.State.Open() && r.Until.After(p.now) {
		p.field("waits", plain(strings.TrimPrefix(r.Awaits(), "waits ")))
	}
	p.field("where", plain(r.Path))
	if r.Phase != "" {
		p.field("phase", plain(r.Phase))
	}
	if done := r.Progress(); done.Total > 0 {
		p.field("done", done.Words(" of "))
	}
	activity := reprise.Ago(p.now, r.LastActivity)
	if !r.LastActivity.IsZero() {
		activity += " (" + r.LastActivity.UTC().Format(time.RFC3339) + ", " + plain(r.LastActivitySource.String()) + ")"
	}
	p.field("activity", activity)
	if o := r.Owner; o != nil {
		p.field("owner", fmt.Sprintf("%s says %s (a marker proves nothing)", plain(o.Source.String()), plain(cmp.Or(o.Agent, unknownOwner))))
	}
	p.resumeState(d.ResumeState)
	for i, u := range r.Next {
		label, text := "next", unitLabel(u, " ")
		if i > 0 {
			label = "or"
		}
		if u.Reason != "" {
			text += ": " + plain(u.Reason)
		}
		p.field(label, text)
	}
	for _, q := range r.PendingQuestions() {
		p.field("question", plain(q.ID)+" "+plain(q.Text)+" ["+plain(q.Source.String())+"]")
	}
	if len(d.Options) > 0 {
		p.heading("Ways to continue:")
		p.options(d.Options)
	}
	p.all = true
	p.findings([]*reprise.Run{r}, map[*reprise.Run]string{r: name}, nil)
}

// unknownOwner names an owner whose marker does not say who it is.
const unknownOwner = "an unknown agent"

func (p *page) resumeState(s reprise.ResumeState) {
	if !s.Interrupted {
		return
	}
	text := strings.ReplaceAll(string(s.Type), "_", " ")
	if s.Plan != "" {
		text += ", plan " + plain(s.Plan)
	}
	if s.CompletedTasks != nil && s.TotalTasks != nil {
		text += fmt.Sprintf(", %d of %d tasks", *s.CompletedTasks, *s.TotalTasks)
	}
	if s.AgentID != "" {
		text += ", agent " + plain(s.AgentID)
	}
	if s.LastCommit != "" {
		text += ", last commit " + plain(s.LastCommit)
	}
	p.field("type", text)
	for _, also := range s.Also {
		p.field("also", strings.ReplaceAll(string(also.Type), "_", " ")+" "+plain(also.Plan+" "+also.Question))
	}
}
