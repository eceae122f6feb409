package cli

import (
	"fmt"
	"strings"
	"time"

	"reprise"
	"reprise/report"
)

// layout shows a run in the form its own seed gives.
func (f *face) layout(j judged) {
	if j.d.Action == reprise.Refuse && j.d.State == reprise.Running {
		f.failure(j, "wait until it ends, or stop it there; then check again.")
		return
	}
	switch j.run.Layout {
	case "orchestrate":
		f.orchestrate(j)
	case "eventrun":
		f.eventrun(j)
	case "specloop":
		f.specloop(j)
	case "longrun":
		f.longrun(j)
	case "autoclaude":
		f.autoclaude(j)
	default:
		f.summary(j)
	}
}

// eventrun is the resume report of seed 002.
func (f *face) eventrun(j judged) {
	rule := strings.Repeat("═", min(f.columns, 59))
	f.line("%s", rule)
	title := "RUN TO RESUME: "
	if f.asking {
		title = "RESUMING RUN: "
	}
	f.para(title, j.run.ID, linesTitle)
	f.gap()
	f.line("Current State:")
	f.para("- Phase: ", orDash(j.run.Phase), linesTitle)
	p := j.run.Progress()
	f.line("- Tasks: %d/%d complete", p.Done, p.Total)
	f.para("- Last activity: ", f.activity(j), linesSource)
	last := "nothing yet"
	if s := report.LastDone(j.run, j.d); s != nil {
		last = clip(s.ID, 60)
		if s.Title != "" {
			last += " - " + plain(s.Title)
		}
	}
	f.para("- Last completed: ", last, linesTitle)
	f.gap()
	f.line("Next Action:")
	f.actions(j)
	f.gap()
	switch {
	case !f.asking:
		f.line("Nothing was started.")
	case j.d.Action == reprise.Start:
		f.line("Continuing...")
	default:
		f.line("Not continuing: see above.")
	}
	f.line("%s", rule)
}

// shownActions is how many units that may be started now are listed.
const shownActions = 5

// actions lists what would happen next, or what is waited for.
func (f *face) actions(j judged) {
	asked := j.run.PendingQuestions()
	for i, q := range asked {
		if i == shownActions {
			f.line("- and %s more", count(len(asked)-i, "question"))
			break
		}
		f.para("- Answer: ", clip(q.Subject, 40)+": "+q.Text, linesMessage)
	}
	if len(j.d.Units) == 0 && len(asked) == 0 {
		why := "nothing can be started"
		if len(j.d.Reasons) > 0 {
			why += ": " + j.d.Reasons[0]
		}
		f.para("- ", why, linesMessage)
	}
	for i, u := range j.d.Units {
		if i == shownActions && !f.preflight {
			f.line("- and %d more that could be started now", len(j.d.Units)-i)
			break
		}
		f.para("- ", unitWords(u), linesMessage)
	}
}

// unitWords names a unit, who does it, and why it is its turn.
func unitWords(u reprise.Unit) string {
	text, title := clip(u.ID, 60), clip(u.Title, 200)
	switch {
	case strings.Contains(title, text):
		text = title
	case title != "":
		text += " - " + title
	}
	if u.Role != "" {
		text += " (" + clip(u.Role, 30) + ")"
	}
	if u.Reason != "" {
		text += ": " + u.Reason
	}
	return text
}

// activity tells when a run was last active, exactly and in words.
func (f *face) activity(j judged) string {
	if j.run.LastActivity.IsZero() {
		return "unknown: its files record no time"
	}
	return j.run.LastActivity.UTC().Format(time.RFC3339) + " (" + f.ago(j) + ")"
}

