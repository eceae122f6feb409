package longrun

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// judgeMarker decides whether current-agent-id.txt can be believed. It is
// contradicted where its plan has a summary that closes it, where both the
// summary and the agent's own entry say that it came to an end, where its entry
// says that it was never begun, or where no plan is left that an agent could be
// at; in every other case someone may be at work.
func (l *longRun) judgeMarker() {
	a := l.agent
	if !a.marker {
		return
	}
	if a.entry != nil {
		if why := l.agentEnded(a.entry, l.named(a.entry.plan)); why != "" && len(doc.Numbers(a.entry.plan)) > 0 {
			l.stale = true
			f := a.markerFinding(true, why)
			if a.entry.status != reprise.InProgress || !a.entry.ended.IsZero() {
				f.Severity = reprise.Info // the agent's own entry agrees
			}
			l.r.Report(f)
			return
		}
	}
	if len(l.plans) > 0 && l.firstOpen() == nil {
		l.stale = true
		l.r.Report(a.markerFinding(true, "no plan is open"))
		return
	}
	why := a.why
	if a.entry != nil {
		why = fmt.Sprintf("its entry for plan %s says %q", a.entry.plan, doc.Clip(a.entry.word, 40))
		if a.entry.status == reprise.InReview {
			why += " and the summary is missing"
		}
	}
	l.r.Report(a.markerFinding(false, why))
}

// agentEnded says what shows that the agent of an entry is no longer at its
// plan, "" if nothing does.
func (l *longRun) agentEnded(e *agentEntry, p *plan) string {
	switch {
	case e.status == reprise.Pending:
		return fmt.Sprintf("its entry says %q", doc.Clip(e.word, 40))
	case p == nil || p.summary == nil:
		return ""
	case p.summary.status == reprise.Done:
		return fmt.Sprintf("plan %s has a completed summary", p.id)
	case p.summary.status == reprise.Skipped:
		return fmt.Sprintf("plan %s was skipped", p.id)
	case p.summary.status != reprise.Unknown && e.status != reprise.InProgress && e.status != reprise.Unknown:
		return fmt.Sprintf("its entry says %q and plan %s has a summary", doc.Clip(e.word, 40), p.id)
	}
	return ""
}

// checkSequence compares the numbers: holes among the plans, open plans before
// completed ones, and STATE.md against the summaries.
func (l *longRun) checkSequence() {
	for i := 1; i < len(l.plans); i++ {
		if from, to := l.plans[i-1].num, l.plans[i].num; to > from+1 {
			warn(l.r, reprise.CodeGap, l.plans[i].id, l.run.Steps[i].Source,
				fmt.Sprintf("no file mentions the plans between %d and %d", from, to), "check whether plan files were lost")
		}
	}
	open := l.firstOpen()
	if open != nil {
		for _, p := range l.plans {
			if p.num > open.num && p.status == reprise.Done {
				warn(l.r, reprise.CodeGap, open.id, open.claims[0].Source,
					fmt.Sprintf("plan %s is %s while the later plan %s is completed", open.id, open.status, p.id), "decide whether it was left out on purpose")
				break
			}
		}
	}
	s := &l.state
	switch {
	case !s.exists:
		warn(l.r, reprise.CodeMissingArtifact, "STATE.md", reprise.Source{File: path.Join(l.dir, "STATE.md")},
			"STATE.md is missing; the plan and summary files are used instead", "")
	case open != nil && s.status == wordComplete:
		warn(l.r, reprise.CodeFalseCompletion, "STATE.md", s.source,
			fmt.Sprintf("STATE.md says %q, but plan %s is %s", doc.Clip(s.word, 40), open.id, open.status), "finish or skip the open plan, or correct its summary")
	case open != nil && s.plan > open.num:
		warn(l.r, reprise.CodeStatusDrift, open.id, s.planSource,
			fmt.Sprintf("STATE.md is at plan %d, but plan %s is %s", s.plan, open.id, open.status), "the summaries count; look at the commits of the open plan")
	}
	if n := l.missingPlans(); n > 0 {
		warn(l.r, reprise.CodeMissingArtifact, "plans", s.planSource,
			fmt.Sprintf("STATE.md counts %s, but files mention %d", ledger.Plural(s.total, "plan"), len(l.plans)), "write the missing plan files, or correct the count")
	}
}

