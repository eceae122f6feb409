package core

import "time"

// View is all that Next decides from. Nothing in it is a file, a process or a clock.
type View struct {
	State *State
	Steps []Step // as the plan tells them now
	// Looks are what the hands see of the open attempts, by step.
	Looks map[string]*Look
	// Parallel is how many attempts may be at work side by side, each in a place of its own;
	// with 0 or 1 there is one, in the project itself.
	Parallel int
	// Busy says why the project must not be touched now: a rebase under way, for
	// instance. It is empty where nothing is in the way.
	Busy string
	// Branch is where HEAD points now, a full ref name. Apart says that it has not the work
	// of the run: another branch, without the commit at which the run last stood. Reset says
	// that HEAD has not the commit on which a move that is due was to be built.
	Branch string
	Apart  bool
	Reset  bool
	// Others says what another run of this checkout has in it that is not settled: no attempt
	// begins beside it, since nobody could tell the two apart.
	Others string
	// Now is the time of the look: data, so that the same view always gives the same decision.
	Now time.Time
	// Skip are steps that a person leaves out, Until the step after which he wants to look.
	Skip  map[string]bool
	Until string
	// Tries is how often a step may fail in a row before a person is asked.
	Tries int
	// Budget is what a person is asked before anything more is started, nil if nothing is used up.
	Budget *Question
	// Stop says why nothing is begun any more, "" if it may be: a person wants to stop, or what
	// an attempt needs is not there. What is over is still recorded.
	Stop string
}

// Ending is how an agent ended.
type Ending string

// Endings.
const (
	Gone   Ending = ""       // nobody saw it: it was cut off together with its engine, or its keeper
	Well   Ending = "well"   // by itself, without an error
	Badly  Ending = "badly"  // by itself, with an error, or it could not be started
	Killed Ending = "killed" // by somebody else, or by us because it took too long
	Asked  Ending = "asked"  // by us, because we were asked to
	Unable Ending = "unable" // it needs what no answer can give: a sign-in, a key
	Full   Ending = "full"   // its session is used up, or was not found
)

// cut reports whether it did not come to its end by itself: what it was doing may be half done.
func (e Ending) cut() bool { return e == Gone || e == Killed || e == Asked }

// Look is what is to be seen of an attempt.
type Look struct {
	Step  string
	Alive bool // a process of it holds its lease; nothing else is known yet
	End   Ending
	Why   string // it ended so, in words
	Seen  bool   // an engine was there when it ended: it was not killed together with it
	Now   World
	Facts Facts

	// What shows that the step is done: Word, its agent's own, in a reply or as its program's
	// end event without an error; Committed, a commit that names the step; Ticked, the plan in
	// the world of now, if the plan in the world before did not say so. Changed says that
	// something else in the project is another than before, Nothing that the agent says that
	// nothing needed to change.
	Word, Committed, Ticked, Changed, Nothing bool
	// Judges says that the step only judges: its tick is all that it changes.
	Judges bool
	// Limit says that a usage limit ended it, in words, and LimitEnds when it is over; zero if
	// that is not known.
	Limit     string
	LimitEnds time.Time
	// Questions are what its agent wants to know before it goes on.
	Questions []Question
	// Session is that of its agent, if the next attempt can continue it.
	Session string
	// Reached are calls that reached out of the project and that whoever goes on does not know
	// the result of. Facts.Outside has all that reached out.
	Reached []string
	// Verified is what the step's check says of Now; nil if it was not asked. Check are its last
	// words.
	Verified *bool
	Check    string
	// Marked are other steps that the plan calls done since it began.
	Marked []string
	// Base is the world before the attempt, with what others committed since: the difference
	// to Now is the attempt's work and the user's edits in the same place.
	Base World
	// From and To are, for an attempt in a place of its own, the project as it is and as it is
	// with the attempt's work.
	From, To World
	// Foreign are files that changed since it began and are not its work: the user staged
	// them, or changed them after its last sign of life.
	Foreign []string
	// Torn are files in which the user had changes of his own, not committed, and in
	// which the attempt changed the same lines.
	Torn []string
}

// proof says what shows that the step is done, "" if nothing does. The tick of a program that
// ended with an error counts for nothing, but its commit is there.
func (l *Look) proof() string {
	switch {
	case l.Limit != "":
		return ""
	case l.Committed:
		return "its commit is there"
	case l.Ticked && (l.Changed || l.Judges) && l.End != Badly:
		return "the step is marked done, and its work is there"
	case l.Word && (l.Changed || l.Nothing || l.Ticked && l.Judges):
		return "its agent says so, and its work is there"
	}
	return ""
}

// alive counts the attempts at work.
func (v View) alive() (n int) {
	for _, l := range v.Looks {
		if l.Alive {
			n++
		}
	}
	return n
}

// dead gives the open attempts that are over, the oldest first, each with what is seen of it.
func (v View) dead() (out []*Look) {
	for _, o := range v.State.Open {
		if l := v.Looks[o.Step]; l != nil && !l.Alive {
			out = append(out, l)
		}
	}
	return out
}
