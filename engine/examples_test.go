package engine_test

import (
	"os"
	"testing"

	"reprise"
	"reprise/engine"
	"reprise/internal/sample"
	"reprise/project"
)

// TestX8_examples_to_their_end takes every interrupted run of the examples up
// where it stands.
func TestX8_examples_to_their_end(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	for _, c := range []struct {
		example, id string
		state       reprise.State
	}{
		{"eventrun", "20260212-0915-csv-export-k3f9", reprise.Complete},
		{"specloop", "012-team-invites", reprise.Complete},
		{"autoclaude", "004-remove-secrets-from-config", reprise.Waiting},
		{"longrun", "checkout", reprise.Complete},
		{"gsd", "planning", reprise.Complete},
		{"orchestrate", "2.3", reprise.Complete},
		{"orchestrate", "2.4", reprise.Complete},
		{"orchestrate", "qa-loop-2.2", reprise.Complete},
		{"orchestrate", "EPIC-2", reprise.Complete},
	} {
		t.Run(c.id, func(t *testing.T) {
			t.Parallel()
			dir := repository(t)
			if err := os.CopyFS(dir, os.DirFS("../examples/"+c.example)); err != nil {
				t.Fatal(err)
			}
			git(t, dir, "add", "-A", "-f")
			git(t, dir, "commit", "-q", "-m", "state")
			res, err := project.Read(t.Context(), dir, project.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range res.Runs {
				if r.ID != c.id {
					continue
				}
				e := newEngine(dir)
				e.Ask = answering
				sum, err := e.Resume(t.Context(), r.Ref, engine.Choice{})
				if err != nil {
					t.Fatal(err)
				}
				if sum.State != c.state {
					t.Errorf("%s: %s, %s: %q\nfailed %+v\nleft %v questions %+v refused %v", r.ID, sum.State, sum.Action, sum.Reasons, sum.Failed, sum.Left, sum.Questions, sum.Refused)
					for _, ev := range events(t, dir, r.Ref) {
						t.Logf("%s %s%s %d %s %q", ev.Kind, ev.Step, ev.Question, ev.Attempt, ev.Outcome, ev.Text)
					}
				}
				return
			}
			t.Fatalf("no run %s in %v", c.id, res.Runs)
		})
	}
}

// TestLR8_an_agent_that_is_chosen_goes_on_beside_a_question: what a person chose is
// done, also while a question about something else is open; only that then waits.
func TestLR8_an_agent_that_is_chosen_goes_on_beside_a_question(t *testing.T) {
	t.Parallel()
	for option, started := range map[string]int{"continue": 0, "resume-agent": 1, "respawn": 1} {
		t.Run(option, func(t *testing.T) {
			t.Parallel()
			dir := repository(t)
			if err := os.CopyFS(dir, os.DirFS("../examples/longrun")); err != nil {
				t.Fatal(err)
			}
			git(t, dir, "add", "-A", "-f")
			git(t, dir, "commit", "-q", "-m", "state")
			ref := reprise.Ref{Layout: "longrun", ID: "checkout", Path: "specs/checkout/.long-run", Kind: reprise.KindPlans}
			sum, err := newEngine(dir).Resume(t.Context(), ref, engine.Choice{Option: option})
			if err != nil || sum.Action != reprise.Ask || len(sum.Questions) != 1 {
				t.Fatalf("%+v, %v", sum, err)
			}
			all := events(t, dir, ref)
			if count(all, reprise.StepStarted, "02/3") != started || count(all, reprise.StepFinished, "02") != started || count(all, reprise.StepStarted, "03/1") != 0 {
				t.Errorf("%+v", all)
			}
		})
	}
}
