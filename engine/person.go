package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/internal/durable"
	"reprise/journal"
)

// Answer records answers to the questions of a run, by their ids, and to those that
// resuming it would ask, which are put on record first. All are on disk when it returns, or
// in the inbox while another process works on the project. None is recorded if one of them
// is refused: the question is unknown, has another answer, or does not take this one
// (*reprise.NotOfferedError).
func (e *Engine) Answer(ctx context.Context, ref reprise.Ref, answers map[string]string) error {
	return e.AnswerIf(ctx, ref, "", answers)
}

// AnswerIf is Answer for who saw the run at a digest, "" for none: of two who saw the same
// one is refused with a *StaleError.
func (e *Engine) AnswerIf(ctx context.Context, ref reprise.Ref, digest string, answers map[string]string) error {
	e = e.orderly()
	store, err := e.takeSoon(ctx)
	if _, held := errors.AsType[*durable.HeldError](err); held {
		return e.postKnown(ref, answers)
	}
	if err != nil {
		return err
	}
	defer store.Release()
	return e.answerWorlds(ctx, store, ref, digest, answers)
}

// settleCalls records what a person said of calls of sessions, and returns the other answers.
func (w *work) settleCalls(ctx context.Context, answers map[string]string, record func(context.Context, reprise.Event) error) (map[string]string, error) {
	rest := map[string]string{}
	var said []reprise.Question
	for id, text := range answers {
		if !strings.HasPrefix(id, reprise.CallPrefix) {
			rest[id] = text
			continue
		}
		if said == nil {
			seen, err := w.judgeBy(ctx, w.closely())
			if err != nil {
				return nil, err
			}
			said = seen.Observed.CallsAsked(seen.Run)
		}
		i := slices.IndexFunc(said, func(q reprise.Question) bool { return q.ID == id })
		if i < 0 {
			rest[id] = text // unknown, as others may be
			continue
		}
		text, err := said[i].Choose(text)
		if err != nil {
			return nil, err
		}
		landing := reprise.Landed
		if text == reprise.CallNotTaken {
			landing = reprise.NotLanded
		}
		if err := record(ctx, reprise.Event{Kind: reprise.CallSettled, Question: id, Text: said[i].Text + " " + text, Outcome: landing.String(), Actor: person}); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

// BringUp writes into the files of a run what its journal has and they lack, because the
// work was cut off. It starts nothing.
func (e *Engine) BringUp(ctx context.Context, ref reprise.Ref) error {
	e = e.orderly()
	store, err := e.takeSoon(ctx)
	if err != nil {
		return err
	}
	defer store.Release()
	return e.bringUpWorlds(ctx, store, ref)
}

// answering is how long another answer may hold the lease.
const answering = time.Second

// takeSoon takes the lease once whoever has it for a moment only, to record an answer as
// well, has let it go.
func (e *Engine) takeSoon(ctx context.Context) (*durable.Store, error) {
	for last := time.Now().Add(answering); ; {
		store, _, err := e.take(ctx)
		if _, held := errors.AsType[*durable.HeldError](err); !held || time.Now().After(last) {
			return store, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stillAt tells who answers that the run is not as he saw it, at a digest; "" stands for any.
func (w *work) stillAt(ctx context.Context, digest string) error {
	if digest == "" {
		return nil
	}
	seen, err := w.judgeBy(ctx, w.closely())
	if err == nil && seen.digest != digest {
		err = &StaleError{Op: "answer", Want: digest, Have: seen.digest}
	}
	return err
}

// postKnown leaves answers for the process that works on the project.
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
	if answers, err = w.wellGiven(answers, false); err != nil {
		return err
	}
	return e.post(ref, answers, func(l journal.Letter) bool {
		q, ok := w.question(l.Question)
		return ok && !q.Answered && q.Takes(l.Answer)
	})
}

// AnsweredBefore tells of a question that a run no longer has how it was answered and
// what used that, as far as the events tell; nil if it was not answered.
func AnsweredBefore(events []reprise.Event, id string) error {
	used := ""
	for _, ev := range slices.Backward(events) {
		switch {
		case ev.Question != id:
		case ev.Kind == reprise.AnswerApplied:
			used = first(used, ev.Step)
		case ev.Kind == reprise.QuestionAnswered:
			return &AnsweredError{Question: id, Answer: ev.Text, By: first(used, endedBy(events, ev.Step)), Files: !askedHere(events, id)}
		}
	}
	return nil
}

// endedBy is a step that an answer about it ended: it is done, and no attempt at it used the
// answer. It is "" for what is no such step.
func endedBy(events []reprise.Event, step string) string {
	for _, ev := range slices.Backward(events) {
		switch {
		case step == "" || ev.Step != step:
		case ev.Kind == reprise.StepFinished:
			return step
		case ev.Kind == reprise.StepReset:
			return ""
		}
	}
	return ""
}

// askedHere reports whether a question is on record as asked: the others come from the files.
func askedHere(events []reprise.Event, id string) bool {
	return slices.ContainsFunc(events, func(ev reprise.Event) bool { return ev.Kind == reprise.QuestionAsked && ev.Question == id })
}

func sameAnswer(a, b string) bool { return strings.TrimSpace(a) == strings.TrimSpace(b) }

// usedAnswer reports whether something used the answer to a question, and names it as far as
// the journal tells. Where only the files call it used, what was started since it was
// given used it: some call an answer used as soon as it is written down.
func (w *work) usedAnswer(q *reprise.Question) (by string, used bool) {
	if by = w.due[q.ID]; by != "" || !q.Applied {
		return by, by != ""
	}
	for _, ev := range slices.Backward(w.events) {
		switch {
		case ev.Kind == reprise.StepStarted:
			by = ev.Step
		case ev.Question != q.ID:
		case ev.Kind == reprise.QuestionAnswered:
			return by, by != ""
		case ev.Kind == reprise.AnswerApplied:
			return first(ev.Step, q.By, endedBy(w.events, q.Subject)), true
		case ev.Kind == reprise.AnswerWithdrawn, ev.Kind == reprise.QuestionSkipped:
			return "", true
		}
	}
	return q.By, true
}

// begunOn names the last step that was started on the answer which a question had before its
// last one: it was told it, or nothing was to start without one.
func (w *work) begunOn(q *reprise.Question) (by string) {
	given := 0
	for _, ev := range slices.Backward(w.events) {
		switch {
		case ev.Question == q.ID && ev.Kind == reprise.QuestionAnswered:
			if given++; given > 1 {
				return ""
			}
		case ev.Kind == reprise.StepStarted && given == 1 && (slices.Contains(ev.Answers, q.ID) || q.By == "" && w.run.Step(q.Subject) == nil):
			return w.run.Whole(ev.Step)
		}
	}
	return ""
}

// wellGiven checks answers and gives them as they are recorded: each to a known question
// that takes it, and whose answer, if it has another one, nothing used yet. While someone
// works on the project, change is false: they may be using the answer it has.
func (w *work) wellGiven(answers map[string]string, change bool) (map[string]string, error) {
	out := map[string]string{}
	for _, id := range slices.Sorted(mapKeys(answers)) {
		q, ok := w.question(id)
		if err := AnsweredBefore(w.events, id); !ok && err != nil {
			return nil, err
		}
		if !ok {
			return nil, &UnknownQuestionError{Run: w.ref.ID, Question: id}
		}
		text, err := q.Choose(answers[id])
		if err != nil {
			return nil, err
		}
		if q.Answered && !sameAnswer(q.Answer, text) {
			by, used := w.usedAnswer(&q)
			switch {
			case used:
				return nil, &AnsweredError{Question: id, Answer: q.Answer, By: w.run.Whole(by), Files: !askedHere(w.events, id)}
			case w.run.State == reprise.Stopped: // continuing it withdraws all answers that nothing else used
				return nil, &AnsweredError{Question: id, Answer: q.Answer, Ended: true}
			case !change:
				return nil, &AnsweredError{Question: id, Answer: q.Answer, Why: "it can be changed once no one works on the project"}
			}
		}
		out[id] = text
	}
	return out, nil
}

func (w *work) question(id string) (q reprise.Question, ok bool) {
	if have := w.run.Question(id); have != nil {
		return *have, true
	}
	return q, false
}
