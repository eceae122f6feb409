package longrun

import (
	"cmp"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// resume fills in the answer of the seed: agent, checkpoint, position, question,
// in that order. The first match is the answer's type; the others stand behind
// it, so that none hides another.
func (l *longRun) resume() {
	var found []reprise.ResumeState
	if l.agent.marker && !l.stale {
		s := reprise.ResumeState{Interrupted: true, Type: reprise.ActiveAgent, AgentID: l.agent.id}
		if e := l.agent.entry; e != nil {
			s.Plan, s.Status, s.Timestamp = e.plan, e.word, e.stamp
		}
		found = append(found, s)
	}
	for _, p := range l.plans {
		// A completed summary is written after the checkpoint and outranks it.
		if c := p.checkpoint; c.partial() && !p.status.Closed() {
			found = append(found, reprise.ResumeState{
				Interrupted: true, Type: reprise.PartialPlan, Plan: c.plan,
				CompletedTasks: &c.completed, TotalTasks: &c.total, LastCommit: c.last,
			})
		}
	}
	if s, ok := l.betweenPlans(); ok {
		found = append(found, s)
	}
	if l.run.Resume = firstOf(found, l.run); l.run.Resume != nil {
		return
	}
	done, total := 0, 0
	for _, p := range l.plans {
		if p.status == reprise.Done {
			done++
		}
		if p.path != "" {
			total++
		}
	}
	total = cmp.Or(total, len(l.plans))
	l.run.Resume = &reprise.ResumeState{CompletedPlans: &done, TotalPlans: &total}
}

// firstOf is the first answer with the others behind it, and last the questions that
// wait; nil if there is none.
func firstOf(found []reprise.ResumeState, run *reprise.Run) *reprise.ResumeState {
	for _, q := range run.PendingQuestions() {
		group := strings.TrimSpace(q.Subject)
		if len(group) > 10 && doc.Fold(group[:10]) == "task group" {
			group = strings.TrimSpace(group[10:])
		}
		found = append(found, reprise.ResumeState{Interrupted: true, Type: reprise.PendingClarification, TaskGroup: group, Question: q.Text})
	}
	if len(found) == 0 {
		return nil
	}
	found[0].Also = found[1:]
	return &found[0]
}

// betweenPlans gives the plan to continue with. It is the first plan that is not
// closed rather than the one STATE.md names: STATE.md is written last, and a
// hole among the summaries lies before it.
func (l *longRun) betweenPlans() (reprise.ResumeState, bool) {
	last, from := 0, 0
	for _, p := range l.plans {
		if !p.status.Closed() {
			from = p.num
			break
		}
		if p.status == reprise.Done {
			last = p.num
		}
	}
	switch {
	case from == 0 && len(l.plans) == 0 && l.state.plan > 0 && l.state.status != wordComplete:
		from = l.state.plan
	case from == 0 && l.missingPlans() > 0:
		from = l.plans[len(l.plans)-1].num + 1
	}
	if from == 0 || (l.run.State == reprise.NotStarted && l.state.plan == 0) {
		return reprise.ResumeState{}, false
	}
	return reprise.ResumeState{Interrupted: true, Type: reprise.BetweenPlans, ResumeFrom: &from, LastCompleted: &last}, true
}
