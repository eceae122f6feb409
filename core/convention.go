package core

import (
	"encoding/json"
	"io/fs"
	"time"
)

// Convention is all that the core knows of the files in which a project keeps its plan.
type Convention interface {
	// Load reads the steps, in the order in which they are done. It is called on the
	// project and on worlds.
	Load(fsys fs.FS, plan string) ([]Step, error)
	// Record gives the files as they must be for a change to be in them. If they say so
	// already, or have no word for it, it gives none: to record twice is to record once.
	Record(fsys fs.FS, plan string, change Change) ([]Edit, error)
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
	// Optional steps are left to whoever wants them.
	Optional bool
	Judges   bool // it only judges the work of others: its mark is all that it changes
}

// Question is what a plan or an agent wants to know of a person. Without options any text is
// an answer; Closed says that only they are. ID is the name that who asks has for it, and Grant
// what an answer may allow his program, in words that only that reads.
type Question struct {
	ID      string          `json:"id,omitempty"`
	Grant   json.RawMessage `json:"grant,omitempty"`
	Text    string          `json:"text"`
	Options []string        `json:"options,omitempty"`
	Closed  bool            `json:"closed,omitempty"`
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
)

// Edit is a file as it must be.
type Edit struct {
	Path string
	Data []byte
}
