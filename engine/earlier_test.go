package engine_test

import (
	"path/filepath"
	"strings"
	"testing"

	"reprise"
	"reprise/engine"
	"reprise/internal/sample"
)

// TestL1_X8_what_an_earlier_attempt_committed_is_work_of_the_step: an attempt commits
// all of its work and does not come to its end; the next one finds it done, as it was
// told to look, and ends well. That is no attempt that made nothing. One that really
// made nothing has failed, also where a step was accepted before and is done again.
func TestL1_X8_what_an_earlier_attempt_committed_is_work_of_the_step(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	const commits = `echo a > a.txt; git add a.txt; git -c user.name=t -c user.email=t@example.org commit -q -m made -m "$REPRISE_TRAILER"; `
	const plainly = `echo a > a.txt; git add a.txt; git -c user.name=t -c user.email=t@example.org commit -q -m made; `
	for how, c := range map[string]struct {
		first   string // what the first attempt does
		outputs string
		stop    bool // it is stopped, else it ends by itself
		from    bool // a person says that the step is done again
		done    bool
	}{
		"stopped":                         {commits + "touch .git/here; sleep 30", "outputs: [a.txt]", true, false, true},
		"stopped, told to do it again":    {commits + "touch .git/here; sleep 30", "outputs: [a.txt]", true, true, true},
		"stopped, no outputs":             {commits + "touch .git/here; sleep 30", "outputs: []", true, false, true},
		"stopped, without the trailer":    {plainly + "touch .git/here; sleep 30", "outputs: [a.txt]", true, false, true},
		"stopped, an output is missing":   {commits + "touch .git/here; sleep 30", "outputs: [a.txt, b.txt]", true, false, false},
		"stopped with nothing made":       {"touch .git/here; sleep 30", "outputs: []", true, false, false},
		"failed":                          {commits + "exit 7", "outputs: [a.txt]", false, false, true},
		"failed with nothing made":        {"exit 7", "outputs: []", false, false, false},
		"accepted, then to be done again": {commits, "outputs: [a.txt]", false, true, false},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			e := newEngine(repository(t))
			a := e.Settings.Agents["actor"]
			a.Command = []string{"sh", "-c", `if [ "$REPRISE_ATTEMPT" = 1 ]; then ` + c.first + `; fi`}
			e.Settings.Agents["actor"] = a
			ref := start(t, e, "name: f\nsteps:\n  - {id: a, role: worker, prompt: Make it., "+c.outputs+"}\n")
			git(t, e.Dir, "add", "-A")
			git(t, e.Dir, "commit", "-q", "-m", "state")
			ctx := t.Context()
			if c.stop {
				ctx = stopAt(t, filepath.Join(e.Dir, ".git/here"))
			}
			sum, err := e.Resume(ctx, ref, engine.Choice{})
			if err != nil {
				t.Fatal(err)
			}
			if c.stop || c.from {
				choice := engine.Choice{}
				if c.from {
					choice.From = "a"
				}
				if sum, err = e.Resume(t.Context(), ref, choice); err != nil {
					t.Fatal(err)
				}
			}
			if done := sum.State == reprise.Complete; done != c.done {
				t.Fatalf("done %v: %v %v %+v", done, sum.State, sum.Reasons, sum.Failed)
			}
			if !c.done || strings.Contains(how, "without") {
				return
			}
			made := git(t, e.Dir, "log", "-1", "--format=%H", "--grep=^made$")
			if got := sum.Finished[len(sum.Finished)-1]; got.Attempt != 2 || got.Commit != made {
				t.Errorf("finished as %+v, the work is in %s", got, made)
			}
		})
	}
}
