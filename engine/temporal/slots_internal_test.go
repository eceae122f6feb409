package temporal

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"
)

// A worker has as many attempts at work as it says, whichever of its queues they come from. One that
// comes while none is free is not begun, and none is asked for until one is. (issue 19)
func TestA_worker_has_one_limit_for_all_its_queues(t *testing.T) {
	t.Parallel()
	s, came, end := newSlots(1), make(chan struct{}), make(chan struct{})
	attempt := s.limit(func(context.Context, AttemptInput) (*AttemptResult, error) {
		came <- struct{}{}
		<-end
		return &AttemptResult{}, nil
	})
	ask := func(within time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		_, err := s.ReserveSlot(ctx, nil)
		return err
	}
	for range 3 { // a question for each queue takes none
		if err := ask(time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	ended := make(chan error)
	go func() {
		_, err := attempt(t.Context(), AttemptInput{})
		ended <- err
	}()
	<-came
	_, err := attempt(t.Context(), AttemptInput{})
	if app, is := errors.AsType[*temporal.ApplicationError](err); !is || app.Type() != notBegun {
		t.Errorf("a second attempt: %v", err)
	}
	if err := ask(300 * time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it asks for one more: %v", err)
	}
	close(end)
	if err := errors.Join(<-ended, ask(time.Minute)); err != nil {
		t.Error(err)
	}
}
