package eventrun

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// decide sets the state of the run and what comes next.
func (m *model) decide() {
	m.checkCounts()
	m.gatherAlarms()
	inferred, gap := m.infer()
	if m.ended(inferred) {
		return
	}
	if m.graph.damaged {
		m.settlePhase(inferred)
		m.state(reprise.Unreadable, "%s cannot be read, and nothing else says which tasks there are", path.Base(m.graph.file))
		return
	}
	at := m.settlePhase(inferred)
	if at < inferred {
		gap = m.sentBack(at)
	}
	switch {
	case gap != nil:
		m.goBack(*gap)
	case at == approval:
		m.waitForApproval()
	case at == execution:
		m.execute()
	case at == cleanup:
		m.cleanUp()
	default:
		m.consolidate()
	}
	m.heldByStates(inferred)
	m.heldByQuestions()
}

func (m *model) state(s reprise.State, format string, args ...any) {
	m.run.State, m.run.Reason = s, fmt.Sprintf(format, args...)
}

// infer determines from the artifacts and tasks how far the run can be. If an artifact is
// missing, gap is the unit that makes it.
func (m *model) infer() (at stage, gap *reprise.Unit) {
	if !m.small() {
		switch {
		case !m.docs["prd.md"].there():
			return intake, m.missing("prd", "spec-writer", "write the PRD", m.docs["prd.md"].path)
		case !m.docs["plan.md"].there() && (!m.docs["bootstrap-plan.md"].there() || m.bootstrapApproved() && !m.bootstrapOnly()):
			// The bootstrap has its own plan; what follows it needs plan.md.
			return planning, m.missing("plan", "planner", "write the plan", m.docs["plan.md"].path)
		case !m.graph.exists:
			return planning, m.missing("task-graph", "task-breaker", "break the plan into tasks", path.Join(m.dir, "task-graph.json"))
		case !m.graph.damaged && len(m.graph.nodes) == 0:
			m.r.Report(reprise.Finding{
				Code: reprise.CodeIntegrity, Severity: reprise.Warning, Subject: path.Base(m.graph.file), Source: reprise.Source{File: m.graph.file},
				Message: "the task graph contains no task", Hint: "the task-breaker must create it again",
			})
			return planning, m.missing("task-graph", "task-breaker", "break the plan into tasks", m.graph.file)
		case !m.approved():
			if m.approvalRecorded() {
				return approval, m.missing("constitution", "orchestrator", "write the constitution of the approved plan", m.docs["constitution.md"].path)
			}
			return approval, nil
		}
	}
	switch {
	case m.graph.damaged || m.closed < len(m.steps):
		return execution, nil
	case !m.docs["pr-checklist.md"].there():
		return cleanup, nil
	}
	return consolidation, nil
}

func (m *model) missing(id, role, title, file string) *reprise.Unit {
	what := "is missing"
	if m.r.Exists(file) {
		what = "exists but is empty"
	}
	return &reprise.Unit{ID: id, Path: file, Title: title, Role: role, Reason: fmt.Sprintf("%s %s, and this step creates it", path.Base(file), what)}
}

// sentBack returns the unit of a stage that the run was sent back to on purpose.
func (m *model) sentBack(at stage) *reprise.Unit {
	u := &reprise.Unit{Reason: "the run was sent back to this step"}
	switch at {
	case intake:
		u.ID, u.Role, u.Title, u.Path = "prd", "spec-writer", "revise the PRD", m.docs["prd.md"].path
	case planning:
		u.ID, u.Role, u.Title, u.Path = "plan", "planner", "revise the plan", m.docs["plan.md"].path
	default:
		return nil
	}
	return u
}

// approved reports whether tasks may be executed. The constitution is written only after
// the approval. The bootstrap has its own gate, without a constitution.
func (m *model) approved() bool {
	c := m.docs["constitution.md"]
	return c.presence == reprise.Present || m.bootstrapOnly()
}

// bootstrapOnly reports whether only the bootstrap tasks may be executed: they are
// approved, the development is not, and some of them are open or there are no others.
func (m *model) bootstrapOnly() bool {
	if m.docs["constitution.md"].presence == reprise.Present || !m.bootstrapApproved() {
		return false
	}
	others := slices.ContainsFunc(m.steps, func(s *step) bool { return !isBootstrap(s.ID) })
	open := slices.ContainsFunc(m.steps, func(s *step) bool { return isBootstrap(s.ID) && !s.Status.Closed() })
	return open || !others && len(m.steps) > 0
}

