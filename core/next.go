package core

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
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
		Account string
		Until   time.Time
		Leave   []string // files that the user keeps to himself
		Whole   []string // files that are committed as they stand, his changes and all
	}
	// AdoptStep takes a step as done that the plan or a person calls done. What was begun of
	// it is committed.
	AdoptStep struct {
		Step   string
		Why    string // "" where the plan says so
		Commit string // that shows it, "" if none does
	}
	// UndoStep opens a step again, and takes the work on it back unless that is kept.
	UndoStep struct {
		Step, Why string
		Keep      bool
		Away      []string // files that go although the work stays
	}
	// MakeMove makes the move of the last record, which is not known to be made.
	MakeMove struct{}
	// DropMove takes it as made: a person says that the project is as it shall be.
	DropMove struct{}
	// Verify runs the check of a step, where its attempt left its work.
	Verify struct{ Step string }
	// WorkInner works on the run that does a step.
	WorkInner struct{ Step string }
	// SettlePlan has the plan say what its files show.
	SettlePlan struct{}
	// SkipStep leaves a step out.
	SkipStep struct{ Step string }
	// AskPerson asks. Of is set for a question that is not ours.
	AskPerson struct {
		Divergence Divergence
		Of         *Question
	}
	// LapseQuestion takes a question back that needs no answer any more.
	LapseQuestion struct{ ID, Step, Why string }
	// CloseRun ends the run: all steps are done.
	CloseRun struct{}
	// Rest does nothing until something changes that is not in our hands.
	Rest struct {
		Why   string
		Until time.Time // it goes on by itself then; zero if it does not
		Limit bool      // a usage limit is over then
	}
)

func (StartStep) decision()     {}
func (WaitFor) decision()       {}
func (EndAttempt) decision()    {}
func (AdoptStep) decision()     {}
func (UndoStep) decision()      {}
func (MakeMove) decision()      {}
func (DropMove) decision()      {}
func (AskPerson) decision()     {}
func (Verify) decision()        {}
func (SkipStep) decision()      {}
func (SettlePlan) decision()    {}
func (WorkInner) decision()     {}
func (CloseRun) decision()      {}
func (LapseQuestion) decision() {}
func (Rest) decision()          {}

// Next is the whole algorithm: the first rule that has something to say decides. The
// same view always gives the same decision.
func Next(v View) Decision {
	for _, rule := range rules() {
		if d := rule(v); d != nil {
			return d
		}
	}
	return CloseRun{}
}

// rules gives them in the order in which they are asked.
func rules() []func(View) Decision {
	return []func(View) Decision{
		over,      // the run was closed, and the plan has nothing more
		busy,      // the user is in the middle of something
		answered,  // a person chose
		asked,     // a person must choose
		elsewhere, // the project is on a branch without the work of the run
		due,       // the move of the last record is not known to be made
		inner,     // a run of its own does a step
		wanting,   // an agent asks
		finished,  // an attempt left what proves its step
		checked,   // one was cut off, and its check says whether it is done
		outside,   // one was cut off after it reached out of the project
		cutOff,    // one failed, or was cut off
		stopped,   // nothing more is to begin
		gone,      // the plan is not there
		atWork,    // agents are at work, and no more may be
		skipped,   // a person leaves a step out
		until,     // a person wants to look here
		ticked,    // the plan calls a step done that we did not do
		unticked,  // the plan no longer calls a step done that we did
		settled,   // the plan shows more than it says
		failing,   // the next step fails, or is cut off, every time
		ready,     // a step can start
		waiting,   // none can as long as agents are at work
		planned,   // the plan asks
		held,      // the plan says that nothing is to be done
		blocked,   // steps are left, and none can start
	}
}

