package core

import (
	"fmt"
	"slices"
	"strings"
)

// Decision is what is to be done now. It is one of the types below.
type Decision interface{ decision() }

type (
	// StartStep begins an attempt, on what an earlier one left if there is such.
	StartStep struct{ Step Step }
	// WaitFor waits for one of the attempts at work to end.
	WaitFor struct{}
	// EndAttempt says how the open attempt of a step ended.
	EndAttempt struct {
		Step    string
		Outcome Outcome
		Why     string
		Leave   []string // files that the user keeps to himself
		Whole   []string // files that are committed as they stand, his changes and all
	}
	// AdoptStep takes a step as done that the plan or a person calls done. What was begun of
	// it is committed.
	AdoptStep struct{ Step string }
	// UndoStep opens a step again, and takes the work on it back unless that is kept.
	UndoStep struct {
		Step, Why string
		Keep      bool
	}
	// MakeMove makes the move of the last record, which is not known to be made.
	MakeMove struct{}
	// DropMove takes it as made: a person says that the project is as it shall be.
	DropMove struct{}
	// AskPerson asks.
	AskPerson struct{ Divergence Divergence }
	// CloseRun ends the run: all steps are done.
	CloseRun struct{}
	// Rest does nothing until something changes that is not in our hands.
	Rest struct{ Why string }
)

func (StartStep) decision()  {}
func (WaitFor) decision()    {}
func (EndAttempt) decision() {}
func (AdoptStep) decision()  {}
func (UndoStep) decision()   {}
func (MakeMove) decision()   {}
func (DropMove) decision()   {}
func (AskPerson) decision()  {}
func (CloseRun) decision()   {}
func (Rest) decision()       {}

// Next is the whole algorithm: the first rule that has something to say decides. The
// same view always gives the same decision.
func Next(v View) Decision {
	for _, rule := range rules {
		if d := rule(v); d != nil {
			return d
		}
	}
	return CloseRun{}
}

// rules in the order in which they are asked.
var rules = []func(View) Decision{
	over,      // the run was closed, and the plan has nothing more
	busy,      // the user is in the middle of something
	answered,  // a person chose
	asked,     // a person must choose
	elsewhere, // the project is on a branch without the work of the run
	due,       // the move of the last record is not known to be made
	finished,  // an attempt left what proves its step
	outside,   // one was cut off after it reached out of the project
	cutOff,    // one failed, or was cut off
	atWork,    // agents are at work, and no more may be
	ticked,    // the plan calls a step done that we did not do
	unticked,  // the plan calls a step open that we did
	failing,   // the next step fails, or is cut off, every time
	ready,     // a step can start
	waiting,   // none can as long as agents are at work
	blocked,   // steps are left, and none can start
}

// over asks the plan first: a complete list may have gained an item since.
func over(v View) Decision {
	if v.State.Ended == nil {
		return nil
	}
	if _, more := next(v); more && v.State.Ended.Complete {
		return nil
	}
	return Rest{"the run is over: " + v.State.Ended.Why}
}

func busy(v View) Decision { return v.rest(v.Busy) }

// rest waits for a reason, but first for the agents at work: their ends are recorded.
func (v View) rest(why string) Decision {
	switch {
	case why == "":
		return nil
	case v.alive() > 0:
		return WaitFor{}
	}
	return Rest{why}
}

// atWork keeps everything that changes the plan or asks about it away from an agent in the
// project itself; beside agents in places of their own another may begin.
func atWork(v View) Decision {
	if n := v.alive(); n > 0 && n >= v.Parallel {
		return WaitFor{}
	}
	return nil
}

func waiting(v View) Decision {
	if v.alive() > 0 {
		return WaitFor{}
	}
	return nil
}