// decide sets state, reason, phase and what may be started next.
func (l *longRun) decide() {
	run, open := l.run, l.firstOpen()
	run.Phase = l.phaseText(open)
	asked := run.PendingQuestions()
	if open != nil {
		l.offer(asked)
	}
	switch {
	case l.blind && (open != nil || len(l.plans) == 0):
		run.State, run.Reason, run.Next = reprise.Unreadable, "the folders of plans and summaries cannot be listed, so what is done is not known", nil
	case len(asked) > 0:
		run.State, run.Reason = reprise.Waiting, fmt.Sprintf("%s on %s without an answer", ledger.Plural(len(asked), "question"), asked[0].Subject)
	case len(l.plans) == 0:
		l.decideWithoutPlans()
	case open == nil && l.missingPlans() > 0:
		run.State, run.Reason = reprise.Interrupted, fmt.Sprintf("all plans on disk are done, but STATE.md counts %d", l.state.total)
		run.Next = []reprise.Unit{{ID: "transform", Path: path.Join(l.dir, "plans"), Title: "Write the missing plan files", Phase: "transform", Role: "planner", Reason: run.Reason}}
	case open == nil:
		run.State, run.Reason = reprise.Complete, fmt.Sprintf("all %s have a summary that closes them", ledger.Plural(len(l.plans), "plan"))
	case len(run.Next) == 0:
		run.State, run.Reason = reprise.Waiting, "no open plan can be started: each waits for another that cannot be done"
	case !l.begun():
		run.State, run.Reason = reprise.NotStarted, fmt.Sprintf("%s planned, none begun", ledger.Plural(len(l.plans), "plan"))
	default:
		run.State, run.Reason = reprise.Interrupted, l.whyInterrupted(open)
	}
}

func (l *longRun) phaseText(open *plan) string {
	switch {
	case open != nil && open.group != "":
		return fmt.Sprintf("plan %s (%s)", open.id, open.group)
	case open != nil:
		return "plan " + open.id
	}
	return l.state.word
}

// decideWithoutPlans is for a folder in which no plan exists yet, or no more.
func (l *longRun) decideWithoutPlans() {
	run, s := l.run, &l.state
	first := reprise.Unit{ID: "transform", Path: l.dir, Title: "Write the plans from tasks.md", Phase: "transform", Role: "planner", Reason: "no plan file is there"}
	switch {
	case l.agent.marker:
		run.State, run.Reason = reprise.Interrupted, "an agent is marked as working, but there is no plan file"
	case s.exists && !s.read:
		run.State, run.Reason = reprise.Unreadable, "neither STATE.md nor a plan file says where the run stands"
		warn(l.r, reprise.CodeUnreadable, "STATE.md", s.source, "nothing in this folder says where the run stands", "look at the folder by hand")
		return
	case s.status == wordComplete:
		run.State, run.Reason = reprise.Complete, fmt.Sprintf("STATE.md says %q and no plan is open", doc.Clip(s.word, 40))
		return
	case s.status == wordSetup || s.status == wordReady || s.status == wordNone:
		run.State, run.Reason = reprise.NotStarted, "the run was set up, but no plan is written yet"
	default:
		run.State, run.Reason = reprise.Interrupted, fmt.Sprintf("STATE.md says %q, but there is no plan file", doc.Clip(s.word, 40))
	}
	run.Next = []reprise.Unit{first}
}

// begun reports whether any ledger knows of work.
func (l *longRun) begun() bool {
	if l.agent.marker || len(l.agent.entries) > 0 {
		return true
	}
	if s := l.state.status; s >= wordExecuting && s != wordUnknown {
		return true
	}
	return slices.ContainsFunc(l.plans, func(p *plan) bool { return p.status != reprise.Pending })
}

