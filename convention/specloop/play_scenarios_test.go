package specloop_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/convention/conventiontest"
	"reprise/convention/playtest"
	"reprise/convention/specloop"
)

func TestX2_every_scenario_of_the_layout_comes_to_rest(t *testing.T) {
	t.Parallel()
	l := specloop.New()
	playtest.ComesToRest(t, l, specloop.NewPlaybook(), func(scenario string, tree fstest.MapFS, ref reprise.Ref) bool {
		// What is recorded of a time before the last is told already.
		r, _ := l.Load(tree, ref)
		return strings.Contains(scenario, "loop-phase") && r.LastActivity.After(conventiontest.Epoch)
	})
}
