package specloop_test

import (
	"testing"

	"reprise/convention/conventiontest"
	"reprise/convention/specloop"
)

func TestSL_Scenarios(t *testing.T) {
	conventiontest.Scenarios(t, specloop.New(), "testdata/scenarios")
}

func TestX9_Conform(t *testing.T) {
	for _, sample := range []string{"plan-interrupted", "clarifying-b2-answers-on-disk", "successor-top-level", "graph-open", "graph-passes"} {
		t.Run(sample, func(t *testing.T) {
			t.Parallel()
			conventiontest.Conform(t, specloop.New(), conventiontest.LoadFS(t, "testdata/scenarios/"+sample+".txtar"))
		})
	}
}
