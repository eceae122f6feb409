package report_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/report"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func story() *reprise.Run {
	return &reprise.Run{
		Ref: reprise.Ref{Layout: "orchestrate", ID: "3.2", Path: "docs/3.2.md", Kind: reprise.KindStory}, State: reprise.Interrupted, Reason: "cut off",
		LastActivity: now.Add(-2 * time.Hour),
		Steps: []reprise.Step{
			{ID: "create", Role: "sm", Status: reprise.Done, Grade: reprise.Evidenced, Path: "docs/3.2.md"},
			{ID: "validate", Role: "po", Status: reprise.Done, Claims: []reprise.Claim{{Ledger: "story", Status: reprise.Done, Word: "Ready", Source: reprise.Source{File: "docs/3.2.md", Line: 3}, Won: true}, {Ledger: "epic", Status: reprise.Pending, Word: "Draft"}}},
			{ID: "implement", Role: "dev", Status: reprise.InProgress},
			{ID: "qa", Role: "qa", Status: reprise.Pending},
		},
		Next: []reprise.Unit{{ID: "3.2", Path: "docs/3.2.md", Phase: "implement", Role: "dev"}},
		Artifacts: []reprise.Artifact{
			{Name: "report", Path: "docs/validation.md", Presence: reprise.Present, MadeBy: "validate", NeededBy: "implement"},
			{Name: "gate", Path: "docs/gate.md", Presence: reprise.Missing, NeededBy: "qa"},
		},
		Findings: []reprise.Finding{{Code: "a", Severity: reprise.Info}, {Code: "b", Severity: reprise.Warning}, {Code: "c", Severity: reprise.Info}},
	}
}

func check(r *reprise.Run) report.Check {
	o := reprise.Observed{Now: now}
	return report.NewCheck("/p", "interactive", o, report.NewChecked("sha256:1", r, reprise.Next(r, o, reprise.Policy{}), o))
}

func TestA_step_that_was_left_out_is_not_counted_as_done(t *testing.T) {
	r := story()
	r.Steps[0].Status = reprise.Skipped
	if got := report.NewRun(r).Progress; got != (report.Progress{Done: 1, Total: 4, Skipped: 1}) {
		t.Errorf("%+v", got)
	}
}

func TestOR5_resume_plan(t *testing.T) {
	t.Parallel()
	p := *check(story()).Plan
	if p.WorkflowType != "sdc" || p.StateSource != "docs/3.2.md" || p.AgeSeconds == nil || *p.AgeSeconds != 7200 || p.AgeBand != "recent" {
		t.Errorf("type, source and age: %+v", p)
	}
	if want := (report.LastPhase{Name: "validate", Agent: "po", Output: "docs/validation.md"}); p.LastCompleted == nil || *p.LastCompleted != want {
		t.Errorf("last completed: %+v", p.LastCompleted)
	}
	if p.Next == nil || p.Next.Name != "implement" || p.Next.Agent != "dev" || !slices.Equal(p.Next.Inputs, []string{"docs/3.2.md", "docs/validation.md"}) {
		t.Errorf("next: %+v", p.Next)
	}
	if want := (report.Validation{Result: "warnings", Warnings: 1, Infos: 2}); p.Validation != want {
		t.Errorf("validation: %+v", p.Validation)
	}
	var left []string
	for _, u := range p.Remaining {
		left = append(left, u.ID)
	}
	if !slices.Equal(left, []string{"implement", "qa"}) {
		t.Errorf("remaining: %q", left)
	}
}

func TestThe_plan_of_a_list_begins_where_the_work_continues(t *testing.T) {
	t.Parallel()
	r := &reprise.Run{Ref: reprise.Ref{Kind: reprise.KindTasks, ID: "a", Path: "tasks.md"}, State: reprise.Interrupted, Next: []reprise.Unit{{ID: "T3"}}}
	for _, id := range []string{"T1", "T2", "T3", "T4"} {
		r.Steps = append(r.Steps, reprise.Step{ID: id, Status: reprise.Pending})
	}
	r.Steps[1].Status = reprise.Done
	var left []string
	for _, u := range check(r).Plan.Remaining {
		left = append(left, u.ID)
	}
	if want := []string{"T3", "T4", "T1"}; !slices.Equal(left, want) {
		t.Errorf("remaining: %q", left)
	}
}

