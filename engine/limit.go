package engine

import (
	"reprise"
	"reprise/agent"
	"reprise/settings"
)

// account is what a usage limit for a unit closes, "" where no limit applies: units without
// an agent. A command of a workflow file is an account of its own.
func (w *work) account(a reprise.Assignment) string {
	switch {
	case a.Ask != nil || a.Local != "" || a.Child != nil:
		return ""
	case len(a.Command) > 0:
		return w.ref.ID + "/" + a.Step
	}
	s, err := w.Settings.For(a.Role)
	if err != nil {
		return "" // starting it says why
	}
	account, _ := accountOf(s)
	return account
}

// accountOf names the account of an agent: the configured one; else one for each known
// kind, and one for each other command, which is one of its own.
func accountOf(s settings.Agent) (account string, own bool) {
	switch {
	case s.Account != "":
		return s.Account, false
	case s.Preset == "" || s.Preset == agent.Command:
		return s.Name, true
	}
	return s.Preset, false
}
