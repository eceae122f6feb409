package reprise

// Action is what a decision calls for.
type Action = Enum[actionWords]

// The actions.
const (
	Start  Action = iota + 1 // start the unit at Point
	Ask                      // a person must answer first
	Wait                     // for a time or a limit
	Repair                   // the state must be repaired first
	Refuse                   // continuing would be unsafe
	Finish                   // nothing is left to do
)

type actionWords struct{}

func (actionWords) words() (string, []string) {
	return "action", []string{"", "start", "ask", "wait", "repair", "refuse", "finish"}
}

// Policy is what a person requires of a decision.
type Policy struct {
	// Grade is how well a Done must be supported for the step to be skipped. Unset means
	// Claimed: a ledger's word is enough.
	Grade Grade
	// Quick says that expensive evidence was not gathered. What would be Safe, or
	// complete with nothing against it, becomes UncheckedVerdict.
	Quick bool
	// Choice is what a person chose to do with the run.
	Choice Choice
}

// Choice is what a person decided to do with a run.
type Choice struct {
	Option string // a key of Decision.Options; "" means the default
	From   string // restart at this step
	Until  string // stop once this step is closed
	Skip   []string
	// If, if set, is the digest of the judgement that the choice was based on.
	If string
}

// Unanswered lists what a person still has to answer: the recorded questions without an
// answer, and what resuming would ask before starting anything.
func (d Decision) Unanswered(r *Run) []Question {
	out := r.PendingQuestions()
	if d.Action == Ask {
		for _, a := range r.Asks {
			out = append(out, a.Question())
		}
	}
	return out
}

// Decision is the complete answer about one run: whether it may continue, from where, and
// why. It is plain data; making it changes nothing.
type Decision struct {
	Action  Action
	State   State // according to the files and the observed world
	Verdict Verdict
	// Point is where to resume; nil if nothing may be started.
	Point *Unit
	// Units are all that may be started now, Point first.
	Units []Unit
	// Waits are the steps that wait for an answer, if every question concerns a single
	// step. Work that does not depend on them may proceed.
	Waits []string
	// Busy says that someone is at work, on it or beside it, and that nothing else keeps it
	// from being started.
	Busy bool
	// Holder is who keeps the run from being started by working on something else in the
	// project; nil if nothing but that run itself decides.
	Holder *Owner
	// Rests says that nothing shows that work on it was cut off: a list of tasks with open
	// items is no accident. It waits for whoever goes on with it.
	Rests bool
	// Reasons say why, the most important first.
	Reasons []string
	// Verify are steps that the ledger marks open although git has a commit for them.
	// They should be checked and marked, not repeated.
	Verify []Unit
	// Doubtful are steps marked done with less support than the required grade, or with
	// evidence against them.
	Doubtful []Unit
	// Missing are files that the next phase needs and that do not exist.
	Missing []Artifact
	// Keep are steps whose result is still valid. Again are steps that must run again
	// because their output is missing.
	Keep, Again []string
}

// Reason returns the most important reason, or "".
func (d Decision) Reason() string {
	if len(d.Reasons) == 0 {
		return ""
	}
	return d.Reasons[0]
}
