package cli

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"reprise"
	"reprise/report"
)

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
	p.line("- Tasks: %s complete", done.Words("/"))
	p.para("- Last activity: ", p.activity(j), linesSource)
	p.para("- Last completed: ", last, linesTitle)
	p.gap()
	p.line("Next Action:")
	p.actions(j)
	p.gap()
	p.line("%s", end)
	p.line("%s", rule)
}

// actions lists what would happen next, or what is being waited for.
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
	p.items("- ", report.Each(j.d.Units, unitWords), shownActions, linesMessage)
}

// specLoop is the table of seed 004.
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
	for _, q := range j.run.PendingQuestions() {
		p.para("  ? ", clip(q.ID, 30)+" "+q.Text, linesMessage)
	}
}

// table prints rows of a name and a value with borders; the first row is the header.
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

// plans says how a run of plans was interrupted, in the words of seed 000.
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
}

// withoutCheckpoints does the same for a run whose steps are the plans themselves.
func (p *page) withoutCheckpoints(j judged) {
	done := j.run.Progress()
	text := fmt.Sprintf("%d of %d plans are done", done.Done-done.Skipped, done.Total)
	if j.d.Point != nil {
		text += "; next is " + pointWords(j)
	}
	p.para("", text+".", linesSource)
	if s := report.LastDone(j.run, j.d); s != nil {
		p.para("Last completed: ", strings.TrimSpace(clip(s.ID, 60)+" "+s.Title), linesTitle)
		p.para("Commits made: ", commitWords(j.run, s.ID, ""), linesSource)
	}
	p.section("Waiting for an answer:", report.Each(j.run.PendingQuestions(), textOf), 0, linesMessage)
}

func (p *page) interruption(j judged, s reprise.ResumeState) {
	plan := clip(s.Plan, 60)
	switch s.Type {
	case reprise.ActiveAgent:
		if plan == "" {
			p.say("Found interrupted execution; the plan is not on record.")
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

// build says what was built so far, in the terms of seed 003.
func (p *page) build(j judged) {
	r := j.run
	p.say("Existing build found: " + clip(r.ID, 60))
	done := r.Progress()
	p.field("chunks", done.Words(" of ")+" completed")
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
		p.field("at risk", count(n, "file")+" in the worktree uncommitted; they are kept")
	}
	p.field("activity", p.activity(j))
	if j.d.Point != nil {
		p.field("next", clip(unitWords(*j.d.Point), 400))
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
