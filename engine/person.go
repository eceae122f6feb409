package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"reprise"
	"reprise/agent"
	"reprise/internal/durable"
	"reprise/journal"
)

// questionOf names a question of ours about a step.
func questionOf(step string) string { return "ask-" + word(step) }

// ask records questions to a person about a unit of work.
func (w *work) ask(ctx context.Context, a reprise.Assignment, asked []reprise.Asked) error {
	asks := w.questions(a, asked, "")
	if err := w.recordAll(ctx, asks...); err != nil {
		return err
	}
	w.tellAsked(a, asks)
	return w.load()
}

// tellAsked tells of questions that are on record now.
func (w *work) tellAsked(a reprise.Assignment, asks []reprise.Event) {
	for _, ev := range asks {
		w.tell(Progress{Kind: Questions, Step: a.Step, Text: ev.Text})
	}
}

// questions are the events that ask what is not open already, for tellAsked once they
// are on record. One that was answered
// is asked again: whoever asks knows the answer, and it was given for other work or is
// none of the answers any more. by is the step that waits for the answers.
func (w *work) questions(a reprise.Assignment, asked []reprise.Asked, by string) []reprise.Event {
	var out []reprise.Event
	taken := map[string]string{} // the text of a question by its id
	for _, q := range asked {
		id := q.ID
		if text, doubled := taken[id]; doubled && text == q.Text {
			continue
		} else if doubled {
			id = "" // two questions are two, whatever an agent calls them
		}
		for n := 1; id == ""; n++ {
			next := fmt.Sprintf("%s.%d", questionOf(a.Step), n)
			if _, doubled := taken[next]; !doubled && !w.isAsked(next) {
				id = next
			}
		}
		taken[id] = q.Text
		have, known := w.question(id)
		if known && !have.Answered {
			continue
		}
		if known && have.Answer != "" {
			w.tell(Progress{Kind: Noticed, Step: a.Step, Title: a.Unit.Title, Text: fmt.Sprintf("it is asked again; the answer before was %q", have.Answer)})
		}
		ev := reprise.Event{Kind: reprise.QuestionAsked, At: w.Now(), Step: a.Step, Phase: a.Unit.Phase, Question: id, Text: q.Text, Options: q.Options, Closed: q.Closed, Actor: a.Role, By: by, Own: q.Own}
		if q.Subject != "" {
			ev.Step = q.Subject
		}
		out = append(out, ev)
	}
	return out
}

// isAsked reports whether a question of this name is on record, be it one that was
// taken back since.
func (w *work) isAsked(id string) bool {
	if _, ok := w.question(id); ok {
		return true
	}
	return slices.ContainsFunc(w.told, func(ev reprise.Event) bool { return ev.Kind == reprise.QuestionAsked && ev.Question == id })
}

// before finds the question that a unit asked in the same words and whose answer
// no work has used yet, "" if there is none.
func (w *work) before(step, text string) string {
	id := ""
	for _, ev := range w.told {
		switch {
		case ev.Kind == reprise.QuestionAsked && ev.Text == text && (ev.Step == step || ev.By == step):
			id = ev.Question
		case (ev.Kind == reprise.AnswerApplied || ev.Kind == reprise.QuestionSkipped) && ev.Question == id:
			id = ""
		}
	}
	return id
}

// wanted is what an attempt that needs a person wants of them.
func wanted(r agent.Result) []reprise.Asked {
	if r.Reply != nil && len(r.Reply.Questions) > 0 {
		return r.Reply.Questions
	}
	var asked []reprise.Asked
	for _, text := range r.Asks {
		asked = append(asked, reprise.Asked{Text: text})
	}
	if len(asked) == 0 {
		asked = append(asked, reprise.Asked{Text: first(r.Reason, "the agent needs a person")})
	}
	return asked
}

// waitForPerson ends an attempt with questions: the step is open again and is
// not started before they are answered. An attempt that asks only what it was
// told the answer of has failed.
func (w *work) waitForPerson(ctx context.Context, f *attempt, r agent.Result, asked []reprise.Asked) error {
	again := ""
	var open []reprise.Asked
	for _, q := range asked {
		id := w.before(f.a.Step, q.Text)
		if have, ok := w.question(id); ok && have.Answered {
			again = q.Text
			continue
		}
		if id != "" {
			q.ID = id
		} else if q.ID != "" && (w.isAsked(q.ID) || w.run.Step(q.ID) != nil) && fromAgent(r, q) {
			// Agents number what they ask from one, each time; and what is called as a
			// step is, is what that step asks.
			q.ID, q.Own = "", q.ID
		}
		open = append(open, q)
	}
	if len(open) == 0 {
		return w.lied(ctx, f, r, "it asks again what was answered: "+again)
	}
	reset := w.about(ctx, f, reprise.StepReset)
	reset.Text, reset.Outcome = "waits for an answer", "question"
	asks := w.questions(f.a, open, f.a.Step)
	if err := w.endWith(ctx, f, "question", open[0].Text, append(slices.Clone(asks), reset)...); err != nil {
		return err
	}
	w.tellAsked(f.a, asks)
	return nil
}