func (l *longRun) whyInterrupted(open *plan) string {
	p := cmp.Or(l.named(l.run.Next[0].ID), open)
	return fmt.Sprintf("%d of %s closed; plan %s %s", l.closed(nil, nil), ledger.Plural(len(l.plans), "plan"), p.id, l.standing(p))
}

// standing says in words how far a plan came.
func (l *longRun) standing(p *plan) string {
	c := p.checkpoint
	switch {
	case p.summary != nil && p.summary.status != reprise.Unknown && !p.summary.status.Closed():
		return because(fmt.Sprintf("ended as %q", doc.Clip(p.summary.word, 20)), p.summary.reason)
	case c.begun():
		return because(fmt.Sprintf("stopped after task %d of %d", c.completed, c.total), c.failure)
	case p.status == reprise.InReview && c != nil:
		return "has all its tasks done and lacks its summary"
	case p.status == reprise.InReview:
		return "was reported done by its agent and lacks its summary"
	case c != nil && c.status == reprise.Unknown:
		return "has a checkpoint that cannot be read"
	case p.summary != nil && p.summary.status == reprise.Unknown:
		return "has a summary that cannot be understood"
	case p.status == reprise.InProgress:
		return "was begun"
	case p.status == reprise.Failed:
		return "failed"
	}
	return "comes next"
}

// because adds the reason a ledger gives, if it gives one.
func because(what, reason string) string {
	if placeholder(reason) {
		return what
	}
	return what + ": " + strconv.Quote(doc.Clip(oneLine(reason), 80))
}

// offer lists the plans that may be started: the one an agent was at, those
// with a checkpoint half way, and the first open one; each only if what it
// depends on is closed and no question on it is pending.
func (l *longRun) offer(asked []reprise.Question) {
	var list []*plan
	open := func(p *plan) bool { return !p.status.Closed() }
	ready := func(p *plan) bool {
		return open(p) && !slices.ContainsFunc(l.byKey.needed(p), open) && !askedAbout(p, asked)
	}
	add := func(p *plan) {
		if p != nil && !slices.Contains(list, p) && ready(p) {
			list = append(list, p)
		}
	}
	if e := l.agent.entry; e != nil && !l.stale {
		add(l.named(e.plan))
	}
	for _, p := range l.plans {
		if p.checkpoint.begun() {
			add(p)
		}
	}
	if i := slices.IndexFunc(l.plans, ready); i >= 0 {
		add(l.plans[i])
	}
	for _, p := range list {
		l.run.Next = append(l.run.Next, l.unit(p))
	}
}

// askedAbout matches "Task Group 3: Payments" to the plan of that group.
func askedAbout(p *plan, asked []reprise.Question) bool {
	for _, q := range asked {
		if slices.Contains(q.Group, p.id) {
			return true
		}
		subject := strings.TrimSpace(strings.TrimPrefix(doc.Fold(q.Subject), "task group"))
		if group := doc.Fold(p.group); group != "" && (subject == group || strings.HasSuffix(subject, " "+group)) {
			return true
		}
		if nums := doc.Numbers(subject); p.group == "" && len(nums) > 0 && nums[0] == p.num {
			return true
		}
	}
	return false
}

func (l *longRun) unit(p *plan) reprise.Unit {
	u := reprise.Unit{ID: p.id, Path: cmp.Or(p.path, p.claims[0].Source.File), Title: p.title, Phase: p.group, Role: "executor", Reason: "plan " + p.id + " " + l.standing(p)}
	c := p.checkpoint
	switch {
	case p.status == reprise.InReview:
		u.Title = "Check the work and write the summary: " + p.title
	case c.begun():
		at := c.completed + 1
		u.Title = fmt.Sprintf("Continue at task %d of %d", at, c.total)
		if c.current != "" {
			u.Title += ": " + c.current
		} else if c.completed < len(p.tasks) {
			u.Title += ": " + p.tasks[c.completed].name
		}
	}
	return u
}
