package examine

import (
	"fmt"

	"reprise"
)

// The number of attempts after which another is unlikely to help: for any open step, and
// for one marked failed.
const (
	manyAttempts = 3
	manyFailures = 2
)

func retryLoop(r *reprise.Run, _ *World) []reprise.Finding {
	var out []reprise.Finding
	for i := range r.Steps {
		s := &r.Steps[i]
		// An accepted attempt was not in vain: a phase of a loop is done in every round.
		// Nor was one that a limit or a question ended.
		tried := s.Attempts - s.Settled - s.Excused
		failed := s.Status == reprise.Failed && tried >= manyFailures
		// A step in review has succeeded as far as attempts are concerned.
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
