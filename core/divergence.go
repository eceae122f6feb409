package core

// Divergence is the one question there is: what the record says and what the world says
// differ, and both may be right. It carries all facts that are known, and options that
// are moves. There is no catalogue of special questions.
type Divergence struct {
	Step    string   `json:"step"`
	Says    string   `json:"says"`    // what the record says
	Shows   string   `json:"shows"`   // what the world shows
	Facts   Facts    `json:"facts"`   // so that a person need not look for himself
	Options []Option `json:"options"` // the first is what we would do
}

// Facts is what the hands found when they looked.
type Facts struct {
	Files    []string `json:"files,omitempty"`    // the ones in question
	Stat     string   `json:"stat,omitempty"`     // the attempt's difference, counted
	Commits  []string `json:"commits,omitempty"`  // made while the attempt was at work
	Outside  []string `json:"outside,omitempty"`  // calls that reached out of the project, or may have
	Attempts int      `json:"attempts,omitempty"` // so far
	Failure  string   `json:"failure,omitempty"`  // why the last attempt failed
	Words    string   `json:"words,omitempty"`    // the last ones of the attempt's log
}

// Option is one way on.
type Option struct {
	Key   string `json:"key"`
	Label string `json:"label"`
}

// String gives it for people: an answer is its key, or all of it.
func (o Option) String() string { return o.Key + ": " + o.Label }

// The options. Each is one record with its move.
var (
	Keep  = Option{"keep", "keep it as the work of the step"}
	Again = Option{"again", "do the step again, from the world before it"}
	Onto  = Option{"onto", "let another attempt continue on what is there"}
	Leave = Option{"leave", "leave these files to me, and count the step as done"}
	Open  = Option{"open", "the step is not done: do it"}
	Out   = Option{"skip", "leave it out"}
	Wait  = Option{"wait", "wait until the project is on that branch again"}
	On    = Option{"on", "go on here"}
	Make  = Option{"make", "carry it out here"}
	Drop  = Option{"drop", "leave the project as it is"}
)
