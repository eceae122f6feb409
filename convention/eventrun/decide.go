package eventrun

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// decide gives the run its state and what comes next.
func (l *loading) decide() {
	l.checkCounts()
	l.gatherAlarms()
	inferred, gap := l.infer()
	if l.ended(inferred) {
		return
	}
	if l.graph.damaged {
		l.settlePhase(inferred)
		l.state(reprise.Unreadable, "%s cannot be read, and nothing else says which tasks there are", path.Base(l.graph.file))
		return
	}
	at := l.settlePhase(inferred)
	if at < inferred {
		gap = l.sentBack(at)
	}
	switch {
	case gap != nil:
		l.goBack(*gap)
	case at == approval:
		l.waitForApproval()
	case at == execution:
		l.execute()
	case at == cleanup:
		l.cleanUp()
	default:
		l.consolidate()
	}
	l.heldByStates(inferred)
	l.heldByQuestions()
}

func (l *loading) state(s reprise.State, format string, args ...any) {
	l.run.State, l.run.Reason = s, fmt.Sprintf(format, args...)
}

// infer tells from the artifacts and tasks how far the run can be. Where an
// artifact is missing, gap is the unit that makes it.
func (l *loading) infer() (at stage, gap *reprise.Unit) {
	if !l.small() {
		switch {
		case !l.docs["prd.md"].there():
			return intake, l.missing("prd", "spec-writer", "write the PRD", l.docs["prd.md"].path)
		case !l.docs["plan.md"].there() && (!l.docs["bootstrap-plan.md"].there() || l.bootstrapApproved() && !l.bootstrapOnly()):
			// The bootstrap has a plan of its own; what follows it needs plan.md.
			return planning, l.missing("plan", "planner", "write the plan", l.docs["plan.md"].path)
		case !l.graph.exists:
			return planning, l.missing("task-graph", "task-breaker", "break the plan into tasks", path.Join(l.dir, "task-graph.json"))
		case !l.graph.damaged && len(l.graph.nodes) == 0:
			l.r.Report(reprise.Finding{
				Code: reprise.CodeIntegrity, Severity: reprise.Warning, Subject: path.Base(l.graph.file), Source: reprise.Source{File: l.graph.file},
				Message: "the task graph holds no task", Hint: "the task-breaker has to make it again",
			})
			return planning, l.missing("task-graph", "task-breaker", "break the plan into tasks", l.graph.file)
		case !l.approved():
			if l.approvalRecorded() {
				return approval, l.missing("constitution", "orchestrator", "write the constitution of the approved plan", l.docs["constitution.md"].path)
			}
			return approval, nil
		}
	}
	switch {
	case l.graph.damaged || l.closed < len(l.steps):
		return execution, nil
	case !l.docs["pr-checklist.md"].there():
		return cleanup, nil
	}
	return consolidation, nil
}

func (l *loading) missing(id, role, title, file string) *reprise.Unit {
	what := "is missing"
	if l.r.Exists(file) {
		what = "is there without content"
	}
	return &reprise.Unit{ID: id, Path: file, Title: title, Role: role, Reason: fmt.Sprintf("%s %s, and this step makes it", path.Base(file), what)}
}

// sentBack gives the unit of a stage the run was sent back to on purpose.
func (l *loading) sentBack(at stage) *reprise.Unit {
	u := &reprise.Unit{Reason: "the run was sent back to this step"}
	switch at {
	case intake:
		u.ID, u.Role, u.Title, u.Path = "prd", "spec-writer", "revise the PRD", l.docs["prd.md"].path
	case planning:
		u.ID, u.Role, u.Title, u.Path = "plan", "planner", "revise the plan", l.docs["plan.md"].path
	default:
		return nil
	}
	return u
}

// approved reports whether tasks may be executed. The constitution is written
// after the approval only. The bootstrap has a gate of its own, without one.
func (l *loading) approved() bool {
	c := l.docs["constitution.md"]
	return c.presence == reprise.Present || l.bootstrapOnly()
}

