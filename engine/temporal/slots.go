package temporal

import (
	"context"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
)

// slots are how many attempts a worker has at work, whichever of its queues they came from. The SDK
// reserves a slot before it asks the server for a task, which may take a minute to come: so only an
// attempt that came takes one, and nothing is asked for while none is free. What the server gives to
// a question from before that goes back to it as not begun, for whichever worker has a free one.
type slots struct {
	used  chan struct{} // one for each attempt at work
	polls chan struct{} // the queues are asked one after the other: a task that waits comes at once
}

func newSlots(n int) *slots {
	return &slots{used: make(chan struct{}, n), polls: make(chan struct{}, 1)}
}

const (
	pollApart    = 50 * time.Millisecond  // between asking for tasks of two queues
	slotPatience = 100 * time.Millisecond // for a slot that is about to be free
)

// limit is an attempt that is carried out in a slot.
func (s *slots) limit(do func(context.Context, AttemptInput) (*AttemptResult, error)) func(context.Context, AttemptInput) (*AttemptResult, error) {
	return func(ctx context.Context, in AttemptInput) (*AttemptResult, error) {
		select {
		case s.used <- struct{}{}:
		case <-time.After(slotPatience):
			return nil, temporal.NewApplicationError("it was not begun: the worker has no free slot", notBegun)
		}
		defer func() { <-s.used }()
		return do(ctx, in)
	}
}

// ReserveSlot waits until an attempt can be asked for.
func (s *slots) ReserveSlot(ctx context.Context, _ worker.SlotReservationInfo) (*worker.SlotPermit, error) {
	select {
	case s.polls <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer time.AfterFunc(pollApart, func() { <-s.polls })
	select {
	case s.used <- struct{}{}:
		<-s.used
		return &worker.SlotPermit{}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TryReserveSlot gives none: a worker that attempts are started on has no workflows.
func (*slots) TryReserveSlot(worker.SlotReservationInfo) *worker.SlotPermit { return nil }

// MarkSlotUsed, ReleaseSlot and MaxSlots are for those who count what was reserved.
func (*slots) MarkSlotUsed(worker.SlotMarkUsedInfo) {}

// ReleaseSlot does nothing.
func (*slots) ReleaseSlot(worker.SlotReleaseInfo) {}

// MaxSlots is not told.
func (*slots) MaxSlots() int { return 0 }
