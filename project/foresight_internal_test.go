package project

import (
	"context"
	"testing"

	"reprise"
)

// A decision to ask does not outlive what is asked. Issue 15.
func TestWhat_the_engine_no_longer_asks_changes_the_decision(t *testing.T) {
	t.Parallel()
	asked := []reprise.Asked{{ID: "q", Text: "Was it finished?"}}
	for name, c := range map[string]struct {
		was, now []reprise.Asked
		changed  bool
	}{
		"no longer asked": {asked, nil, true},
		"still asked":     {asked, asked, true},
		"asked now":       {nil, asked, true},
		"never asked":     {nil, nil, false},
	} {
		v := &View{Run: &reprise.Run{State: reprise.Interrupted, Asks: c.was}, Decision: reprise.Decision{Action: reprise.Start}}
		_, changed := v.foresee(t.Context(), func(context.Context, reprise.Ref) (Foreseen, error) {
			return Foreseen{Asks: c.now}, nil
		})
		if changed != c.changed || len(v.Run.Asks) != len(c.now) {
			t.Errorf("%s: changed %v, asks %v", name, changed, v.Run.Asks)
		}
	}
}
