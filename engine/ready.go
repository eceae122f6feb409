package engine

import (
	"reprise/agent"
)

// mayBegin refuses, before anything is written, work that nobody could do: no agent is
// configured or installed for any of the steps that would be started first, or none can
// be started before a person answers what was asked already. shown gives the preview of
// the work, and is asked only where some agent is missing.
func (e *Engine) mayBegin(shown func() (*Preview, error)) error {
	if e.servesAll() {
		return nil
	}
	p, err := shown()
	if err != nil {
		return err
	}
	if err := e.Refuses(p); err != nil || p.waits == nil {
		return err
	}
	return &UnattendedError{p.waits, NeedsAnswer, p.Decision.Reason()}
}

// Refuses tells why nothing of what a preview starts can be started, nil if something
// can or nothing is to be.
func (e *Engine) Refuses(p *Preview) (refused error) {
	for _, s := range p.Starts {
		if s.Problem == "" {
			return nil
		}
		if _, err := e.agentFor(s.Role); refused == nil {
			refused = err
		}
	}
	return refused
}

// servesAll reports whether every role has an agent that can be started.
func (e *Engine) servesAll() bool {
	if _, ok := e.Settings.Roles["default"]; !ok {
		return false
	}
	for role := range e.Settings.Roles {
		if _, err := e.agentFor(role); err != nil {
			return false
		}
	}
	return true
}

func (e *Engine) agentFor(role string) (agent.Agent, error) {
	s, err := e.Settings.For(role)
	if err != nil {
		return nil, err
	}
	return e.Agent(s)
}
