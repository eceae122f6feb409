package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/agent"
	"reprise/convention"
	"reprise/internal/durable"
	"reprise/journal"
)

// questionOf names a question of ours about a step.
func questionOf(step string) string { return "ask-" + word(step) }

// ask records questions to a person about a unit of work.
func (w *work) ask(ctx context.Context, a reprise.Assignment, asked []reprise.Asked) error {
	was, asks := w.run, questions(w.run, w.events, a, asked, "")
	if err := w.recordAll(ctx, asks...); err != nil {
		return err
	}
	w.tellAsked(was, a, asks)
	return w.load()
}

// tellAsked reports the questions among events that were just recorded. was is the run
// before.
func (w *work) tellAsked(was *reprise.Run, a reprise.Assignment, events []reprise.Event) {
	for _, ev := range events {
		if ev.Kind != reprise.QuestionAsked {
			continue
		}
		if q := was.Question(ev.Question); q != nil && q.Answer != "" {
			w.tell(Progress{Kind: Noticed, Step: a.Step, Title: a.Unit.Title, Text: fmt.Sprintf("it is asked again; the answer before was %q", q.Answer)})
		}
		w.tell(Progress{Kind: Questions, Step: a.Step, Text: ev.Text})
	}
}

// questions are the events that ask what is not open already. An answered question is
// asked again: its answer was given for other work, or is no longer one of the options.
// by is the step that waits for the answers.
func questions(run *reprise.Run, told []reprise.Event, a reprise.Assignment, asked []reprise.Asked, by string) []reprise.Event {
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
			if _, doubled := taken[next]; !doubled && !isAsked(run, told, next) {
				id = next
			}
		}
		taken[id] = q.Text
		if have := run.Question(id); have != nil && !have.Answered {
			continue
		}
		ev := reprise.Event{Kind: reprise.QuestionAsked, Step: a.Step, Phase: a.Unit.Phase, Question: id, Text: q.Text, Options: q.Options, Closed: q.Closed, Actor: a.Role, By: by, About: q.About, Own: q.Own, Grant: q.Grant}
		if q.Subject != "" {
			ev.Step = q.Subject
		}
		out = append(out, ev)
	}
	return out
}

// isAsked reports whether a question of this name is on record, even if it was withdrawn.
func isAsked(run *reprise.Run, told []reprise.Event, id string) bool {
	return run.Question(id) != nil ||
		slices.ContainsFunc(told, func(ev reprise.Event) bool { return ev.Kind == reprise.QuestionAsked && ev.Question == id })
}

// askedBefore finds the question that a unit asked in the same words and whose answer is
// unused, "" if there is none.
func askedBefore(told []reprise.Event, step, text string) string {
	id := ""
	for _, ev := range told {
		switch {
		case ev.Kind == reprise.QuestionAsked && ev.Text == text && (ev.Step == step || ev.By == step):
			id = ev.Question
		case (ev.Kind == reprise.AnswerApplied || ev.Kind == reprise.QuestionSkipped) && ev.Question == id:
			id = ""
		}
	}
	return id
}

// wanted are the questions of an attempt that needs a person.
func wanted(r agent.Result) []reprise.Asked {
	if r.Reply != nil && len(r.Reply.Questions) > 0 {
		return r.Reply.Questions
	}
	if len(r.Asks) > 0 {
		return slices.Clone(r.Asks)
	}
	return []reprise.Asked{{Text: first(r.Reason, "the agent needs a person")}}
}

// fromAgent reports whether the agent itself named and worded a question.
func fromAgent(r agent.Result, q reprise.Asked) bool {
	return r.Reply != nil && slices.ContainsFunc(r.Reply.Questions, func(own reprise.Asked) bool { return own.ID == q.ID && own.Text == q.Text })
}

// answersFor are the questions whose unused answers an attempt at a unit is told.
func (w *work) answersFor(a reprise.Assignment) []string {
	var ids []string
	for _, q := range w.run.Questions {
		if !q.Answered || q.Applied || w.due[q.ID] != "" || q.By != "" && q.By != a.Step {
			continue
		}
		if q.Subject == a.Step || q.By == a.Step || q.ID == questionOf(a.Step) || strings.HasPrefix(q.ID, questionOf(a.Step)+".") || slices.Contains(a.Answers, q.ID) {
			ids = append(ids, q.ID)
		}
	}
	return ids
}

