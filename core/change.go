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
	}
	// SetVerdict is the outcome of a review.
	SetVerdict struct {
		Step, Verdict string
		Issues        int
	}
	// SetAnswer is what a person said to a question of the plan, or of an agent.
	SetAnswer struct{ Question, Text string }
	// SetApproval is a person's yes or no to a stage.
	SetApproval struct {
		Stage    string
		Approved bool
		Why      string
	}
	// SetHold says that the run rests, "" that it goes on.
	SetHold struct{ Why string }
	// AddLine adds a line to a log that only grows.
	AddLine struct{ Text string }
	// BeginRun and EndRun open and close the run itself.
	BeginRun struct{ Text string }
	EndRun   struct{ Outcome, Why string }
)

func (SetStatus) change()   {}
func (SetVerdict) change()  {}
func (SetAnswer) change()   {}
func (SetApproval) change() {}
func (SetHold) change()     {}
func (AddLine) change()     {}
func (BeginRun) change()    {}
func (EndRun) change()      {}
