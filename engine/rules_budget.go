package engine

import (
	"slices"
	"strings"

	"reprise"
	"reprise/journal"
)

// asksBudget reports whether all that is asked is about budgets: the engine tells what was
// used, and asks again.
func asksBudget(r *reprise.Run) bool {
	open := r.PendingQuestions()
	return len(open) > 0 && !slices.ContainsFunc(open, func(q reprise.Question) bool { return !strings.HasPrefix(q.ID, journal.BudgetPrefix) })
}
