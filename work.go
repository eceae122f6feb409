package reprise

import (
	"errors"
	"io/fs"
	"time"
)

// Playbook is how runs of one kind are worked on.
type Playbook interface {
	// Begin tells how a run of this kind is started from nothing: the ref it
	// will have and the events that make it. For a run that is there already
	// it returns its ref and no events.
	Begin(fsys fs.FS, g Goal) (Ref, []Event, error)
	// Pick says which of the units that may be started now are worked on at
	// the same time, the most urgent first. busy are steps at work.
	Pick(r *Run, d Decision, busy []string) []Unit
	// Assign says what one unit needs.
	Assign(fsys fs.FS, r *Run, u Unit) (Assignment, error)
	// Conclude says what follows from an attempt that ended and left what was
	// expected. r is the run as it is on disk now: the agent may have written
	// the state itself.
	Conclude(fsys fs.FS, r *Run, a Assignment, reply Reply) Conclusion
	// Settle says what is to be recorded while nothing is at work and before
	// the next unit is picked: the end of a phase, a gate, the end of the run.
	// No events mean that nothing is due. It must come to an end: the events
	// it returns must change the run so that it returns others or none.
	Settle(fsys fs.FS, r *Run, d Decision) ([]Event, error)
}

// Goal is what a person asks for when a run is started.
type Goal struct {
	Text string // what is to be done, in words
	ID   string // the name of the run, "" to make one
	Path string // a story, an epic file, a spec: what the run is about, a slash path in the project
	Now  time.Time
	Mode string // the mode it is started in
	// Given is, for a run that is started from scratch, what it was given before, by
	// name, as its playbook tells (Giver).
	Given map[string]string
}

// Assignment is what one unit of work needs.
type Assignment struct {
	Unit Unit
	// Step is the id that events about it carry.
	Step string
	Role string
	// Template names the prompt; Facts are words of ours for it, by name.
	Template string
	Facts    map[string]string
	// Data is text from state files; it reaches the prompt in marked blocks.
	Data []Data
	// Inputs are files the agent should read, slash paths in the project.
	Inputs []string
	// Expect is what must be there afterwards.
	Expect []Expected
	Policy Ambiguity
	// Worktree asks for the run's own checkout instead of the project.
	Worktree bool
	// Place is the folder it was worked on in, a slash path in the project: the
	// engine sets it for a checkout, before Conclude.
	Place string
	// Commit lets the engine commit what the agent left uncommitted, where
	// that is its own.
	Commit bool
	// Answers are ids of questions whose answers this unit uses; they are
	// recorded as applied once it is finished.
	Answers []string

	// Child, if set, is a run of its own that does the unit.
	Child *Ref
	// Cast says who does the work of a role in that run, where it is another.
	Cast map[string]string
	// Ask, if set, is for a person and starts nothing.
	Ask *Asked
	// Local units need no agent: they are recorded as finished. Text is why.
	Local string
	// Prompt, Command, Env, Verify, Timeout, Backoff and Attempts come from the
	// person's own workflow file and only from there. Prompt is what an agent
	// is told to do, in the person's words.
	Prompt   string
	Command  []string
	Env      map[string]string
	Verify   []string
	Timeout  time.Duration
	Backoff  time.Duration
	Attempts int
}

// GraphAttempts is how often a task of a graph may fail before a person is asked, where
// the graph does not say: the eventrun workflow allows two retries.
const GraphAttempts = 3

// Data is a text from a file.
type Data struct {
	Name   string
	Source Source
	Text   string
}

// Conclusion is what follows from an attempt.
type Conclusion struct {
	// Problem, if set, is why it does not count; the attempt has failed.
	Problem string
	// Outcome, Text and Phase go into the event that says that the step is
	// finished, where the playbook has more to say than the agent did.
	Outcome, Text string
	// Verdict and Issues go into that event too: see Event.
	Verdict string
	Issues  int
	// Then are events that follow it.
	Then []Event
	// Questions are for a person; the step is not finished then unless
	// Finished is set.
	Questions []Asked
	Finished  bool
	// Failed and Blocked end the attempt so, with the text as reason.
	Failed, Blocked bool
}

// ErrNotFromNothing is the cause where a kind of run cannot be started without
// something that must be there first.
var ErrNotFromNothing = errors.New("cannot be started from nothing")

// Aimer is implemented by playbooks whose journal can tell better than the files where
// a run continues. Aim puts that into Next, and into the steps, phase and reason that hang
// on it; it is called wherever a run was told what its journal holds, so that who looks
// and who works agree.
type Aimer interface {
	Aim(fsys fs.FS, r *Run)
}

// Goaler is implemented by playbooks that can tell what a run was started for,
// in words, so that it can be started from scratch.
type Goaler interface {
	GoalOf(fsys fs.FS, r *Run) string
}

// Giver is implemented by playbooks whose runs are given more than a goal in words:
// who does what, how often, by which plan, files of a person's own by their names. It is
// input, not progress, and a fresh start keeps it. It is an error where some of it is
// there and cannot be read: a fresh start would go without it.
type Giver interface {
	GivenOf(fsys fs.FS, r *Run) (map[string]string, error)
}