// bootstrapOnly reports whether the bootstrap tasks are all that may be
// executed: they are approved, the development is not, and some of them are
// open or there are no others.
func (l *loading) bootstrapOnly() bool {
	if l.docs["constitution.md"].presence == reprise.Present || !l.bootstrapApproved() {
		return false
	}
	others := slices.ContainsFunc(l.steps, func(s *step) bool { return !isBootstrap(s.ID) })
	open := slices.ContainsFunc(l.steps, func(s *step) bool { return isBootstrap(s.ID) && !s.Status.Closed() })
	return open || !others && len(l.steps) > 0
}

func (l *loading) bootstrapApproved() bool {
	for _, led := range l.states {
		if led.bootstrap {
			return true
		}
	}
	return l.answered(bootGateAnswered, bootGateShown)
}

// approvalRecorded reports whether somebody approved the plan, while the
// constitution that follows was not written.
func (l *loading) approvalRecorded() bool {
	for _, led := range l.states {
		if led.develop {
			return true
		}
	}
	if l.answered(gateAnswered, gateShown) {
		return true
	}
	n := &l.log.latest[phaseMoved]
	return n.set && doc.Fold(n.body().text("trigger")) == "user approval"
}

// answered reports whether a gate was last answered with an approval.
func (l *loading) answered(answer, shown kind) bool {
	a, s := &l.log.latest[answer], &l.log.latest[shown]
	if !a.set || s.set && s.key.after(a.key) {
		return false
	}
	b := a.body()
	if yes, known := b.truth("approved"); known {
		return yes
	}
	return strings.HasPrefix(doc.Fold(b.text("response", "decision", "choice", "user_response", "answer", "result")), "approve")
}

// ended reports whether the run has an end on record that still holds.
func (l *loading) ended(inferred stage) bool {
	var end *note
	var how kind
	for _, kd := range []kind{runDone, runFailed, runCancelled} {
		if n := &l.log.latest[kd]; n.set && (end == nil || n.key.after(end.key)) {
			end, how = n, kd
		}
	}
	if end == nil {
		return false
	}
	at := l.sourceOf(end.key)
	if l.reopened(end.key) {
		l.r.Report(reprise.Finding{
			Code: reprise.CodeStatusDrift, Severity: reprise.Info, Subject: l.run.ID, Source: at,
			Message: fmt.Sprintf("%q is on record, and work was taken up again after it", end.word.text),
		})
		return false
	}
	switch open := l.openSteps(); {
	case how == runCancelled:
		l.state(reprise.Stopped, "the run was cancelled (%s)", at)
	case how == runDone && len(open) == 0:
		l.state(reprise.Complete, "the run is recorded as completed (%s)", at)
	case how == runDone:
		l.state(reprise.Stopped, "the run is recorded as completed (%s) with %s open", at, counted(len(open), "task"))
		l.r.Report(reprise.Finding{
			Code: reprise.CodeFalseCompletion, Severity: reprise.Warning, Subject: l.run.ID, Source: at,
			Message: fmt.Sprintf("the run is called completed, but no event completes %s", shortList(open)),
			Hint:    "look whether these tasks were done without a record",
		})
	default:
		return l.failedRun(end, at, inferred)
	}
	if l.run.State == reprise.Complete {
		inferred = consolidation
	}
	l.quietPhase(inferred)
	return true
}

// failedRun tells a failure that can be taken up from one that cannot.
func (l *loading) failedRun(end *note, at reprise.Source, inferred stage) bool {
	b := end.body()
	why := doc.Clip(oneLine(b.text("reason", "error", "message")), 100)
	if why != "" {
		why = ": " + why
	}
	l.r.Report(reprise.Finding{
		Code: reprise.CodeIntegrity, Severity: reprise.Warning, Subject: l.run.ID, Source: at,
		Message: "the run is recorded as failed" + why, Hint: "find out why before it is taken up again",
	})
	possible, known := b.truth("recovery_possible")
	if known && !possible {
		l.state(reprise.Stopped, "the run failed and says it cannot be recovered%s", why)
		l.quietPhase(inferred)
		return true
	}
	if !known {
		l.run.Questions = append(l.run.Questions, reprise.Question{
			ID: "run-failed", Subject: l.run.ID, Text: "The run is recorded as failed" + why + ". Take it up again?",
			Options: []string{"resume", "stop"}, Closed: true, AskedAt: end.key.at.time(), Source: at,
		})
		l.held = append(l.held, "the run is recorded as failed"+why)
	}
	return false
}

