package cli

import (
	"testing"

	"reprise"
	"reprise/engine"
)

func TestX10_OR3_stages_that_can_be_named(t *testing.T) {
	t.Parallel()
	run := &reprise.Run{
		Ref: reprise.Ref{Kind: reprise.KindBuild}, Steps: []reprise.Step{{ID: "subtask-1-1"}}, Stages: []string{"planning"},
	}
	d := reprise.Decision{Units: []reprise.Unit{{ID: "qa-fix"}}}
	for flags, ok := range map[*resumeFlags]bool{
		{from: "subtask-1-1"}:                               true,
		{from: "planning"}:                                  true,  // begun before
		{from: "qa-fix"}:                                    true,  // comes next
		{from: "qa-review"}:                                 false, // not begun yet
		{from: "nowhere"}:                                   false,
		{workFlags: workFlags{until: "planning"}}:           true,
		{workFlags: workFlags{until: "qa-review"}}:          true, // may come
		{workFlags: workFlags{until: "qa-revue"}}:           false,
		{skip: []string{"subtask-1-1"}}:                     true,
		{skip: []string{"subtask-1-1", "planning"}}:         false, // the files cannot tell
		{option: "from-phase"}:                              false,
		{option: "from-phase", from: "subtask-1-1"}:         true,
		{workFlags: workFlags{until: ""}, skip: []string{}}: true,
	} {
		err := engine.CheckSteps(flags.choice(), run, d)
		if (err == nil) != ok {
			t.Errorf("%+v: %v", *flags, err)
		}
		if err != nil && ExitCode(err) != exitUsage {
			t.Errorf("%+v: %v is no mistake in the call", *flags, err)
		}
	}
}

func TestX10_what_cannot_be_meant_together(t *testing.T) {
	t.Parallel()
	for flags, ok := range map[*resumeFlags]bool{
		{fresh: true, from: "a"}:                  false,
		{fresh: true, skip: []string{"a"}}:        true,
		{option: "discard", from: "a"}:            false,
		{option: "merge", skip: []string{"a"}}:    false,
		{option: "review", from: "a"}:             false,
		{option: "restart", from: "a"}:            true,
		{from: "a", skip: []string{"b"}}:          true,
		{option: "from-phase", from: "a"}:         true,
		{option: "repair", skip: []string{"a"}}:   true,
		{option: "continue", skip: []string{"a"}}: true,
	} {
		if err := flags.check(); (err == nil) != ok {
			t.Errorf("%+v: %v", *flags, err)
		}
	}
}
