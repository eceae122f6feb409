package examine

import (
	"cmp"
	"fmt"
	"strings"

	"reprise"
)

// questionHidden reports questions that are open while the run's state is not waiting, so
// that a person would not think of answering.
func questionHidden(r *reprise.Run, _ *World) []reprise.Finding {
	if r.State == reprise.Waiting {
		return nil
	}
	var out []reprise.Finding
	for i, q := range r.PendingQuestions() {
		out = append(out, reprise.Finding{
			Subject: cmp.Or(q.ID, q.Subject, fmt.Sprintf("question %d", i+1)), Source: q.Source,
			Message: fmt.Sprintf("a question is unanswered, although the run is %s: %s", strings.ReplaceAll(r.State.String(), "_", " "), quote(q.Text)),
			Hint:    "answer it before you continue",
		})
	}
	return out
}
