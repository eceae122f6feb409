package reprise

import (
	"errors"
	"io/fs"
	"time"
)

// Playbook defines how runs of one kind are worked on.
type Playbook interface {
	// Begin says how to start a run of this kind from nothing: the ref it will have and
	// the events that create it. For an existing run it returns its ref and no events.
	Begin(fsys fs.FS, g Goal) (Ref, []Event, error)
	// Pick says which of the units that may be started now are worked on in parallel,
	// most urgent first. busy are the steps in progress.
	Pick(r *Run, d Decision, busy []string) []Unit
	// Assign says what one unit needs.
	Assign(fsys fs.FS, r *Run, u Unit) (Assignment, error)
	// Conclude says what follows from an attempt that ended and left what was expected. r
	// is the run as it is on disk now: the agent may have written the state itself.
	Conclude(fsys fs.FS, r *Run, a Assignment, reply Reply) Conclusion
	// Settle says what to record while nothing is running, before the next unit is
	// picked: the end of a phase, a gate, the end of the run. No events means nothing is
	// due. It must terminate: the events it returns must change the run so that it
	// returns other events, or none.
	Settle(fsys fs.FS, r *Run, d Decision) ([]Event, error)
}

// Goal is what a person asks for when starting a run.
type Goal struct {
	Text string // what to do, in words
	ID   string // the name of the run, "" to generate one
	Path string // what the run is about (a story, an epic file, a spec), as a slash path in the project
	Now  time.Time
	Mode string // the mode it is started in
	// Given is, for a run that is restarted from scratch, what it was given before, by
	// name, as its playbook reports (Giver).
	Given map[string]string
}

// Assignment is what one unit of work needs.
type Assignment struct {
	Unit Unit
	// Step is the id used in events about it.
	Step string
	Role string
	// Template names the prompt; Facts are our own values for it, by name.
	Template string
	Facts    map[string]string
	// Data is text from state files; the prompt puts it in marked blocks.
	Data []Data
	// Inputs are files the agent should read, slash paths in the project.
	Inputs []string
	// Expect is what must exist afterwards.
	Expect []Expected
	Policy Ambiguity
	// Worktree asks for the run's own checkout instead of the project folder.
	Worktree bool
	// Place is the folder it was worked on in, a slash path in the project. The engine
	// sets it for a checkout, before Conclude.
	Place string
	// Commit lets the engine commit what the agent left uncommitted, as far as it is the
	// agent's own.
	Commit bool
	// Answers are the ids of questions whose answers this unit uses; they are recorded as
	// applied once it is finished.
	Answers []string

	// Child, if set, is a separate run that does the unit.
	Child *Ref
	// Cast says who takes a role in that run, if someone else does.
	Cast map[string]string
	// Ask, if set, is a question for a person; nothing is started.
	Ask *Asked
	// Local, if set, is why the unit needs no agent: it is recorded as finished.
	Local string
	// Prompt, Command, Env, Verify, Timeout, Backoff and Attempts come only from the
	// person's own workflow file. Prompt is what an agent is told to do, in the person's
	// words.
	Prompt   string
	Command  []string
	Env      map[string]string
	Verify   []string
	Timeout  time.Duration
	Backoff  time.Duration
	Attempts int
}

// GraphAttempts is how often a graph task may fail before a person is asked, unless the
// graph says otherwise: the eventrun workflow allows two retries.
const GraphAttempts = 3

// Data is a text from a file.
type Data struct {
	Name   string
	Source Source
	Text   string
}

// Conclusion is what follows from an attempt.
type Conclusion struct {
	// Problem, if set, is why the attempt does not count; it has failed.
	Problem string
	// Outcome, Text and Phase go into the event that records the finished step, if the
	// playbook has more to say than the agent did.
	Outcome, Text string
	// Verdict and Issues go into that event too; see Event.
	Verdict string
	Issues  int
	// Then are events that follow it.
	Then []Event
	// Questions are for a person; they leave the step unfinished unless Finished is set.
	Questions []Asked
	Finished  bool
	// Failed and Blocked end the attempt that way, with Text as the reason.
	Failed, Blocked bool
}

// ErrNotFromNothing means that a kind of run cannot be started without something that
// must exist first.
var ErrNotFromNothing = errors.New("cannot be started from scratch")

// MissingError names what a run cannot be started without. It is ErrNotFromNothing.
type MissingError struct {
	Run  string // what was to be started
	What string // is missing
	Do   string // what a person can do about it; "" where What says so
}

// Error implements error.
func (e *MissingError) Error() string { return "start " + e.Run + ": " + e.What }

// Unwrap gives ErrNotFromNothing.
func (e *MissingError) Unwrap() error { return ErrNotFromNothing }

// Hint says what a person can do.
func (e *MissingError) Hint() string { return e.Do }

// Aimer is implemented by playbooks whose journal knows better than the files where a run
// continues. Aim updates Next and the steps, phase and reason that depend on it. It is
// called wherever a journal is applied to a run, so that readers and workers agree.
type Aimer interface {
	Aim(fsys fs.FS, r *Run)
}

// Goaler is implemented by playbooks that can state a run's original goal, so that it can
// be restarted from scratch.
type Goaler interface {
	GoalOf(fsys fs.FS, r *Run) string
}

// Giver is implemented by playbooks whose runs are given more than a goal in words: who
// does what, how often, by which plan, a person's own files by name. This is input, not
// progress, and a fresh start keeps it. GivenOf fails if part of it exists and cannot be
// read, since a fresh start would lose it.
type Giver interface {
	GivenOf(fsys fs.FS, r *Run) (map[string]string, error)
}
