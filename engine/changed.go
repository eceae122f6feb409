package engine

import (
	"context"
	"slices"
	"strings"

	"reprise"
	"reprise/project"
)

// The answers to what follows from a story that somebody changed.
const (
	changedGoOn  = "go on with what was built"
	changedAgain = "build it again"
)

// settleChanged asks a person where what the work is measured by was changed by
// somebody else than an attempt, and does what they said. It is asked once for what
// stands there: the question is on record with its answer, and nothing is started
// before that. It is called while nothing is at work, before attempts that were cut
// off are settled.
func (w *work) settleChanged(ctx context.Context) error {
	for _, q := range w.run.Questions {
		if strings.HasPrefix(q.ID, project.ChangedPrefix) && q.Answered && !q.Applied {
			return w.followChanged(ctx, q)
		}
	}
	m := project.RemeasuredBy(w.Dir, w.led.Files(), w.run, w.hist)
	if m == nil || !m.Asks {
		return nil
	}
	if _, asked := w.question(m.Question()); asked {
		return nil
	}
	return w.ask(ctx, reprise.Assignment{}, []reprise.Asked{{ID: m.Question(), Text: m.Text(), Options: []string{changedGoOn, changedAgain}, Closed: true}})
}

// followChanged does what a person said about a story that was changed.
func (w *work) followChanged(ctx context.Context, q reprise.Question) error {
	var then []reprise.Event
	if q.Option(q.Answer) == changedAgain {
		again, err := w.resetsFrom(ctx, "implement")
		if err != nil {
			return err
		}
		for _, id := range again {
			then = append(then, resetBy(id))
		}
	}
	then = append(then, reprise.Event{Kind: reprise.AnswerApplied, Question: q.ID, Text: q.Answer, Actor: actor})
	then[0].At = w.Now()
	if err := w.recordAll(ctx, then...); err != nil {
		return err
	}
	return w.load()
}

// asksWhetherChanged reports whether a person has not said yet what follows from a
// story that was changed.
func (w *work) asksWhetherChanged() bool {
	return slices.ContainsFunc(w.run.PendingQuestions(), func(q reprise.Question) bool { return strings.HasPrefix(q.ID, project.ChangedPrefix) })
}
