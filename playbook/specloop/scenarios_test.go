package specloop_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/layout/layouttest"
	layout "reprise/layout/specloop"
	"reprise/playbook/playbooktest"
	"reprise/playbook/specloop"
)

func TestX2_every_scenario_of_the_layout_comes_to_rest(t *testing.T) {
	t.Parallel()
	l := layout.New()
	playbooktest.ComesToRest(t, l, specloop.New(), func(scenario string, tree fstest.MapFS, ref reprise.Ref) bool {
		// What is recorded of a time before the last is told already.
		r, _ := l.Load(tree, ref)
		return strings.Contains(scenario, "loop-phase") && r.LastActivity.After(layouttest.Epoch)
	})
}