// reopened reports whether work began after the end on record. What a verifier
// writes late does not.
func (l *loading) reopened(end key) bool {
	if n := &l.log.latest[runStarted]; n.set && n.key.after(end) {
		return true
	}
	return slices.ContainsFunc(l.steps, func(s *step) bool {
		return !s.Status.Closed() && s.events != nil && s.events.word != nil && s.events.kind != taskPending && s.events.last.after(end)
	})
}

func (l *loading) openSteps() []string {
	var out []string
	for _, s := range l.steps {
		if !s.Status.Closed() {
			out = append(out, s.ID)
		}
	}
	return out
}

// goBack offers the step that makes what is missing, and nothing else.
func (l *loading) goBack(u reprise.Unit) {
	u.Phase = l.run.Phase
	l.run.Next = []reprise.Unit{u}
	begun := l.log.events > 0 || l.graph.exists
	for _, name := range documents {
		begun = begun || l.made(name)
	}
	if !begun {
		l.state(reprise.NotStarted, "nothing but the folder of the run is there")
		return
	}
	l.state(reprise.Interrupted, "it goes on with %q: %s", u.ID, u.Reason)
	if !l.lost(u.ID) || l.r.Exists(u.Path) {
		return
	}
	l.r.Report(reprise.Finding{
		Code: reprise.CodeMissingArtifact, Severity: reprise.Warning, Subject: u.ID, Source: reprise.Source{File: u.Path},
		Message: fmt.Sprintf("%s is not there, although the run went beyond it", path.Base(u.Path)),
		Hint:    "restore it, or let the " + u.Role + " make it again",
	})
}

// lost reports whether something later in the run was made already.
func (l *loading) lost(id string) bool {
	later := l.docs["constitution.md"].there() || l.docs["pr-checklist.md"].there() || l.beyondGate()
	switch id {
	case "prd":
		return later || l.docs["plan.md"].there() || l.graph.exists
	case "plan":
		return later || l.graph.exists && !l.bootstrapApproved()
	case "constitution":
		return l.docs["pr-checklist.md"].there() || l.beyondGate()
	case "pr-checklist":
		return l.log.latest[prepDone].set
	}
	return later
}

// beyondGate reports whether a task was worked on that needs the approval of
// the plan. An approved bootstrap comes before it.
func (l *loading) beyondGate() bool {
	boot := l.bootstrapApproved()
	return slices.ContainsFunc(l.steps, func(s *step) bool {
		return s.events != nil && s.events.word != nil && s.events.kind != taskPending && !(boot && isBootstrap(s.ID))
	})
}

// waitForApproval asks the person for whom the hard gate is there.
func (l *loading) waitForApproval() {
	l.state(reprise.Waiting, "plan and task graph are ready and not approved: there is no constitution.md that can be read, nothing may be executed")
	if !l.docs["plan.md"].there() && !l.bootstrapApproved() {
		l.askApproval("bootstrap-approval", "Approve the bootstrap plan and its tasks?", l.docs["bootstrap-plan.md"].path, &l.log.latest[bootGateShown],
			"approve bootstrap", "approve and continue", "revise", "cancel")
	} else {
		l.askApproval("plan-approval", "Approve the plan and the task graph?", l.docs["plan.md"].path, &l.log.latest[gateShown], "approve", "revise", "cancel")
	}
	if l.beyondGate() {
		l.r.Report(reprise.Finding{
			Code: reprise.CodeMissingArtifact, Severity: reprise.Warning, Subject: "constitution", Source: reprise.Source{File: l.docs["constitution.md"].path},
			Message: "tasks were worked on, and the constitution that follows the approval is not there", Hint: "restore it, or approve the plan again",
		})
	}
}

// cleanUp offers the clean-up again, or the PR preparation after a clean-up
// that is on record and younger than every task.
func (l *loading) cleanUp() {
	what, role := "cleanup", "cleanup"
	title := "clean up and prepare the PR again"
	if n := &l.log.latest[cleanupDone]; n.set && !l.startedAfter(n.key) {
		what, role, title = "pr-prep", "pr-prep", "prepare the PR again"
	}
	l.run.Next = []reprise.Unit{{ID: what, Path: l.dir, Title: title, Phase: l.run.Phase, Role: role,
		Reason: "all tasks are done and there is no pr-checklist.md"}}
	l.state(reprise.Interrupted, "all tasks are done (%d), clean-up and PR preparation are left", len(l.steps))
}

