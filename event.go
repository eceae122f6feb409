package reprise

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"
)

// EventKind says what happened to a run. Its word is written to the journal.
type EventKind string

// The kinds of events. A layout's Record defines what each means in its files.
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
	StepReset        EventKind = "step_reset" // a transitional status was reset
	QuestionAsked    EventKind = "question_asked"
	QuestionAnswered EventKind = "question_answered"
	AnswerApplied    EventKind = "answer_applied"
	QuestionSkipped  EventKind = "question_skipped" // closed without an answer: its subject was skipped, or no answer is needed any more
	RunRevised       EventKind = "run_revised"      // the workflow file changed: Text lists the steps from now on
	StateRestored    EventKind = "state_restored"   // an earlier state was restored; journal only

	// The following are written to the journal only.
	StepResolved  EventKind = "step_resolved"  // how an interrupted attempt was settled: Outcome is landed, rerun or ask
	StepHeld      EventKind = "step_held"      // an attempt left everything it should, Expect and Work, and its work is not committed yet; Text is why
	StepDeferred  EventKind = "step_deferred"  // a limit or an outage: not to be started again before Until; does not count as an attempt; Text is why
	WorktreeReady EventKind = "worktree_ready" // a checkout is complete; Text is its path, Commit its base
	SessionKnown  EventKind = "session_known"  // the attempt runs in the session Agent
	// A session of an agent CLI reported, through a hook, where it stands; see
	// Checkpoint.
	SessionCheckpoint EventKind = "session_checkpoint"
	// An attempt's agent reported that it began or finished something; see Reported.
	StepReported EventKind = "step_reported"
	// An attempt at the step By marked this step done or optional, in the file Expect, or
	// deleted it from the list where it stood as Listed. None of that was its job. If Says
	// is set, the attempt was not accepted, and the files still say that of the step.
	// Without a step, it was an attempt at another run: Text says what was done to the files of
	// this one since it began, and Expect has the fingerprint of what they said then.
	StepOverstepped EventKind = "step_overstepped"
	// A person said what became of the call Question of a session: Outcome is the word of a
	// Landing.
	CallSettled EventKind = "call_settled"
	EngineLeft  EventKind = "engine_left" // the engine stopped working on the run in an orderly way
	// An unused answer no longer counts: what it was given for is done again, or the run
	// that it ended continues. If it is needed, it is asked for again.
	AnswerWithdrawn EventKind = "answer_withdrawn"
	RunRenewed      EventKind = "run_renewed" // the run starts from scratch: its state is archived, then it begins again with Then
)

// HandedOver is the outcome of an EngineLeft after which the run goes on elsewhere, on the
// branch Text of the remote: the files here are an old copy of it.
const HandedOver = "handed over"

// HandingOver is the outcome of an EngineLeft before the run is pushed to the branch Text of the
// remote. While nothing comes after it, whether that arrived is not known. NotHandedOver takes it
// back: nothing was pushed. CameBack ends a hand-over: the fleet has finished the run, and the files
// here have all that it did.
const (
	HandingOver   = "handing over"
	NotHandedOver = "not handed over"
	CameBack      = "came back"
)

// AwaitsLimit and AwaitsOutage are the outcomes of a StepDeferred that say what is waited for.
// Without one, that is not known.
const (
	AwaitsLimit  = "limit"
	AwaitsOutage = "outage"
)

// NotDone is the outcome of a StepReset for a step that only the files called done: what is
// done of it stays so.
const NotDone = "not done"

// Person is the actor of events that a person decided.
const Person = "person"

// LimitLifted is the cause of a run_resumed with which a person said to try now what waits
// for a limit: none on record is left.
const LimitLifted = "limit-lifted"

