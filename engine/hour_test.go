package engine_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"reprise"
	"reprise/engine"
	"reprise/internal/sample"
)

// O1, X8: a run of someone else's that is taken up just before the full hour is
// carried to its end, each step once: what is recorded after the hour stands in a
// log of its own.
func TestO1_X8_a_run_taken_up_before_the_full_hour(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
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
	starts, pieces := 0, map[string]int{} // what its step's coder does, and its reviewer, are two pieces of work
	for _, ev := range events(t, dir, ref) {
		switch ev.Kind {
		case reprise.StepStarted:
			starts++
		case reprise.StepFinished:
			if ev.Attempt > 0 {
				pieces[ev.Step+" "+ev.Outcome]++
			}
		}
	}
	for piece, n := range pieces {
		if n > 1 {
			t.Errorf("%s was done %d times", piece, n)
		}
	}
	if starts != len(pieces) || starts == 0 {
		t.Errorf("%d starts for %d pieces of work: %v", starts, len(pieces), pieces)
	}
	if sum.State != reprise.Complete {
		t.Errorf("%s, %s: %q failed %+v left %v", sum.State, sum.Action, sum.Reasons, sum.Failed, sum.Left)
	}
}
