package engine

import (
	"context"
	"errors"
	"testing"

	"reprise/agent"
)

// An agent whose start is cut off by a stop was not refused: the next worker tries again.
func TestA_start_that_is_stopped_is_no_refusal(t *testing.T) {
	t.Parallel()
	stopped, stop := context.WithCancel(t.Context())
	stop()
	other := errors.New("disk full")
	for name, c := range map[string]struct {
		ctx  context.Context
		err  error
		want agent.Outcome
	}{
		"its program is missing": {t.Context(), &startError{errors.New("no such file")}, agent.NotStarted},
		"it is being stopped":    {stopped, &startError{context.Canceled}, agent.Stopped},
		"its keeper was killed":  {t.Context(), &startError{agent.ErrLost}, agent.Lost},
		"something else failed":  {t.Context(), other, ""},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := notStartedBy(c.ctx, c.err)
			if err == nil || (result == nil) != (c.want == "") || result != nil && result.Outcome != c.want {
				t.Errorf("%+v, %v", result, err)
			}
		})
	}
}
