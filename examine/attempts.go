package examine

import (
	"fmt"

	"reprise"
)

// Attempts from which on one more is unlikely to help: of any open step, and of
// one that is said to have failed.
const (
	manyAttempts = 3
	manyFailures = 2
)

func retryLoop(r *reprise.Run, _ *World) []reprise.Finding {
	var out []reprise.Finding
	for i := range r.Steps {
		s := &r.Steps[i]
		// What was accepted was no vain attempt: a phase of a loop is done in each round.
		// Neither is one that a limit or a question ended.
		tried := s.Attempts - s.Settled - s.Excused
		failed := s.Status == reprise.Failed && tried >= manyFailures
		// What waits for its review has succeeded as far as attempts go.
		open := !s.Status.Closed() && s.Status != reprise.InReview && tried >= manyAttempts
		if (!failed && !open) || told(r, reprise.CodeRetryLoop, s.ID) || told(r, reprise.CodeAttemptsSpent, s.ID) {
			continue
		}
		end := "is not done"
		if s.Status == reprise.Failed {
			end = "failed"
		}
		out = append(out, reprise.Finding{
			Subject: s.ID, Source: s.Source,
			Message: fmt.Sprintf("%s was tried %d times and %s", name(s.ID), tried, end),
			Hint:    "find out why it fails before you retry it",
		})
	}
	return out
}
