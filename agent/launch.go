package agent

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"reprise"
	"reprise/internal/redact"
	"reprise/internal/shim"
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
	// Busy, if set, is asked after each call of Stream whether a tool call is
	// under way.
	Busy func() bool
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

// maxStreamLine bounds a line of standard output that Stream is told; a longer one is
// only in the log.
const maxStreamLine = 8 << 20

// Start starts the process of a job under a supervisor of its own and returns
// once it exists. Wait on the session returns when it and all it started are
// gone. An error, always a *StartError, means that nothing runs.
func (l Launch) Start(ctx context.Context, job Job) (Session, error) {
	if l.Grace <= 0 {
		l.Grace = defaultGrace
	}
	if l.MaxLog <= 0 {
		l.MaxLog = defaultMaxLog
	}
	if len(l.Argv) == 0 || l.Argv[0] == "" {
		return nil, &StartError{Command: "agent", Cause: errors.New("it has no command"), Advice: "name a command for this agent in the settings"}
	}
	if err := ctx.Err(); err != nil {
		return nil, &StartError{Command: l.Argv[0], Cause: err}
	}
	s := &session{
		job: job, launch: l, redact: redact.New(job.Secrets),
		keep: newKeep(job.Log, l.MaxLog), say: &sayer{tell: job.Line},
		broken: make(chan error, 1), done: make(chan struct{}),
	}
	if err := s.start(); err != nil {
		return nil, &StartError{Command: l.Argv[0], Cause: err, Advice: advice(err, job.Dir)}
	}
	go s.run(ctx)
	return s, nil
}

// environ is the environment of the process: the job's, what the launch adds,
// and what every agent is told. A later entry counts.
func (l Launch) environ(job Job) []string {
	env := append(slices.Clone(job.Env), l.Env...)
	if len(job.Answers) > 0 {
		if text, err := json.Marshal(job.Answers); err == nil { // a map of texts always can be
			env = append(env, "REPRISE_ANSWERS="+string(text))
		}
	}
	return append(env,
		"REPRISE_RUN="+job.Run, "REPRISE_STEP="+job.Step, "REPRISE_ATTEMPT="+strconv.Itoa(job.Attempt),
		"REPRISE_ROLE="+job.Role, "REPRISE_RESULT="+job.Result,
		"REPRISE_EXPECT="+strings.Join(job.Expect, "\n"),
		"REPRISE_TRAILER="+reprise.TrailerKey+": "+job.Key, "REPRISE_TOKEN="+job.Token, "REPRISE_PROJECT="+job.Project)
}

// advice says what a person can do about a command that cannot be started.
func advice(err error, dir string) string {
	_, missing := errors.AsType[*shim.NotFoundError](err)
	switch {
	case errors.Is(err, shim.ErrNotReady):
		return "call shim.Main at the top of main, or name a shim"
	case missing:
		return "install it outside of the project, or name it by its full path in the settings; the PATH of agents is the one their environment has"
	case errors.Is(err, syscall.ENOEXEC):
		return "it is not executable as a program: a script needs a first line such as #!/bin/sh"
	case errors.Is(err, fs.ErrPermission):
		return "it may not be executed: chmod +x it, or start it through its interpreter"
	case errors.Is(err, syscall.E2BIG):
		return "its arguments and environment are too long: pass less of the environment"
	case errors.Is(err, fs.ErrNotExist):
		return "the file, the interpreter in its first line, or the folder " + dir + " is missing"
	}
	return "try to start it by hand in " + dir
}

// ErrLost is the cause where the keeper of an attempt was gone before it could
// tell of the agent: nothing is known against the command.
var ErrLost = shim.ErrLost

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
