package core_test

import (
	"fmt"
	"strings"
	"testing"

	"reprise/core"
)

// What the records know as "ID TITLE", the plan as it is now, and the ids that its steps get.
func TestKnown(t *testing.T) {
	for _, c := range []struct{ name, records, plan, want string }{
		{"nothing on record", "", "a one, b two", "a, b"},
		{"as it was", "a one, b two", "a one, b two", "a, b"},
		{"an item before all", "a one, b two", "a new, b one, c two", "a new, a, b"},
		{"an item in the middle", "a one, b two", "a one, b new, c two", "a, b new, b"},
		{"an item at the end", "a one", "a one, b two", "a, b"},
		{"another order", "a one, b two", "b two, a one", "b, a"},
		{"ids and order changed", "a one, b two", "x two, y one", "b, a"},
		{"a title was edited", "a one, b two", "a first, b two", "a, b"},
		{"ids moved and a title was edited", "a one, b two", "b one, a second", "a, a second"},
		{"an item is gone", "a one, b two", "a two", "b"},
		{"one title twice", "a same, b same", "a same, b same", "a, b"},
		{"one title twice, ids moved", "a same, b same", "x same, y same", "a, y"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &core.State{Steps: map[string]*core.Past{}}
			for _, step := range steps(c.records) {
				s.Steps[step.ID] = &core.Past{Title: step.Title}
			}
			var ids []string
			for i, step := range s.Known(steps(c.plan)) {
				ids = append(ids, step.ID)
				if was := steps(c.plan)[i]; step.InPlan != was.ID || step.Title != was.Title {
					t.Errorf("%+v was %+v", step, was)
				}
			}
			if got := strings.Join(ids, ", "); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// Needs follow the steps that they name.
func TestKnown_needs(t *testing.T) {
	s := &core.State{Steps: map[string]*core.Past{"a": {Title: "one"}}}
	got := s.Known([]core.Step{{ID: "a", Title: "new"}, {ID: "b", Title: "one", Needs: []string{"a", "z"}}})
	if fmt.Sprint(got[1].Needs) != "[a new z]" {
		t.Errorf("%v", got[1].Needs)
	}
}

func steps(text string) (out []core.Step) {
	for part := range strings.SplitSeq(text, ", ") {
		if id, title, ok := strings.Cut(part, " "); ok {
			out = append(out, core.Step{ID: id, Title: title})
		}
	}
	return out
}
