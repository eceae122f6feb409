package core

import (
	"time"
)

// View is all that Next decides from. Nothing in it is a file, a process or a clock.
type View struct {
	State *State
	Shape // the plan as it is now
	// Looks are what the hands see of the open attempts, by step.
	Looks map[string]*Look
	// Parallel is how many attempts may be at work side by side, each in a place of its own;
	// with 0 or 1 there is one, in the project itself.
	Parallel int
	// Busy says why the project must not be touched now: a rebase under way, for
	// instance. It is empty where nothing is in the way.
	Busy string
	// Gone says that the plan is not where it was; it has no steps then.
	Gone string
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
	// Cuts is how often it may be cut off; five times if zero.
	Cuts int
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
	Killed Ending = "killed" // by somebody else
	Asked  Ending = "asked"  // by us, because we were asked to
	Late   Ending = "late"   // by us, because it took too long
	Unable Ending = "unable" // it needs what no answer can give: a sign-in, a key
	Full   Ending = "full"   // its session is used up, or was not found
)

// cut reports whether it did not come to its end by itself: what it was doing may be half done.
func (e Ending) cut() bool { return e == Gone || e == Killed || e == Asked || e == Late }

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
	// Passed says that Ticked is no more than that the plan stopped offering the step: its files are
	// there, whole or half. An attempt that was cut off does not prove itself by them.
	Passed bool
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
	// Missing says what the step must leave and did not, file by file. Nothing shows that it is
	// done as long as that is so.
	Missing []string
	// Wrote says that it wrote into the folder of the plan, beside its work or as its work.
	Wrote bool
	// Judged is what its convention makes of it, once something shows that the step is done; nil
	// if the convention has nothing to say.
	Judged *Judgement
	// Inner is, for a step that a run of its own does, how far that is.
	Inner *Inner
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

// Inner is a run that does a step of another one.
type Inner struct {
	Over bool  // it is complete
	Rest *Rest // why it rests; nil if it was not worked on since the View's engine began
}

// Proved reports whether something shows that the step is done.
func (l *Look) Proved() bool { return l.proof() != "" }

// proof says what shows that the step is done, "" if nothing does. The tick of a program that
// ended with an error counts for nothing, but its commit is there.
func (l *Look) proof() string {
	switch {
	case l.Limit != "", len(l.Missing) > 0:
		return ""
	case l.Committed:
		return "its commit is there"
	case l.Ticked && (l.Changed || l.Judges) && l.End != Badly && !(l.Passed && l.End.cut()):
		return "the step is marked done, and its work is there"
	case l.Word && (l.Changed || l.Wrote):
		return "its agent says so, and its work is there"
	case l.Word && (l.Nothing || l.Ticked && l.Judges):
		return "its agent says so"
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
