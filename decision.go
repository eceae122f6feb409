package reprise

// Action is what a decision asks for.
type Action = Enum[actionWords]

// The actions.
const (
	Start  Action = iota + 1 // start the unit at Point
	Ask                      // a person must say something first
	Wait                     // for a time or a limit
	Repair                   // the state must be mended first
	Refuse                   // continuing would be unsafe
	Finish                   // nothing is left to do
)

type actionWords struct{}

func (actionWords) words() (string, []string) {
	return "action", []string{"", "start", "ask", "wait", "repair", "refuse", "finish"}
}

// Policy is what a person asks of a decision.
type Policy struct {
	// Grade is how well a Done must be founded to be passed over; unset means
	// Claimed: what a ledger says is taken as said.
	Grade Grade
	// Quick tells that evidence was left out which is expensive to get: what would be
	// Safe, or complete with nothing against it, is UncheckedVerdict then.
	Quick bool
	// Choice is what a person chose to do with the run.
	Choice Choice
}

// Choice is what a person chose for a run.
type Choice struct {
	Option string // a key of Decision.Options; "" stands for the usual one
	From   string // begin again at this step
	Until  string // stop once this step is closed
	Skip   []string
	// If, if set, is the digest of the judgement the choice rests on.
	If string
}

// Unanswered lists what a person is asked about a run: what is on record without an
// answer, and what resuming it asks before it starts anything.
func (d Decision) Unanswered(r *Run) []Question {
	out := r.PendingQuestions()
	if d.Action == Ask {
		for _, a := range r.Asks {
			out = append(out, a.Question())
		}
	}
	return out
}

// Decision is the whole answer about one run: may it continue, from where, and
// why. It is data; nothing has been changed.
type Decision struct {
	Action  Action
	State   State // as the files and the world together tell it
	Verdict Verdict
	// Point is where to resume; nil if nothing may be started.
	Point *Unit
	// Units are all that may be started now, Point first.
	Units []Unit
	// Waits are the steps that wait for an answer, where every question is about a single
	// step: what does not rest on them can be done meanwhile.
	Waits []string
	// Reasons say why, the most important first.
	Reasons []string
	// Verify are steps that their ledger marks open while git has a commit
	// for them: they are to be checked and marked, not done again.
	Verify []Unit
	// Doubtful are steps that are marked done below the grade asked for, or
	// with evidence against them.
	Doubtful []Unit
	// Missing are files the next phase needs and that are not there.
	Missing []Artifact
	// Keep are steps whose outcome stays valid, Again those that must run
	// again because what they should have left is missing.
	Keep, Again []string
}

// Reason is the most important of the reasons, "" if there is none.
func (d Decision) Reason() string {
	if len(d.Reasons) == 0 {
		return ""
	}
	return d.Reasons[0]
}
