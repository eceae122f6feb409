package temporal

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
)

// answers is a server that answers heartbeats as it is told.
type answers struct {
	client.Client
	beats  atomic.Int64
	answer func(ctx context.Context, n int64) error
}

func (a *answers) RecordActivityHeartbeat(ctx context.Context, _ []byte, _ ...any) error {
	return a.answer(ctx, a.beats.Add(1))
}

// A heartbeat that is not answered for a while costs no agent its work: only the server's word,
// or silence for as long as a heartbeat may take. (issue 19)
func TestA_late_answer_to_a_heartbeat_ends_no_work(t *testing.T) {
	t.Parallel()
	silent := func(ctx context.Context, _ int64) error {
		<-ctx.Done()
		return serviceerror.NewDeadlineExceeded("context deadline exceeded")
	}
	for name, c := range map[string]struct {
		timeout time.Duration
		answer  func(ctx context.Context, n int64) error
		want    string // "" if the work goes on
	}{
		"late": {6 * time.Second, func(ctx context.Context, n int64) error {
			if n == 1 {
				time.Sleep(2500 * time.Millisecond)
			}
			return ctx.Err()
		}, ""},
		"interrupted for a while": {2 * time.Second, func(_ context.Context, n int64) error {
			if n%3 != 0 {
				return serviceerror.NewUnavailable("interrupted")
			}
			return nil
		}, ""},
		"silent":    {500 * time.Millisecond, silent, errCutOff.Error()},
		"to stop":   {time.Minute, func(context.Context, int64) error { return temporal.NewCanceledError() }, "canceled"},
		"not known": {time.Minute, func(context.Context, int64) error { return serviceerror.NewNotFound("gone") }, "gone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var suite testsuite.WorkflowTestSuite
			env := suite.NewTestActivityEnvironment()
			a := &Activities{Client: &answers{answer: c.answer}}
			do := func(ctx context.Context) (string, error) {
				work, stop := a.alive(ctx, c.timeout, func() any { return "" })
				defer stop()
				select {
				case <-work.Done():
					return context.Cause(work).Error(), nil
				case <-time.After(3500 * time.Millisecond):
					return "", nil
				}
			}
			env.RegisterActivity(do)
			v, err := env.ExecuteActivity(do)
			var why string
			if err == nil {
				err = v.Get(&why)
			}
			if err != nil || why != c.want {
				t.Errorf("it ended because of %q, %v; wanted %q", why, err, c.want)
			}
		})
	}
}
