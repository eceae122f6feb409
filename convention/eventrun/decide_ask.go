package eventrun

import (
	"cmp"
	"fmt"
	"slices"

	"reprise"
	"reprise/internal/doc"
)

// gatherAlarms turns escalations into questions: those without a recorded answer stay
// open, unless their task has continued since.
func (m *model) gatherAlarms() {
	alarms := append(slices.Clone(m.log.alarms), m.escalationFiles()...)
	slices.SortStableFunc(alarms, func(a, b alarm) int {
		if a.key.after(b.key) {
			return 1
		}
		if b.key.after(a.key) {
			return -1
		}
		return 0
	})
	// The latest are enough: no one wants to be asked a thousand questions.
	alarms = alarms[max(0, len(alarms)-maxAlarms):]
	var raised []*alarmState
	var closings []*alarm
	for i := range alarms {
		a := &alarms[i]
		if a.kind == escalationResolved {
			resolve(raised, a)
			closings = append(closings, a)
			// If a question was only withdrawn, no one decided anything.
			if gone, _ := a.body.truth(withdrawn); !gone {
				m.resolved = append(m.resolved, *a)
			}
			continue
		}
		if !a.asks() {
			continue
		}
		at := slices.IndexFunc(raised, func(r *alarmState) bool { return a.id != "" && r.id == a.id })
		if again, _ := a.body.truth(askedAgain); at >= 0 && again {
			raised[at] = &alarmState{alarm: a, again: true}
		} else if at < 0 {
			raised = append(raised, &alarmState{alarm: a})
		}
	}
	// A resolution may have an earlier time than a record without one.
	for _, a := range closings {
		resolve(raised, a)
	}
	for _, r := range raised {
		m.askAlarm(r)
	}
}

type alarmState struct {
	*alarm
	again    bool // earlier answers do not count
	answered bool
	applied  bool
	answer   string
}

// asks reports whether an escalation wants an answer. The field that says so is often
// missing; then everything but a mere notice does.
func (a *alarm) asks() bool {
	if wants, known := a.body.truth("requires_response"); known {
		return wants
	}
	return doc.Fold(a.body.text("severity")) != "info"
}

// answer returns the text of a resolution.
func (a *alarm) answer() string { return a.body.text("resolution", "answer", "response") }

// takes reports whether words answer what was raised.
func (r *alarmState) takes(answer string) bool {
	closed, _ := r.body.truth("closed")
	return (&reprise.Question{Options: r.body.texts("options"), Closed: closed && answer != ""}).Takes(answer)
}

// resolve closes what a resolution names: the escalation with its id, else those of its
// task, else the latest before it.
func resolve(raised []*alarmState, a *alarm) {
	var last *alarmState
	for _, r := range raised {
		if r.again && !a.key.after(r.key) {
			continue
		}
		if a.id != "" && r.id == a.id {
			used, _ := a.body.truth("applied")
			r.applied = r.applied || used
		}
		if r.answered || a.id != "" && a.id == r.id && !r.takes(a.answer()) {
			continue
		}
		switch {
		case a.id != "" && r.id == a.id,
			a.id == "" && a.task != "" && r.task == a.task && a.key.after(r.key):
			r.answered, r.answer = true, a.answer()
		case a.id == "" && a.task == "" && a.key.after(r.key):
			last = r
		}
	}
	if last != nil {
		last.answered, last.answer = true, a.answer()
	}
}

func (m *model) askAlarm(r *alarmState) {
	if !r.answered {
		// A single-file record carries its own resolution.
		r.answer = r.body.text("resolution")
		switch doc.Fold(r.body.text("status", "state")) {
		case "resolved", "closed", "answered":
			r.answered = true
		}
		r.answered = r.answered || r.answer != "" || r.body.text("resolved_at", "resolved_by") != ""
	}
	s := m.step(r.task)
	// If the task continued, the answer was no longer needed; a task that was merely
	// reset waits for it.
	moved := s != nil && s.events != nil && s.events.word != nil && s.events.last.after(r.key) && !inTrouble(s.Status) && s.Status != reprise.Pending
	if r.key.at == never && s != nil {
		moved = s.Status.Closed()
	}
	closed, _ := r.body.truth("closed")
	q := reprise.Question{
		ID: r.id, Subject: r.task, Options: r.body.texts("options"), Closed: closed,
		Text:   r.body.text("description", "question", "message", "reason", "title", "summary"),
		Answer: r.answer, Answered: r.answered || moved, Applied: moved || r.applied,
		AskedAt: r.key.at.time(), Source: m.sourceOf(r.key),
	}
	q.ID = cmp.Or(q.ID, fmt.Sprintf("escalation-%d", len(m.run.Questions)+1))
	q.Text = cmp.Or(q.Text, "an escalation without a text")
	m.run.Questions = append(m.run.Questions, q)
	if !q.Answered {
		m.asked(r.task, q)
	}
}

