package temporal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"

	"reprise/settings"
)

// A worker whose own context ends while an attempt is set up, or while its verify command runs,
// says that it did not begin. Where the server asked for that, it was stopped. (issue 19)
func TestWhat_a_worker_gave_up_did_not_begin(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cause   error
		stopped bool
	}{
		"the server is away":  {errCutOff, false},
		"the worker stops":    {errStopping, false},
		"a refused heartbeat": {errors.New("interrupted"), false},
		"the server stops it": {temporal.NewCanceledError(), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reached := filepath.Join(t.TempDir(), "reached")
			b := newBench(t, fmt.Sprintf("name: r\nsteps:\n  - {id: a, command: [sh, -c, 'echo a > a.txt'], outputs: [a.txt], verify: [sh, -c, 'echo > %s; sleep 600']}\n", reached))
			a := b.worker("one")
			s := b.decided(a).Starts[0]
			try := func(when func() bool) {
				t.Helper()
				work, cancel := context.WithCancelCause(t.Context())
				go func() {
					for !when() {
						time.Sleep(10 * time.Millisecond)
					}
					cancel(c.cause)
				}()
				r, err := a.attempt(t.Context(), work, b.next(), AttemptInput{Run: b.run, Start: s}, &words{})
				var app *temporal.ApplicationError
				if is := errors.As(err, &app) && app.Type() == notBegun; is == c.stopped || temporal.IsCanceledError(err) != c.stopped {
					t.Errorf("%+v, %v", r, err)
				}
			}
			try(func() bool { return true })
			// The same attempt is carried out afterwards.
			in := b.tried(a, s)
			if l, err := a.land(t.Context(), b.next(), in); err != nil || !l.Verify {
				t.Fatalf("%+v, %v", l, err)
			}
			s.Verify, s.Commit = true, in.Result.Commit
			try(func() bool { _, err := os.Stat(reached); return err == nil })
		})
	}
}

// A run is stopped while a verify command is at work: that refutes nothing. The attempt stays
// open, and its work is checked when the run goes on. (issue 19)
func TestA_verify_that_told_nothing_refutes_nothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, "name: r\nsteps:\n  - {id: a, command: [sh, -c, 'echo a > a.txt'], outputs: [a.txt], verify: [\"true\"], attempts: 1}\n")
	a := b.worker("one")
	in := b.attempted(a)
	if l, err := a.land(t.Context(), b.next(), in); err != nil || !l.Verify {
		t.Fatalf("%+v, %v", l, err)
	}
	in.Start.Verify, in.Start.Commit = true, in.Result.Commit
	cut := in
	cut.Lost, cut.Verify = stoppedText, &AttemptResult{}
	if l, err := a.land(t.Context(), b.next(), cut); err != nil || len(l.Failed) > 0 || l.Accepted != nil {
		t.Errorf("%+v, %v", l, err)
	}
	r := b.tried(a, in.Start)
	in.Verify = &r.Result
	if l, err := a.land(t.Context(), b.next(), in); err != nil || l.Accepted == nil {
		t.Errorf("%+v, %v", l, err)
	}
}

// A worker that has not trusted the workflow file gives an attempt back: another one carries out the
// same. (issue 19)
func TestA_worker_that_may_not_start_it_gives_an_attempt_back(t *testing.T) {
	t.Parallel()
	b := newBench(t, oneStep)
	may, not := b.worker("one"), b.worker("two")
	not.trust = trusted{}
	s := b.decided(may).Starts[0]
	_, err := not.attempt(t.Context(), t.Context(), b.next(), AttemptInput{Run: b.run, Start: s}, &words{})
	var app *temporal.ApplicationError
	if !errors.As(err, &app) || app.Type() != notBegun || !strings.Contains(app.Message(), "the worker two gave it back") || !strings.Contains(app.Message(), "flow.yaml") {
		t.Errorf("%v", err)
	}
	if l, err := may.land(t.Context(), b.next(), b.tried(may, s)); err != nil || l.Accepted == nil || l.Accepted.Attempt != 1 {
		t.Errorf("%+v, %v", l, err)
	}
}

// A worker cannot offer a role whose steps wait for another one. (issue 19)
func TestA_worker_offers_roles_that_steps_wait_for(t *testing.T) {
	t.Parallel()
	b := newBench(t, oneStep, settings.FileName, "agents: {w: {command: [w]}}\nroles: {default: w, qa: w}\n")
	for role, is := range map[string]bool{"qa": true, defaultQueue: true, commandQueue: true, "dev": false} {
		_, _, err := b.worker("one").roles(t.Context(), WorkerOptions{Remote: b.remote, Roles: []string{role}})
		no, refused := errors.AsType[*NoRoleError](err)
		if refused == is || refused && (no.Role != role || !strings.Contains(no.Hint(), "--role default")) {
			t.Errorf("%s: %v", role, err)
		}
	}
}