// remembered keeps which answers a finished step used: they have to be recorded as
// applied.
func (r *Recalled) remembered(ev *reprise.Event) {
	switch ev.Kind {
	case reprise.RunStarted, reprise.StateRestored:
		clear(r.due)
	case reprise.StepFinished:
		for _, id := range ev.Answers {
			r.due[id] = ev.Step
		}
	case reprise.AnswerApplied:
		delete(r.due, ev.Question)
	}
}

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
	if e.onWorlds(store, ref) {
		return e.answerWorlds(ctx, store, ref, digest, answers)
	}
	w, err := e.open(ctx, store, ref, nil)
	if err != nil {
		return err
	}
	if err := w.stillAt(ctx, digest); err != nil {
		return err
	}
	if err := w.load(); err != nil {
		return err
	}
	// What is still in the inbox was said before.
	if err := w.recordLetters(ctx); err != nil {
		return err
	}
	answers, err = w.settleCalls(ctx, answers, w.record)
	if err != nil {
		return err
	}
	for id := range answers {
		if _, known := w.question(id); !known && w.foreseen == nil {
			if w.foreseen, _, err = e.foresee(ctx, ref); err != nil {
				return err
			}
		}
	}
	answers, err = w.wellGiven(answers, true)
	if err != nil {
		return err
	}
	for _, ask := range w.foreseen { // who answers one was shown all of them
		if w.run.Question(ask.Question) == nil {
			if err := w.record(ctx, w.willAsk(ask.Question)); err != nil {
				return err
			}
		}
	}
	for _, id := range slices.Sorted(mapKeys(answers)) {
		q, _ := w.question(id)
		if q.Answered && sameAnswer(q.Answer, answers[id]) {
			continue
		}
		ev, err := answerTo(&q, answers[id])
		if err == nil && q.Answered {
			err = w.mayChange(ctx, &q, ev)
		}
		if err == nil {
			err = w.record(ctx, ev)
		}
		if err != nil {
			return err
		}
		if by := w.begunOn(&q); q.Answered && by != "" {
			w.tell(Progress{Kind: Noticed, Step: by, Text: fmt.Sprintf("%s was started on the answer before, %q; what is started from now on goes by the new one", by, q.Answer)})
		}
	}
	return w.led.Record(ctx, reprise.Event{Kind: reprise.EngineLeft, At: e.Now(), Actor: actor})
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
	if e.onWorlds(store, ref) {
		return e.bringUpWorlds(ctx, store, ref)
	}
	_, _, _, err = journal.OpenRun(ctx, store, convention.Find(ref.Layout), ref)
	return err
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

// mayChange tells why the files would keep the answer that they have.
func (w *work) mayChange(ctx context.Context, q *reprise.Question, ev reprise.Event) error {
	before, err := reprise.Load(w.layout, w.led.Files(), w.ref)
	if err != nil {
		return err
	}
	if before.Question(q.ID) == nil {
		return nil // only the journal keeps it, and there the last answer counts
	}
	run, err := w.imagined(ctx, durable.NewDryRun(w.led.Files()), []reprise.Event{ev})
	if err != nil {
		return err
	}
	if now := run.Question(q.ID); now == nil || now.Answered && !sameAnswer(now.Answer, ev.Text) {
		return &AnsweredError{Question: q.ID, Answer: q.Answer, Why: "its files keep that"}
	}
	return nil
}

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
	if ev := w.willAsk(id); ev.Question != "" {
		return askedIn(ev).Question(), true
	}
	return q, false
}

// willAsk is the event that asks a question which is not on record yet; zero if there is
// none.
func (w *work) willAsk(id string) (ev reprise.Event) {
	if i := slices.IndexFunc(w.foreseen, func(ev reprise.Event) bool { return ev.Question == id }); i >= 0 {
		ev = w.foreseen[i]
		ev.At = zeroTime // it is asked now
	}
	return ev
}
