package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/engine"
)

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

// TestO3_an_attempt_is_verified_once: the command that proves that an attempt which was cut off
// landed is not run a second time to accept it, and is not asked where only a person can say.
func TestO3_an_attempt_is_verified_once(t *testing.T) {
	t.Parallel()
	for policy, log := range map[reprise.Ambiguity]string{reprise.Verify: "A\nV\n", reprise.AskWho: "A\n"} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			e := newEngine(repository(t))
			ref := start(t, e, "name: f\nsteps:\n  - {id: a, on_crash: "+string(policy)+", command: [sh, -c, 'echo A >> log; kill -9 $PPID; sleep 30'], verify: [sh, -c, 'echo V >> log']}\n")
			sum, err := e.Resume(t.Context(), ref, engine.Choice{})
			if err != nil || (sum.State == reprise.Complete) != (policy == reprise.Verify) || (len(sum.Questions) == 1) != (policy == reprise.AskWho) {
				t.Fatalf("%+v, %v", sum, err)
			}
			if got := get(t, e.Dir, "log"); got != log {
				t.Errorf("log %q", got)
			}
		})
	}
}

func removeIn(dir, name string) error { return os.Remove(filepath.Join(dir, name)) }
