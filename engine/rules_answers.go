package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"reprise"
)

// hearAnswers records the answers in the inbox, and what sessions and agents told. Each is
// durable in the journal before its line is taken out; after a crash in between it is the
// same answer to the same question. An agent is heard as long as its attempt is open.
func hearAnswers(v *View) (ops []Op) {
	var lines [][]byte
	answers := map[string]string{}
	about := func(id string, severity reprise.Severity, message, hint string) {
		ops = append(ops, Op{Notice: []reprise.Finding{{Code: reprise.CodePendingQuestion, Severity: severity, Subject: id, Message: message, Hint: hint}}})
	}
	for _, l := range v.Letters {
		lines = append(lines, l.Line)
		if l.Session != nil {
			ops = append(ops, Op{Record: []reprise.Event{l.Session.Event()}})
			continue
		}
		if r := l.Reported; r != nil {
			if open := v.History.Step(r.Step).Open; open != nil && open.Key == r.Key && open.Attempt == r.Attempt {
				ops = append(ops, Op{Record: []reprise.Event{r.Event()}})
			}
			continue
		}
		q := v.Run.Question(l.Question)
		if q == nil {
			about(l.Question, reprise.Info, fmt.Sprintf("an answer came for %s, but there is no such question", l.Question), "")
			continue
		}
		before, given := answers[q.ID]
		if q.Answered {
			before, given = q.Answer, true
		}
		if given {
			if strings.TrimSpace(before) != strings.TrimSpace(l.Answer) {
				about(l.Question, reprise.Warning, fmt.Sprintf("another answer came for %s after it was answered; the first one counts", l.Question), "")
			}
			continue
		}
		ev, err := answerTo(q, l.Answer)
		if none, ok := errors.AsType[*reprise.NotOfferedError](err); ok {
			about(l.Question, reprise.Warning, none.Error()+"; it is still asked", none.Hint())
			continue
		}
		answers[q.ID] = ev.Text
		ops = append(ops, Op{Record: []reprise.Event{ev}})
	}
	if len(lines) > 0 {
		ops = append(ops, Op{TakeOut: lines})
	}
	return ops
}

// answerTo is the event that records an answer. The error is a *reprise.NotOfferedError
// where the question takes only its options.
func answerTo(q *reprise.Question, text string) (reprise.Event, error) {
	text, err := q.Choose(text)
	return reprise.Event{Kind: reprise.QuestionAnswered, Step: q.Subject, By: q.By, Question: q.ID, Text: text, Actor: person}, err
}

// applyAnswers records answers as applied once a finished step used them: no second step
// gets them.
func applyAnswers(v *View) (ops []Op) {
	for _, id := range slices.Sorted(maps.Keys(v.Used)) {
		text := ""
		if q := v.Run.Question(id); q != nil {
			text = q.Answer
		}
		ops = append(ops, Op{Record: []reprise.Event{{Kind: reprise.AnswerApplied, Step: v.Used[id], Question: id, Text: text, Actor: actor}}})
	}
	return ops
}

// askPerson asks what is open, if a person can be asked. What they leave open, this
// process does not ask again.
func askPerson(v *View) []Op {
	open := slices.DeleteFunc(v.Run.PendingQuestions(), func(q reprise.Question) bool { return v.LeftOpen[q.ID] })
	if !v.Askable || len(open) == 0 {
		return nil
	}
	return []Op{{Ask: open}}
}
