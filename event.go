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
)

// Event is one thing that happened, or is about to be recorded.
type Event struct {
	Kind EventKind
	At   time.Time
	// Step, Phase and Question name what it is about, by id.
	Step     string
	Phase    string
	Question string

	Attempt int
	Actor   string // the role that did it
	Agent   string // the session or agent id
	Commit  string // the commit that holds the work
	Text    string // why it failed, the question, the answer, a summary
	// Options are the answers to choose from, for a question.
	Options []string
	// Outcome qualifies an end: completed, failed, aborted, approved, rejected.
	Outcome string
}

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

// ErrCannotRecord is returned for an event that a layout's files have no place
// for; the journal still holds it.
var ErrCannotRecord = errors.New("the layout has no place for this event")
