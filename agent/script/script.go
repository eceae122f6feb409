// Package script is the agent that is a plain command: argv from a person's
// settings, the prompt on standard input, the result in a file, and the exit code
// for the rest. The contract is docs/reference/agents.md.
package script

import (
	"context"
	"time"

	"reprise/agent"
)

// Options are the conditions under which commands are started. Their zero
// values stand for what agent.Launch says.
type Options struct {
	Grace  time.Duration
	MaxLog int64
	Shim   []string
	Now    func() time.Time // nil stands for the clock
}

// New gives the agent that starts the command of each job.
func New(o Options) agent.Agent {
	if o.Now == nil {
		o.Now = time.Now
	}
	return command{o}
}

type command struct{ o Options }

// Start implements agent.Agent.
func (c command) Start(ctx context.Context, job agent.Job) (agent.Session, error) {
	return agent.Launch{
		Argv: job.Command, Stdin: job.Prompt,
		Finish: func(r *agent.Result) { r.ByExit(c.o.Now()) },
		Grace:  c.o.Grace, MaxLog: c.o.MaxLog, Shim: c.o.Shim,
	}.Start(ctx, job)
}
