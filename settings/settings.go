// Package settings reads what a person decides about running: reprise.yaml in
// the project and in the user's own configuration folder. Which command does the
// work of a role, what it may see of the environment, how long, how often, how
// many at once. Nothing of it ever comes from a state file.
//
// A project's reprise.yaml names commands that are started, so it counts only
// after a person trusted exactly this content at exactly this place; the trust
// is kept outside the project.
package settings

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"reprise"
)

// FileName is the name of the file in a project.
const FileName = "reprise.yaml"

// Settings are all of it, defaults filled in.
type Settings struct {
	// Agents are the ways to start an agent, by name; Roles say which of them
	// does the work of a role. The role "default" stands for all others.
	Agents map[string]Agent
	Roles  map[string]string

	Prompts string // folder with prompt templates that replace ours, absolute
	// Templates are the files of that folder, by their names without .md, as they
	// were when trust was looked up; what is written there later does not count before
	// the next Load. Nil without a folder.
	Templates map[string]string

	Parallel int      // steps at the same time
	Env      []string // names of environment variables agents may see, beside the built-in few
	Secrets  []string // names of environment variables whose values never reach a log

	Attempts int           // failures of one step before a person is asked
	Cutoffs  int           // attempts of one step that were cut off before a person is asked
	Backoff  time.Duration // before the second attempt; doubles with each
	Timeout  time.Duration // of one attempt
	Silence  time.Duration // without a sign of life
	Call     time.Duration // without one, while a tool call is under way
	Grace    time.Duration // between asking an agent to stop and killing it
	MaxLog   int64         // bytes of output kept of one attempt

	// Budget is what may be used before a person is asked. Prices are those of models
	// whose program does not tell what they cost.
	Budget Budgets
	Prices reprise.Prices

	// Notify says how a person who is elsewhere is told that a run asks, ended or ran into
	// a limit; nil for not at all.
	Notify *Notify
}

// Notify are ways to tell a person something who is elsewhere.
type Notify struct {
	Desktop, Bell bool
	Command       []string // argv; what is to be told is on its standard input, as JSON
}

// Budgets are what may be used before a person is asked: by a run, and by all runs of
// the project in a day.
type Budgets struct{ Run, Day Limit }

// Limit is one budget; zero stands for none.
type Limit struct {
	Cost   float64 // US dollars
	Tokens int64
}

// Agent is one way to start an agent.
type Agent struct {
	Name string
	// Preset is one of the known CLIs, or "command".
	Preset  string
	Command []string // argv; for a preset the program, if it is not the usual one, and further arguments
	Env     map[string]string
	Model   string
	// Approve is what a preset may do without asking: none, edits, commands or all; ""
	// stands for edits. Account names what its usage limits hold for.
	Approve, Account string
	Timeout          time.Duration  // zero stands for that of all
	Silence, Call    time.Duration  // likewise
	Source           reprise.Source // where it is declared
}

// For gives the agent that does the work of a role, its limits filled in.
func (s *Settings) For(role string) (Agent, error) {
	name, ok := s.Roles[role]
	if !ok {
		name, ok = s.Roles["default"]
	}
	if !ok {
		return Agent{}, &UnboundError{Role: role, Known: slices.Sorted(maps.Keys(s.Agents))}
	}
	a, ok := s.Agents[name]
	if !ok {
		return Agent{}, &UnboundError{Role: role, Agent: name, Known: slices.Sorted(maps.Keys(s.Agents))}
	}
	if a.Timeout == 0 {
		a.Timeout = s.Timeout
	}
	if a.Silence == 0 {
		a.Silence = s.Silence
	}
	if a.Call == 0 {
		a.Call = s.Call
	}
	return a, nil
}

// UnboundError tells that no agent is bound to a role.
type UnboundError struct {
	Role, Agent string
	Known       []string // the agents that are configured
}

// Error implements error.
func (e *UnboundError) Error() string {
	if e.Agent != "" {
		return fmt.Sprintf("role %q: there is no agent %q", e.Role, e.Agent)
	}
	return fmt.Sprintf("no agent configured for role %q", e.Role)
}

// Hint says what a person can do.
func (e *UnboundError) Hint() string {
	switch {
	case len(e.Known) == 0:
		return "`reprise init` configures one"
	case e.Agent == "":
		return fmt.Sprintf("add `%s: %s` to `roles` in %s, or `default: %s` for every role", e.Role, e.Known[0], FileName, e.Known[0])
	}
	return fmt.Sprintf("add `%s: {preset: claude}` to `agents` in %s, or use another agent for %s: %s", e.Agent, FileName, e.Role, strings.Join(e.Known, ", "))
}

// Default are the settings without any file.
func Default() *Settings {
	return &Settings{
		Agents: map[string]Agent{}, Roles: map[string]string{},
		Parallel: 1, Attempts: 3, Cutoffs: 5, Backoff: 2 * time.Second,
		Timeout: 2 * time.Hour, Silence: 20 * time.Minute, Call: time.Hour, Grace: 10 * time.Second, MaxLog: 64 << 20,
	}
}
