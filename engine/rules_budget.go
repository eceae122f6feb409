package engine

import (
	"slices"
	"strings"

	"reprise"
	"reprise/journal"
)

// askBudget asks a person before anything is started that would use more than the
// settings allow; what is at work is never stopped. A question that no longer applies is
// closed: the budget was changed, or another day has begun.
func askBudget(v *View) (ops []Op) {
	over := v.Spending.over()
	open := false
	for _, q := range v.Run.Questions {
		if !strings.HasPrefix(q.ID, journal.BudgetPrefix) || q.Applied {
			continue
		}
		text := q.Answer
		if !q.Answered {
			if over != nil && over.ID == q.ID {
				open = true
				continue
			}
			text = "the budget is no longer used up, or by another amount; this is no longer asked"
		}
		ops = append(ops, Op{Record: []reprise.Event{{Kind: reprise.AnswerApplied, Question: q.ID, Text: text, Actor: actor}}})
	}
	if len(ops) > 0 || over == nil || open || v.Stopping || v.Reached || len(v.AtWork)+len(v.Held) > 0 {
		return ops
	}
	for i := range v.Offers {
		o := &v.Offers[i]
		switch {
		case o.Problem != nil || o.Never != "":
			return nil
		case o.From.After(v.Now):
			continue
		case spends(o.Assignment):
			return []Op{{Question: []reprise.Asked{*over}}}
		}
		return nil
	}
	return nil
}

// asksBudget reports whether all that is asked is about budgets. Whether that still
// stands, the settings and the clock tell: the engine looks, and asks again if it does.
func asksBudget(r *reprise.Run) bool {
	open := r.PendingQuestions()
	return len(open) > 0 && !slices.ContainsFunc(open, func(q reprise.Question) bool { return !strings.HasPrefix(q.ID, journal.BudgetPrefix) })
}