func TestOR4_lost_output_makes_its_phase_the_next_one(t *testing.T) {
	t.Parallel()
	r := story()
	r.Artifacts[0].Presence = reprise.Missing
	c := check(r)
	if c.Plan.Next == nil || c.Plan.Next.Name != "validate" || c.Plan.LastCompleted.Name != "create" || c.Plan.Remaining[0].ID != "validate" {
		t.Errorf("plan: next %+v, last %+v, left %+v", c.Plan.Next, c.Plan.LastCompleted, c.Plan.Remaining)
	}
	if !slices.Equal(c.Decision.Again, []string{"validate"}) || len(c.Decision.Missing) != 1 {
		t.Errorf("decision: %+v", c.Decision)
	}
}

func TestEV6_last_completed_goes_by_time_where_every_step_has_one(t *testing.T) {
	t.Parallel()
	at := func(h int) []reprise.Claim {
		return []reprise.Claim{{Won: true, Status: reprise.Done, At: now.Add(time.Duration(h) * time.Hour)}}
	}
	r := &reprise.Run{State: reprise.Interrupted, Steps: []reprise.Step{
		{ID: "T1", Status: reprise.Done, Claims: at(3)}, {ID: "T2", Status: reprise.Done, Claims: at(1)}, {ID: "T3", Status: reprise.Pending},
	}}
	if s := report.LastDone(r, reprise.Decision{}); s == nil || s.ID != "T1" {
		t.Errorf("last by time: %+v", s)
	}
	r.Steps[0].Claims = nil
	if s := report.LastDone(r, reprise.Decision{}); s == nil || s.ID != "T2" {
		t.Errorf("last in order: %+v", s)
	}
}

func TestX2_X3_check_keeps_every_claim_and_orders_findings(t *testing.T) {
	t.Parallel()
	c := check(story())
	if len(c.Steps) != 4 || len(c.Steps[1].Claims) != 2 || !c.Steps[1].Claims[0].Won || c.Steps[1].Claims[0].Source != "docs/3.2.md:3" {
		t.Errorf("steps: %+v", c.Steps)
	}
	var codes []string
	for _, f := range c.Findings {
		codes = append(codes, f.Code)
	}
	if !slices.Equal(codes, []string{"b", "a", "c"}) {
		t.Errorf("findings: %q", codes)
	}
	if len(c.Artifacts) != 2 || c.Run.Verdict != reprise.Caution {
		t.Errorf("artifacts %+v, verdict %s", c.Artifacts, c.Run.Verdict)
	}
}

// A reader of the document never has to tell null from an empty list.
func TestX10_lists_are_never_null(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]report.Check{
		"nothing": report.NewCheck("/p", "interactive", reprise.Observed{}).About(nil),
		"bare":    check(&reprise.Run{State: reprise.Unreadable}),
		"story":   check(story()),
	} {
		raw, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		var doc map[string]any
		if err := json.Unmarshal(raw, &doc); err != nil {
			t.Fatal(err)
		}
		allowed := "verified run decision plan git owner held_by point last_completed next age_seconds last_activity at asked_at"
		for _, key := range nulls(doc) {
			if !slices.Contains(strings.Fields(allowed), key) {
				t.Errorf("%s: %s is null", name, key)
			}
		}
	}
}

func nulls(v any) []string {
	var out []string
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if x == nil {
				out = append(out, k)
			}
			out = append(out, nulls(x)...)
		}
	case []any:
		for _, x := range v {
			out = append(out, nulls(x)...)
		}
	}
	return out
}
