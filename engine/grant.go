package engine

import (
	"slices"

	"reprise"
)

// granted is what a person lets the agent of a step do, in the words of its program: what
// the answers on record grant that still stand. A grant for once ends with its step, and
// all of them end when the run begins again or an earlier state is restored.
func granted(events []reprise.Event, step, preset string) (out []string) {
	type given struct {
		question, step string // step is "" for the whole run
		words          []string
	}
	asked, all := map[string]*reprise.Event{}, []given(nil)
	forget := func(so func(given) bool) { all = slices.DeleteFunc(all, so) }
	for i := range events {
		ev := &events[i]
		switch ev.Kind {
		case reprise.RunStarted, reprise.RunRenewed, reprise.StateRestored:
			clear(asked)
			all = nil
		case reprise.StepFinished:
			forget(func(g given) bool { return g.step == ev.Step })
		case reprise.QuestionAsked, reprise.QuestionAnswered, reprise.QuestionSkipped, reprise.AnswerWithdrawn:
			forget(func(g given) bool { return g.question == ev.Question })
		}
		if ev.Kind == reprise.QuestionAsked {
			asked[ev.Question] = ev
		}
		q := asked[ev.Question]
		if ev.Kind != reprise.QuestionAnswered || ev.Actor != person || q == nil || q.Grant == nil || q.Grant.Agent != preset {
			continue
		}
		g := given{question: ev.Question, step: q.By}
		run := false
		if g.words, run = q.Grant.Given(ev.Text); run {
			g.step = ""
		}
		all = append(all, g)
	}
	for _, g := range all {
		if g.step == "" || g.step == step {
			out = append(out, g.words...)
		}
	}
	return out
}
