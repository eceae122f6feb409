package engine

import (
	"fmt"
	"slices"
	"strings"

	"reprise"
	"reprise/agent"
)

// refuses fills in why the previewed work would be refused.
func (e *Engine) refuses(p *Preview) {
	if p.Refused = e.startsNone(p); p.Refused == nil && len(p.Starts) > 0 {
		p.Refused = p.later
	}
	unasked := e.Ask == nil || !e.servesAll() // to ask a person helps only where someone can work then
	if p.Refused == nil && unasked && p.idle != nil && p.Outcome == reprise.OutcomeAsk && len(p.idle.sum.Parked) == 0 {
		p.Refused = &UnattendedError{p.idle.run, NeedsAnswer, p.Decision.Reason()}
	}
}

// startsNone tells why nothing of what a preview starts can be started, nil if something
// can or nothing is to be.
func (e *Engine) startsNone(p *Preview) (refused error) {
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

// unserved tells why an open step of the run, or a stage that always comes after what is
// started now, could not be started when it is its turn, as far as that is known: no agent is
// configured or installed for it. Steps that are left out, and those after the last one that
// is wanted, are not done.
func (w *work) unserved(now []reprise.Unit) error {
	if w.servesAll() {
		return nil
	}
	serves := func(u reprise.Unit, name string) error {
		if a, err := w.assign(u); err == nil && a.Ask == nil && a.Local == "" && a.Child == nil {
			if _, err := w.bind(a); err != nil {
				return fmt.Errorf("%s comes later: %w", name, err)
			}
		}
		return nil
	}
	after, comes := "", false // the step after which stages come, "" for any in the files
	for i := range w.run.Steps {
		s := &w.run.Steps[i]
		if open := !s.Status.Closed() || w.again[s.ID]; open && !s.Optional && !slices.Contains(w.choice.Skip, s.ID) {
			comes = true
			if err := serves(s.Unit(""), s.ID); err != nil {
				return err
			}
		}
		if s.ID == w.choice.Until {
			return nil
		}
	}
	facts := w.run.Kind.Facts()
	if !comes && len(now) > 0 {
		after, comes = now[0].ID, facts.Comes(now[0].ID)
	}
	for _, stage := range facts.Follow(after) {
		unwanted := facts.Comes(w.choice.Until) && slices.Contains(facts.Follow(w.choice.Until), stage)
		if !comes || unwanted {
			continue
		}
		id := strings.ReplaceAll(stage, "*", "1") // whichever it will be
		if err := serves(reprise.Unit{ID: id}, strings.TrimSuffix(stage, "-*")); err != nil {
			return err
		}
	}
	return nil
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