// consolidate offers what follows the PR.
func (l *loading) consolidate() {
	u := reprise.Unit{ID: "consolidation", Path: l.dir, Title: "consolidate the memory of the run", Phase: l.run.Phase, Role: "memory-consolidator",
		Reason: "the PR is prepared and the end of the run is not on record"}
	l.state(reprise.Interrupted, "the PR is prepared, memory consolidation is left")
	if l.log.latest[consolidationDone].set {
		u.ID, u.Role, u.Title = "close", "orchestrator", "record the end of the run"
		u.Reason = "consolidation is on record, the end of the run is not"
		l.state(reprise.Interrupted, "everything is done but the record of the run's end")
	} else if n := &l.log.latest[reviewReady]; n.set && !l.log.latest[consolidationStarted].set {
		u.Reason = "follows the review of the PR"
		l.askRun(reprise.Question{
			ID: "pr-review", Subject: "review", Text: "The PR is ready: review it.", AskedAt: n.key.at.time(), Source: l.sourceOf(n.key),
		}, n.key, "the PR waits for its review")
	}
	l.run.Next = []reprise.Unit{u}
}

// heldByStates lets a state file that is not behind the events hold the run.
func (l *loading) heldByStates(inferred stage) {
	if a, b := &l.log.latest[depsPending], &l.log.latest[depsSettled]; a.set && (!b.set || a.key.after(b.key)) && inferred < execution {
		l.run.Questions = append(l.run.Questions, reprise.Question{
			ID: "dependencies", Subject: "dependency check", Text: "Install the tools named in dependency-report.md, then go on.",
			AskedAt: a.key.at.time(), Source: l.sourceOf(a.key),
		})
		l.held = append(l.held, "tools have to be installed")
	}
	for _, led := range l.states {
		if at := (key{at: instantOf(led.updated)}); !led.updated.IsZero() && l.startedAfter(at) {
			continue // the work went on since
		}
		switch {
		case led.waiting != "" && l.run.State != reprise.Waiting:
			if len(l.held) == 0 { // else the events say for what
				since := key{at: never}
				if !led.updated.IsZero() {
					since.at = instantOf(led.updated)
				}
				l.askRun(reprise.Question{
					ID: "phase-" + strings.ReplaceAll(led.waiting, " ", "-"), Subject: led.waiting, Source: led.waitingAt,
					Text: fmt.Sprintf("%s waits for a person: %s", led.name, led.waiting),
				}, since, led.name+" waits at "+quoted(led.waiting))
			}
			if len(l.held) > 0 {
				l.run.Next = nil
			}
		case led.says() == saysPaused:
			l.held = append(l.held, led.name+" says "+quoted(led.status))
		case led.says() == saysDone && inferred == consolidation:
			l.state(reprise.Complete, "%s says %s, and every task is done", led.name, quoted(led.status))
			l.run.Next = nil
			return
		case led.says() == saysDone:
			l.r.Report(reprise.Finding{
				Code: reprise.CodeFalseCompletion, Severity: reprise.Warning, Subject: led.name, Source: led.statusAt,
				Message: fmt.Sprintf("%s says %q, but the artifacts and tasks show work left", led.name, doc.Clip(led.status, 40)),
				Hint:    "look at what is left before believing it",
			})
		}
	}
}

// heldByQuestions lets a person be waited for, where the question is about the
// run as a whole.
func (l *loading) heldByQuestions() {
	if l.run.State == reprise.Interrupted && len(l.held) > 0 {
		l.state(reprise.Waiting, "%s", strings.Join(l.held, "; "))
		return
	}
	if open := l.run.PendingQuestions(); l.run.State == reprise.Interrupted && len(open) > 0 {
		l.r.Report(reprise.Finding{
			Code: reprise.CodePendingQuestion, Severity: reprise.Warning, Subject: open[0].Subject, Source: open[0].Source,
			Message: fmt.Sprintf("%s open while other work can go on: %s", counted(len(open), "question"), doc.Clip(oneLine(open[0].Text), 100)),
			Hint:    "answer it",
		})
	}
}

func quoted(s string) string { return fmt.Sprintf("%q", doc.Clip(s, 40)) }