// Event is one thing that happened, or is about to be recorded. It is stored as JSON in
// the journal: fields are added, never renamed.
type Event struct {
	Kind EventKind `json:"kind"`
	At   time.Time `json:"at"`
	// Ended is, for an end that a commit may already hold, the time that the run's files get
	// in place of At: the same however often it is recorded.
	Ended time.Time `json:"ended,omitzero"`
	// Step, Phase and Question are the ids of what the event is about.
	Step     string `json:"step,omitempty"`
	Phase    string `json:"phase,omitempty"`
	Question string `json:"question,omitempty"`

	Attempt int    `json:"attempt,omitempty"`
	Actor   string `json:"actor,omitempty"`  // the role that did it
	Agent   string `json:"agent,omitempty"`  // the session or agent id
	Commit  string `json:"commit,omitempty"` // the commit that holds the work
	Text    string `json:"text,omitempty"`   // why it failed, the question, the answer, a summary
	// Options are, for a question, the answers to choose from; for the start of a run,
	// its steps, as "wave: story" or "role: what".
	Options []string `json:"options,omitempty"`
	// Given is, for the start of a run, its input besides the steps, by name: what the
	// previous run was given, without its progress.
	Given map[string]string `json:"given,omitempty"`
	// Closed says that a question accepts only its options, and Facts is what a person should
	// know to answer it, a line each.
	Closed bool     `json:"closed,omitempty"`
	Facts  []string `json:"facts,omitempty"`
	// Outcome qualifies an end: completed, failed, aborted, approved, rejected.
	Outcome string `json:"outcome,omitempty"`
	// Verdict is, for the end of a review, the reviewer's word (concerns, waived) where
	// Outcome only says that it passes. Issues is how many changes it asks for.
	Verdict string `json:"verdict,omitempty"`
	Issues  int    `json:"issues,omitempty"`

	// For a start, Policy says how to settle the attempt if it is interrupted, and Expect
	// what it must leave; Key appears in the trailers of its commits. For an agent's
	// report, Expect are the files it names as evidence, with their hashes at that time. For a
	// reset, they are those whose presence said that the step was done: they were archived.
	Policy Ambiguity  `json:"policy,omitempty"`
	Expect []Expected `json:"expect,omitempty"`
	Key    string     `json:"key,omitempty"`
	// Branch and Base are, for a start, the branch that was checked out and its commit.
	Branch string `json:"branch,omitempty"`
	Base   string `json:"base,omitempty"`
	// Head is, for an end that was seen and names no commit, and where the engine leaves, the
	// commit that was checked out then. What the branch got between Base and Head is the
	// attempt's.
	Head string `json:"head,omitempty"`
	// Found are, for a start, the files that git knows and that something other than the
	// run had changed and not committed, relative to the root of the repository, with
	// their hashes, zero for a removed file. What a commit of the attempt has of them is
	// not its work. The path "." stands for any file: there were too many.
	Found []Expected `json:"found,omitempty"`
	// Open lists, for the start of an attempt that may close only its own step, all steps
	// open at that time; nil if the journal already says so. Listed is how a removed step
	// stood in the list; a reset puts it back.
	Open   []Listed `json:"open,omitzero"`
	Listed *Listed  `json:"listed,omitempty"`
	// Left are the files that an attempt changed and did not commit, relative to the root
	// of the repository. If the attempt is not accepted, a later one continues with them.
	Left []string `json:"left,omitempty"`
	// Ref is, for the end of an attempt that is not accepted, the ref of the git remote that
	// has what it left, where that is not in the project.
	Ref string `json:"ref,omitempty"`
	// Unheld are, for the end of an accepted attempt whose work is committed, the files of it
	// that no commit held then, relative to the project.
	Unheld []string `json:"unheld,omitempty"`
	// Work are the files changed by a successful attempt that is not committed yet,
	// relative to the root of the repository. Before is the hash of each at that time,
	// zero for a removed file. Together with Left, Work gives the known hashes of those
	// files.
	Work []Expected `json:"work,omitempty"`
	// Stands are, for the end of an attempt, the hashes of the files that open steps
	// build on, unless already on record. A later change is not the run's own.
	Stands []Expected `json:"stands,omitempty"`
	// Measure is, for the events of an attempt, a fingerprint of what the run's work is
	// measured by, so that a later change can be detected.
	Measure string `json:"measure,omitempty"`
	// Cause is the fingerprint of a failure: two attempts with the same cause in an
	// unchanged world failed the same way. Of an accepted end it says that nothing but the
	// agent's word speaks for it, of a resumption that it is LimitLifted.
	Cause string    `json:"cause,omitempty"`
	Until time.Time `json:"until,omitzero"` // when a limit expires; for a restored state, when it was the state
	// Session is, for a checkpoint, what the session reported.
	Session *Checkpoint `json:"session,omitempty"`
	// Then are events that follow immediately. They are stored with this one, so that if
	// the process dies in between, the next process records the rest.
	Then []Event `json:"then,omitempty"`
	// Account is what a limit applies to.
	Account string `json:"account,omitempty"`
	// By is the step that waits for the answer to a question, or whose attempt
	// overstepped. Own is the asking agent's name for a question if that name was already
	// taken.
	By  string `json:"by,omitempty"`
	Own string `json:"own,omitempty"`
	// About are, for a question of ours about steps, their ids.
	About []string `json:"about,omitempty"`
	// Says is what the files say of a step and of the run after the end of an attempt was
	// recorded, if that calls one of them over although the attempt was not accepted.
	Says *Says `json:"says,omitempty"`
	// Doubts are, for a restored state, the events that put steps of it in doubt.
	Doubts []Event `json:"doubts,omitempty"`
	// Grant is, for a question about a refused call, what its options would allow.
	Grant *Grant `json:"grant,omitempty"`
	// Answers are the questions whose answers an attempt was given, at its start, or
	// used, at its end.
	Answers []string `json:"answers,omitempty"`
	// Usage is what the attempt used, on the first event that reports its end; empty if
	// unknown, nil if no agent worked. If several events of an attempt carry it, the last
	// counts.
	Usage *Usage `json:"usage,omitempty"`
	// Run is, for a start or renewal, the run that begins; it may have no files yet. Old
	// is what gets archived for it, if that is elsewhere. Where something else changed the files
	// of Run, Old is the run whose attempt was at work.
	Run *Place `json:"run,omitempty"`
	Old *Place `json:"old,omitempty"`
}