func inTrouble(s reprise.Status) bool {
	return s == reprise.Failed || s == reprise.Blocked || s == reprise.Unknown
}

// asked records an open question: about one task, which waits for it, or about the whole
// run.
func (m *model) asked(task string, q reprise.Question) {
	if task == "" || m.step(task) == nil {
		m.held = append(m.held, "it asks: "+doc.Clip(oneLine(q.Text), 100))
		return
	}
	if m.askedTasks == nil {
		m.askedTasks = map[string]string{}
	}
	m.askedTasks[task] = q.Text
}

func (m *model) step(id string) *step { return m.byID[id] }

// exhausted reports whether a task has failed as often as the workflow allows since a
// person last decided about it.
func (m *model) exhausted(s *step) bool {
	if s.Status != reprise.Failed || s.events == nil {
		return false
	}
	since := key{at: never}
	for i := range m.resolved {
		a := &m.resolved[i]
		// Only the exact word allows another try.
		unheard := a.id == "retry-"+s.ID && (&reprise.Question{Options: retryOptions}).Option(a.answer()) == ""
		if (a.task == "" || a.task == s.ID) && a.key.after(since) && !unheard {
			since = a.key
		}
	}
	return s.events.failuresSince(since) >= s.limit()
}

// limit is how often a task may fail before a person is asked.
func (s *step) limit() int {
	if s.node != nil && s.node.attempts > 0 {
		return s.node.attempts
	}
	return reprise.GraphAttempts
}

// retryOptions are the answers about a task that failed too often.
var retryOptions = []string{"retry", "skip", "stop"}

// askAboutFailure asks what to do with a task that may not be retried.
func (m *model) askAboutFailure(s *step) {
	n := s.events.extra.failures
	m.r.Report(reprise.Finding{
		Code: reprise.CodeRetryLoop, Severity: reprise.Warning, Subject: s.ID, Source: m.sourceOf(s.events.last),
		Message: fmt.Sprintf("%s failed %s; a person must decide whether to retry it", s.ID, times(n)),
		Hint:    "look at what fails, then `reprise answer`",
	})
	if m.askedTasks[s.ID] != "" {
		return
	}
	m.run.Questions = append(m.run.Questions, reprise.Question{
		ID: "retry-" + s.ID, Subject: s.ID, Text: fmt.Sprintf("%s failed %s: try again, skip it, or stop the run?", s.ID, times(n)),
		Options: retryOptions, Closed: true, AskedAt: s.events.last.at.time(), Source: m.sourceOf(s.events.last),
	})
}

// askRun asks a question that follows from the state of the run, and holds the run for
// it, unless a later resolution names it.
func (m *model) askRun(q reprise.Question, since key, held string) {
	for i := range m.resolved {
		if a := &m.resolved[i]; a.id == q.ID && a.key.after(since) {
			q.Answered, q.Answer = true, a.answer()
			used, _ := a.body.truth("applied")
			q.Applied = q.Applied || used
		}
	}
	m.run.Questions = append(m.run.Questions, q)
	if !q.Answered {
		m.held = append(m.held, held)
	}
}

func (m *model) askAboutBlock(s *step) {
	if m.askedTasks[s.ID] != "" {
		return
	}
	q := reprise.Question{ID: "blocked-" + s.ID, Subject: s.ID, Text: s.ID + " is blocked", Source: s.Source}
	if s.events != nil && s.events.extra != nil {
		if why := parseBody(s.events.extra.why).text("blocker_description", "reason", "description", "message", "blocker"); why != "" {
			q.Text += ": " + doc.Clip(oneLine(why), 200)
		}
		q.AskedAt, q.Source = s.events.last.at.time(), m.sourceOf(s.events.last)
	}
	m.run.Questions = append(m.run.Questions, q)
}

// askApproval asks for approval of the plan, the workflow's hard gate.
func (m *model) askApproval(id, text, file string, shown *note, options ...string) {
	q := reprise.Question{ID: id, Subject: "approval", Text: text, Options: options, Closed: true, Source: reprise.Source{File: file}}
	if shown.set {
		q.AskedAt = shown.key.at.time()
	}
	m.run.Questions = append(m.run.Questions, q)
}
