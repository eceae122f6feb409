package engine_test

import (
	"slices"
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

// O3, O5: a keeper that was killed tells nothing about its command. It is bounded by the
// attempts that may be cut off, and not by those that may fail.
func TestO3_O5_a_killed_keeper_is_no_failure(t *testing.T) {
	t.Parallel()
	e := newEngine(repository(t))
	e.Settings.Cutoffs = 5
	ref := start(t, e, "name: f\nsteps:\n  - {id: a, command: [sh, -c, \"echo x >> log; test -e good || kill -9 $PPID; echo done\"], attempts: 1, on_crash: rerun}\n")
	sum, err := e.Resume(t.Context(), ref, engine.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(get(t, e.Dir, "log"), "x"); n != 5 || sum.State == reprise.Complete || !slices.Contains(sum.Parked, "a") {
		t.Errorf("tried %d times, then %s: %q, %q", n, sum.State, sum.Reasons, sum.Parked)
	}
	all := events(t, e.Dir, ref)
	if failed, again := count(all, reprise.StepFailed, "a"), count(all, reprise.StepResolved, "a"); failed != 0 || again != 5 {
		t.Errorf("failed %d times, cut off %d times", failed, again)
	}
	put(t, e.Dir, "good", "")
	if sum, err = e.Resume(t.Context(), ref, engine.Choice{From: "a"}); err != nil || sum.State != reprise.Complete {
		t.Errorf("%+v, %v", sum, err)
	}
}

// X10: a step whose inputs are not there is started, and that is said.
func TestX10_missing_inputs_are_said(t *testing.T) {
	t.Parallel()
	e := newEngine(repository(t))
	put(t, e.Dir, "here.md", "x")
	ref := start(t, e, "name: f\nsteps:\n  - {id: a, command: [\"true\"], inputs: [here.md, gone.md, here.md/x]}\n")
	sum, err := e.Resume(t.Context(), ref, engine.Choice{})
	if err != nil || sum.State != reprise.Complete {
		t.Fatalf("%+v, %v", sum, err)
	}
	var said []string
	for _, f := range sum.Findings {
		said = append(said, f.Message)
	}
	if want := []string{"a: its input gone.md is not there", "a: its input here.md/x is not there"}; !slices.Equal(said, want) {
		t.Errorf("said %q, want %q", said, want)
	}
}
