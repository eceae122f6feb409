package project_test

import (
	"strings"
	"testing"

	"reprise"
	"reprise/journal"
	"reprise/project"
)

func TestUnheld_tells_of_steps_that_are_done_alone(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status   reprise.Status
		accepted bool
		tells    bool
	}{
		"done":                   {reprise.Done, true, true},
		"done, by a person":      {reprise.Done, false, true},
		"accepted, to be ticked": {reprise.Pending, true, true},
		"taken back":             {reprise.Pending, false, false},
	} {
		h := &journal.History{Steps: map[string]*journal.StepHistory{"a": {Unheld: []string{"made.txt"}}}}
		if tc.accepted {
			h.Steps["a"].Accepted = &reprise.Event{Kind: reprise.StepFinished, Step: "a", Attempt: 1}
		}
		r := &reprise.Run{Ref: reprise.Ref{ID: "run", Path: "list.md"}, Steps: []reprise.Step{{ID: "a", Status: tc.status}}}
		f, names := project.Unheld(r, h, false, func(string) bool { return true }, func(string) bool { return false })
		if tells := len(names) > 0 && strings.Contains(f.Message, "not committed completely: a"); tells != tc.tells {
			t.Errorf("%s: %q %q", name, names, f.Message)
		}
	}
}
