package examine

import (
	"fmt"

	"reprise"
)

// questionHidden tells of questions that are open while the run is in another
// state than waiting, so that a person would not think of answering.
func questionHidden(r *reprise.Run, _ reprise.Observed) []reprise.Finding {
	if r.State == reprise.Waiting {
		return nil
	}
	var out []reprise.Finding
	for i, q := range r.PendingQuestions() {
		subject := q.ID
		if subject == "" {
			subject = q.Subject
		}
		if subject == "" {
			subject = fmt.Sprintf("question %d", i+1)
		}
		out = append(out, reprise.Finding{
			Subject: subject, Source: q.Source,
			Message: fmt.Sprintf("a question is not answered, though the run is %s: %s", stateWord(r.State), quote(q.Text)),
			Hint:    "answer it before you continue",
		})
	}
	return out
}

func stateWord(s reprise.State) string {
	if s == reprise.NotStarted {
		return "not started"
	}
	return s.String()
}
