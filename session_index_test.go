package reprise

import (
	"testing"
	"time"
)

// Sessions are looked through once for all runs of a checkout, however many there are.
// (issue 40)
func TestIssue40_sessions_are_looked_through_once(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 19, 12, 0, 0, 0, time.UTC)
	o := Observed{Now: now}
	for i := range 200 {
		o.Sessions = append(o.Sessions, Session{CLI: "claude", ID: string(rune('a' + i)), Dir: ".", Last: now.Add(-time.Duration(i) * time.Hour), Calls: []Call{{Tool: "Bash", Effect: EffectFile}}})
	}
	var runs []*Run
	for i := range 200 {
		runs = append(runs, &Run{State: Interrupted, LastActivity: now.Add(-time.Duration(i%3) * 40 * time.Hour)})
	}
	var plain []int
	for _, r := range runs {
		plain = append(plain, len(o.SessionsOn(r)))
	}
	o.Index()
	lists := map[*Session]bool{}
	for i, r := range runs {
		list := o.SessionsOn(r)
		if len(list) != plain[i] {
			t.Fatalf("run %d: %d sessions, %d without the index", i, len(list), plain[i])
		}
		lists[&list[0]] = true
	}
	if len(lists) > 3 {
		t.Errorf("%d lists were made for 3 kinds of runs", len(lists))
	}
	if d := Next(runs[0], o, Policy{}); len(d.Reasons) > CallsTold+3 {
		t.Errorf("one run tells %d reasons", len(d.Reasons))
	}
}