func (m *model) bootstrapApproved() bool {
	for _, led := range m.states {
		if led.bootstrap {
			return true
		}
	}
	return m.answered(bootGateAnswered, bootGateShown)
}

// approvalRecorded reports whether someone approved the plan but the constitution that
// follows was not written.
func (m *model) approvalRecorded() bool {
	for _, led := range m.states {
		if led.develop {
			return true
		}
	}
	if m.answered(gateAnswered, gateShown) {
		return true
	}
	n := &m.log.latest[phaseMoved]
	return n.set && doc.Fold(n.body().text("trigger")) == "user approval"
}

// answered reports whether a gate's last answer was an approval.
func (m *model) answered(answer, shown kind) bool {
	a, s := &m.log.latest[answer], &m.log.latest[shown]
	if !a.set || s.set && s.key.after(a.key) {
		return false
	}
	b := a.body()
	if yes, known := b.truth("approved"); known {
		return yes
	}
	switch doc.Fold(b.text("response", "decision", "choice", "user_response", "answer", "result")) {
	case "approve", "approved", "approve bootstrap", "approve all", "approve and continue":
		return true
	}
	return false // a sentence may say anything: the gate is shown again
}

// ended reports whether the run has a recorded end that is still valid.
func (m *model) ended(inferred stage) bool {
	var end *note
	var how kind
	for _, kd := range []kind{runDone, runFailed, runCancelled} {
		if n := &m.log.latest[kd]; n.set && (end == nil || n.key.after(end.key)) {
			end, how = n, kd
		}
	}
	if end == nil {
		return false
	}
	at := m.sourceOf(end.key)
	if m.reopened(end.key) {
		m.r.Report(reprise.Finding{
			Code: reprise.CodeStatusDrift, Severity: reprise.Info, Subject: m.run.ID, Source: at,
			Message: fmt.Sprintf("%q is on record, but work continued after it", end.word.text),
		})
		return false
	}
	switch open := m.openSteps(); {
	case how == runCancelled:
		m.state(reprise.Stopped, "the run was cancelled (%s)", at)
	case how == runDone && len(open) == 0:
		m.state(reprise.Complete, "the run is recorded as completed (%s)", at)
	case how == runDone:
		m.state(reprise.Stopped, "the run is recorded as completed (%s) with %s open", at, counted(len(open), "task"))
		m.r.Report(reprise.Finding{
			Code: reprise.CodeFalseCompletion, Severity: reprise.Warning, Subject: m.run.ID, Source: at,
			Message: fmt.Sprintf("the run is marked completed, but no event completes %s", shortList(open)),
			Hint:    "check whether these tasks were done without a record",
		})
	default:
		return m.failedRun(end, at, inferred)
	}
	if m.run.State == reprise.Complete {
		inferred = consolidation
	}
	m.quietPhase(inferred)
	return true
}

// failedRun distinguishes a failure that can be resumed from one that cannot.
func (m *model) failedRun(end *note, at reprise.Source, inferred stage) bool {
	b := end.body()
	why := doc.Clip(oneLine(b.text("reason", "error", "message")), 100)
	if why != "" {
		why = ": " + why
	}
	m.r.Report(reprise.Finding{
		Code: reprise.CodeIntegrity, Severity: reprise.Warning, Subject: m.run.ID, Source: at,
		Message: "the run is recorded as failed" + why, Hint: "find out why before you resume it",
	})
	possible, known := b.truth("recovery_possible")
	if known && !possible {
		m.state(reprise.Stopped, "the run failed and says it cannot be recovered%s", why)
		m.quietPhase(inferred)
		return true
	}
	if !known {
		m.run.Questions = append(m.run.Questions, reprise.Question{
			ID: "run-failed", Subject: m.run.ID, Text: "The run is recorded as failed" + why + ". Resume it?",
			Options: []string{"resume", "stop"}, Closed: true, AskedAt: end.key.at.time(), Source: at,
		})
		m.held = append(m.held, "the run is recorded as failed"+why)
	}
	return false
}

