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
	shownPhases     = 20 // phases that stay valid or run again
	shownCandidates = 12 // runs of which one is to be chosen
)

// show shows a run in the form its own seed gives.
func (p *page) show(j judged) {
	if j.d.Action == reprise.Refuse && j.d.State == reprise.Running {
		p.failure(j, "wait until it ends, or stop it there; then check again.")
		return
	}
	formOf(j.run.Kind).show(p, j)
}

// options prints the ways to continue, numbered, with the word that chooses each.
func (p *page) options(options []reprise.Option) {
	wide := 0
	for _, o := range options {
		wide = max(wide, min(16, width(plain(o.Key))))
	}
	for i, o := range options {
		p.para(fmt.Sprintf("  %d. %s  ", i+1, pad(clip(o.Key, wide), wide)), o.Label, linesTitle)
	}
}

// askWay ends a prompt that lists the ways to continue.
func (p *page) askWay(j judged, question string) {
	if p.asking {
		p.question(question)
		p.options(j.d.Options(j.run))
	}
}

// asked prints an open question with the answers that are offered.
func (p *page) asked(q reprise.Question) {
	p.para("  ? "+clip(q.ID, p.columns/3)+"  ", q.Text, linesMessage)
	for i, o := range q.Options {
		p.para(fmt.Sprintf("      %d. ", i+1), o, linesTitle)
	}
}

// staged shows a run that goes through phases in the form seed 001 gives for its
// situation.
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

// summary is the saved state before a person decides to resume it.
func (p *page) summary(j judged) {
	verb, since := "Resume: ", "Last active: "
	switch j.d.State {
	case reprise.Interrupted:
		since = "Interrupted: "
	case reprise.NotStarted:
		verb = "Start: "
	}
	p.banner(verb + subject(j.run))
	p.gap()
	p.pair(since, fmt.Sprintf("%s (%s)", p.ago(j), j.plan.AgeBand))
	p.place("State source: ", j.plan.StateSource)
	p.completed(j)
	p.heading("Resume point:")
	p.para("  -> ", pointWords(j), linesTitle)
	p.inputs(j)
	p.validation(j)
	p.question("Resume this workflow? (yes / restart from scratch / cancel)")
}

// inputs lists what is passed to the next phase.
func (p *page) inputs(j judged) {
	if j.plan.Next == nil {
		return
	}
	inputs := j.plan.Next.Inputs
	if len(inputs) == 0 {
		p.line("     Input: none on record")
	}
	lead := "     Input: "
	for i, in := range inputs {
		if i == shownActions && !p.preflight {
			p.line("%sand %d more", lead, len(inputs)-i)
			break
		}
		p.place(lead, in)
		lead = strings.Repeat(" ", len(lead))
	}
}

// completed lists the phases that are done, or how many of each group where
// there are many.
func (p *page) completed(j judged) {
	p.heading("Completed phases:")
	var done []*reprise.Step
	for i := range j.run.Steps {
		if s := &j.run.Steps[i]; s.Status.Closed() && !slices.Contains(j.d.Again, s.ID) {
			done = append(done, s)
		}
	}
	switch {
	case len(done) == 0:
		p.line("  none")
	case len(done) > shownCompleted || j.run.Kind.Facts().Stories:
		p.groups(j.run)
	default:
		for i, s := range done {
			p.para(fmt.Sprintf("  %d. ", i+1), withRole(stepName(s.ID, s.Title), s.Role)+" -- "+stepWords(s), linesTitle)
		}
	}
}

