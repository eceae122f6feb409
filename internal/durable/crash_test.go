package durable_test

import (
	"sync/atomic"
	"testing"

	"reprise/internal/durable/crashfs"
	"reprise/internal/sample"
)

// minStates is what the whole exploration must reach; less means that a scenario
// lost its teeth.
const minStates = 20_000

func TestCrash_at_every_operation(t *testing.T) {
	t.Parallel()
	var states, runs atomic.Int64
	cuts, kills := sample.Every(t, 19), sample.Every(t, 11)
	t.Run("scenarios", func(t *testing.T) {
		for i, sc := range scenarios() {
			t.Run(sc.Name, func(t *testing.T) {
				t.Parallel()
				// One of them is torn at every byte, the others at a few places.
				r := crashfs.Explore(sc, crashfs.Config{Fine: i == 0, Cuts: cuts, Kills: kills})
				t.Log(r)
				for _, bad := range r.Bad {
					t.Error(bad)
				}
				if r.Capped > 0 {
					t.Errorf("%d states were left out", r.Capped)
				}
				states.Add(int64(r.States))
				runs.Add(int64(r.Runs))
			})
		}
	})
	t.Logf("%d distinct states, %d recoveries", states.Load(), runs.Load())
	if sample.All() && states.Load() < minStates && !t.Failed() {
		t.Errorf("only %d distinct states", states.Load())
	}
}
