package engine_test

import (
	"strings"
	"testing"

	"reprise"
	"reprise/engine"
	"reprise/settings"
)

const diamond = `name: diamond
title: Four steps
steps:
  - id: a
    command: [sh, -c, 'echo "$REPRISE_STEP" >> launched; echo a > a.txt']
    outputs: [a.txt]
  - id: b
    needs: [a]
    command: [sh, -c, 'echo "$REPRISE_STEP" >> launched; cat a.txt > b.txt']
    outputs: [b.txt]
  - id: c
    needs: [a]
    command: [sh, -c, 'echo "$REPRISE_STEP" >> launched; cat a.txt > c.txt']
    outputs: [c.txt]
  - id: d
    needs: [b, c]
`

func TestEV9_X8_a_workflow_file_from_nothing_to_the_end(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	put(t, dir, "flow.yaml", diamond)
	sum := begin(t, newEngine(dir), "one", "flow.yaml")
	if sum.State != reprise.Complete || len(sum.Finished) != 4 || sum.Launches != 3 {
		t.Fatalf("%+v", sum)
	}
	if got := strings.Fields(get(t, dir, "launched")); len(got) != 3 || got[0] != "a" {
		t.Errorf("launched %v", got)
	}
	all := events(t, dir, refOf("one"))
	for _, step := range []string{"a", "b", "c", "d"} {
		if n := count(all, reprise.StepFinished, step); n != 1 {
			t.Errorf("%s was finished %d times", step, n)
		}
	}
	// Going on with what is complete does nothing.
	again, err := newEngine(dir).Resume(t.Context(), refOf("one"), engine.Choice{})
	if err != nil || again.Launches != 0 || again.Action != reprise.Finish {
		t.Errorf("%+v %v", again, err)
	}
}

func TestEV9_a_steps_own_variables_reach_whoever_does_it(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	put(t, dir, "flow.yaml", `name: vars
steps:
  - {id: a, role: dev, prompt: Do it., outputs: [a.txt], env: {MINE: of-the-step, BOTH: of-the-step}}
  - {id: b, needs: [a], role: dev, prompt: Do it., outputs: [b.txt]}
`)
	e := newEngine(dir)
	e.Settings.Agents["actor"] = settings.Agent{Name: "actor", Preset: "command", Env: map[string]string{"BOTH": "of-the-agent", "ITS": "of-the-agent"},
		Command: []string{"sh", "-c", `echo "$MINE $BOTH $ITS" > $REPRISE_STEP.txt`}}
	if sum := begin(t, e, "vars", "flow.yaml"); sum.State != reprise.Complete {
		t.Fatalf("%+v", sum)
	}
	if a, b := get(t, dir, "a.txt"), get(t, dir, "b.txt"); a != "of-the-step of-the-step of-the-agent\n" || b != " of-the-agent of-the-agent\n" {
		t.Errorf("a was told %q, b %q", a, b)
	}
}
