package core

import (
	"encoding/json"
	"io/fs"
	"time"
)

// Convention is all that the core knows of the files in which a project keeps its plan.
type Convention interface {
	// Load reads the plan. It is called on the project and on worlds.
	Load(fsys fs.FS, plan string) (Shape, error)
	// Record gives the files as they must be for a change to be in them, with all that follows
	// from it. If they say so already, or have no word for it, it gives none: to record twice is
	// to record once.
	Record(fsys fs.FS, plan string, change Change) ([]Edit, error)
}

// Shape is a plan as its files tell it.
type Shape struct {
	Steps []Step // in the order in which they are done
	// Due says that the files show more than they say: recording Settle changes them.
	Due bool
	// Questions are those that the plan waits with.
	Questions []Question
	// Hold says why nothing is to be done although steps are left, "" if something is.
	Hold string
}

// Judgement is what a convention makes of what an attempt left.
type Judgement struct {
	Leaves    []File     // what it must leave: without that nothing else of it counts
	Problem   string     // why it does not count, "" if it does
	Questions []Question // what it cannot go on without
	Uses      []string   // the questions of the plan whose answers it used
	Outcome   string     // what it amounts to, in a word of the convention's: a review's, for instance
	Said      any        // for the convention, when the end is recorded
}

// Step is one step as its plan tells it.
type Step struct {
	ID     string // in the records
	InPlan string // in the plan as it is now
	Title  string
	Status Status
	Needs  []string // steps that must be done before
	Policy Policy
	// Account is what a usage limit applies to; Tries and Backoff are how often the step may fail
	// before a person is asked (0 leaves that to the run) and how long to wait after a failure,
	// twice as long after each.
	Account string
	Tries   int
	Backoff time.Duration
	Verify  bool // a command says whether it is done
	// Ask is the question that the step is: a person's answer is all that it needs.
	Ask *Question
	// Unclear says why nobody can tell from the plan whether it is done; "" if one can.
	Unclear string
	// Optional steps are left to whoever wants them.
	Optional bool
	// Judges is set where nothing but its mark need be changed: it judges the work of others, or it
	// is a command of the user's own, whose end without an error is its word.
	Judges bool
	Leaves []File // what it must leave
	// Named says that the id is the step's own name, and no place in a list that moves.
	Named bool
	// Passing is a step that the plan has only as long as it is the next thing to do. One that is
	// over is not in the plan; one that is there again is to be done again.
	Passing bool
	// Inner, if set, names the run of its own that does the step.
	Inner string
	// Subject is that of its commit, where the plan has words for it.
	Subject string
	// Local, if set, is why the step needs nobody: it is done.
	Local string
}

// Later is the need of a step that its plan does not offer yet. It keeps nobody from what was begun:
// half of it may look to the plan as if the next step were due.
const Later = "what its plan has before it"

// Question is what a plan or an agent wants to know of a person. Without options any text is
// an answer; Closed says that only they are. ID is the name that who asks has for it, and Grant
// what an answer may allow his program, in words that only that reads.
type Question struct {
	ID      string          `json:"id,omitempty"`
	Grant   json.RawMessage `json:"grant,omitempty"`
	Text    string          `json:"text"`
	Subject string          `json:"subject,omitempty"` // what it is about
	Options []string        `json:"options,omitempty"`
	Closed  bool            `json:"closed,omitempty"`
	// Filed says that the plan has it, and its answer: when that is used the plan says.
	Filed bool `json:"filed,omitempty"`
	// Lapses is set for one that is asked only as long as the View has it. Its answer is no agent's.
	Lapses bool `json:"lapses,omitempty"`
}

// Status is how far a step is.
type Status string

// Statuses.
const (
	Todo     Status = "todo"
	Doing    Status = "doing"
	Finished Status = "done"
	Broken   Status = "failed"
	Blocked  Status = "blocked"
	Skipped  Status = "skipped"
)

// Closed reports whether nothing is left to do.
func (s Status) Closed() bool { return s == Finished || s == Skipped }

// Policy says what to do when an attempt was cut off after it may have reached out of
// the project: a push, a call.
type Policy string

// Policies.
const (
	AskFirst Policy = ""      // a person decides
	Rerun    Policy = "rerun" // doing it twice does no harm
	AskCut   Policy = "ask"   // a person decides wherever it was cut off: nobody sees what it did
)

// File is a file that a step must leave, or a folder with something in it.
type File struct {
	Path    string // in the project
	Changed bool   // to be there is not enough
	Lacks   string // what it lacks where it was not changed, in words
}

// Edit is a file as it must be.
type Edit struct {
	Path string
	Data []byte
}