// AnyFile is the path of an Expected that stands for any file.
const AnyFile = "."

// Finds returns the file of a list by its path, or what stands for any file.
func Finds(all []Expected, name string) (e Expected, ok bool) {
	i := slices.IndexFunc(all, func(e Expected) bool { return e.Path == name || e.Path == AnyFile })
	if i < 0 {
		return e, false
	}
	return all[i], true
}

// Ambiguity is the policy for a step that was started and has no recorded end.
type Ambiguity string

// The policies. The zero value means Verify.
const (
	Verify Ambiguity = "verify" // look for proof that it landed: its commit, its result, a command; otherwise run it again
	Rerun  Ambiguity = "rerun"  // it is safe to do twice
	AskWho Ambiguity = "ask"    // only a person can say
)

// Expected is a file that a step must leave behind.
type Expected struct {
	Path string `json:"path"`
	// Changed requires that the file differ from Before, its hash before the attempt.
	// Otherwise existing is enough.
	Changed bool `json:"changed,omitempty"`
	Before  Hash `json:"before,omitzero"`
	// Lacks says, for the next attempt, what a file lacks that should have changed, or
	// why it could not be compared. It is not recorded.
	Lacks string `json:"-"`
}

// Says is what the files of a run say of a step, in their own word, and of the run. Without a
// word it is whatever they say.
type Says struct {
	Status Status `json:"status"`
	Word   string `json:"word,omitempty"`
	State  State  `json:"state"`
}

// Listed is a step as it appears in a list.
type Listed struct {
	ID    string `json:"id"`
	Title string `json:"title,omitempty"`
	// Text is its lines, or "" if they would not suffice to put it back. After is the
	// task or heading above them, or "" at the top.
	Text  string `json:"text,omitempty"`
	After string `json:"after,omitempty"`
	// Below is what stands below its lines, up to the next task or heading.
	Below string `json:"below,omitempty"`
	// In is the file that declares it, or "" if it only follows from how far the run is.
	In string `json:"in,omitempty"`
	// Required is set if it had to be done.
	Required bool `json:"required,omitempty"`
}

// TrailerKey is the name of the commit trailer that identifies the attempt and step that
// made the commit.
const TrailerKey = "Reprise-Step"

// Recorder is implemented by layouts that can be written. Record returns the edits that
// an event requires, in the spelling, version and place that the files already use; it
// changes nothing itself. If the files already reflect the event, there are no edits, so
// recording twice is harmless.
//
// fsys must be what r was loaded from: the files are read again, and every edit carries
// the hash of the content it applies to. If the files have no place for the event, the
// cause is ErrCannotRecord.
type Recorder interface {
	Record(fsys fs.FS, r *Run, ev Event) ([]Edit, error)
}

// Mend is one way to repair damage in a run's files: what is damaged, the ledger it can
// be rebuilt from, and the edits that do so.
type Mend struct {
	What  string // the damage, one sentence
	From  string // the ledger it is rebuilt from
	Edits []Edit
}

// Mender is implemented by layouts that can rebuild damaged files from their other
// ledgers. It changes nothing; a person confirms.
type Mender interface {
	Mend(fsys fs.FS, r *Run) ([]Mend, error)
}

// ErrCannotRecord means that a layout's files have no place for an event; the journal
// still holds it.
var ErrCannotRecord = errors.New("its files have no place for this event")

// Unended says of the start of an attempt that nothing tells how it ended.
func (ev *Event) Unended() string {
	return fmt.Sprintf("%s: attempt %d was started at %s and its end is not on record", ev.Step, ev.Attempt, ev.At.UTC().Format("2006-01-02 15:04 MST"))
}