func answered(v View) Decision {
	q := v.State.Asked
	if q == nil || v.State.Said == "" {
		return nil
	}
	look := v.Looks[q.Step]
	switch v.State.Said {
	case Wait.Key:
		if v.Apart {
			return v.rest("it waits for " + name(v.State.At.Branch))
		}
		return nil
	case Make.Key:
		return MakeMove{}
	case Drop.Key:
		return DropMove{}
	case Keep.Key:
		if look == nil {
			return AdoptStep{q.Step}
		}
		return EndAttempt{Step: q.Step, Outcome: Done, Why: "a person kept it", Whole: look.Torn}
	case Leave.Key:
		if look != nil {
			return EndAttempt{Step: q.Step, Outcome: Done, Why: "a person took over files", Leave: look.Torn}
		}
	case Again.Key:
		return UndoStep{Step: q.Step, Why: "a person wants it done again"}
	case Open.Key:
		return UndoStep{Step: q.Step, Why: "a person says that it is not done", Keep: true}
	case Onto.Key:
		if look != nil {
			return EndAttempt{Step: q.Step, Outcome: Cut, Why: "a person lets it continue"}
		}
		if i := slices.IndexFunc(v.Steps, func(s Step) bool { return s.ID == q.Step }); i >= 0 {
			return StartStep{v.Steps[i]}
		}
	}
	return Rest{fmt.Sprintf("%q is no option of question %s", v.State.Said, q.ID)}
}

func asked(v View) Decision {
	if v.State.Asked != nil && v.State.Said == "" {
		return v.rest("question " + v.State.Asked.ID + " is open")
	}
	return nil
}

// elsewhere asks once, whatever the run was about to do: a branch that has the work of the
// run is followed, one that has not is the user's own business until he comes back.
func elsewhere(v View) Decision {
	if !v.Apart || v.alive() > 0 {
		return nil
	}
	d := Divergence{
		Says: "the run is on " + name(v.State.At.Branch), Shows: "the project is on " + name(v.Branch) + ", which does not have the work of the run",
		Options: []Option{Wait, On},
	}
	for _, l := range v.dead() {
		d.Step, d.Facts = l.Step, l.Facts
	}
	return AskPerson{d}
}

// due makes a move again that may have been made: what is made is seen and kept. It asks
// where the branch no longer has the commit that the move builds on: the user took it back,
// and perhaps the move with it.
func due(v View) Decision {
	switch r := v.State.Due; {
	case r == nil:
		return nil
	case v.Reset:
		return AskPerson{Divergence{
			Step: r.step(), Says: fmt.Sprintf("what record %d says was perhaps not carried out to its end", r.Seq),
			Shows: "the branch no longer has the commit that it builds on", Options: []Option{Drop, Make},
		}}
	default:
		return MakeMove{}
	}
}

// finished takes a step as done that something shows but the end of a program: its tick or
// its commit, or the agent's own word, and with each a change in the project or the word that
// none was needed. That a program ended without an error shows nothing.
func finished(v View) Decision {
	for _, l := range v.dead() {
		why := l.proof()
		switch {
		case why == "":
		case len(l.Torn) == 0:
			return EndAttempt{Step: l.Step, Outcome: Done, Why: why}
		default:
			facts := l.Facts
			facts.Files = l.Torn
			return AskPerson{Divergence{
				Step: l.Step, Says: "the step is done", Shows: "it changed lines that you had changed and not committed",
				Facts: facts, Options: []Option{Keep, Leave, Again},
			}}
		}
	}
	return nil
}

func outside(v View) Decision {
	for _, l := range v.dead() {
		i := slices.IndexFunc(v.Steps, func(s Step) bool { return s.ID == l.Step })
		if l.Exit == nil && len(l.Facts.Outside) > 0 && (i < 0 || v.Steps[i].Policy != Rerun) {
			return AskPerson{Divergence{
				Step: l.Step, Says: "the step is not finished", Shows: "it was cut off, and may have reached out: " + strings.Join(l.Facts.Outside, "; "),
				Facts: l.Facts, Options: []Option{Onto, Keep, Again},
			}}
		}
	}
	return nil
}

