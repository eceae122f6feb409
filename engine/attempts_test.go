package engine_test

import (
	"strings"
	"testing"

	"reprise"
	"reprise/engine"
)

// EV4, O5: the number of attempts that a workflow file or the settings name counts,
// also where it is more than the layout grants by itself.
func TestEV4_O5_more_attempts_than_the_layout_grants(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		step     string
		settings int
		tried    int
		state    reprise.State
	}{
		"of the step":     {", attempts: 10", 3, 5, reprise.Complete},
		"of the settings": {"", 10, 5, reprise.Complete},
		"used up":         {", attempts: 4", 10, 4, reprise.Waiting},
		"of the layout":   {"", 3, 3, reprise.Waiting},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEngine(repository(t))
			e.Settings.Attempts, e.Settings.Backoff = c.settings, 1
			ref := start(t, e, "name: f\nsteps:\n  - {id: a, command: [sh, -c, \"echo x >> log; test $(wc -l < log) -ge 5\"], on_crash: rerun"+c.step+"}\n")
			sum, err := e.Resume(t.Context(), ref, engine.Choice{})
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(get(t, e.Dir, "log"), "x"); n != c.tried || sum.State != c.state {
				t.Errorf("tried %d times, then %s, want %d and %s", n, sum.State, c.tried, c.state)
			}
			if asked := len(sum.Questions) == 1 && sum.Questions[0].ID == "retry-a"; asked != (c.state == reprise.Waiting) {
				t.Errorf("asked: %+v", sum.Questions)
			}
		})
	}
}
