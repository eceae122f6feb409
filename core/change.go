package core

// Change is something that happened and that a convention writes into its files, in its own
// words: one of the types below. The journal has it first; the files are where other tools
// read it.
type Change interface{ change() }

type (
	// SetStatus says how far a step is.
	SetStatus struct {
		Step    string
		Status  Status
		Attempt int
		Why     string
		Commit  string // one that holds the work, "" if none is known
		Said    any    // what the convention made of the end of an attempt: its Judgement's
	}
	// SetVerdict is the outcome of a review.
	SetVerdict struct {
		Step, Verdict string
		Issues        int
	}
	// AddQuestions are questions that an attempt at a step left.
	AddQuestions struct {
		Step      string
		Questions []Question
	}
	// SetAnswer is what a person said to a question of the plan, or of an agent.
	SetAnswer struct {
		Question, Text string
		Skipped        bool // it is closed without an answer
	}
	// SetApproval is a person's yes or no to a stage.
	SetApproval struct {
		Stage    string
		Approved bool
		Why      string
	}
	// SetHold says that the run rests, "" that it goes on. Said is for the convention alone.
	SetHold struct {
		Why  string
		Said any
	}
	// AddLine adds a line to a log that only grows.
	AddLine struct{ Text string }
	// Settle is what the files show and do not say yet: the end of a phase, for instance.
	Settle struct{}
	// BeginRun and EndRun open and close the run itself. Said is for the convention alone.
	BeginRun struct {
		Text string
		Said any
	}
	EndRun struct{ Outcome, Why string }
)

func (SetStatus) change()    {}
func (SetVerdict) change()   {}
func (SetAnswer) change()    {}
func (AddQuestions) change() {}
func (Settle) change()       {}
func (SetApproval) change()  {}
func (SetHold) change()      {}
func (AddLine) change()      {}
func (BeginRun) change()     {}
func (EndRun) change()       {}
