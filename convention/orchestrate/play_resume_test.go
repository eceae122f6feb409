package orchestrate_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/convention/conventiontest"
	"reprise/convention/orchestrate"
)

// TestOR7_resumption_is_logged: source, point, duration, validation, and why it
// was held safe.
func TestOR7_resumption_is_logged(t *testing.T) {
	t.Parallel()
	files := tree(".aiox/epic-EPIC-3-state.yaml", strings.Replace(states["stories as maps, verdicts kept"], "status: active", "status: paused\n  updated_at: \"2026-01-01T10:00:00Z\"", 1),
		"docs/stories/3.1.form.md", strings.Replace(draft, "Draft", "InProgress", 1), "docs/stories/3.2.check.md", draft, "docs/stories/3.3.done.md", draft)
	l := orchestrate.New()
	r, err := l.Load(files, reprise.Ref{Layout: "orchestrate", ID: "EPIC-3", Path: ".aiox/epic-EPIC-3-state.yaml", Kind: reprise.KindEpic})
	if err != nil {
		t.Fatal(err)
	}
	ev := reprise.Event{Kind: reprise.RunResumed, At: r.LastActivity.Add(2 * time.Hour), Text: "held safe: nothing changed since"}
	edits, err := l.Record(files, r, ev)
	if err != nil {
		t.Fatal(err)
	}
	after, err := conventiontest.Apply(files, edits)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(edits, func(e reprise.Edit) bool { return strings.Contains(e.Path, "orchestration-log-") })
	if i < 0 {
		t.Fatalf("no log among %v", edits)
	}
	text := string(after[edits[i].Path].Data)
	for _, want := range []string{
		"Workflow resumed: epic\n", "State source: .aiox/epic-EPIC-3-state.yaml\n", "Resume point: wave 1 -- @dev\n",
		"Interruption duration: 2h0m0s\n", "(held safe: nothing changed since)\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the log lacks %q:\n%s", want, text)
		}
	}
	if !strings.Contains(string(after[".aiox/epic-EPIC-3-state.yaml"].Data), "status: active") {
		t.Error("the state is not marked active")
	}
}

// TestOR4_units_are_steps_that_can_be_recorded: what the layout offers is
// assigned under an id that its recorder understands, to the role it names.
func TestOR4_units_are_steps_that_can_be_recorded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ status, step, role string }{
		{"Draft", "validate", "po"}, {"Ready", "implement", "dev"}, {"InProgress", "implement", "dev"}, {"Ready for Review", "qa", "qa"},
	} {
		files := tree("docs/stories/1.2.login.md", strings.Replace(draft, "Draft", c.status, 1))
		l := orchestrate.New()
		r, err := l.Load(files, reprise.Ref{Layout: "orchestrate", ID: "1.2", Path: "docs/stories/1.2.login.md", Kind: reprise.KindStory})
		if err != nil {
			t.Fatal(err)
		}
		units := books[reprise.KindStory].Pick(r, reprise.Next(r, reprise.Observed{}, reprise.Policy{}), nil)
		if len(units) != 1 {
			t.Fatalf("%s: picked %v", c.status, units)
		}
		a, err := books[reprise.KindStory].Assign(files, r, units[0])
		if err != nil || a.Step != c.step || a.Role != c.role || a.Commit != (c.step == "implement") {
			t.Errorf("%s: %+v %v", c.status, a, err)
		}
		if len(a.Inputs) != 1 || len(a.Expect) != 1 || !slices.ContainsFunc(a.Data, func(d reprise.Data) bool {
			return d.Name == "acceptance criteria" && strings.Contains(d.Text, "log in") && d.Source.Line > 0
		}) {
			t.Errorf("%s: it is given %v %v %v", c.status, a.Inputs, a.Expect, a.Data)
		}
		if _, err := l.Record(files, r, reprise.Event{Kind: reprise.StepFinished, Step: a.Step, At: conventiontest.Epoch}); err != nil {
			t.Errorf("%s: %v", c.status, err)
		}
		if more := books[reprise.KindStory].Pick(r, reprise.Next(r, reprise.Observed{}, reprise.Policy{}), []string{a.Step}); len(more) > 0 {
			t.Errorf("%s: beside it %v", c.status, more)
		}
	}
}
