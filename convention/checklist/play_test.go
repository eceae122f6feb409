package checklist

import (
	"slices"
	"testing"
	"testing/fstest"

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

func TestA_story_without_a_file_of_its_own_is_read_about_among_the_epics(t *testing.T) {
	const list, epics = "_bmad-output/implementation-artifacts/sprint-status.yaml", "_bmad-output/planning-artifacts/epics.md"
	tree := fstest.MapFS{list: {Data: []byte("development_status:\n  1-1-cart: backlog\n")}, epics: {Data: []byte("# Epics\n")}}
	i := slices.IndexFunc(Families(), func(f Family) bool { return f.Name == "bmad" })
	layout := New(Families()[i])
	refs, err := layout.Find(tree)
	if err != nil || len(refs) != 1 {
		t.Fatal(refs, err)
	}
	run, err := reprise.Load(layout, tree, refs[0])
	if err != nil {
		t.Fatal(err)
	}
	a, err := NewPlaybook(Families()[i]).Assign(tree, run, run.Next[0])
	if want := []string{list, epics}; err != nil || !slices.Equal(a.Inputs, want) {
		t.Errorf("reads %v, %v, not %v", a.Inputs, err, want)
	}
}
