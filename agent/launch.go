package agent

import (
	"context"
	"time"
)

// Launch is one process to start for a job: what a plain command and the known
// CLIs have in common.
type Launch struct {
	// Argv is the command, Stdin what it reads before its input ends.
	Argv  []string
	Stdin string
	// Env is added to the environment of the job, NAME=VALUE.
	Env []string

	// Stream, if set, is told each whole line of standard output, without its
	// end and as it was printed: secrets are in it. What it returns is shown to
	// a person, "" for nothing. It is called by one goroutine at a time. An
	// error asks the agent to stop, and the outcome is Failed with its text.
	// Without it the last line of what is printed is shown.
	Stream func(line []byte) (show string, err error)
	// Finish, if set, sees the result before Wait returns it and may correct it
	// by what the stream said. The result is redacted after it.
	Finish func(*Result)

	// Grace is between asking to stop and killing; zero stands for 10 s.
	Grace time.Duration
	// MaxLog bounds what is kept of the output; zero stands for 64 MiB.
	MaxLog int64
	// Shim is the command that starts internal/shim; nil stands for this
	// program itself, whose main must then call shim.Main first.
	Shim []string
}

// The stand-ins for zero values.
const (
	defaultGrace  = 10 * time.Second
	defaultMaxLog = 64 << 20
)

// Start starts the process of a job under a supervisor of its own and returns
// once it exists. Wait on the session returns when it and all it started are
// gone. An error, always a *StartError, means that nothing runs.
func (l Launch) Start(ctx context.Context, job Job) (Session, error) {
	return nil, &StartError{}
}

// StartError tells that a command could not be started.
type StartError struct {
	Command string
	Cause   error
	Advice  string
}

// Error implements error.
func (e *StartError) Error() string { return "start " + e.Command + ": " + e.Cause.Error() }

// Unwrap gives the cause.
func (e *StartError) Unwrap() error { return e.Cause }

// Hint says what a person can do.
func (e *StartError) Hint() string { return e.Advice }
