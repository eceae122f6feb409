// Package agent starts agents and reads what they say. An agent is any program
// that takes a prompt and changes files; how one of the known kinds is started,
// resumed and understood is in a file of its own, plain commands are in
// agent/script.
//
// The contract is docs/reference/agents.md: a prompt in; files, commits and a result out.
// An exit code alone proves nothing.
package agent

import (
	"context"
	"io"
	"os"
	"time"

	"reprise"
)

// Job is one attempt at one step.
type Job struct {
	Run     string // id of the run
	Step    string // id of the step
	Attempt int
	Role    string
	Key     string // value of the trailer its commits carry
	Token   string // unique for this attempt; marks its processes
	Project string // absolute; whose run it is, wherever it works

	Dir    string // absolute; where it works
	Prompt string
	// Result is the absolute path where it may leave its Reply as JSON.
	Result string
	// Expect are the files that must be there afterwards, as paths below Dir.
	Expect []string

	// Answers are what a person said, by question, for commands that are told
	// by their environment.
	Answers map[string]string

	// Command and Env come from a person's own settings, never from state.
	Command []string
	Env     []string // NAME=VALUE, all of it
	// Secrets are values that must not reach the log.
	Secrets []string

	// Grants are what a person let it do, in the words of its program. GitDir is the
	// folder of the repository that it is to commit to, "" if it is not to commit.
	Grants []string
	GitDir string

	// Session is an id to choose or, with Resume, the session to resume.
	Session string
	Resume  bool

	Timeout time.Duration // of the whole; zero stands for none
	Silence time.Duration // without a sign of life; zero stands for none
	// Call replaces Silence while a tool call is under way: it may run for long
	// without a word.
	Call time.Duration

	// Inherit are open files the process and all it starts keep: the lease.
	Inherit []*os.File
	// Log gets everything it prints, secrets redacted.
	Log io.Writer
	// Line, if set, is told the last line a person would want to see. It must
	// not block.
	Line func(string)
	// Learned, if set, is told the session id as soon as it is known, before
	// any work of that session is accepted. An error stops the agent. Where we
	// choose the id, Start calls it before the process exists; otherwise a
	// goroutine of the session does.
	Learned func(session string) error
}

// Outcome is how an attempt ended, one vocabulary for all kinds of agents.
type Outcome string

// The outcomes.
const (
	Done            Outcome = "done"           // it says it is finished; what it made is still to be looked for
	Failed          Outcome = "failed"         // it ended and says, or shows, that it did not succeed
	Refused         Outcome = "refused"        // the model or the provider will not do it
	NeedsPerson     Outcome = "needs-person"   // a permission, an answer
	NeedsSetup      Outcome = "needs-setup"    // a sign-in, a key, a trusted folder: no answer can give it
	Limited         Outcome = "limited"        // a usage limit; Until if it is known
	OutOfContext    Outcome = "out-of-context" // its session is full: brief a new one
	SessionNotFound Outcome = "session-not-found"
	Killed          Outcome = "killed"      // by a signal that was not ours
	Stopped         Outcome = "stopped"     // by us, because we were asked to
	TimedOut        Outcome = "timed-out"   // too long, or silent for too long
	Lost            Outcome = "lost"        // how it ended is not known
	NotStarted      Outcome = "not-started" // the command could not be started
)

// Says tells by what an attempt said of itself that it is finished.
type Says string

// What says so. An exit code is a word only of a plain command, whose contract it is: of a CLI
// with events of its own it proves nothing.
const (
	SaysNothing Says = ""
	SaysExit    Says = "exit"  // of a plain command
	SaysEvent   Says = "event" // the last event of its CLI, without an error
)

// Result is how an attempt ended and what it said.
type Result struct {
	Outcome Outcome
	Reason  string // one sentence, for people
	Says    Says   // of a Done: who says so
	Until   time.Time
	Awaits  string // for Limited: reprise.AwaitsLimit or reprise.AwaitsOutage, "" if that is not known
	Account string // what a limit holds for, if it says so
	Session string // the session it ran in
	Exit    int
	Signal  string
	// CutOff tells that its keeper was killed: nothing is known of how it ended.
	CutOff bool
	// Reply is what it left as its result, nil if nothing; ReplyProblem says
	// what was wrong with it.
	Reply        *reprise.Reply
	ReplyProblem string
	// LastText is the last thing it said in words.
	LastText string
	// Open are tool calls it began and whose end was not seen: they may have
	// happened.
	Open []OpenCall
	// Asks are what it wanted of a person: a permission that was refused, a
	// question that was not answered.
	Asks []reprise.Asked
	// Finished tells that an attempt which needs a person for calls that were refused says
	// that it is finished: it did without them, or could not.
	Finished bool
	// Spent are the requests to models that it made, as its program tells; nil where that
	// is not known. More tells that it may have made another one.
	Spent []reprise.Request
	More  bool
	// Stderr is the end of what it printed on standard error, at most 8 KiB.
	Stderr string
	// LeftOver are descendants that lived on after it and were stopped.
	LeftOver []string
	// Bytes counts what it printed; Dropped what was more than is kept.
	Bytes, Dropped int64

	silent bool // it was stopped because it printed nothing, and no tool call was under way
}

// Agent is one way to start agents.
//
// Start returns once the process exists, or an error if it cannot be started.
// Wait returns when it and everything it started are gone. When ctx ends it is
// asked to stop, then killed; its descendants with it.
type Agent interface {
	Start(ctx context.Context, job Job) (Session, error)
}

// Session is a running attempt.
type Session interface {
	PID() int
	Wait() Result
	// Kill ends it and all it started at once.
	Kill()
}
