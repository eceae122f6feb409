// Package engine finishes a run. There is one turn — load what the disk says, decide the
// next step, record the intent, do it, look for what it left, record the result — and it
// is repeated until the work is done, a person is needed, or continuing would be unsafe.
// Starting is resuming from nothing.
//
// Turn decides what a turn does and EndOf what comes of an attempt. Both are pure. The
// loop records what they say in a Ledger and has Hands do it.
//
// Nothing is kept in memory that would be missed after a kill between any two
// instructions: an attempt is in the journal before its agent exists, its
// effects are durable before they count, and an attempt whose end no one saw is
// settled by its policy, never silently.
package engine

import (
	"context"
	"time"

	"reprise"
	"reprise/agent"
	"reprise/flow"
	"reprise/internal/durable"
	"reprise/internal/gitx"
	"reprise/journal"
	"reprise/settings"
)

// Mode is how much a person is asked.
type Mode string

// The modes of seed 001.
const (
	Autopilot   Mode = "autopilot"   // continues where that is safe and stops where it is not
	Interactive Mode = "interactive" // asks before it continues
	Preflight   Mode = "preflight"   // shows everything and wants an explicit yes
)

// Engine works on the runs of one project.
type Engine struct {
	Dir      string // the project, absolute
	Settings *settings.Settings
	// Agent gives the way to start an agent of these settings.
	Agent func(settings.Agent) (agent.Agent, error)
	// Shim is the command of the supervisor of an attempt; nil means this program.
	Shim []string
	// Environ is the environment that agents get a part of.
	Environ []string
	Now     func() time.Time
	// Tell is called with what happens while it happens. It must not block for long.
	Tell func(Progress)
	// Ask asks a person; nil where no one can be asked. ok is false if they
	// did not answer.
	Ask func(ctx context.Context, q reprise.Question) (answer string, ok bool)

	Mode     Mode
	Parallel int // zero means what the settings say
	// Wait sleeps through limits instead of returning when they end.
	Wait bool
	// Prompts are the user's own templates by name.
	Prompts map[string]string
	// Workflow reads the user's workflow file that a run was started from, by the path in
	// its state, and returns the hash of its content. The error says why it cannot be used:
	// it is missing, or its content is not trusted.
	Workflow func(file string) (*flow.Workflow, reprise.Hash, error)

	AllowNetwork, Adopt bool
	// Worlds has lists worked on with worlds (core), where they were not begun without.
	Worlds bool
	// Disk, if set, wraps the disk, for tests that crash here.
	Disk func(durable.FS) durable.FS
	// Hands, if set, replaces the hands of this machine, which it gets for each run and
	// child run: something else can carry out the same rules.
	Hands func(reprise.Ref, Hands) Hands
	// Carried, if set, makes this process work on a part of a run: it is what the process
	// before tells, and what this one tells the next.
	Carried *Carried
	// Kept, if set, is what this process keeps of journals for the next engine, so that
	// those are not read whole again.
	Kept *Kept
	// Still, if set, says that no one but this engine and its hands changes files of the
	// project, until RunAttempt starts an agent: they are not read again for nothing.
	Still *journal.Still
	// StopOrphans stops the agents of a dead engine instead of waiting for them.
	StopOrphans bool
	// Hard, once closed, ends everything at once: the second Ctrl-C.
	Hard <-chan struct{}

	// Closed are the accounts that a limit closes, as others know, and until when.
	Closed map[string]time.Time
	// Opened are the accounts that a person opened for all who wait for them, as others know:
	// what a run has on record of a limit that closed one does not count.
	Opened []string
	// InPlace makes attempts work in the project's own checkout where they would have one
	// of the run's: the whole checkout is the run's own.
	InPlace bool

	// Repo, if set, gives the project's repository to those who only look: one look at it does
	// for all runs of a project.
	Repo func() (*gitx.Repo, error)

	looker *looker // what looks at several runs on worlds share; nil if they share nothing
	// gate holds the accounts that a limit closed, for a run and its children.
	gate *agent.Gate
	// folders holds who works where, for the same.
	folders *folders
	// tally adds up what all runs of the project used, for the same.
	tally *tally
	// elsewhere are the attempts at work in other processes, for the same.
	elsewhere []Elsewhere
}

// Kept is what a process keeps of the journals it opened.
type Kept = journal.Kept[*Recalled]

// Choice is what a person chose for a run.
type Choice = reprise.Choice

