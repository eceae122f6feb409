package engine_test

import (
	"errors"
	"testing"

	"reprise"
	"reprise/engine"
)

// How a run is resumed, by what a person said, the mode and whether one can be asked.
func TestApproach_by_mode_and_wish(t *testing.T) {
	t.Parallel()
	story := func(state reprise.State) *reprise.Run {
		return &reprise.Run{
			Ref: reprise.Ref{ID: "4.2", Kind: reprise.KindStory}, State: state,
			Options: []reprise.Option{{Key: "continue"}, {Key: "fresh"}},
		}
	}
	asking := story(reprise.Waiting)
	asking.Options = []reprise.Option{{Key: "answer"}}
	asking.Questions = []reprise.Question{{ID: "q", Text: "How?", By: "a"}}
	asking.Steps = []reprise.Step{{ID: "a", Status: reprise.InProgress}, {ID: "b", Status: reprise.Pending}}
	held := story(reprise.Waiting)
	held.Phase = "paused"
	safe := reprise.Decision{Action: reprise.Start, State: reprise.Interrupted, Verdict: reprise.Safe}
	blocked := reprise.Decision{Action: reprise.Refuse, State: reprise.Interrupted, Verdict: reprise.BlockedVerdict}
	ask := reprise.Decision{Action: reprise.Ask, State: reprise.Waiting, Verdict: reprise.Caution}
	beside := ask
	beside.Units, beside.Waits = []reprise.Unit{{ID: "b"}}, []string{"a"}
	ended := reprise.Decision{Action: reprise.Ask, State: reprise.Stopped, Verdict: reprise.Caution}
	way := func(option string) engine.Choice { return engine.Choice{Option: option} }
	for name, c := range map[string]struct {
		wish   engine.Wish
		run    *reprise.Run
		d      reprise.Decision
		want   engine.Approach
		option string
		err    error
	}{
		"autopilot takes the usual way":            {engine.Wish{Mode: engine.Autopilot}, story(reprise.Interrupted), safe, engine.Go, "continue", nil},
		"interactive asks":                         {engine.Wish{Mode: engine.Interactive, Asks: true}, story(reprise.Interrupted), safe, engine.PickWay, "", nil},
		"interactive and nobody there":             {engine.Wish{Mode: engine.Interactive}, story(reprise.Interrupted), safe, engine.Leave, "", &engine.UnattendedError{}},
		"nobody there, and a conflict":             {engine.Wish{Mode: engine.Interactive}, story(reprise.Interrupted), blocked, engine.Leave, "", &engine.UnsafeError{}},
		"a yes is enough":                          {engine.Wish{Mode: engine.Interactive, Yes: true}, story(reprise.Interrupted), safe, engine.Go, "continue", nil},
		"a choice is enough":                       {engine.Wish{Mode: engine.Interactive, Choice: way("continue")}, story(reprise.Interrupted), safe, engine.Go, "continue", nil},
		"preflight wants its word all the same":    {engine.Wish{Mode: engine.Preflight, Asks: true, Choice: way("continue")}, story(reprise.Interrupted), safe, engine.SayWord, "continue", nil},
		"preflight with a yes does not":            {engine.Wish{Mode: engine.Preflight, Yes: true}, story(reprise.Interrupted), safe, engine.Go, "continue", nil},
		"a conflict stops autopilot":               {engine.Wish{Mode: engine.Autopilot}, story(reprise.Interrupted), blocked, engine.Leave, "continue", &engine.UnsafeError{}},
		"a conflict turns autopilot to a person":   {engine.Wish{Mode: engine.Autopilot, Asks: true}, story(reprise.Interrupted), blocked, engine.PickWay, "", nil},
		"who only looks at a build may":            {engine.Wish{Mode: engine.Autopilot, Choice: way("review")}, story(reprise.Interrupted), blocked, engine.Go, "review", nil},
		"afresh is agreed to first":                {engine.Wish{Mode: engine.Autopilot, Choice: way("fresh")}, story(reprise.Interrupted), blocked, engine.GiveUp, "fresh", nil},
		"clean asks for itself":                    {engine.Wish{Mode: engine.Autopilot, Choice: way("clean")}, story(reprise.Interrupted), blocked, engine.Go, "clean", nil},
		"autopilot waits for an answer":            {engine.Wish{Mode: engine.Autopilot}, asking, ask, engine.Leave, "answer", &engine.UnattendedError{}},
		"autopilot works beside a question":        {engine.Wish{Mode: engine.Autopilot}, asking, beside, engine.Go, "continue", nil},
		"what is skipped may be what asks":         {engine.Wish{Mode: engine.Autopilot, Choice: engine.Choice{Skip: []string{"a"}}}, asking, ask, engine.Go, "", nil},
		"autopilot does not lift a pause":          {engine.Wish{Mode: engine.Autopilot}, held, ask, engine.Leave, "", &engine.UnattendedError{}},
		"a person may":                             {engine.Wish{Mode: engine.Autopilot, Choice: way("continue")}, held, ask, engine.Go, "continue", nil},
		"what was ended is for the engine to tell": {engine.Wish{Mode: engine.Autopilot}, story(reprise.Stopped), ended, engine.Go, "", nil},
		"or for a person who is asked":             {engine.Wish{Mode: engine.Autopilot, Asks: true}, story(reprise.Stopped), ended, engine.PickWay, "", nil},
	} {
		how, choice, err := c.wish.Approach(c.run, c.d)
		if how != c.want || choice.Option != c.option {
			t.Errorf("%s: %d by %q, want %d by %q", name, how, choice.Option, c.want, c.option)
		}
		var unattended *engine.UnattendedError
		var unsafe *engine.UnsafeError
		_, alone := c.err.(*engine.UnattendedError)
		_, danger := c.err.(*engine.UnsafeError)
		if (err == nil) != (c.err == nil) || errors.As(err, &unattended) != alone || errors.As(err, &unsafe) != danger {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPicked_asks_for_what_an_option_needs(t *testing.T) {
	t.Parallel()
	r := &reprise.Run{Ref: reprise.Ref{ID: "4.2"}}
	blocked := reprise.Decision{Verdict: reprise.BlockedVerdict}
	for option, want := range map[string]engine.Approach{
		"": engine.Leave, "fresh": engine.GiveUp, "discard": engine.GiveUp, "clean": engine.Go, "from-phase": engine.PickStep,
		"answer": engine.Go, "repair": engine.Go, "review": engine.Go, "merge": engine.Go, "merged": engine.Go,
	} {
		if how, err := engine.Picked(r, blocked, option); how != want || err != nil {
			t.Errorf("%q: %d, %v", option, how, err)
		}
	}
	for _, option := range []string{"continue", "resume", "resume-agent", "respawn", "restart", "skip", "skip-group"} {
		if _, err := engine.Picked(r, blocked, option); err == nil {
			t.Errorf("%q is taken although something blocks", option)
		}
		if how, err := engine.Picked(r, reprise.Decision{}, option); how != engine.Go || err != nil {
			t.Errorf("%q: %d, %v", option, how, err)
		}
	}
}

func TestFollowUp_is_the_command_that_helps(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		s    engine.Summary
		verb string
		n    int // of flags
	}{
		"finished":     {engine.Summary{Action: reprise.Finish}, "", 0},
		"asked":        {engine.Summary{Action: reprise.Ask, Questions: []reprise.Question{{}}}, "answer", 0},
		"held by git":  {engine.Summary{Action: reprise.Start, Held: []string{"a"}}, "resume", 0},
		"unsafe":       {engine.Summary{Action: reprise.Refuse}, "check", 0},
		"alive":        {engine.Summary{Action: reprise.Refuse, State: reprise.Running}, "check", 0},
		"damaged":      {engine.Summary{Action: reprise.Repair}, "repair", 0},
		"failed":       {engine.Summary{Action: reprise.Ask, Parked: []string{"a"}}, "resume", 2},
		"until":        {engine.Summary{Action: reprise.Start, Reached: true}, "resume", 0},
		"ended before": {engine.Summary{Action: reprise.Ask, State: reprise.Stopped, Reopens: true}, "resume", 2},
	} {
		if verb, flags := c.s.FollowUp(); verb != c.verb || len(flags) != c.n {
			t.Errorf("%s: %s %q", name, verb, flags)
		}
	}
}