// reopened reports whether work began after the recorded end. A verifier's late event
// does not count.
func (m *model) reopened(end key) bool {
	if n := &m.log.latest[runStarted]; n.set && n.key.after(end) {
		return true
	}
	return slices.ContainsFunc(m.steps, func(s *step) bool {
		return !s.Status.Closed() && s.events != nil && s.events.word != nil && s.events.kind != taskPending && s.events.last.after(end)
	})
}

func (m *model) openSteps() []string {
	var out []string
	for _, s := range m.steps {
		if !s.Status.Closed() {
			out = append(out, s.ID)
		}
	}
	return out
}

// goBack offers only the step that makes what is missing.
func (m *model) goBack(u reprise.Unit) {
	u.Phase = m.run.Phase
	m.run.Next = []reprise.Unit{u}
	begun := m.log.events > 0 || m.graph.exists
	for _, name := range documents {
		begun = begun || m.made(name)
	}
	if !begun {
		m.state(reprise.NotStarted, "only the folder of the run exists")
		return
	}
	m.state(reprise.Interrupted, "it continues with %q: %s", u.ID, u.Reason)
	if !m.lost(u.ID) {
		return
	}
	if f := m.r.Open(u.Path); f.Exists() {
		if f.OK() && blank(f.Data) {
			f.Lost(reprise.CodeUnreadable, 0, "is empty, although the run went beyond it", "restore it from git or a backup; remove it if the "+u.Role+" is to make it again")
		}
		return
	}
	m.r.Report(reprise.Finding{
		Code: reprise.CodeMissingArtifact, Severity: reprise.Warning, Subject: u.ID, Source: reprise.Source{File: u.Path},
		Message: fmt.Sprintf("%s is missing, although the run went beyond it", path.Base(u.Path)),
		Hint:    "restore it, or let the " + u.Role + " make it again",
	})
}

// lost reports whether something later in the run already exists.
func (m *model) lost(id string) bool {
	later := m.docs["constitution.md"].there() || m.docs["pr-checklist.md"].there() || m.beyondGate()
	switch id {
	case "prd":
		return later || m.docs["plan.md"].there() || m.graph.exists
	case "plan":
		return later || m.graph.exists && !m.bootstrapApproved()
	case "constitution":
		return m.docs["pr-checklist.md"].there() || m.beyondGate()
	case "pr-checklist":
		return m.log.latest[prepDone].set
	}
	return later
}

// beyondGate reports whether a task that needs the approval of the plan was worked on. An
// approved bootstrap comes before it.
func (m *model) beyondGate() bool {
	boot := m.bootstrapApproved()
	return slices.ContainsFunc(m.steps, func(s *step) bool {
		return s.events != nil && s.events.word != nil && s.events.kind != taskPending && !(boot && isBootstrap(s.ID))
	})
}

// waitForApproval asks a person at the hard gate.
func (m *model) waitForApproval() {
	m.state(reprise.Waiting, "plan and task graph are ready but not approved: there is no readable constitution.md, so nothing may be executed")
	if !m.docs["plan.md"].there() && !m.bootstrapApproved() {
		m.askApproval("bootstrap-approval", "Approve the bootstrap plan and its tasks?", m.docs["bootstrap-plan.md"].path, &m.log.latest[bootGateShown],
			"approve bootstrap", "approve and continue", "revise", "cancel")
	} else {
		m.askApproval("plan-approval", "Approve the plan and the task graph?", m.docs["plan.md"].path, &m.log.latest[gateShown], "approve", "revise", "cancel")
	}
	if m.beyondGate() {
		m.r.Report(reprise.Finding{
			Code: reprise.CodeMissingArtifact, Severity: reprise.Warning, Subject: "constitution", Source: reprise.Source{File: m.docs["constitution.md"].path},
			Message: "tasks were worked on, but the constitution that follows the approval is missing", Hint: "restore it, or approve the plan again",
		})
	}
}

// cleanUp offers the clean-up again, or the PR preparation after a recorded clean-up that
// is newer than every task.
func (m *model) cleanUp() {
	what, role := "cleanup", "cleanup"
	title := "clean up and prepare the PR again"
	if n := &m.log.latest[cleanupDone]; n.set && !m.startedAfter(n.key) {
		what, role, title = "pr-prep", "pr-prep", "prepare the PR again"
	}
	m.run.Next = []reprise.Unit{{ID: what, Path: m.dir, Title: title, Phase: m.run.Phase, Role: role,
		Reason: "all tasks are done and there is no pr-checklist.md"}}
	m.state(reprise.Interrupted, "all tasks are done (%d); clean-up and PR preparation are left", len(m.steps))
}

