package engine_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/engine"
)

// TestX8_what_verifies_a_step_holds_up_nobody: while a command of the person's own
// looks at one step, others are accepted and started.
func TestX8_what_verifies_a_step_holds_up_nobody(t *testing.T) {
	t.Parallel()
	e := newEngine(repository(t))
	e.Parallel = 2
	ref := start(t, e, `name: f
steps:
  - {id: a, command: ["true"], verify: [sh, -c, "for i in $(seq 100); do test -f c && exit 0; sleep 0.1; done; exit 1"]}
  - {id: b, command: [sleep, "0.3"]}
  - {id: c, needs: [b], command: [touch, c]}
`)
	sum, err := e.Resume(t.Context(), ref, engine.Choice{})
	if err != nil || sum.State != reprise.Complete {
		t.Fatalf("%+v, %v", sum, err)
	}
	// What verifies a ends once c is at work: b was accepted and c started before.
	var order []string
	for _, ev := range events(t, e.Dir, ref) {
		if ev.Kind == reprise.StepFinished && ev.Step != "c" || ev.Kind == reprise.StepStarted && ev.Step == "c" {
			order = append(order, ev.Step)
		}
	}
	if !slices.Equal(order, []string{"b", "c", "a"}) {
		t.Errorf("in the order %q", order)
	}
}

// TestO3_a_stop_does_not_wait_for_what_verifies: being asked to stop ends the command
// that verifies a step; whoever continues runs it again, and the step not.
func TestO3_a_stop_does_not_wait_for_what_verifies(t *testing.T) {
	t.Parallel()
	for how, command := range map[string]string{"ended": "echo A >> log", "left a result": `echo A >> log; echo '{"outcome":"done"}' > $REPRISE_RESULT`} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			e := newEngine(repository(t))
			ref := start(t, e, `name: f
steps:
  - {id: a, command: [sh, -c, '`+strings.ReplaceAll(command, "'", "''")+`'], verify: [sh, -c, "echo V >> log; test -f ok && exit; touch here; sleep 20"]}
`)
			began := time.Now()
			sum, err := e.Resume(stopAt(t, filepath.Join(e.Dir, "here")), ref, engine.Choice{})
			if err != nil || time.Since(began) > 10*time.Second {
				t.Fatalf("after %v: %+v, %v", time.Since(began), sum, err)
			}
			// Stopped while the attempt is settled, it is not given up either.
			if err := removeIn(e.Dir, "here"); err != nil {
				t.Fatal(err)
			}
			if _, err := e.Resume(stopAt(t, filepath.Join(e.Dir, "here")), ref, engine.Choice{}); err != nil {
				t.Fatal(err)
			}
			put(t, e.Dir, "ok", "")
			if sum, err = e.Resume(t.Context(), ref, engine.Choice{}); err != nil || sum.State != reprise.Complete {
				t.Fatalf("%+v, %v", sum, err)
			}
			if got := strings.Join(strings.Fields(get(t, e.Dir, "log")), " "); got != "A V V V" {
				t.Errorf("log %q", got)
			}
		})
	}
}

// TestO3_an_attempt_is_verified_once: the command that proves that an attempt which
// was cut off landed is not run a second time to accept it, and one that says no is
// not asked again while a person is.
func TestO3_an_attempt_is_verified_once(t *testing.T) {
	t.Parallel()
	for verify, policy := range map[string]reprise.Ambiguity{"true": reprise.Verify, "false": reprise.AskWho} {
		t.Run(verify, func(t *testing.T) {
			t.Parallel()
			e := newEngine(repository(t))
			ref := start(t, e, "name: f\nsteps:\n  - {id: a, on_crash: "+string(policy)+", command: [sh, -c, \"echo A >> log\"], verify: [sh, -c, \"echo V >> log; "+verify+"\"]}\n")
			happens(t, e.Dir, &reprise.Run{Ref: ref}, false, reprise.Event{Kind: reprise.StepStarted, Step: "a", Attempt: 1, Policy: policy, Key: "k"})
			sum, err := e.Resume(t.Context(), ref, engine.Choice{})
			if err != nil || (sum.State == reprise.Complete) != (verify == "true") || len(sum.Questions) != map[string]int{"true": 0, "false": 1}[verify] {
				t.Fatalf("%+v, %v", sum, err)
			}
			if got := get(t, e.Dir, "log"); got != "V\n" {
				t.Errorf("log %q", got)
			}
		})
	}
}

func removeIn(dir, name string) error { return os.Remove(filepath.Join(dir, name)) }
