package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"reprise"
	"reprise/internal/durable"
)

// questionOf names a question of ours about a step.
func questionOf(step string) string { return "ask-" + word(step) }

// ask records questions to a person about a unit of work.
func (w *work) ask(ctx context.Context, a reprise.Assignment, asked []reprise.Asked) error {
	taken := map[string]bool{}
	for _, q := range w.run.Questions {
		taken[q.ID] = true
	}
	for i, q := range asked {
		id := q.ID
		for n := 1; id == "" || taken[id] && q.ID == ""; n++ {
			id = fmt.Sprintf("%s.%d", questionOf(a.Step), i+n)
			if !taken[id] {
				break
			}
			id = ""
		}
		if taken[id] {
			continue // asked before; it is never asked for again
		}
		taken[id] = true
		ev := reprise.Event{Kind: reprise.QuestionAsked, At: w.Now(), Step: a.Step, Phase: a.Unit.Phase, Question: id, Text: q.Text, Options: q.Options, Actor: a.Role}
		if q.Subject != "" {
			ev.Step = q.Subject
		}
		if err := w.record(ctx, ev); err != nil {
			return err
		}
		w.tell(Progress{Kind: Questions, Step: a.Step, Text: q.Text})
	}
	return w.load()
}

// waitForPerson ends an attempt with questions: the step is open again and is
// not started before they are answered.
func (w *work) waitForPerson(ctx context.Context, f *flight, asked []reprise.Asked) error {
	// The questions first: if we die in between, the attempt is settled with
	// its questions already on record.
	if err := w.ask(ctx, f.a, asked); err != nil {
		return err
	}
	reset := w.about(f, reprise.StepReset)
	reset.Text, reset.Outcome = "waits for an answer", "question"
	return w.record(ctx, reset)
}

// askPerson asks a person what is open, if one can be asked. again reports
// whether an answer came.
func (w *work) askPerson(ctx context.Context) (again bool, err error) {
	open := w.run.PendingQuestions()
	if w.Ask == nil || len(open) == 0 {
		return false, nil
	}
	for _, q := range open {
		answer, ok := w.Ask(ctx, q)
		if !ok {
			return again, nil
		}
		if err := w.answer(ctx, q, answer); err != nil {
			return again, err
		}
		again = true
	}
	return again, nil
}

// answer records what a person said. It is durable before anything is done with
// it.
func (w *work) answer(ctx context.Context, q reprise.Question, text string) error {
	return w.record(ctx, reprise.Event{Kind: reprise.QuestionAnswered, At: w.Now(), Step: q.Subject, Question: q.ID, Text: text, Actor: person})
}

// Answer records answers to the questions of a run, by their ids, all of them on
// disk before it returns. An id that nobody asked is an error, and so is one that
// was answered before in other words. While somebody works on the project, they
// are left for them.
func (e *Engine) Answer(ctx context.Context, ref reprise.Ref, answers map[string]string) error {
	store, _, err := e.take(ctx)
	if _, held := errors.AsType[*durable.HeldError](err); held {
		return e.postKnown(ctx, ref, answers)
	}
	if err != nil {
		return err
	}
	defer store.Release()
	book, err := e.bookOf(store, ref)
	if err != nil {
		return err
	}
	w, err := e.open(ctx, store, ref, book)
	if err != nil {
		return err
	}
	if err := w.load(); err != nil {
		return err
	}
	for id, text := range answers {
		q, ok := w.question(id)
		switch {
		case !ok:
			return &UnknownQuestionError{Run: ref.ID, Question: id}
		case q.Answered && strings.TrimSpace(q.Answer) == strings.TrimSpace(text):
			continue
		case q.Answered:
			return fmt.Errorf("answer %s: it was answered before: %q", id, q.Answer)
		}
		if err := w.answer(ctx, q, text); err != nil {
			return err
		}
	}
	return w.j.Note(reprise.Event{Kind: reprise.EngineLeft, At: e.Now(), Actor: actor})
}

// postKnown leaves answers to questions that the files ask for whoever works on
// the project.
func (e *Engine) postKnown(ctx context.Context, ref reprise.Ref, answers map[string]string) error {
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
	for id := range answers {
		if _, ok := w.question(id); !ok {
			return &UnknownQuestionError{Run: ref.ID, Question: id}
		}
	}
	return e.post(ref, answers)
}

func (w *work) question(id string) (reprise.Question, bool) {
	for _, q := range w.run.Questions {
		if q.ID == id {
			return q, true
		}
	}
	return reprise.Question{}, false
}
