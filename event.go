package reprise

import (
	"errors"
	"io/fs"
	"time"
)

// EventKind is what happened to a run. Its word stands in the journal.
type EventKind string

// The kinds of events. A layout's Record says what each means in its files.
const (
	RunStarted       EventKind = "run_started"
	RunResumed       EventKind = "run_resumed"
	RunEnded         EventKind = "run_ended"
	RunStopped       EventKind = "run_stopped"
	PhaseEnded       EventKind = "phase_ended"
	StepStarted      EventKind = "step_started"
	StepFinished     EventKind = "step_finished"
	StepFailed       EventKind = "step_failed"
	StepBlocked      EventKind = "step_blocked"
	StepSkipped      EventKind = "step_skipped"
	StepReset        EventKind = "step_reset" // a transitional status taken back
	QuestionAsked    EventKind = "question_asked"
	QuestionAnswered EventKind = "question_answered"
	AnswerApplied    EventKind = "answer_applied"
	QuestionSkipped  EventKind = "question_skipped" // closed without an answer: what it is about is left out, or none is needed any longer
	RunRevised       EventKind = "run_revised"      // the steps are those of Text from now on: the workflow file was changed
	StateRestored    EventKind = "state_restored"   // an earlier state was brought back; journal only

	// These stand in the journal alone.
	StepResolved  EventKind = "step_resolved"  // how an attempt that was cut off was settled: Outcome landed, rerun or ask
	StepHeld      EventKind = "step_held"      // an attempt ended with all it was to leave, Expect and Work, and git could not commit that: Text
	StepDeferred  EventKind = "step_deferred"  // a limit: not to be started again before Until; costs no attempt
	WorktreeReady EventKind = "worktree_ready" // a checkout was made whole; Text is its path, Commit its base
	SessionKnown  EventKind = "session_known"  // the attempt runs in the session Agent
	// A session of an agent CLI told, through a hook, where it stands; see Checkpoint.
	SessionCheckpoint EventKind = "session_checkpoint"
	// The agent of an attempt told that it began or finished something; see Reported.
	StepReported EventKind = "step_reported"
	// An attempt at the step By marked this one done, or took it out of the list where it
	// stood as Listed; neither was its job.
	StepOverstepped EventKind = "step_overstepped"
	EngineLeft      EventKind = "engine_left" // the engine that worked on the run left in good order
	// An answer that was never used no longer counts: what it was given for is done
	// again, or the run that it ended continues. Where it is needed, it is asked again.
	AnswerWithdrawn EventKind = "answer_withdrawn"
	RunRenewed      EventKind = "run_renewed" // the run starts from scratch: its state is archived, then it begins again with Then
)

// Person is the actor of what a person decided.
const Person = "person"

