package engine

import (
	"maps"
	"time"

	"reprise"
	"reprise/agent"
	"reprise/agent/script"
	"reprise/settings"
)

// binding is who does a unit of work.
type binding struct {
	name      string
	preset    string
	agent     agent.Agent
	command   []string
	env       []string
	secrets   []string
	timeout   time.Duration
	silence   time.Duration
	call      time.Duration
	continues bool // it can continue with a session
}

// bind finds who does a unit: the command in the user's workflow file, or the agent that
// the settings configure for the role. The error is a *startError.
func (w *work) bind(a reprise.Assignment) (_ binding, err error) {
	var s settings.Agent
	var ag agent.Agent
	if len(a.Command) > 0 {
		s = settings.Agent{Name: a.Command[0], Command: a.Command}
		ag = script.New(script.Options{Grace: w.Settings.Grace, MaxLog: w.Settings.MaxLog, Shim: w.Shim, Now: w.Now})
	} else if s, err = w.Settings.For(a.Role); err == nil {
		ag, err = w.Agent(s)
	}
	if err != nil {
		return binding{}, &startError{err}
	}
	if len(a.Env) > 0 {
		all := maps.Clone(s.Env)
		if all == nil {
			all = map[string]string{}
		}
		maps.Copy(all, a.Env) // the step's own count
		s.Env = all
	}
	env, secrets := w.Settings.Environ(w.Environ, s)
	return binding{
		name: s.Name, preset: s.Preset, agent: ag, command: s.Command, env: env, secrets: secrets,
		timeout: pick(a.Timeout, s.Timeout, w.Settings.Timeout), silence: pick(s.Silence, w.Settings.Silence), call: pick(s.Call, w.Settings.Call),
		continues: s.Preset != "" && s.Preset != "command",
	}, nil
}

func pick[T int | time.Duration](all ...T) T {
	for _, d := range all {
		if d > 0 {
			return d
		}
	}
	return 0
}

// startError says that no agent is configured for a unit, or that it cannot be started.
type startError struct{ error }

// Unwrap gives the cause.
func (e *startError) Unwrap() error { return e.error }
