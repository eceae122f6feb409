package cli

import (
	"fmt"
	"slices"

	"reprise"
	"reprise/engine"
	"reprise/journal"
	"reprise/project"
	"reprise/report"
)

// costOf adds up what attempts used, nil if no agent worked.
func costOf(list []journal.Spent) *report.Cost {
	steps := journal.ByStep(list)
	if len(steps) == 0 {
		return nil
	}
	return &report.Cost{Total: journal.Used(list, nil), Steps: report.Each(steps, func(s journal.StepUsed) report.StepCost {
		return report.StepCost{ID: s.Step, Attempts: s.Attempts, Usage: s.Usage}
	})}
}

// costs adds usage to a list of runs. A run that none of our agents worked on used
// nothing.
func costs(found *project.Judgement, list []report.Run) {
	for i, r := range found.Runs {
		cost := costOf(found.View(r).History.Spent)
		if cost == nil {
			cost = &report.Cost{Steps: []report.StepCost{}}
		}
		if slices.ContainsFunc(r.Findings, func(f reprise.Finding) bool { return f.Code == reprise.CodeJournalDamaged }) {
			cost.Total.MoreTokens, cost.Total.MoreCost = true, true
		}
		list[i].Cost = cost
	}
}

// cost prints what a run has used so far, if an agent worked on it. An unreadable journal
// is among the findings.
func (p *page) cost(found *project.Judgement, run *reprise.Run) {
	if cost := costOf(found.View(run).History.Spent); cost != nil {
		p.gap()
		p.used("", "Used so far: ", &cost.Total)
	}
}

// spending prints what each of several runs used, and the total.
func (p *page) spending(runs []*reprise.Run, res *project.Judgement, docs []report.Run) {
	names := reprise.Names(res.Runs)
	wide := widest(runs, func(r *reprise.Run) string { return plain(names[r]) })
	var sums []reprise.Usage
	p.heading("Used:")
	for i, r := range res.Runs {
		total := docs[i].Cost.Total
		if total != (reprise.Usage{}) {
			sums = append(sums, total)
		}
		if slices.Contains(runs, r) {
			p.line("  %s", fit(pad(plain(names[r]), wide)+"  "+total.String(), p.columns-2))
		}
	}
	switch {
	case len(sums) == 0 && len(runs) == 0:
		p.say("  unknown: reprise has started no agent here")
	case len(sums) > 1 || len(runs) == 0:
		p.line("  %s", fit(pad("all runs", wide)+"  "+reprise.Sum(sums...).String(), p.columns-2))
	}
}

// used prints what attempts used, as far as known.
func (p *page) used(indent, what string, u *reprise.Usage) {
	if u != nil && (u.Tokens != nil || u.Cost != nil) {
		p.para(indent, what+u.String(), linesAll)
	}
}

// sessionWords says what resuming a session costs compared with a new one, and which is
// used; "" if there is none.
func sessionWords(c *engine.SessionCost) string {
	if c == nil {
		return ""
	}
	amount := func(tokens int64, cost *float64) string {
		text := reprise.Count(tokens) + " tokens"
		if cost != nil {
			text += " (" + reprise.Dollars(*cost) + ")"
		}
		return text
	}
	resumed := "an amount that is not on record"
	if c.Context > 0 {
		resumed = amount(c.Context, c.ContextCost)
	}
	taken, id := "a new one", clip(c.ID, 40)
	if c.Resumed {
		taken = "resume"
	}
	return fmt.Sprintf("%s, because %s. Resuming %s sends %s again; a new session with a briefing begins with about %s", taken, c.Why, id, resumed, amount(c.Briefing, c.BriefingCost))
}