// consolidate offers what follows the PR.
func (m *model) consolidate() {
	u := reprise.Unit{ID: "consolidation", Path: m.dir, Title: "consolidate the memory of the run", Phase: m.run.Phase, Role: "memory-consolidator",
		Reason: "the PR is prepared, but the end of the run is not on record"}
	m.state(reprise.Interrupted, "the PR is prepared, memory consolidation is left")
	if m.log.latest[consolidationDone].set {
		u.ID, u.Role, u.Title = "close", "orchestrator", "record the end of the run"
		u.Reason = "consolidation is on record, but the end of the run is not"
		m.state(reprise.Interrupted, "everything is done except recording the end of the run")
	} else if n := &m.log.latest[reviewReady]; n.set && !m.log.latest[consolidationStarted].set {
		u.Reason = "follows the review of the PR"
		m.askRun(reprise.Question{
			ID: "pr-review", Subject: "review", Text: "The PR is ready: review it.", AskedAt: n.key.at.time(), Source: m.sourceOf(n.key),
		}, n.key, "the PR waits for its review")
	}
	m.run.Next = []reprise.Unit{u}
}

// heldByStates holds the run if a state file that is not behind the events says so.
func (m *model) heldByStates(inferred stage) {
	if a, b := &m.log.latest[depsPending], &m.log.latest[depsSettled]; a.set && (!b.set || a.key.after(b.key)) && inferred < execution {
		m.run.Questions = append(m.run.Questions, reprise.Question{
			ID: "dependencies", Subject: "dependency check", Text: "Install the tools named in dependency-report.md, then continue.",
			AskedAt: a.key.at.time(), Source: m.sourceOf(a.key),
		})
		m.held = append(m.held, "tools must be installed")
	}
	for _, led := range m.states {
		if at := (key{at: instantOf(led.updated)}); !led.updated.IsZero() && m.startedAfter(at) {
			continue // the work continued since
		}
		switch {
		case led.waiting != "" && m.run.State != reprise.Waiting:
			if len(m.held) == 0 { // otherwise the events say why
				since := key{at: never}
				if !led.updated.IsZero() {
					since.at = instantOf(led.updated)
				}
				m.askRun(reprise.Question{
					ID: "phase-" + strings.ReplaceAll(led.waiting, " ", "-"), Subject: led.waiting, Source: led.waitingAt,
					Text: fmt.Sprintf("%s waits for a person: %s", led.name, led.waiting),
				}, since, led.name+" waits at "+quoted(led.waiting))
			}
			if len(m.held) > 0 {
				m.run.Next = nil
			}
		case led.says() == saysPaused:
			m.held = append(m.held, led.name+" says "+quoted(led.status))
		case led.says() == saysDone && inferred == consolidation:
			m.state(reprise.Complete, "%s says %s, but every task is done", led.name, quoted(led.status))
			m.run.Next = nil
			return
		case led.says() == saysDone:
			m.r.Report(reprise.Finding{
				Code: reprise.CodeFalseCompletion, Severity: reprise.Warning, Subject: led.name, Source: led.statusAt,
				Message: fmt.Sprintf("%s says %q, but the artifacts and tasks show work left", led.name, doc.Clip(led.status, 40)),
				Hint:    "look at what is left before believing it",
			})
		}
	}
}

// heldByQuestions holds the run for a person if the question is about the run as a whole.
func (m *model) heldByQuestions() {
	if m.run.State == reprise.Interrupted && len(m.held) > 0 {
		m.state(reprise.Waiting, "%s", strings.Join(m.held, "; "))
		return
	}
	if open := m.run.PendingQuestions(); m.run.State == reprise.Interrupted && len(open) > 0 {
		m.r.Report(reprise.Finding{
			Code: reprise.CodePendingQuestion, Severity: reprise.Warning, Subject: open[0].Subject, Source: open[0].Source,
			Message: fmt.Sprintf("%s open while other work can continue: %s", counted(len(open), "question"), doc.Clip(oneLine(open[0].Text), 100)),
			Hint:    "answer it",
		})
	}
}

func quoted(s string) string { return fmt.Sprintf("%q", doc.Clip(s, 40)) }
