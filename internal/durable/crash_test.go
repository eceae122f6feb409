package durable_test

import (
	"sync/atomic"
	"testing"

	"reprise/internal/durable/crashfs"
)

// minStates is what the exploration must reach in all; less means that a
// scenario lost its teeth.
const minStates = 20_000

func TestCrash_at_every_operation(t *testing.T) {
	t.Parallel()
	var states, runs atomic.Int64
	t.Run("scenarios", func(t *testing.T) {
		for i, sc := range scenarios("") {
			t.Run(sc.Name, func(t *testing.T) {
				t.Parallel()
				// One of them is torn at every byte, the others at a few places.
				cfg := crashfs.Config{Fine: i == 0}
				if raceEnabled {
					// Ten times slower: the model that allows more, and of the
					// longest scenarios no crash inside recovery.
					cfg = crashfs.Config{Models: []crashfs.Model{crashfs.Weak}, NoDeep: sc.Name == "undo of state files" || sc.Name == "many files at once", Stride: 2}
				}
				r := crashfs.Explore(sc, cfg)
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
	if states.Load() < minStates && !t.Failed() {
		t.Errorf("only %d distinct states", states.Load())
	}
}