// groups counts the closed steps of each wave or phase that has any.
func (p *page) groups(r *reprise.Run) {
	var order []string
	all, done := map[string]int{}, map[string][]string{}
	for i := range r.Steps {
		s := &r.Steps[i]
		if all[s.Phase]++; all[s.Phase] == 1 {
			order = append(order, s.Phase)
		}
		if s.Status.Closed() {
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

// validation tells what was found: in a prompt every warning and conflict, in a
// report how many, since they follow in full.
func (p *page) validation(j judged) {
	if !p.asking {
		p.gap()
		p.pair("Validation:", validationWords(j.plan.Validation))
		return
	}
	p.section("Waiting for an answer:", questionTexts(j.run.PendingQuestions()), 0, linesMessage)
	p.section("Conflicts (must be resolved before resuming):", findingTexts(j.run.Findings, reprise.Blocking), 0, linesMessage)
	p.section("Warnings:", findingTexts(j.run.Findings, reprise.Warning), 0, linesMessage)
}

// unrecoverable tells why a run cannot be resumed, and what is left to choose.
func (p *page) unrecoverable(j judged) {
	p.banner("Cannot resume: " + subject(j.run))
	p.gap()
	reason := "files it cannot do without are missing"
	if j.d.Action == reprise.Repair {
		reason = j.run.Reason
	}
	p.pair("Reason:", reason)
	told := map[string]bool{}
	for _, a := range j.d.Missing {
		text := a.Path + " is " + a.Presence.String()
		if a.NeededBy != "" {
			text += ", " + clip(a.NeededBy, 40) + " needs it"
		}
		if !a.Critical {
			text += " (not essential)"
		}
		p.para("  - ", text, linesSource)
		told[a.Path] = true
	}
	if !p.asking {
		return
	}
	for _, x := range j.run.Findings {
		if x.Severity == reprise.Blocking && !told[x.Subject] && !told[x.Source.File] {
			p.para("  - ", findingWords(x), linesMessage)
		}
	}
	p.heading("Options:")
	p.options(j.d.Options(j.run))
	p.question("Which would you prefer?")
}

// partial tells which phases stay valid and which must run again.
func (p *page) partial(j judged) {
	p.banner("Partial resume possible: " + subject(j.run))
	p.phases(j, "Valid phases (can be preserved):", j.d.Keep, func(string) string { return "output still valid" })
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
		suggestion += ", using what the valid phases left"
	}
	p.gap()
	p.say(suggestion + ".")
	p.validation(j)
	p.question("Proceed? (yes / restart from scratch / cancel)")
}

func (p *page) phases(j judged, title string, ids []string, why func(id string) string) {
	p.heading(title)
	if len(ids) == 0 {
		p.line("  none")
	}
	var texts []string
	for _, id := range ids {
		label := clip(id, 60)
		if i := slices.IndexFunc(j.run.Steps, func(s reprise.Step) bool { return s.ID == id }); i >= 0 && formOf(j.run.Kind).numbered {
			label = fmt.Sprintf("Phase %d: %s", i+1, label)
		}
		texts = append(texts, label+" -- "+why(id))
	}
	p.items("  - ", texts, shownPhases, linesSource)
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
	if agent == "" {
		p.line("Continuing...")
		return
	}
	p.say("Handing off to @" + agent + "...")
}

// failure tells why nothing was resumed and what to do about it.
func (p *page) failure(j judged, action string) {
	title := "Cannot resume now"
	if p.asking {
		title = "Resume failed"
	}
	p.banner(title)
	p.para("Workflow:   ", subject(j.run), linesTitle)
	p.para("Reason:     ", firstReason(j.d, "it cannot be resumed as it stands"), linesMessage)
	p.place("State file: ", j.plan.StateSource)
	p.gap()
	p.say("Recommended action: " + action)
}

// candidates lists several runs of which one is to be chosen.
func (p *page) candidates(list []judged) {
	p.banner("Several interrupted workflows found")
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
		p.marked(indent, mark, verdictColours[j.d.Verdict], text, linesTitle)
	}
	if p.asking {
		p.question(fmt.Sprintf("Which would you like to resume? (1-%d, or \"none\" to start fresh)", len(list)))
		return
	}
	p.gap()
	p.say("Look at one of them with `reprise check RUN`, for example `reprise check " + clip(list[0].name, 60) + "`.")
}

// graph is the resume report of seed 002.
func (p *page) graph(j judged) {
	rule := strings.Repeat("═", min(p.columns, 59))
	title, end := "RUN TO RESUME: ", "Nothing was started."
	if p.asking {
		title, end = "RESUMING RUN: ", "Not continuing: see above."
		if j.d.Action == reprise.Start {
			end = "Continuing..."
		}
	}
	last := "nothing yet"
	if s := report.LastDone(j.run, j.d); s != nil {
		last = named(s.ID, " - ", s.Title)
	}
	done := j.run.Progress()
	p.line("%s", rule)
	p.para(title, j.run.ID, linesTitle)
	p.gap()
	p.line("Current State:")
	p.para("- Phase: ", cmp.Or(j.run.Phase, "unknown"), linesTitle)
	p.line("- Tasks: %d/%d complete", done.Done, done.Total)
	p.para("- Last activity: ", p.activity(j), linesSource)
	p.para("- Last completed: ", last, linesTitle)
	p.gap()
	p.line("Next Action:")
	p.actions(j)
	p.gap()
	p.line("%s", end)
	p.line("%s", rule)
}

// actions lists what would happen next, or what is waited for.
func (p *page) actions(j judged) {
	asked := j.run.PendingQuestions()
	for i, q := range asked {
		if i == shownActions {
			p.line("- and %s more", count(len(asked)-i, "question"))
			break
		}
		p.para("- Answer: ", clip(q.Subject, 40)+": "+q.Text, linesMessage)
	}
	if len(j.d.Units) == 0 && len(asked) == 0 {
		why := "nothing can be started"
		if len(j.d.Reasons) > 0 {
			why += ": " + j.d.Reasons[0]
		}
		p.para("- ", why, linesMessage)
	}
	p.items("- ", unitTexts(j.d.Units), shownActions, linesMessage)
}

// specLoop is the prompt table of seed 004.
func (p *page) specLoop(j judged) {
	state := "Found interrupted workflow for '"
	if j.d.State != reprise.Interrupted && j.d.State != reprise.Waiting {
		state = "Found workflow (" + words(j.d.State) + ") for '"
	}
	p.say(state + clip(j.run.ID, 60) + "'.")
	p.gap()
	loop := j.run.Loop
	status := cmp.Or(loop.At, j.run.Phase, "unknown")
	if loop.Status != "" {
		status = loop.Status + " (" + loop.At + ")"
	}
	p.table([][2]string{
		{"Field", "Value"},
		{"Status", status},
		{"Iteration", cmp.Or(loop.Iteration, "not counted")},
		{"Pending Clarifications", strconv.Itoa(len(j.run.PendingQuestions()))},
		{"Last Activity", p.activity(j)},
	})
	if p.asking {
		for _, q := range j.run.PendingQuestions() {
			p.para("  ? ", clip(q.ID, 30)+" "+q.Text, linesMessage)
		}
	}
	p.askWay(j, "How would you like to proceed?")
}

// table prints rows of a name and a value with lines around; the first is the head.
func (p *page) table(rows [][2]string) {
	name, wide := 0, 5
	for _, r := range rows {
		name = max(name, width(r[0]))
	}
	for _, r := range rows {
		wide = max(wide, min(p.columns-name-7, width(plain(r[1]))))
	}
	for i, r := range rows {
		lines := wrap(plain(r[1]), wide)
		if len(lines) == 0 {
			lines = []string{""}
		}
		for _, l := range lines[:min(linesTitle, len(lines))] {
			p.line("| %s | %s |", pad(r[0], name), pad(l, wide))
			r[0] = ""
		}
		if i == 0 {
			p.line("|%s|%s|", strings.Repeat("-", name+2), strings.Repeat("-", wide+2))
		}
	}
}

// plans tells how a run of plans was interrupted in the words of seed 000.
func (p *page) plans(j judged) {
	if s := j.run.Resume; s != nil {
		p.interruption(j, *s)
		for i, also := range s.Also {
			if i == 0 {
				p.heading("Also pending:")
			}
			p.interruption(j, also)
		}
	} else {
		p.withoutCheckpoints(j)
	}
	if p.asking {
		p.heading("Options:")
		p.options(j.d.Options(j.run))
		if why := j.run.NoGroup(); why != "" {
			p.para("  ", why, linesSource)
		}
	}
}

// withoutCheckpoints tells the same of a run whose steps are the plans themselves.
func (p *page) withoutCheckpoints(j judged) {
	done := j.run.Progress()
	text := fmt.Sprintf("%d of %d plans are done", done.Done, done.Total)
	if j.d.Point != nil {
		text += "; next is " + pointWords(j)
	}
	p.para("", text+".", linesSource)
	if s := report.LastDone(j.run, j.d); s != nil {
		p.para("Last completed: ", strings.TrimSpace(clip(s.ID, 60)+" "+s.Title), linesTitle)
		p.para("Commits made: ", commitWords(j.run, s.ID, ""), linesSource)
	}
	p.section("Waiting for an answer:", questionTexts(j.run.PendingQuestions()), 0, linesMessage)
}

func (p *page) interruption(j judged, s reprise.ResumeState) {
	plan := clip(s.Plan, 60)
	switch s.Type {
	case reprise.ActiveAgent:
		if plan == "" {
			p.say("Found interrupted execution; which plan it was is not on record.")
		} else {
			p.say("Found interrupted execution of Plan " + plan + ".")
		}
		text := "Agent " + clip(s.AgentID, 60)
		if s.AgentID == "" {
			text = "An agent without an id"
		}
		if s.Timestamp != "" {
			text += " was spawned at " + clip(s.Timestamp, 40)
		}
		if s.Status != "" {
			text += ", its entry says \"" + clip(s.Status, 40) + "\""
		}
		p.say(text + ".")
	case reprise.PartialPlan:
		p.say(fmt.Sprintf("Plan %s was interrupted after Task %s/%s.", plan, number(s.CompletedTasks), number(s.TotalTasks)))
		p.para("Commits made: ", commitWords(j.run, s.Plan, s.LastCommit), linesSource)
	case reprise.BetweenPlans:
		p.say(fmt.Sprintf("Plan %s is next; the last completed one is %s.", number(s.ResumeFrom), number(s.LastCompleted)))
	case reprise.PendingClarification:
		p.say("Execution paused waiting for clarification on " + clip(cmp.Or(s.TaskGroup, "unknown"), 60) + ".")
		p.para("  ", s.Question, linesMessage)
	default:
		if s.CompletedPlans != nil && s.TotalPlans != nil {
			p.say(fmt.Sprintf("Not interrupted: %d of %d plans are complete.", *s.CompletedPlans, *s.TotalPlans))
		}
	}
}

func number(n *int) string {
	if n == nil {
		return "?"
	}
	return strconv.Itoa(*n)
}

// build tells what was built so far, in the terms of seed 003.
func (p *page) build(j judged) {
	r := j.run
	p.say("Existing build found: " + clip(r.ID, 60))
	done := r.Progress()
	p.field("chunks", fmt.Sprintf("%d of %d completed", done.Done, done.Total))
	p.field("phase", clip(cmp.Or(r.Phase, "unknown"), 200))
	tree := r.Worktree
	for _, a := range r.Artifacts {
		if tree == "" && a.Name == "worktree" && a.Presence == reprise.Present {
			tree = a.Path
		}
	}
	place := clip(tree, 300)
	switch {
	case tree == "" && j.d.Point != nil && j.d.Point.Role == "coder":
		place = "none; one is created before coding continues"
	case tree == "":
		place = "none"
	case r.Branch != "":
		place += ", branch " + clip(r.Branch, 100)
	}
	p.field("worktree", place)
	if n := uncommitted(j.o.Git, tree); n > 0 {
		p.field("at risk", count(n, "file")+" in the worktree not committed; they are kept")
	}
	p.field("activity", p.activity(j))
	if j.d.Point != nil {
		p.field("next", clip(unitWords(*j.d.Point), 400))
	}
	p.askWay(j, "What would you like to do?")
}

// uncommitted counts the changes in one checkout.
func uncommitted(g *reprise.Git, tree string) int {
	n := 0
	if g == nil || tree == "" {
		return 0
	}
	for _, c := range g.Changed {
		if c.Worktree == tree {
			n++
		}
	}
	return n
}

// detect prints how one run was interrupted.
func (p *page) detect(r *reprise.Run, name string, d report.Detect) {
	title := ""
	if r.Title != "" {
		title = ": " + plain(r.Title)
	}
	p.line("%s", fit(fmt.Sprintf("%s (%s, %s)%s", plain(name), r.Layout, r.Kind, title), p.columns))
	p.field("state", symbols[r.State]+" "+words(r.State)+", "+plain(r.Reason))
	p.field("where", plain(r.Path))
	if r.Phase != "" {
		p.field("phase", plain(r.Phase))
	}
	if done := r.Progress(); done.Total > 0 {
		p.field("done", fmt.Sprintf("%d of %d", done.Done, done.Total))
	}
	activity := p.age(r)
	if !r.LastActivity.IsZero() {
		if activity[0] >= '0' && activity[0] <= '9' { // "3 days", not "just now"
			activity += " ago"
		}
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
		p.gap()
		p.line("Ways to continue:")
		for i, o := range d.Options {
			p.line("  %d. %s (%s)", i+1, plain(o.Label), plain(o.Key))
		}
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
