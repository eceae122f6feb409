package engine

import (
	"strings"
	"testing"

	"reprise"
	"reprise/project"
)

// OR1 OR7: what is logged of a resumption in autopilot names the verdict, its reasons
// and the warnings, and is bounded.
func TestOR1_OR7_autopilot_logs_why_it_was_held_safe(t *testing.T) {
	t.Parallel()
	l := look{View: &project.View{Run: &reprise.Run{}, Decision: reprise.Decision{Verdict: reprise.Caution, Reasons: []string{"stopped in\nwave 1"}}}}
	l.Run.Findings = []reprise.Finding{
		{Code: "stale-run", Severity: reprise.Warning, Message: "nothing happened\nfor 9 days"},
		{Code: "ambiguous", Severity: reprise.Info, Message: "worth knowing"},
	}
	want := "Taken as safe: autopilot, verdict caution, nothing blocks it; stopped in wave 1\nWarning: stale-run: nothing happened for 9 days"
	if got := strings.Join(heldSafe(l), "\n"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for range 50 {
		l.Run.Findings = append(l.Run.Findings, reprise.Finding{Severity: reprise.Warning, Message: strings.Repeat("ü", 5000)})
		l.Decision.Reasons = append(l.Decision.Reasons, strings.Repeat("x ", 5000))
	}
	got := heldSafe(l)
	if len(got) != 12 || got[11] != "and 41 more" || len(strings.Join(got, "\n")) > 8000 {
		t.Errorf("%d lines: %q", len(got), got)
	}
}
