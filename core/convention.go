package core

import "io/fs"

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
	Judges bool // it only judges the work of others: its mark is all that it changes
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