// Event is one thing that happened, or is about to be recorded. Its JSON form
// stands in the journal: fields are added, never renamed.
type Event struct {
	Kind EventKind `json:"kind"`
	At   time.Time `json:"at"`
	// Step, Phase and Question name what it is about, by id.
	Step     string `json:"step,omitempty"`
	Phase    string `json:"phase,omitempty"`
	Question string `json:"question,omitempty"`

	Attempt int    `json:"attempt,omitempty"`
	Actor   string `json:"actor,omitempty"`  // the role that did it
	Agent   string `json:"agent,omitempty"`  // the session or agent id
	Commit  string `json:"commit,omitempty"` // the commit that holds the work
	Text    string `json:"text,omitempty"`   // why it failed, the question, the answer, a summary
	// Options are the answers to choose from, for a question; for the start of
	// a run the steps it is begun with, "wave: story" or "role: what".
	Options []string `json:"options,omitempty"`
	// Given is, for the start of a run, what it is begun with beside its steps, by
	// name: what the one before it was given and is no progress.
	Given map[string]string `json:"given,omitempty"`
	// Closed tells of a question that it takes one of these and nothing else.
	Closed bool `json:"closed,omitempty"`
	// Outcome qualifies an end: completed, failed, aborted, approved, rejected.
	Outcome string `json:"outcome,omitempty"`
	// Verdict is, with the end of a review, the word of the verdict where Outcome tells
	// only that it passes: concerns, waived. Issues is how many things it wants changed.
	Verdict string `json:"verdict,omitempty"`
	Issues  int    `json:"issues,omitempty"`

	// Policy and Expect say, with a start, how an attempt that is cut off is to
	// be settled and what it must leave; Key is what its commits carry in their
	// trailer. With what an agent reports, Expect are the files that it names as evidence,
	// and what they were then.
	Policy Ambiguity  `json:"policy,omitempty"`
	Expect []Expected `json:"expect,omitempty"`
	Key    string     `json:"key,omitempty"`
	// Open are, with the start of an attempt that is to close its own step and no other,
	// all steps that are open then; nil where they are what the journal tells already.
	// Listed is how a step stood that is no longer listed; with a reset it is put back.
	Open   []Listed `json:"open,omitzero"`
	Listed *Listed  `json:"listed,omitempty"`
	// Left are the files that an attempt changed in the project and no commit holds,
	// from the root of the repository: where it is not accepted, a later one continues
	// with them.
	Left []string `json:"left,omitempty"`
	// Work are the files that an attempt changed which ended well and which git could
	// not commit, from the root of the repository; Before is what each of them was
	// then, zero for one that was removed. With Left it tells the same of those, as far
	// as it is known.
	Work []Expected `json:"work,omitempty"`
	// Stands are, with the end of an attempt, what the files that open steps build on are
	// then, as far as that is not on record: a later change is not of this run.
	Stands []Expected `json:"stands,omitempty"`
	// Measure is, with what an attempt does, what the work of the run is measured by
	// then, as a fingerprint: a later reader can tell that it was changed.
	Measure string `json:"measure,omitempty"`
	// Cause is the fingerprint of a failure: two attempts with the same cause
	// in an unchanged world failed the same way.
	Cause string    `json:"cause,omitempty"`
	Until time.Time `json:"until,omitzero"` // a limit ends
	// Session is, of a checkpoint, what the session told, and when.
	Session *Checkpoint `json:"session,omitempty"`
	// Then are the events that are to follow at once. They stand in the journal
	// with the first, so that a process that dies between two of them leaves
	// nothing undone: the next one records the rest.
	Then []Event `json:"then,omitempty"`
	// Account is what a limit holds for.
	Account string `json:"account,omitempty"`
	// By is the step that waits for the answer to a question, or whose attempt
	// overstepped; Own is what the agent that asks a question calls it, where that name
	// was taken.
	By  string `json:"by,omitempty"`
	Own string `json:"own,omitempty"`
	// Grant is, of a question whether a refused call is allowed, what its options allow.
	Grant *Grant `json:"grant,omitempty"`
	// Answers are the questions whose answers an attempt was told, with its
	// start, and used, with its end.
	Answers []string `json:"answers,omitempty"`
	// Usage is what the attempt used, with the first event that tells how it ended; with
	// nothing in it where that is not known. It is nil where no agent was at work. Of an
	// attempt with several, the last one counts.
	Usage *Usage `json:"usage,omitempty"`
	// Run is the run that begins, or begins again, with its start or its renewal: it
	// may have no files yet. Old is what is archived for it where that has another
	// place.
	Run *Place `json:"run,omitempty"`
	Old *Place `json:"old,omitempty"`
}

// Ambiguity is the policy for a step that was started and whose end is not on record.
type Ambiguity string

// The policies. The zero value stands for Verify.
const (
	Verify Ambiguity = "verify" // look for proof that it landed: its commit, its result, a command; else run it again
	Rerun  Ambiguity = "rerun"  // it may be done twice
	AskWho Ambiguity = "ask"    // only a person can tell
)

// Expected is one file that a step must leave behind.
type Expected struct {
	Path string `json:"path"`
	// Changed asks that it is not what it was before the attempt, which is
	// Before. Otherwise being there is enough.
	Changed bool `json:"changed,omitempty"`
	Before  Hash `json:"before,omitzero"`
	// Lacks says what is missing in a file that must change and did not, for the next
	// attempt, or why a file could not be compared. It is in no journal.
	Lacks string `json:"-"`
}

// Listed is a step as it stands in a list.
type Listed struct {
	ID    string `json:"id"`
	Title string `json:"title,omitempty"`
	// Text are its lines, "" where it could not be put back by them; After is the task or
	// heading that they follow, "" at the top.
	Text  string `json:"text,omitempty"`
	After string `json:"after,omitempty"`
}

// TrailerKey is the name of the trailer by which a commit tells which attempt of
// which step made it.
const TrailerKey = "Reprise-Step"

// Recorder is implemented by layouts that can be written. Record tells what
// would have to change on disk for an event, in the spelling, version and place
// the files already use; it changes nothing. An event that the files tell
// already gives no edit, so that recording twice is recording once.
//
// fsys must be what r was loaded from: the bytes are read again and every edit
// carries the hash of what it was made for. ErrCannotRecord is the cause where
// the files have no place for the event.
type Recorder interface {
	Record(fsys fs.FS, r *Run, ev Event) ([]Edit, error)
}

// Mend is one way to set damage in a run's files right: what is damaged, from
// which other ledger it can be rebuilt, and the changes that would do it.
type Mend struct {
	What  string // the damage, one sentence
	From  string // the ledger it is rebuilt from
	Edits []Edit
}

// Mender is implemented by layouts that can rebuild damaged files from what
// their other ledgers say. It changes nothing; a person confirms.
type Mender interface {
	Mend(fsys fs.FS, r *Run) ([]Mend, error)
}

// ErrCannotRecord is returned for an event that a layout's files have no place
// for; the journal still holds it.
var ErrCannotRecord = errors.New("the layout has no place for this event")
