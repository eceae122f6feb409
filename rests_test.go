package reprise

import (
	"maps"
	"slices"
	"testing"
)

// What is done again with a step is what may have been built on it, and nothing beside it.
func TestWhat_rests_on_a_step(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind Kind
		at   Status
		want []string
	}{
		"done, in a list":     {KindTasks, Done, []string{"a", "beside", "needs"}},
		"failed, in a list":   {KindTasks, Failed, []string{"a", "needs"}},
		"pending, in a build": {KindBuild, Pending, []string{"a", "needs"}},
		"failed, in an epic":  {KindEpic, Failed, []string{"a", "needs"}},
		"done, in a graph":    {KindGraph, Done, []string{"a", "needs"}},
		"left out":            {KindTasks, Skipped, []string{"a"}},
	} {
		r := &Run{Ref: Ref{Kind: c.kind}, Steps: []Step{
			{ID: "before", Status: Done}, {ID: "a", Status: c.at}, {ID: "beside", Status: Done}, {ID: "needs", Status: Done, Needs: []string{"a"}},
		}}
		if got := slices.Sorted(maps.Keys(r.RestsOn(1))); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	for kind, want := range map[Kind]int{KindTasks: 1, KindEpic: 1, KindStory: 2} { // the phases of a story are in order
		r := &Run{Ref: Ref{Kind: kind}, Steps: []Step{{ID: "a", Status: Failed}, {ID: "b", Status: Done}}}
		if got := r.RestsOn(0); len(got) != want {
			t.Errorf("%s, without needs: %v", kind, got)
		}
	}
}
