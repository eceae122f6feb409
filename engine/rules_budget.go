package engine

import (
	"slices"
	"strings"

	"reprise"
	"reprise/journal"
)

// askBudget asks a person before anything is started that would use more than the
// settings allow; what is at work is never stopped. Questions that lapsed are closed.
func askBudget(v *View) (ops []Op) {
	over := v.Spending.over()
	for _, ev := range lapsed(v.Run.Questions, over) {
		ops = append(ops, Op{Record: []reprise.Event{ev}})
	}
	open := over != nil && v.Run.Question(over.ID) != nil && !v.Run.Question(over.ID).Answered
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

// asksBudget reports whether all that is asked is about budgets: the engine tells what was
// used, and asks again.
func asksBudget(r *reprise.Run) bool {
	open := r.PendingQuestions()
	return len(open) > 0 && !slices.ContainsFunc(open, func(q reprise.Question) bool { return !strings.HasPrefix(q.ID, journal.BudgetPrefix) })
}
