package autoclaude

import (
	"fmt"
	"slices"
	"strconv"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// phaseHumanReview is where a finished and reviewed build stands until a
// person merges it or sends it back.
const phaseHumanReview = "human review"

// decide settles state, phase, reason and what comes next.
func (l *loader) decide() {
	if l.plan == nil && l.unreadable() {
		return
	}
	if l.decideClosed() {
		return
	}
	if l.plan == nil || len(l.plan.items) == 0 {
		if l.plan != nil && l.plan.lossy {
			l.cannotTell()
			return
		}
		l.decideSpec()
	} else {
		l.decideBuild()
	}
	l.applyHold()
	if at := l.marks.archived; at.File != "" {
		l.run.Report(reprise.Finding{
			Code: reprise.CodeAmbiguous, Severity: reprise.Info, Subject: l.run.ID, Source: at,
			Message: "a person archived the spec in the desktop program without closing it: it is hidden there, and nothing else has changed",
			Hint:    "close it if it is no longer wanted",
		})
	}
}

// applyHold lets a pause file outweigh what would come next, and says what
// that is.
func (l *loader) applyHold() {
	r, m := l.run, &l.marks
	if m.hold == "" {
		return
	}
	reason := m.hold
	switch {
	case r.State == reprise.Waiting:
		reason += "; besides, " + r.Reason
	case len(r.Next) > 0:
		reason += "; after that, " + strconv.Quote(r.Next[0].ID) + " is next"
	}
	l.waitFor(m.holdPhase, reason, m.holdTodo)
	r.Paused = r.Until.IsZero() // a limit that says when it ends is only waited for
}

// unreadable settles a spec of which no copy of the plan can be read.
func (l *loader) unreadable() bool {
	for _, p := range l.copies {
		if !p.broken {
			continue
		}
		r := l.run
		r.State, r.Phase = reprise.Unreadable, "unknown"
		r.Reason = "the plan cannot be read, so what is done is unknown"
		return true
	}
	return false
}

// cannotTell settles a plan whose readable part has nothing left to do.
func (l *loader) cannotTell() {
	l.run.State, l.run.Phase = reprise.Unreadable, "unknown"
	l.run.Reason = "parts of the plan cannot be read, so it cannot be called finished"
	if len(l.plan.rd.Findings()) == 0 {
		l.run.Report(reprise.Finding{
			Code: reprise.CodeUnreadable, Severity: reprise.Warning, Subject: planFile, Source: l.plan.file.At(0),
			Message: "parts of the plan are not what they should be", Hint: "repair the plan by hand",
		})
	}
}

// decideClosed settles a spec that was closed. Closing is a person's decision
// and is respected; what was left open or rejected is reported.
func (l *loader) decideClosed() bool {
	p, ok := l.closed()
	if !ok {
		return false
	}
	r := l.run
	open := len(r.Steps) - r.Progress().Done
	r.Phase = "closed"
	if len(r.Steps) > 0 && open == 0 && !l.plan.lossy {
		r.State = reprise.Complete
		r.Reason = fmt.Sprintf("%s and the plan is closed as %s", allDone(len(r.Steps)), quoteWord(p.status))
		if l.plan.qa == qaRejected {
			r.Report(reprise.Finding{
				Code: reprise.CodeFalseCompletion, Severity: reprise.Warning, Subject: r.ID, Source: l.plan.qaAt,
				Message: "closed although the last word of QA was a rejection",
				Hint:    "read qa_report.md before relying on it",
			})
		}
		if l.plan.qa == qaNone {
			l.rejectedBeside()
		}
		return true
	}
	r.State = reprise.Stopped
	what := fmt.Sprintf("%d of %d items open", open, len(r.Steps))
	if len(r.Steps) == 0 {
		what = "no plan made"
	}
	r.Reason = fmt.Sprintf("closed as %s with %s", quoteWord(p.status), what)
	r.Report(reprise.Finding{
		Code: reprise.CodeClosedOpen, Severity: reprise.Warning, Subject: r.ID, Source: p.source,
		Message: r.Reason + ": taken as a person's decision and not resumed",
		Hint:    "set the plan's status back to in_progress to resume it",
	})
	return true
}

// rejectedBeside reports that QA's report, or what it asked to be fixed if there is no report,
// ends with a rejection. A sign-off in the plan is newer than they are.
func (l *loader) rejectedBeside() {
	for _, name := range []string{"qa_report.md", "QA_FIX_REQUEST.md"} {
		f, ok := l.find(name)
		if !ok || !f.OK() {
			continue
		}
		if said := ledger.Rejections(f.Markdown()); len(said) > 0 {
			f.Report(reprise.Warning, reprise.CodeFalseCompletion, said[0].Line, fmt.Sprintf("closed, but %s says %s and nobody signed it off since", name, ledger.Against(said)), "read it before relying on the work")
		}
		return
	}
}

// decideBuild settles a spec with items: coding while any is open, then QA.
func (l *loader) decideBuild() {
	r, p := l.run, l.plan
	done := r.Progress().Done
	if done == len(r.Steps) {
		if p.lossy {
			l.cannotTell()
			return
		}
		l.decideQA()
		return
	}
	l.needSpec()
	startable := p.startable()
	if len(startable) == 0 {
		l.decideHeldItems()
		return
	}
	for i, at := range startable {
		s := &r.Steps[at]
		r.Next = append(r.Next, reprise.Unit{ID: s.ID, Title: s.Title, Phase: s.Phase, Role: s.Role, Reason: l.why(s, i)})
	}
	first := &r.Steps[startable[0]]
	l.tellFailed(first.ID)
	r.Phase = "coding: " + first.Phase
	r.State = reprise.Interrupted
	r.Reason = fmt.Sprintf("%d of %d items completed, next is %s", done, len(r.Steps), strconv.Quote(first.ID))
	if first.Status == reprise.InProgress {
		r.Reason = fmt.Sprintf("%d of %d items completed, %s was in progress", done, len(r.Steps), strconv.Quote(first.ID))
	}
	switch p.qa {
	case qaRejected:
		r.Reason += "; QA rejected the build before"
	case qaApproved:
		// QA runs only when all is completed, and new work clears its verdict.
		r.Reason += "; yet QA has approved the build"
		r.Report(reprise.Finding{
			Code: reprise.CodeStatusDrift, Severity: reprise.Warning, Subject: r.ID, Source: p.qaAt,
			Message: fmt.Sprintf("QA approved the build, but %d of %d items are open: they were done and not marked, or opened again since", len(r.Steps)-done, len(r.Steps)),
			Hint:    "look at the code before you do an item again",
		})
	}
	if _, stuck := l.memory.isStuck(first.ID); stuck {
		l.waitFor(r.Phase, fmt.Sprintf("%s was given up after %d attempts and comes next", strconv.Quote(first.ID), first.Attempts), "change the item or what it builds on, then clear its record")
		return
	}
	tried := slices.ContainsFunc(r.Steps, func(s reprise.Step) bool { return s.Attempts > 0 })
	if p.begun() || tried || len(l.memory.commits) > 0 || p.qa != qaNone && p.qa != qaOdd {
		return
	}
	if doc.Fold(p.status) == "in progress" {
		r.Reason = fmt.Sprintf("the plan is in progress, and none of its %d items is begun", len(r.Steps))
	} else {
		r.State = reprise.NotStarted
		r.Reason = "planned, and none of its items is begun"
	}
	l.checkApproval()
}

// tellFailed reports the items that failed and that the work passes by: what depends
// on them waits until they are done again.
func (l *loader) tellFailed(next string) {
	for i := range l.run.Steps {
		if s := &l.run.Steps[i]; s.Status == reprise.Failed && s.ID != next {
			l.run.Report(reprise.Finding{
				Code: reprise.CodeAbandoned, Severity: reprise.Warning, Subject: s.ID, Source: s.Source,
				Message: fmt.Sprintf("item %s failed and the work continues beyond it; what depends on it waits", strconv.Quote(doc.Clip(s.ID, 40))),
				Hint:    "find out why it failed; it is retried when nothing else can be started",
			})
		}
	}
}

// why says in words why a unit is offered.
func (l *loader) why(s *reprise.Step, i int) string {
	reason := "the first open item of the first phase whose dependencies are complete"
	switch {
	case s.Status == reprise.InProgress:
		reason = "it was in progress when the work stopped"
	case s.Status == reprise.Failed:
		reason = "it failed before"
	case i > 0:
		reason = "it does not depend on the one before"
	}
	if n := len(s.Commits); n > 0 {
		reason += fmt.Sprintf("; commit %s is on record for it, look there first", shortHash(s.Commits[n-1]))
	}
	return reason
}

// decideHeldItems settles a plan in which no open item may be started.
func (l *loader) decideHeldItems() {
	for i := range l.run.Steps {
		s := &l.run.Steps[i]
		switch s.Status {
		case reprise.Blocked:
			l.waitFor("coding: "+s.Phase, fmt.Sprintf("%s is blocked and nothing else can be started", strconv.Quote(s.ID)), "unblock "+s.ID)
			return
		case reprise.Unknown:
			l.waitFor("coding: "+s.Phase, fmt.Sprintf("it is not known whether %s is done, and nothing else can be started", strconv.Quote(s.ID)), "set the status of "+s.ID)
			return
		}
	}
	l.waitFor("coding", "items are open, but their phases wait for others that cannot be started", "correct the plan")
}

// needSpec says if spec.md is gone from a spec that is being built: the
// program's own list of specs leaves such a spec out.
func (l *loader) needSpec() {
	at, ok := l.pathOf("spec.md")
	if ok {
		return
	}
	l.rd.Report(reprise.Finding{
		Code: reprise.CodeMissingArtifact, Severity: reprise.Info, Subject: "spec.md", Source: reprise.Source{File: at},
		Message: "spec.md is missing; coding follows the plan, but the original program does not list the spec",
	})
}

// checkApproval stops a plan that has not begun and needs a person's approval first.
// Once work has begun, the question is settled.
func (l *loader) checkApproval() {
	m, r := &l.marks, l.run
	asked := m.reviewed && !m.approved || m.require && !m.approved ||
		doc.Fold(l.plan.status) == "human review" && doc.Fold(l.plan.reason) == "plan review" && !m.approved
	if !asked {
		return
	}
	source := m.review
	if source.File == "" {
		source = l.plan.source
	}
	r.Questions = append(r.Questions, reprise.Question{
		ID: "plan-approval", Text: "Approve the plan before coding starts?", Subject: "plan",
		Options: []string{"approve", "send back"}, Closed: true, Source: source,
	})
	l.waitFor("plan review", "the plan waits for a person's approval", "approve the plan or send it back")
}

// decideQA settles a plan whose items are all completed.
func (l *loader) decideQA() {
	r, p := l.run, l.plan
	all := allDone(len(r.Steps))
	status := doc.Fold(p.status)
	switch {
	case p.qa == qaApproved:
		l.awaitReview(all + " and QA approved it")
		if f := l.marks.fixRequest; f.File != "" {
			r.Report(reprise.Finding{
				Code: reprise.CodeAmbiguous, Severity: reprise.Info, Subject: r.ID, Source: f,
				Message: "QA approved, but there is a fix request: left over from an earlier round, or sent back by a person since",
				Hint:    "read it before merging",
			})
		}
	case p.qa == qaOdd:
		said := "in a form that cannot be read"
		if p.qaWord != "" {
			said = "with " + quoteWord(p.qaWord)
		}
		l.awaitReview(fmt.Sprintf("%s and QA signed off %s, which a person must judge", all, said))
	case l.marks.escalated:
		l.waitFor("qa", all+" and QA gave up and asks for a person", "read QA_ESCALATION.md and decide")
	case p.qa == qaRejected:
		l.decideRejected(all)
	case p.qa == qaFixed && p.qaOpen:
		l.runQA("qa-fix", roleQAFixer, "qa fix", all+"; fixing what QA found was begun but not finished")
	case p.qa == qaFixed:
		l.runQA("qa-review", roleQAReviewer, "qa re-review", all+"; what QA found was fixed and must be reviewed again")
	case status == "qa approved":
		l.awaitReview(all + " and the plan's status says that QA approved it")
	case l.marks.fixRequest.File != "" || doc.Fold(p.reason) == "qa rejected":
		l.runQA("qa-fix", roleQAFixer, "qa fix", all+"; there is a request to fix them")
	case status == "human review" && doc.Fold(p.reason) != "errors":
		l.awaitReview(all + " and the plan's status asks for a person, although QA has not signed off")
		r.Report(reprise.Finding{
			Code: reprise.CodeAmbiguous, Severity: reprise.Warning, Subject: r.ID, Source: p.source,
			Message: "the plan waits for a person's review, but QA never signed off",
			Hint:    "let QA run first, or review it as unchecked work",
		})
	default:
		l.runQA("qa-review", roleQAReviewer, "qa review", all+" and QA has not signed off")
	}
}

// maxQARounds is where the original QA loop ends without a result.
const maxQARounds = 50

// decideRejected sends a rejected build to the fixer, unless fixing was tried to the
// limit or an item had been given up on: then it is doubtful what is completed, and an
// agent would only go round in circles.
func (l *loader) decideRejected(all string) {
	switch {
	case len(l.memory.stuck) > 0:
		l.waitFor("qa", fmt.Sprintf("%s but QA rejected it, and %s had been given up on before: what is really done is unclear", all, l.memory.stuckIDs()), "read qa_report.md, reopen what is not done")
		l.run.Report(reprise.Finding{
			Code: reprise.CodeFalseCompletion, Severity: reprise.Warning, Subject: l.run.ID, Source: l.plan.qaAt,
			Message: "all items are marked completed, one of them after it was given up, and QA rejected the build",
			Hint:    "set the items that are not really done back to pending",
		})
	case l.plan.rounds >= maxQARounds:
		l.waitFor("qa", fmt.Sprintf("%s but QA rejected it after %d rounds", all, l.plan.rounds), "read qa_report.md and decide")
	default:
		l.runQA("qa-fix", roleQAFixer, "qa fix", all+" but QA rejected it")
	}
}

func (l *loader) runQA(id, role, phase, reason string) {
	r := l.run
	r.State, r.Phase, r.Reason = reprise.Interrupted, phase, reason
	title := "review what was built against the spec"
	if role == roleQAFixer {
		title = "fix what was found"
	}
	r.Next = []reprise.Unit{{ID: id, Title: title, Phase: phase, Role: role, Reason: reason}}
}

func (l *loader) awaitReview(reason string) {
	l.waitFor(phaseHumanReview, reason, "review what was built, then merge it or send it back")
}

// waitFor settles a run that cannot continue without a person or a limit. What
// would have come next is not offered: it may not be started now.
func (l *loader) waitFor(phase, reason, todo string) {
	r := l.run
	r.State, r.Phase, r.Reason = reprise.Waiting, phase, reason
	r.Next = []reprise.Unit{{ID: "human", Title: todo, Phase: phase, Role: roleHuman, Reason: reason}}
}

func allDone(n int) string {
	if n == 1 {
		return "its one item is completed"
	}
	return fmt.Sprintf("all %d items are completed", n)
}

func quoteWord(word string) string { return strconv.Quote(doc.Clip(word, 40)) }