// Summary is what came of it.
type Summary struct {
	Run     reprise.Ref
	State   reprise.State
	Action  reprise.Action // what the last decision asked for
	Reopens bool           // it was ended, and a person can continue it all the same
	Reasons []string
	// Finished, Failed and Skipped are what this process did, in order. A later attempt may
	// have succeeded where one failed. Left are the open steps.
	Finished []StepReport
	Failed   []StepReport
	Skipped  []StepReport
	Left     []string
	// Parked are the steps that failed or were cut off for good: only a person has them
	// tried again. They are in the order of the work.
	Parked []string
	// Held are the steps that ended well and whose work git cannot commit. Nothing is
	// started before it can; Reasons say what git said.
	Held []string
	// Reached is set once the step is closed that a person named as the last.
	Reached bool
	// Questions wait for a person. Until is when a limit ends, Account what it closed.
	Questions []reprise.Question
	Until     time.Time
	Account   string
	// Limits are the accounts that limits close on record for all runs, and until when.
	// Only TakeEnd fills them in.
	Limits map[string]time.Time
	// Opened are the accounts that a person opened who said to try now.
	Opened   []string
	Findings []reprise.Finding
	// Refused are mistakes in the settings that kept steps from being started.
	Refused []error
	// Snapshot is what `reprise undo` restores; without git that is the state alone.
	Snapshot  string
	StateOnly bool
	Review    string // what was built, where that was asked for
	Merged    string // what was merged into what, where that was asked for
	Started   time.Time
	Ended     time.Time
	Launches  int // of agents and commands
	Commands  int // those that were commands of a workflow file
	// Usage is what all attempts since the run was started used, nil if no agent was at
	// work.
	Usage *reprise.Usage
}

// Preview is what Resume would do, up to the first agents.
type Preview struct {
	Run      reprise.Ref
	Steps    []string // of the run, as its files would have them at first
	Decision reprise.Decision
	// Would are sentences: what is settled, recorded and waited for.
	Would []string
	// Diff is what would change in the layout's files before the first agent starts.
	Diff   string
	Starts []PreviewStep
	// Outcome is what resuming would come to where it starts nothing, else OutcomeOK.
	Outcome reprise.Outcome
	// Refused is why it would not be begun although it could be shown, else nil; see
	// Engine.Refused.
	Refused error

	idle   *idle        // what resuming would come to where it does and records nothing; else nil
	begins bool         // the run would be made
	unsafe *UnsafeError // why it would be made and could not be worked on; else nil
	later  error        // why a step that comes later could not be started; else nil
}

// idle is work that comes to nothing: a person, a limit or a refusal is in the way of
// everything.
type idle struct {
	run *reprise.Run
	sum *Summary
}

// PreviewStep is one agent that would be started.
type PreviewStep struct {
	Run     string // the run of its own that the step is of, "" for the run itself
	Step    string
	Role    string
	Attempt int
	Agent   string
	Command []string
	Dir     string
	Prompt  string
	Expect  []string
	// Session compares the session that worked on the step before with a new one, nil
	// where there was none.
	Session *SessionCost
	// Problem says why it could not be started.
	Problem string
}

// SessionCost is what resuming a session costs beside a new one with a briefing: what is
// sent with the first request, in tokens and, where the settings have the price of the
// session's model, in US dollars.
type SessionCost struct {
	ID       string
	Resumed  bool   // it is taken, else a new one
	Why      string // why
	Context  int64  // of the session; 0 if that is not on record
	Briefing int64  // about that of the first prompt of a new one, by its length

	ContextCost, BriefingCost *float64 // nil where that is not known
}

// StepReport is what happened to one step.
type StepReport struct {
	ID       string
	Title    string
	Role     string
	Attempt  int
	Took     time.Duration
	Text     string
	Commit   string
	Resolved bool // its end was found by evidence, not seen
	Log      string
	Reopens  bool // it was left out, and beginning at it takes that back
}

// ProgressKind says what a Progress is about.
type ProgressKind string

// The kinds of progress.
const (
	Working   ProgressKind = "run"      // the run and its steps, whenever they change
	Began     ProgressKind = "started"  // an attempt began
	Said      ProgressKind = "line"     // the last line of an agent
	Ended     ProgressKind = "ended"    // an attempt ended
	Resolved  ProgressKind = "resolved" // an attempt that was cut off was settled
	Waits     ProgressKind = "waiting"  // for a time: back-off or a limit
	Questions ProgressKind = "question"
	Noticed   ProgressKind = "notice" // a finding a person should see
)

// Progress is one thing that happens while a run is worked on.
type Progress struct {
	Kind    ProgressKind  `json:"kind"`
	At      time.Time     `json:"at"`
	Run     string        `json:"run"`
	Step    string        `json:"step,omitempty"`
	Title   string        `json:"title,omitempty"`
	Role    string        `json:"role,omitempty"`
	Attempt int           `json:"attempt,omitempty"`
	Outcome string        `json:"outcome,omitempty"`
	Text    string        `json:"text,omitempty"`
	Until   time.Time     `json:"until,omitzero"`
	Took    time.Duration `json:"took_ns,omitempty"`
	Done    int           `json:"done"` // steps that are closed
	Total   int           `json:"total"`
	Skipped int           `json:"skipped,omitempty"` // how many of Done were left out
	Log     string        `json:"log,omitempty"`
	// State is the run as it is now, with Working alone. It is only read, and only
	// while it is told.
	State *reprise.Run `json:"-"`
}
