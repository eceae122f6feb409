package agent

import (
	"os"
	"testing"

	"reprise/agent/agenttest"
	"reprise/internal/shim"
)

func TestMain(m *testing.M) {
	if handled, code := shim.Main(os.Args[1:]); handled {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// rig is a real agent of a preset.
type rig struct {
	*agenttest.Rig
	preset  Preset
	approve Approval // "" approves everything
}

func newRig(t *testing.T, p Preset, script string) *rig {
	t.Helper()
	return &rig{Rig: agenttest.New(t, p.Name, p.Tested[0], p.Program, script), preset: p}
}
