package engine_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"reprise"
	"reprise/engine"
)

// O1, X8: a run of someone else's that is taken up just before the full hour is
// carried to its end, each step once: what is recorded after the hour stands in a
// log of its own.
func TestO1_X8_a_run_taken_up_before_the_full_hour(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	unpack(t, dir, "../convention/eventrun/testdata/scenarios/execution.txtar")
	ref := toResume(t, dir, "eventrun", "")
	e := newEngine(dir)
	e.Ask = answering
	e.Settings.Attempts = 3
	// The hour is full in the moment in which the run was taken up.
	began := time.Now()
	hour := began.Truncate(time.Hour).Add(time.Hour)
	e.Now = func() time.Time {
		if _, err := os.Stat(filepath.Join(dir, ref.Path, "events/reprise")); err == nil {
			return hour.Add(time.Since(began))
		}
		return hour.Add(-2 * time.Second)
	}
	sum, err := e.Resume(t.Context(), ref, engine.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	starts := map[string]int{}
	for _, ev := range events(t, dir, ref) {
		if ev.Kind == reprise.StepStarted {
			starts[ev.Step+" by the "+ev.Actor]++
		}
	}
	for step, n := range starts {
		if n > 1 {
			t.Errorf("%s was started %d times", step, n)
		}
	}
	if sum.State != reprise.Complete {
		t.Errorf("%s, %s: %q failed %+v left %v", sum.State, sum.Action, sum.Reasons, sum.Failed, sum.Left)
	}
}