func cutOff(v View) Decision {
	for _, l := range v.dead() {
		end := EndAttempt{Step: l.Step, Outcome: Failed}
		switch {
		case l.Limit != "":
			end.Outcome, end.Why = Limited, l.Limit
		case l.Exit != nil && *l.Exit == 0 && !l.Changed:
			end.Why = "its agent ended well, and changed nothing"
		case l.Exit != nil && *l.Exit == 0:
			end.Why = "its agent ended well, and nothing says that the step is done"
		case l.Exit != nil:
			end.Why = fmt.Sprintf("its agent ended with %d", *l.Exit)
		case l.Seen: // alone: that may be its own doing, and is counted
			end.Why = "its agent was killed"
		default:
			end.Outcome, end.Why = Cut, "it was cut off"
		}
		return end
	}
	return nil
}

// ticked and unticked look at the plan only while no agent is at work in the project: it may
// be about to write there.
func ticked(v View) Decision {
	if v.alive() > 0 && v.Parallel < 2 {
		return nil
	}
	for _, s := range v.Steps {
		past := v.State.Step(s.ID)
		if past.alone(s) {
			continue
		}
		if s.Status.Closed() && !past.Done && past.Marked != "" {
			return AskPerson{Divergence{
				Step: s.ID, Says: "nobody did the step", Shows: "the attempt at " + past.Marked + " marked it done",
				Facts: Facts{Attempts: past.Attempts}, Options: []Option{Open, Keep},
			}}
		}
		if s.Status.Closed() && !past.Done {
			return AdoptStep{s.ID}
		}
	}
	return nil
}

func unticked(v View) Decision {
	for _, s := range v.Steps {
		if !s.Status.Closed() && v.State.Step(s.ID).Done {
			return AskPerson{Divergence{
				Step: s.ID, Says: "the step is done", Shows: "the plan calls it open",
				Facts: Facts{Attempts: v.State.Step(s.ID).Attempts}, Options: []Option{Keep, Open},
			}}
		}
	}
	return nil
}

// failing bounds what a step may cost without a person: failures, and cut-offs too, since an
// agent that kills its engine each time would be begun again for ever.
func failing(v View) Decision {
	s, ok := next(v)
	past, shows := v.State.Step(s.ID), ""
	switch {
	case !ok:
		return nil
	case past.Failures >= v.Tries:
		shows = fmt.Sprintf("it failed %d times", past.Failures)
	case past.Cuts >= maxCuts:
		shows = fmt.Sprintf("it was cut off %d times", past.Cuts)
	default:
		return nil
	}
	return AskPerson{Divergence{
		Step: s.ID, Says: "the step can be done", Shows: shows,
		Facts: Facts{Attempts: past.Attempts}, Options: []Option{Onto, Again},
	}}
}

func ready(v View) Decision {
	if s, ok := next(v); ok {
		if v.Others != "" {
			return Rest{v.Others}
		}
		return StartStep{s}
	}
	return nil
}

func blocked(v View) Decision {
	for _, s := range v.Steps {
		if !s.Status.Closed() {
			return Rest{"step " + s.ID + " waits for steps that are not in the plan"}
		}
	}
	return nil
}

// maxCuts is how often in a row a step may be cut off before a person is asked.
const maxCuts = 5

// next gives the first step that can start: one that was begun before any other.
func next(v View) (Step, bool) {
	done := map[string]bool{}
	for _, s := range v.Steps {
		done[s.ID] = s.Status.Closed() && !v.State.Step(s.ID).alone(s)
	}
	found := -1
	for i, s := range v.Steps {
		if done[s.ID] || v.State.OpenOf(s.ID) != nil || slices.ContainsFunc(s.Needs, func(n string) bool { return !done[n] }) {
			continue
		}
		if v.State.Step(s.ID).First.Step != "" {
			return s, true
		}
		if found < 0 {
			found = i
		}
	}
	if found < 0 {
		return Step{}, false
	}
	return v.Steps[found], true
}

func name(ref string) string {
	if ref == "" {
		return "no branch"
	}
	return strings.TrimPrefix(ref, "refs/heads/")
}
