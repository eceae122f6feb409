package checklist

import (
	"slices"
	"testing"

	"reprise"
)

// TestPick_starts_nothing_behind_a_task_that_is_at_work_or_in_doubt: an agent may tick its
// task before its work is done, and the list alone then offers the next one.
func TestPick_starts_nothing_behind_a_task_that_is_at_work_or_in_doubt(t *testing.T) {
	steps := []reprise.Step{{ID: "T1"}, {ID: "T2"}, {ID: "T3"}, {ID: "T4"}, {ID: "T0", Removed: &reprise.Listed{ID: "T0"}}}
	for name, test := range map[string]struct {
		family        string
		offered, busy []string
		want          []string
	}{
		"nothing is at work":                       {"speckit", []string{"T2"}, nil, []string{"T2"}},
		"the one before is at work":                {"speckit", []string{"T3"}, []string{"T2"}, nil},
		"both may be worked on side by side":       {"speckit", []string{"T2", "T3"}, []string{"T2"}, []string{"T3"}},
		"a later one is in doubt":                  {"speckit", []string{"T3"}, []string{"T4"}, []string{"T3"}},
		"one that is no longer listed is in doubt": {"speckit", []string{"T3"}, []string{"T0"}, nil},
		"tasks name what they need":                {"taskmaster", []string{"T3"}, []string{"T2"}, []string{"T3"}},
	} {
		t.Run(name, func(t *testing.T) {
			i := slices.IndexFunc(Families(), func(f Family) bool { return f.Name == test.family })
			book, d := NewPlaybook(Families()[i]), reprise.Decision{}
			for _, id := range test.offered {
				d.Units = append(d.Units, reprise.Unit{ID: id})
			}
			var got []string
			for _, u := range book.Pick(&reprise.Run{Steps: steps}, d, test.busy) {
				got = append(got, u.ID)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("starts %v, not %v", got, test.want)
			}
		})
	}
}
