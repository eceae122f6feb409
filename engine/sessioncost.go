package engine

import (
	"context"
	"unicode/utf8"

	"reprise"
	"reprise/agent"
	"reprise/prompt"
)

// perToken is how many characters a token has, about.
const perToken = 4

// sessionCost compares resuming the session that worked on a step with a new one that
// gets a briefing; nil where no session is on record. Only a preview asks.
func (w *work) sessionCost(ctx context.Context, f *Attempt, bound binding) (*SessionCost, error) {
	session := w.hist.Step(f.Step).Session
	if !bound.continues || session == "" {
		return nil, nil
	}
	c := &SessionCost{ID: session, Resumed: f.Resumes, Why: "the session is on record and knows what it did"}
	if !f.Resumes {
		c.Why = "you chose a new session"
	}
	model := ""
	if found, ok := agent.Recorded(bound.preset, bound.env, first(f.Dir, w.Dir), session, w.Now()); ok {
		c.Context, model = found.Context, found.Model
		if !f.Resumes && found.Broken != "" {
			c.Why = found.Broken
		}
	}
	text := f.Message
	if f.Resumes {
		task := w.task(f)
		if err := w.brief(ctx, f, &task); err != nil {
			return nil, err
		}
		var err error
		if text, err = prompt.Render(task, w.Prompts); err != nil {
			return nil, err
		}
	}
	c.Briefing = int64(utf8.RuneCountInString(text) / perToken)
	cost := func(tokens int64) *float64 {
		sent := reprise.Request{Model: model, Tokens: reprise.Tokens{Input: tokens}}
		return reprise.UsageOf([]reprise.Request{sent}, w.Settings.Prices).Cost
	}
	if c.BriefingCost = cost(c.Briefing); c.Context > 0 {
		c.ContextCost = cost(c.Context)
	}
	return c, nil
}
