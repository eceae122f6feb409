package engine

import (
	"testing"

	"reprise/settings"
)

func TestX8_whose_limit_holds(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]settings.Agent{
		"team":   {Name: "worker", Preset: "claude", Account: "team"},
		"claude": {Name: "worker", Preset: "claude"},
		"tests":  {Name: "tests", Preset: "command"},
		"shared": {Name: "tests", Preset: "command", Account: "shared"},
	} {
		if got, _ := accountOf(s); got != want {
			t.Errorf("%+v: %q, want %q", s, got, want)
		}
	}
}
