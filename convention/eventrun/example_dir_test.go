package eventrun_test

import (
	"os"
	"testing"

	"reprise"
	"reprise/convention/conventiontest"
	"reprise/convention/eventrun"
)

// EV6: the example project shows what a report of a resumed run needs.
func TestEV6_example_project(t *testing.T) {
	t.Parallel()
	runs, err := conventiontest.Read(eventrun.New(), os.DirFS("../../examples/eventrun"))
	if err != nil || len(runs) != 1 {
		t.Fatal(runs, err)
	}
	r := runs[0]
	var last *reprise.Step
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.Status == reprise.Done && (last == nil || s.Claims[0].At.After(last.Claims[0].At)) {
			last = s
		}
	}
	if r.State != reprise.Interrupted || r.Phase != "2 execution" || r.Progress() != (reprise.Progress{Done: 2, Total: 5}) {
		t.Errorf("%s in phase %q at %+v", r.State, r.Phase, r.Progress())
	}
	if last == nil || last.ID != "T002" || last.Title != "Quote separators and line breaks" {
		t.Errorf("last completed: %+v", last)
	}
	if len(r.Next) != 2 || r.Next[0].ID != "T004" || r.Next[1].ID != "T003" || r.Next[1].Role != "verifier" {
		t.Errorf("next: %+v", r.Next)
	}
	if len(r.Findings) != 1 || r.Findings[0].Code != reprise.CodeDamagedLine || r.Findings[0].Source.Line != 8 {
		t.Errorf("findings: %+v", r.Findings)
	}
	if t.Failed() {
		t.Log(conventiontest.Describe(r))
	}
}