// over asks the plan first: a complete list may have gained an item since.
func over(v View) Decision {
	if v.State.Ended == nil {
		return nil
	}
	if _, more := next(v); more && v.State.Ended.Complete {
		return nil
	}
	return Rest{Why: "the run is over: " + v.State.Ended.Why}
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
	return Rest{Why: why}
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

func gone(v View) Decision { return v.rest(v.Gone) }

// stopped lets what is at work end, and begins nothing.
func stopped(v View) Decision { return v.rest(v.Stop) }

func answered(v View) Decision {
	q := v.State.Asked
	if q == nil || v.State.Said == "" {
		return nil
	}
	look := v.Looks[q.Step]
	switch v.State.Said {
	case Wait.Key:
		if v.Apart {
			return v.rest("it waits for " + BranchName(v.State.At.Branch))
		}
		return nil
	case Make.Key:
		return MakeMove{}
	case Drop.Key:
		return DropMove{}
	case Keep.Key:
		if look == nil {
			return AdoptStep{Step: q.Step}
		}
		return EndAttempt{Step: q.Step, Outcome: Done, Why: "a person kept it", Whole: look.Torn}
	case Leave.Key:
		if look != nil {
			return EndAttempt{Step: q.Step, Outcome: Done, Why: "a person took over files", Leave: look.Torn}
		}
	case Again.Key:
		return UndoStep{Step: q.Step, Why: "a person wants it done again"}
	case Out.Key:
		return SkipStep{q.Step}
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
	return Rest{Why: fmt.Sprintf("%q is no option of question %s", v.State.Said, q.ID)}
}

func asked(v View) Decision {
	q := v.State.Asked
	if q == nil || v.State.Said != "" {
		return nil
	}
	if why := v.lapsed(q); why != "" {
		return LapseQuestion{ID: q.ID, Step: q.Step, Why: fmt.Sprintf("%q is no longer asked: %s", q.Shows, why)}
	}
	return v.rest("question " + q.ID + " is open")
}

// lapsed says why a question needs no answer any more, "" if it does. The step of one that an agent
// or the plan asks is closed; any other lapses once nothing would ask it again.
func (v View) lapsed(q *Ask) string {
	if q.Of != nil && !q.Of.Lapses {
		i := slices.IndexFunc(v.Steps, func(s Step) bool { return s.ID == q.Step })
		if i < 0 || !v.Steps[i].Status.Closed() || v.State.Step(q.Step).alone(v.Steps[i]) {
			return ""
		}
		return q.Step + ", which waited for the answer, is " + string(v.Steps[i].Status)
	}
	without := *v.State
	without.Asked, v.State = nil, &without
	switch d := Next(v).(type) {
	case Rest, WaitFor:
		return ""
	case EndAttempt:
		if d.Step != q.Step {
			return ""
		}
	case Verify:
		if d.Step != q.Step {
			return ""
		}
	case AskPerson:
		if d.Divergence.Step == q.Step && d.Divergence.Says == q.Says && (q.Of == nil || d.Of != nil && d.Of.ID == q.Of.ID) {
			return ""
		}
	}
	return "what it is about has changed"
}

// elsewhere asks once, whatever the run was about to do: a branch that has the work of the
// run is followed, one that has not is the user's own business until he comes back.
func elsewhere(v View) Decision {
	if !v.Apart || v.alive() > 0 {
		return nil
	}
	d := Divergence{
		Says: "the run is on " + BranchName(v.State.At.Branch), Shows: "the project is on " + BranchName(v.Branch) + ", which does not have the work of the run",
		Options: []Option{Wait, On},
	}
	for _, l := range v.dead() {
		d.Step, d.Facts = l.Step, l.Facts
	}
	return AskPerson{Divergence: d}
}

// due makes a move again that may have been made: what is made is seen and kept. It asks
// where the branch no longer has the commit that the move builds on: the user took it back,
// and perhaps the move with it.
func due(v View) Decision {
	switch r := v.State.Due; {
	case r == nil:
		return nil
	case v.Reset:
		return AskPerson{Divergence: Divergence{
			Step: r.step(), Says: fmt.Sprintf("what record %d says was perhaps not carried out to its end", r.Seq),
			Shows: "the branch no longer has the commit that it builds on", Options: []Option{Drop, Make},
		}}
	default:
		return MakeMove{}
	}
}

// inner has the run that does a step go on, and takes what becomes of it: once it is complete the
// plan has the last word, and where it rests this one does.
func inner(v View) Decision {
	for _, l := range v.dead() {
		switch in := l.Inner; {
		case in == nil:
		case in.Over && l.Judged != nil && l.Judged.Problem != "":
			return EndAttempt{Step: l.Step, Outcome: Failed, Why: l.Judged.Problem}
		case in.Over:
			return EndAttempt{Step: l.Step, Outcome: Done, Why: "its own run is complete"}
		case v.Stop != "":
			return v.rest(v.Stop)
		case in.Rest == nil:
			return WorkInner{l.Step}
		default:
			return *in.Rest
		}
	}
	return nil
}

func wanting(v View) Decision {
	for _, l := range v.dead() {
		if len(l.Questions) > 0 {
			return EndAttempt{Step: l.Step, Outcome: Asking, Why: l.Questions[0].Text}
		}
	}
	return nil
}

// finished takes a step as done that something shows but the end of a program: its tick or
// its commit, or the agent's own word, and with each a change in the project or the word that
// none was needed. That a program ended without an error shows nothing.
func finished(v View) Decision {
	for _, l := range v.dead() {
		why := l.proof()
		i := slices.IndexFunc(v.Steps, func(s Step) bool { return s.ID == l.Step })
		switch {
		case why == "":
		case i < 0:
			return AskPerson{Divergence: Divergence{
				Step: l.Step, Says: "the step is done", Shows: "the plan does not have it any more", Facts: l.Facts, Options: []Option{Keep, Again},
			}}
		case v.Steps[i].Status == Blocked: // we never write that: its agent did, or the user
			return AskPerson{Divergence: Divergence{
				Step: l.Step, Says: "the step is done", Shows: "the plan calls it blocked", Facts: l.Facts, Options: []Option{Onto, Keep},
			}}
		case v.Steps[i].Unclear != "": // its agent left a word that nobody knows
			return AskPerson{Divergence: Divergence{
				Step: l.Step, Says: "the step is done", Shows: v.Steps[i].Unclear, Facts: l.Facts, Options: []Option{Onto, Keep},
			}}
		case l.Judged != nil && l.Judged.Problem != "":
			return EndAttempt{Step: l.Step, Outcome: Failed, Why: l.Judged.Problem}
		case i >= 0 && v.Steps[i].Verify && l.Verified == nil && v.Stop != "":
			return v.rest(v.Stop) // its check is run when the work goes on
		case i >= 0 && v.Steps[i].Verify && l.Verified == nil:
			return Verify{l.Step}
		case i >= 0 && v.Steps[i].Verify && !*l.Verified:
			return EndAttempt{Step: l.Step, Outcome: Failed, Why: "its check failed: " + l.Check}
		case len(l.Torn) == 0:
			return EndAttempt{Step: l.Step, Outcome: Done, Why: why}
		default:
			facts, shows := l.Facts, "it changed lines that you had changed and not committed"
			facts.Files = l.Torn
			if l.From != "" {
				shows = "it changed lines that another step or you changed since it began"
			}
			return AskPerson{Divergence: Divergence{
				Step: l.Step, Says: "the step is done", Shows: shows,
				Facts: facts, Options: []Option{Keep, Leave, Again},
			}}
		}
	}
	return nil
}

// checked has the check of a step that was cut off say whether it is done, where nothing else
// shows it. One that says no is no failure: nobody said that it was done.
func checked(v View) Decision {
	for _, l := range v.dead() {
		i := slices.IndexFunc(v.Steps, func(s Step) bool { return s.ID == l.Step })
		switch {
		case i < 0 || !v.Steps[i].Verify || v.Steps[i].Policy != AskFirst || !l.End.cut() || l.End == Late || l.Limit != "" || len(l.Missing) > 0:
		case l.Verified == nil && v.Stop == "":
			return Verify{l.Step}
		case l.Verified != nil && *l.Verified && len(l.Torn) == 0:
			return EndAttempt{Step: l.Step, Outcome: Done, Why: "it was cut off, and its check says that it is done"}
		}
	}
	return nil
}

func outside(v View) Decision {
	for _, l := range v.dead() {
		policy, shows := AskFirst, "it was cut off, and nobody sees how far it came"
		if i := slices.IndexFunc(v.Steps, func(s Step) bool { return s.ID == l.Step }); i >= 0 {
			policy = v.Steps[i].Policy
		}
		if len(l.Reached) > 0 {
			shows = "it was cut off, and may have reached out: " + strings.Join(l.Reached, "; ")
		}
		if l.End.cut() && (policy == AskFirst && len(l.Reached) > 0 || policy == AskCut && (len(l.Reached) > 0 || l.End != Late)) {
			return AskPerson{Divergence: Divergence{Step: l.Step, Says: "the step is not finished", Shows: shows, Facts: l.Facts, Options: []Option{Onto, Keep, Again}}}
		}
	}
	return nil
}

func cutOff(v View) Decision {
	for _, l := range v.dead() {
		end := EndAttempt{Step: l.Step, Outcome: Failed}
		switch {
		case l.Limit != "":
			end.Outcome, end.Why, end.Until = Limited, l.Limit, l.LimitEnds
			if i := slices.IndexFunc(v.Steps, func(s Step) bool { return s.ID == l.Step }); i >= 0 {
				end.Account = v.Steps[i].Account
			}
		case l.End == Well && len(l.Missing) > 0:
			end.Why = "it ended without leaving what it should: " + strings.Join(l.Missing, ", ")
		case l.End == Well && !l.Changed:
			end.Why = "its agent ended well, and changed nothing"
		case l.End == Well:
			end.Why = "its agent ended well, and nothing says that the step is done"
		case l.End == Badly, l.End == Killed, l.End == Late: // alone: that may be its own doing, and is counted
			end.Why = l.Why
		case l.End == Asked, l.End == Unable:
			end.Outcome, end.Why = Paused, l.Why
		case l.End == Full:
			end.Outcome, end.Why = Cut, l.Why
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
		if past.unclear(s) {
			return AskPerson{Divergence: Divergence{
				Step: s.ID, Says: "a step is done or open", Shows: s.Unclear,
				Facts: Facts{Attempts: past.Attempts}, Options: []Option{{Keep.Key, "it is done"}, {Open.Key, "do it"}, Out},
			}}
		}
		if s.Status.Closed() && !past.Done && past.Marked != "" {
			options := []Option{Open, Keep}
			if s.Status == Skipped {
				options = append(options, Out)
			}
			return AskPerson{Divergence: Divergence{
				Step: s.ID, Says: "nobody did the step", Shows: "the attempt at " + past.Marked + " marked it " + string(s.Status),
				Facts: Facts{Attempts: past.Attempts}, Options: options,
			}}
		}
		if s.Status == Skipped && !past.Done {
			return SkipStep{s.ID}
		}
		if s.Status.Closed() && !past.Done {
			return AdoptStep{Step: s.ID}
		}
	}
	return nil
}

func unticked(v View) Decision {
	for _, s := range v.Steps {
		past := v.State.Step(s.ID)
		if !s.Status.Closed() && past.Done && !past.overrules(s) && (!s.Passing || v.State.Last == s.ID) {
			return AskPerson{Divergence: Divergence{
				Step: s.ID, Says: "the step is done", Shows: cmp.Or(s.Unclear, "the plan calls it open"),
				Facts: Facts{Attempts: past.Attempts}, Options: []Option{Keep, Open},
			}}
		}
	}
	return nil
}

// failing bounds what a step may cost without a person: failures, and cut-offs too, since an
// agent that kills its engine each time would be begun again for ever.
func failing(v View) Decision {
	s, ok := next(v)
	shows := v.worn(s)
	if !ok || shows == "" {
		return nil
	}
	past := v.State.Step(s.ID)
	return AskPerson{Divergence: Divergence{
		Step: s.ID, Says: "the step can be done", Shows: shows,
		Facts: Facts{Attempts: past.Attempts, Failure: past.Why}, Options: []Option{Onto, Again},
	}}
}

// worn says why only a person may begin a step once more, "" if he need not.
func (v View) worn(s Step) string {
	switch past := v.State.Step(s.ID); {
	case past.Failures >= cmp.Or(s.Tries, v.Tries):
		return "it failed " + times(past.Failures)
	case past.Cuts >= cmp.Or(v.Cuts, maxCuts):
		return "it was cut off " + times(past.Cuts)
	}
	return ""
}

// early says what time a step waits for: the end of a limit, which all steps of an account share,
// or of the pause after a failure. A limit whose end nobody knows is tried.
func (v View) early(s Step) (r Rest, is bool) {
	if at := v.State.Limits[s.Account]; v.Now.Before(at) {
		return Rest{Why: "a usage limit was met", Until: at, Limit: true}, true
	}
	past := v.State.Step(s.ID)
	if s.Backoff == 0 || past.Failures == 0 || past.Failed.After(v.Now) { // a clock was set back
		return r, false
	}
	at := past.Failed.Add(s.Backoff << min(past.Failures-1, 10))
	return Rest{Why: "step " + s.ID + " failed, and is tried again later", Until: at}, v.Now.Before(at)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// ready starts the next step, if nothing but time is in its way.
func ready(v View) Decision {
	s, ok := next(v)
	if !ok {
		return nil
	}
	if v.Others != "" && s.Inner == "" { // a run of its own asks for itself
		return v.rest(v.Others)
	}
	if s.Local != "" {
		return AdoptStep{Step: s.ID, Why: s.Local}
	}
	if s.Ask != nil && len(v.State.Step(s.ID).Answers) > 0 {
		return AdoptStep{Step: s.ID}
	}
	if s.Ask != nil {
		return AskPerson{Of: s.Ask, Divergence: Divergence{Step: s.ID, Says: "the plan wants an answer", Shows: s.Ask.Text}}
	}
	if r, is := v.early(s); is {
		return v.restUntil(r)
	}
	if q := v.Budget; q != nil {
		if v.alive() > 0 {
			return WaitFor{}
		}
		return AskPerson{Of: q, Divergence: Divergence{Step: s.ID, Says: "a budget is used up", Shows: q.Text}}
	}
	return StartStep{s}
}

// settled keeps a plan true before anything builds on it.
func settled(v View) Decision {
	if v.Due && v.alive() == 0 {
		return SettlePlan{}
	}
	return nil
}

// planned asks what the plan waits with, once nothing else can be done.
func planned(v View) Decision {
	if len(v.Questions) == 0 {
		return nil
	}
	q := v.Questions[0]
	q.Lapses = true
	return AskPerson{Of: &q, Divergence: Divergence{Step: q.Subject, Says: "the plan wants an answer", Shows: q.Text}}
}

func held(v View) Decision { return v.rest(v.Hold) }

func (v View) restUntil(r Rest) Decision {
	if v.alive() > 0 {
		return WaitFor{}
	}
	return r
}

func skipped(v View) Decision {
	for _, s := range v.Steps {
		if v.Skip[s.ID] && (!s.Status.Closed() || v.State.Step(s.ID).alone(s)) && !v.State.Step(s.ID).Done && v.State.OpenOf(s.ID) == nil {
			return SkipStep{s.ID}
		}
	}
	return nil
}

func until(v View) Decision {
	if v.Until != "" && v.State.Step(v.Until).Done {
		return v.rest("step " + v.Until + " is done, as you wanted")
	}
	return nil
}

func blocked(v View) Decision {
	for _, s := range v.Steps {
		if !s.Status.Closed() && !v.State.Step(s.ID).unwanted(s) {
			return Rest{Why: "step " + s.ID + " waits for steps that are not in the plan"}
		}
	}
	return nil
}

// maxCuts is how often in a row a step may be cut off before a person is asked.
const maxCuts = 5

// next gives the step that can start: one that was begun before any other, one that waits for a
// time after those, and one that only a person may begin once more last.
func next(v View) (found Step, ok bool) {
	done := map[string]bool{}
	for _, s := range v.Steps {
		done[s.ID] = s.Status.Closed() && !v.State.Step(s.ID).alone(s) || v.State.Step(s.ID).overrules(s)
	}
	best := 0
	for _, s := range v.Steps {
		if done[s.ID] || v.State.Step(s.ID).unclear(s) || v.State.OpenOf(s.ID) != nil || v.State.Step(s.ID).unwanted(s) || slices.ContainsFunc(s.Needs, func(n string) bool { return !done[n] && (n != Later || v.State.Step(s.ID).First.Step == "") }) {
			continue
		}
		rank := 4
		if v.State.Step(s.ID).First.Step != "" {
			rank = 5
		}
		if _, early := v.early(s); early {
			rank = 2
		}
		if v.worn(s) != "" {
			rank = 1
		}
		if rank > best {
			found, best = s, rank
		}
	}
	return found, best > 0
}

// BranchName gives the name of a branch for people.
func BranchName(ref string) string {
	if ref == "" {
		return "no branch"
	}
	return strings.TrimPrefix(ref, "refs/heads/")
}