func orDash(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// specloop is the prompt table of seed 004.
func (f *face) specloop(j judged) {
	state := "Found interrupted workflow for '"
	if j.d.State != reprise.Interrupted && j.d.State != reprise.Waiting {
		state = "Found workflow (" + words(j.d.State) + ") for '"
	}
	f.say(state + clip(j.run.ID, 60) + "'.")
	f.gap()
	status, iteration := loopWords(j.run)
	rows := [][2]string{
		{"Field", "Value"},
		{"Status", status},
		{"Iteration", iteration},
		{"Pending Clarifications", fmt.Sprint(len(j.run.PendingQuestions()))},
		{"Last Activity", f.activity(j)},
	}
	const name = 22
	room := f.columns - name - 7
	wide := 5
	for _, r := range rows {
		wide = max(wide, min(room, width(plain(r[1]))))
	}
	for i, r := range rows {
		for k, l := range clamp(wrap(plain(r[1]), wide), linesTitle) {
			if k > 0 {
				r[0] = ""
			}
			f.line("| %s | %s |", pad(r[0], name), pad(l, wide))
		}
		if i == 0 {
			f.line("|%s|%s|", strings.Repeat("-", name+2), strings.Repeat("-", wide+2))
		}
	}
	if f.asking {
		for _, q := range j.run.PendingQuestions() {
			f.para("  ? ", clip(q.ID, 30)+" "+q.Text, linesMessage)
		}
		f.question("How would you like to proceed?")
		f.numbered(j.d.Options(j.run))
	}
}

func clamp(lines []string, most int) []string {
	if len(lines) == 0 {
		return []string{""}
	}
	return lines[:min(most, len(lines))]
}

// loopWords takes the loop's status and iteration out of the words in which
// the layout tells the phase: "B1 ask (clarifying, iteration 2 / 10)".
func loopWords(r *reprise.Run) (status, iteration string) {
	status, iteration = orDash(r.Phase), "not counted"
	open := strings.LastIndexByte(r.Phase, '(')
	if open < 0 || !strings.HasSuffix(r.Phase, ")") {
		return status, iteration
	}
	inside := r.Phase[open+1 : len(r.Phase)-1]
	before, after, found := strings.Cut(inside, "iteration ")
	if found {
		iteration = strings.TrimSpace(after)
	}
	if s := strings.Trim(before, " ,"); s != "" {
		status = s + " (" + strings.TrimSpace(r.Phase[:open]) + ")"
	}
	return status, iteration
}

// longrun tells how the run was interrupted in the words of seed 000.
func (f *face) longrun(j judged) {
	if j.run.Resume != nil {
		f.interruption(j, *j.run.Resume)
	} else {
		f.plans(j)
	}
	if f.asking {
		f.heading("Options:")
		f.numbered(j.d.Options(j.run))
		if why := j.run.NoGroup(); why != "" {
			f.para("  ", why, linesSource)
		}
	}
}

// plans tells the same of a run that keeps no checkpoints: its steps are the
// plans themselves.
func (f *face) plans(j judged) {
	p := j.run.Progress()
	text := fmt.Sprintf("%d of %d plans are done", p.Done, p.Total)
	if j.d.Point != nil {
		text += "; next is " + pointWords(j)
	}
	f.para("", text+".", linesSource)
	if s := report.LastDone(j.run, j.d); s != nil {
		f.para("Last completed: ", strings.TrimSpace(clip(s.ID, 60)+" "+s.Title), linesTitle)
		f.para("Commits made: ", commitWords(j.run, reprise.ResumeState{Plan: s.ID}), linesSource)
	}
	for i, q := range j.run.PendingQuestions() {
		if i == 0 {
			f.heading("Waiting for an answer:")
		}
		f.para("  - ", q.Text, linesMessage)
	}
}

func (f *face) interruption(j judged, s reprise.ResumeState) {
	f.resumeText(j, s)
	for i, also := range s.Also {
		if i == 0 {
			f.heading("Behind that:")
		}
		f.resumeText(j, also)
	}
}

func (f *face) resumeText(j judged, s reprise.ResumeState) {
	plan := clip(s.Plan, 60)
	switch s.Type {
	case reprise.ActiveAgent:
		if plan == "" {
			f.say("Found interrupted execution; which plan it was is not on record.")
		} else {
			f.say("Found interrupted execution of Plan " + plan + ".")
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
		f.say(text + ".")
	case reprise.PartialPlan:
		f.say(fmt.Sprintf("Plan %s was interrupted after Task %s/%s.", plan, number(s.CompletedTasks), number(s.TotalTasks)))
		f.para("Commits made: ", commitWords(j.run, s), linesSource)
	case reprise.BetweenPlans:
		f.say(fmt.Sprintf("Plan %s is next; the last completed one is %s.", number(s.ResumeFrom), number(s.LastCompleted)))
	case reprise.PendingClarification:
		f.say("Execution paused waiting for clarification on " + clip(orDash(s.TaskGroup), 60) + ".")
		f.para("  ", s.Question, linesMessage)
	default:
		if s.CompletedPlans != nil && s.TotalPlans != nil {
			f.say(fmt.Sprintf("Not interrupted: %d of %d plans are complete.", *s.CompletedPlans, *s.TotalPlans))
		}
	}
}

func number(n *int) string {
	if n == nil {
		return "?"
	}
	return fmt.Sprint(*n)
}

// commitWords lists the commits on record for the plan that was interrupted.
func commitWords(r *reprise.Run, s reprise.ResumeState) string {
	commits := []string{}
	if step := r.Step(s.Plan); step != nil {
		commits = step.Commits
	}
	if len(commits) == 0 && s.LastCommit != "" {
		commits = []string{s.LastCommit}
	}
	if len(commits) == 0 {
		return "none on record"
	}
	short := make([]string, 0, len(commits))
	for _, c := range commits {
		short = append(short, shortHash(c))
	}
	return strings.Join(short, ", ")
}

// shortHash is as much of a commit's hash as people read.
func shortHash(h string) string {
	runes := []rune(plain(h))
	return string(runes[:min(10, len(runes))])
}

// autoclaude tells what was built so far, in the terms of seed 003.
func (f *face) autoclaude(j judged) {
	r := j.run
	f.say("Existing build found: " + clip(r.ID, 60))
	p := r.Progress()
	f.field("chunks", fmt.Sprintf("%d of %d completed", p.Done, p.Total))
	f.field("phase", clip(orDash(r.Phase), 200))
	tree := r.Worktree
	for _, a := range r.Artifacts {
		if tree == "" && a.Name == "worktree" && a.Presence == reprise.Present {
			tree = a.Path
		}
	}
	switch {
	case tree == "" && j.d.Point != nil && j.d.Point.Role == "coder":
		f.field("worktree", "none; one is made before the coding goes on")
	case tree == "":
		f.field("worktree", "none")
	case r.Branch != "":
		f.field("worktree", clip(tree, 300)+", branch "+clip(r.Branch, 100))
	default:
		f.field("worktree", clip(tree, 300))
	}
	if n := uncommitted(j.o.Git, tree); n > 0 {
		f.field("at risk", count(n, "file")+" in the worktree not committed; they are kept")
	}
	f.field("activity", f.activity(j))
	if j.d.Point != nil {
		f.field("next", clip(unitWords(*j.d.Point), 400))
	}
	f.question("What would you like to do?")
	if f.asking {
		f.numbered(j.d.Options(j.run))
	}
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
