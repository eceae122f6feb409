package temporal_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	sdk "go.temporal.io/sdk/temporal"

	"reprise/engine"
	"reprise/engine/temporal"
	"reprise/report"
)

// A worker that is to stop while it makes the checkout of an attempt has not begun it: another
// worker carries out the same attempt, and it costs none. (issue 19)
func TestFleet_an_attempt_that_did_not_begin_costs_none(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"flow.yaml": `name: own
steps:
  - {id: a, command: [sh, -c, 'echo "begun a $REPRISE_ATTEMPT" >> "$FLEET_LOG"; echo a > a.txt'], outputs: [a.txt], attempts: 1, on_crash: ask}
`})
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	bin, reached := t.TempDir(), filepath.Join(s.dir, "reached")
	slow := fmt.Sprintf("#!/bin/sh\ncase \"$*\" in *' fetch '*/begun/a/*) echo >> '%s'; exec sleep 600;; esac\nexec '%s' \"$@\"\n", reached, real)
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte(slow), 0o755); err != nil {
		t.Fatal(err)
	}
	stops := s.worker("w1", "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	if r := s.fleet("run", "flow.yaml", "--id", "begun", "--detach", "--heartbeat", "10s"); r.code != 0 {
		t.Fatal(r)
	}
	s.until("its checkout is made", func() bool { _, err := os.Stat(reached); return err == nil })
	if err := stops.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-stops.gone
	s.worker("w2")
	s.until("the run ends", func() bool { return ended(s.fleet("resume", "begun", "--json")) })
	if got := s.launched(); got != "begun a 1\n" {
		t.Errorf("launched: %q", got)
	}
	if got := s.landed("begun"); len(got) != 1 || got["a"] != 1 {
		t.Errorf("accepted: %v", got)
	}
}

// What a worker gave up before it began is given to a worker again, as is a verify command
// whose worker was lost. Any other error is the end of the attempt. (issue 19)
func TestAn_attempt_that_did_not_begin_has_no_end(t *testing.T) {
	t.Parallel()
	gaveUp := sdk.NewApplicationError("it was not begun", "not-begun")
	lost := sdk.NewTimeoutError(2, nil) // of a heartbeat
	for name, c := range map[string]struct {
		err    error
		verify bool
		tries  int
	}{
		"given up":        {gaveUp, false, 3},
		"verify given up": {gaveUp, true, 3},
		"verify lost":     {lost, true, 3},
		"lost":            {lost, false, 1},
		"failed":          {fmt.Errorf("no space left"), false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnv(time.Minute)
			var mu sync.Mutex
			tries := 0
			var ends []temporal.LandInput
			decide := func(context.Context, temporal.DecideInput) (*temporal.Decision, error) {
				mu.Lock()
				defer mu.Unlock()
				if len(ends) > 0 {
					return &temporal.Decision{Left: &report.Summary{}}, nil
				}
				return &temporal.Decision{Starts: []temporal.Start{{Elsewhere: engine.Elsewhere{Step: "a", Number: 1}, Queue: "q", Timeout: time.Hour, Verify: c.verify}}}, nil
			}
			attempt := func(_ context.Context, in temporal.AttemptInput) (*temporal.AttemptResult, error) {
				mu.Lock()
				defer mu.Unlock()
				if tries++; tries < 3 {
					return nil, c.err
				}
				return &temporal.AttemptResult{Outcome: "done", Verified: c.verify}, nil
			}
			land := func(_ context.Context, in temporal.LandInput) (*temporal.Landing, error) {
				mu.Lock()
				defer mu.Unlock()
				ends = append(ends, in)
				return &temporal.Landing{}, nil
			}
			for name, f := range map[string]any{temporal.DecideActivity: decide, temporal.AttemptActivity: attempt, temporal.LandActivity: land} {
				env.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name})
			}
			env.ExecuteWorkflow(temporal.RunWorkflow, temporal.Run{Heartbeat: time.Minute, Landings: 500})
			if err := env.GetWorkflowError(); err != nil {
				t.Fatal(err)
			}
			if tries != c.tries || len(ends) != 1 || ends[0].Start.Number != 1 || (ends[0].Lost == "") != (c.tries == 3) {
				t.Errorf("%d tries, want %d; landed %+v", tries, c.tries, ends)
			}
			if c.tries == 3 && strings.Contains(fmt.Sprint(ends), "not begun") {
				t.Errorf("landed %+v", ends)
			}
		})
	}
}
