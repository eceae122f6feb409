package convention_test

import (
	"testing"

	"reprise"
	"reprise/convention"
)

func TestSteps_that_come_later(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind reprise.Kind
		step string
		want bool
	}{
		{reprise.KindBuild, "qa-review", true},
		{reprise.KindBuild, "qa-revew", false},
		{reprise.KindBuild, "", false},
		{reprise.KindEpic, "wave-2-gate", true},
		{reprise.KindEpic, "wave-2/x-gate", false},
		{reprise.KindQALoop, "fix-3", true},
		{reprise.KindStory, "qa-review", false},
		{reprise.KindGraph, "pr-prep", true},
	} {
		if got := convention.Later(c.kind, c.step); got != c.want {
			t.Errorf("%s %q: %v", c.kind, c.step, got)
		}
	}
}
