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
		if got, own := accountOf(s); got != want || own != (want == "tests") {
			t.Errorf("%+v: %q, want %q; its project's own: %t", s, got, want, own)
		}
	}
	one := settings.Agent{Name: "claude", Preset: "command"} // called as the account of another one
	e := &Engine{Settings: &settings.Settings{Agents: map[string]settings.Agent{"claude": one, "tests": {Name: "tests"}, "worker": {Name: "worker", Preset: "claude"}}}}
	if got := e.Accounts(); len(got) != 2 || got["claude"] || !got["tests"] {
		t.Errorf("the accounts are %v", got)
	}
}
