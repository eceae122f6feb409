package eventrun

import (
	"cmp"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
	"reprise/internal/splice"
)

// askedAgain marks an escalation that invalidates the answers to earlier ones with its
// id; withdrawn marks the closing of one that was not answered.
const (
	askedAgain = "asked_again"
	withdrawn  = "withdrawn"
)

// questionID is the id under which a question is stored.
func (rec *recording) questionID() string {
	return cmp.Or(plain(rec.ev.Question, 200), "ask-"+strings.TrimPrefix(rec.id, "reprise-"))
}

func (rec *recording) question() *reprise.Question {
	return rec.run.Question(rec.questionID())
}

// asked escalates. Questions that follow from the state of the run, an approval or a
// blocked task, already exist. One that was answered is asked again: earlier answers no
// longer count.
func (rec *recording) asked() []line {
	before := rec.question()
	if before != nil && !before.Answered {
		return nil
	}
	return []line{rec.escalation(rec.ev, before != nil)}
}

// escalation returns the line that asks the question of an event; again invalidates
// earlier answers.
func (rec *recording) escalation(ev reprise.Event, again bool) line {
	o := splice.Object{
		{Key: "escalation_id", Value: rec.questionID()}, {Key: "escalation_type", Value: "decision"}, {Key: "severity", Value: "warning"},
		{Key: "description", Value: plain(ev.Text, maxText)}, {Key: "requires_response", Value: true},
	}
	if len(ev.Options) > 0 {
		options := make([]string, 0, len(ev.Options))
		for _, text := range ev.Options[:min(len(ev.Options), 50)] {
			options = append(options, plain(text, 500))
		}
		o = append(o, splice.Member{Key: "options", Value: options})
	}
	if ev.Closed {
		o = append(o, splice.Member{Key: "closed", Value: true})
	}
	if again {
		o = append(o, splice.Member{Key: askedAgain, Value: true})
	}
	l := rec.line("escalation", append(o, rec.about("", "")...))
	if s := rec.run.Step(ev.Step); s != nil {
		l.task = s.ID
	}
	return l
}

// answered records what a person said, in the event that the reader of the question looks
// for. Until its answer is used, an escalation accepts another: it is asked again first,
// which invalidates the earlier answer.
func (rec *recording) answered() ([]line, error) {
	q := rec.question()
	switch {
	case q == nil:
		return nil, ledger.Cannot("no question %q is on record", doc.Clip(rec.ev.Question, 60))
	case q.Answered && (q.Applied || stateAsks(q) || q.Answer == plain(rec.ev.Text, maxText)):
		return nil, nil
	}
	answer := doc.Fold(rec.ev.Text)
	says := func(word string) bool { return strings.HasPrefix(answer, word) }
	task, aboutTask := "", false
	if s := rec.run.Step(q.Subject); s != nil {
		task, aboutTask = s.ID, true
	}
	resolved := rec.resolution("escalation-resolved", "resolution", q)
	skip := aboutTask && (q.ID == "blocked-"+task || q.ID == "retry-"+task) && says("skip")
	option := doc.Fold(q.Option(rec.ev.Text))
	switch {
	case !skip && !q.Takes(rec.ev.Text):
		return nil, ledger.Cannot("%q is not one of the answers to %q", doc.Clip(rec.ev.Text, 60), doc.Clip(q.ID, 60))
	case q.ID == "plan-approval", q.ID == "bootstrap-approval":
		return rec.gate(q, strings.HasPrefix(option, "approve"), option == "revise"), nil
	case option == "stop" && (q.ID == "run-failed" || aboutTask && q.ID == "retry-"+task):
		return []line{rec.line("run-cancelled", rec.about("reason", rec.ev.Text))}, nil
	case q.ID == "run-failed":
		return []line{rec.line("session-resumed", rec.about("resolution", rec.ev.Text))}, nil
	case q.ID == "dependencies" && q.Subject == "task-graph":
		return nil, ledger.Cannot("the task graph has to be corrected")
	case q.ID == "dependencies":
		return []line{rec.line("dependency-installation-verified", rec.about("resolution", rec.ev.Text))}, nil
	case skip:
		resolved.word = "task-skipped"
		return []line{resolved}, nil
	case aboutTask && q.ID == "blocked-"+task:
		resolved.word = "task-unblocked"
		return []line{resolved}, nil
	case q.Answered:
		asked := reprise.Event{Text: q.Text, Options: q.Options, Closed: q.Closed, Step: q.Subject}
		resolved.at = resolved.at.Add(1)
		return []line{rec.escalation(asked, true), resolved}, nil
	}
	return []line{resolved}, nil
}

func (rec *recording) resolution(word, key string, q *reprise.Question) line {
	o := splice.Object{{Key: "original_escalation_id", Value: q.ID}}
	l := rec.line(word, append(o, rec.about(key, rec.ev.Text)...))
	if s := rec.run.Step(q.Subject); s != nil {
		l.task = s.ID
	}
	return l
}

// gate answers the approval. If sent back for revision, the run returns to planning,
// whatever was approved before.
func (rec *recording) gate(q *reprise.Question, approved, revise bool) []line {
	word := "planning-gate-response"
	if q.ID == "bootstrap-approval" {
		word = "bootstrap-gate-response"
	}
	o := splice.Object{{Key: "approved", Value: approved}}
	lines := []line{rec.line(word, append(o, rec.about("response", rec.ev.Text)...))}
	if revise {
		back := rec.line("phase-transition", splice.Object{{Key: "trigger", Value: "revision asked for"}})
		back.at = back.at.Add(1)
		back.top = splice.Object{{Key: "from_phase", Value: 2}, {Key: "to_phase", Value: 1}, {Key: "to_phase_name", Value: "planning"}}
		lines = append(lines, back)
	}
	return lines
}

// closed closes a question: its answer was used, or none is needed any more.
func (rec *recording) closed() ([]line, error) {
	q, skipped := rec.question(), rec.ev.Kind == reprise.QuestionSkipped
	switch {
	case q == nil:
		return nil, ledger.Cannot("no question %q is on record", doc.Clip(rec.ev.Question, 60))
	case q.Applied:
		return nil, nil
	case skipped && stateAsks(q):
		return nil, ledger.Cannot("question %q goes with what asks it", doc.Clip(q.ID, 60))
	case !skipped && !q.Answered:
		return nil, ledger.Cannot("question %q has no answer on record", doc.Clip(q.ID, 60))
	}
	l := rec.resolution("escalation-closed", "resolution", q)
	if skipped {
		l = rec.resolution("escalation-closed", "reason", q)
		l.details = append(l.details, splice.Member{Key: withdrawn, Value: true})
	}
	l.details = append(l.details, splice.Member{Key: "applied", Value: true})
	return []line{l}, nil
}

// stateAsks reports whether a question follows from the state of the run; an escalation
// does not.
func stateAsks(q *reprise.Question) bool {
	switch q.ID {
	case "plan-approval", "bootstrap-approval", "run-failed", "dependencies", "blocked-" + q.Subject, "retry-" + q.Subject:
		return true
	}
	return false
}
