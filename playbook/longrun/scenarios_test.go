package longrun_test

import (
	"testing"
	"testing/fstest"

	"reprise"
	layout "reprise/layout/longrun"
	"reprise/playbook/longrun"
	"reprise/playbook/playbooktest"
)

func TestX2_every_scenario_of_the_layout_comes_to_rest(t *testing.T) {
	t.Parallel()
	playbooktest.ComesToRest(t, layout.New(), longrun.New(), func(scenario string, _ fstest.MapFS, _ reprise.Ref) bool {
		switch scenario {
		case "lr2-broken-checkpoint", "lr1-history-broken", "gsd-state-stacked":
			return true // files that cannot be read are not written to: an error that names them
		}
		return false
	})
}