// fromAgent reports whether a question is in an agent's own words and name.
func fromAgent(r agent.Result, q reprise.Asked) bool {
	return r.Reply != nil && slices.ContainsFunc(r.Reply.Questions, func(own reprise.Asked) bool { return own.ID == q.ID && own.Text == q.Text })
}

// answersFor lists answers that a unit uses and that were not used before.
func (w *work) answersFor(a reprise.Assignment) []reprise.Question {
	var out []reprise.Question
	for _, q := range w.run.Questions {
		if !q.Answered || q.Applied || w.due[q.ID] != "" || q.By != "" && q.By != a.Step {
			continue
		}
		if q.Subject == a.Step || q.By == a.Step || q.ID == questionOf(a.Step) || strings.HasPrefix(q.ID, questionOf(a.Step)+".") || slices.Contains(a.Answers, q.ID) {
			out = append(out, q)
		}
	}
	return out
}

// toldTo names the answers that an attempt at a unit is told.
func (w *work) toldTo(a reprise.Assignment) []string {
	var ids []string
	for _, q := range w.answersFor(a) {
		ids = append(ids, q.ID)
	}
	return ids
}

// remembered keeps which answers were used by a step that is finished: they are
// to be recorded as applied, by us or by whoever comes after us.
func (w *work) remembered(ev *reprise.Event) {
	switch ev.Kind {
	case reprise.RunStarted, reprise.StateRestored:
		clear(w.due)
	case reprise.StepFinished:
		for _, id := range ev.Answers {
			w.due[id] = ev.Step
		}
	case reprise.AnswerApplied:
		delete(w.due, ev.Question)
	}
}

// applied are the events that say that the answers a finished step used are
// applied.
func (w *work) applied(finished reprise.Event) []reprise.Event {
	var out []reprise.Event
	for _, id := range slices.Sorted(slices.Values(finished.Answers)) {
		q, _ := w.question(id)
		out = append(out, reprise.Event{Kind: reprise.AnswerApplied, Step: finished.Step, Question: id, Text: q.Answer, Actor: actor})
	}
	return out
}

// Answer records answers to the questions of a run, by their ids, all of them on
// disk before it returns. An id that nobody asked is an error, and so is one that
// was answered before in other words, or one that does not take the answer, a
// *reprise.NotOfferedError; then none of them is recorded. While somebody works on the project, they
// are left for them.
func (e *Engine) Answer(ctx context.Context, ref reprise.Ref, answers map[string]string) error {
	e = e.orderly()
	store, _, err := e.take(ctx)
	if _, held := errors.AsType[*durable.HeldError](err); held {
		return e.postKnown(ref, answers)
	}
	if err != nil {
		return err
	}
	defer store.Release()
	w, err := e.open(ctx, store, ref, nil)
	if err != nil {
		return err
	}
	if err := w.load(); err != nil {
		return err
	}
	// What was said first counts, also if nobody has taken it in yet.
	if err := w.hear(ctx); err != nil {
		return err
	}
	answers, err = w.wellGiven(answers)
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(mapKeys(answers)) {
		q, _ := w.question(id)
		if q.Answered {
			continue
		}
		ev, err := answerTo(&q, answers[id])
		if err == nil {
			err = w.record(ctx, ev)
		}
		if err != nil {
			return err
		}
	}
	return w.led.Record(ctx, reprise.Event{Kind: reprise.EngineLeft, At: e.Now(), Actor: actor})
}

// postKnown leaves answers to questions that the files ask for whoever works on
// the project.
func (e *Engine) postKnown(ref reprise.Ref, answers map[string]string) error {
	store, err := durable.Open(e.Dir, durable.Options{AllowNetwork: e.AllowNetwork, Adopt: e.Adopt, Now: e.Now})
	if err != nil {
		return err
	}
	w, err := e.looking(store, ref, nil)
	if err != nil {
		return err
	}
	if err := w.load(); err != nil {
		return err
	}
	if answers, err = w.wellGiven(answers); err != nil {
		return err
	}
	return e.post(ref, answers, func(l journal.Letter) bool {
		q, ok := w.question(l.Question)
		return ok && !q.Answered && q.Takes(l.Answer)
	})
}

func answeredError(id, answer string) error {
	if answer == "" {
		return fmt.Errorf("answer %s: it is closed without an answer and not asked any more", id)
	}
	return fmt.Errorf("answer %s: it was answered before: %q", id, answer)
}

// wellGiven gives answers as they are kept, before any of them is: each to a
// question that is asked, takes it, and has no other answer.
func (w *work) wellGiven(answers map[string]string) (map[string]string, error) {
	out := map[string]string{}
	for _, id := range slices.Sorted(mapKeys(answers)) {
		q, ok := w.question(id)
		if !ok {
			return nil, &UnknownQuestionError{Run: w.ref.ID, Question: id}
		}
		text, err := q.Choose(answers[id])
		if err != nil {
			return nil, err
		}
		if q.Answered && strings.TrimSpace(q.Answer) != strings.TrimSpace(text) {
			return nil, answeredError(id, q.Answer)
		}
		out[id] = text
	}
	return out, nil
}

func (w *work) question(id string) (reprise.Question, bool) {
	for _, q := range w.run.Questions {
		if q.ID == id {
			return q, true
		}
	}
	return reprise.Question{}, false
}
