package reprise

import (
	"cmp"
	"fmt"
	"slices"
)

// Next decides what to do about a run. It is the entire resume algorithm, and it is pure:
// the same arguments give the same decision, and nothing is changed.
//
// The run must carry the findings of all checks, and its steps the evidence gathered.
// Every answer satisfies these rules: no unit is offered whose dependencies are not
// closed; nothing is Safe with a blocking finding; nothing is Complete with an open step;
// unknown is never done.
func Next(r *Run, o Observed, rules Policy) Decision {
	d := Decision{State: r.State, Verdict: VerdictNone}
	d.weigh(r, rules)
	d.offer(r)
	d.prerequisites(r)

	live := r.Owner != nil && o.Owners[r.Owner.Source].Life == Alive
	switch {
	case live:
		why := r.working()
		if r.Owner.Orphan {
			why = fmt.Sprintf("the one who worked on it is gone, but what it started still runs: process %d (%q)", r.Owner.PID, r.Owner.Agent)
		}
		d.refuse(Running, why)
		return d
	case o.LiveSession(r, true) != nil:
		// An agent is working in the folder, on this run or another. A second one next to
		// it would destroy work.
		s := o.LiveSession(r, true)
		state := Running
		if r.State == NotStarted {
			state = NotStarted
		}
		d.refuse(state, fmt.Sprintf("a session of %s is at work in the same folder: %s", s.CLI, s.Owner.Reason))
		return d
	case len(r.Owed) > 0 && len(r.Asks) == 0 && !r.spent(r.Owed):
		d.Action, d.State = Start, Interrupted
		d.because(d.Point.ID + ": " + d.Point.Reason)
	case r.State == Complete && r.Behind && len(d.open(r)) == 0:
		d.Action, d.State, d.Units, d.Point = Start, Interrupted, nil, nil
		d.because(r.Reason)
		d.because("its files do not have all of that yet: resuming it writes that and starts nothing")
	case r.State == Complete && len(d.open(r)) == 0:
		d.Action, d.Units, d.Point = Finish, nil, nil
		d.because(r.Reason)
		switch {
		case r.Worst() == Blocking:
			d.judge(r) // what cannot be trusted is not called complete
		case slices.ContainsFunc(r.Findings, Finding.ContestsEnd):
			d.Verdict = Caution
		case o.Git != nil && o.Git.Unheard:
			d.Verdict = Caution
			d.because("git did not answer, so whether the files have lost something is not known")
		case rules.Quick:
			d.Verdict = UncheckedVerdict
		}
		return d
	case r.State == Complete:
		// The run is marked complete although a step is not. A person settles that.
		d.State = Waiting
		d.because(fmt.Sprintf("it is marked complete, but %s is open", d.open(r)[0]))
		d.ask(r)
	case r.State == Stopped:
		d.Action = Ask
		d.because(r.Reason)
		d.because("it was ended on purpose; only a person can decide to continue")
	case r.State == Unreadable:
		d.Action, d.Units, d.Point = Repair, nil, nil
		d.because(r.Reason)
	case r.State == Waiting:
		d.because(r.Reason)
		d.ask(r)
	case r.State.Open() && len(r.Asks) > 0:
		d.State, d.Action = Waiting, Ask
		for _, q := range r.Asks {
			d.because("will ask: " + q.Text)
		}
	case r.State.Open() && len(d.Again) == 0 && r.spent(d.Units):
		d.State, d.Action = Waiting, Ask
		for _, s := range r.Spent {
			d.because(s.Step + ": " + s.Reason)
		}
		d.because("it is left to a person: doing it once more, or leaving it out")
	case r.State.Open() && r.Until.After(o.Now) && r.Until.Sub(o.Now) <= LongestLimit:
		d.State, d.Action = Waiting, Wait
		d.because(r.Awaits())
	default:
		d.start(r)
	}
	if why := o.unsure(r); why != "" && d.Action == Start && r.Worst() != Blocking {
		d.State, d.Action = Waiting, Ask
		d.Reasons = append([]string{why}, d.Reasons...)
	}
	d.heed(r, rules.Choice)
	if d.Rests = r.rests(o); d.Rests && d.State == Interrupted && d.Action == Start {
		d.State = Waiting
		d.Reasons = slices.Insert(d.Reasons, min(1, len(d.Reasons)), "nothing shows that work on it was cut off")
	}
	d.Waits = r.waits(d.Action)
	d.conclude(r, o, rules)
	return d
}

// Settled returns the decision about a run for which a person's recorded answers leave
// these units to start, or nothing at all.
func (d Decision) Settled(r *Run, o Observed, rules Policy, units []Unit) Decision {
	answer, _ := r.UnusedAnswer()
	d.Action, d.State, d.Units, d.Point, d.Waits = Start, Interrupted, units, nil, nil
	d.Reasons = []string{fmt.Sprintf("it goes on with the answer %q", answer)}
	if len(units) > 0 {
		d.Point = &units[0]
	} else {
		d.because("then nothing is left to do")
	}
	d.conclude(r, o, rules)
	return d
}

// conclude sets the verdict.
func (d *Decision) conclude(r *Run, o Observed, rules Policy) {
	d.judge(r)
	d.suspend(r, o)
	switch {
	case d.Verdict == Safe && d.Action == Wait:
		d.Verdict = WaitVerdict
	case d.Verdict == Safe && rules.Quick:
		d.Verdict = UncheckedVerdict
	}
	d.hold(r)
}

// hold refuses to start or to ask anything while something else in the project is worked on.
func (d *Decision) hold(r *Run) {
	if r.Holder != nil && (d.Action == Start || d.Action == Ask && len(r.Asks) > 0) {
		d.Holder = r.Holder
		d.refuse(d.State, r.Holder.Holds())
	}
}

// unsure says why only a person can know whether an agent is working, or has worked, on a
// run; "" if nothing suggests it. An idle session can be given work at any moment, work done
// elsewhere may be meant to be merged, and without its journal no one knows what was done.
func (o Observed) unsure(r *Run) string {
	if s := o.LiveSession(r, false); s != nil {
		return s.Waits()
	}
	if u := o.unknown(r); u != nil {
		return "a session of an agent cannot be read, which may have worked here since: " + u.String()
	}
	for _, f := range r.Findings {
		if (f.Code == CodeElsewhere || f.Code == CodeJournalLost) && f.Severity == Warning {
			return f.Message
		}
	}
	return ""
}

// ContestsEnd reports whether a finding contradicts that a run is complete.
func (f Finding) ContestsEnd() bool {
	return f.Severity >= Warning && slices.Contains([]string{CodeClosedOpen, CodeFalseCompletion, CodeElsewhere, CodeWorkNotHere, CodeDetachedHead, CodeNothingMade, CodeJournalLost}, f.Code)
}

// heed starts the agent that a person chose to continue with, whatever else is pending.
func (d *Decision) heed(r *Run, c Choice) {
	if d.Action != Ask || !c.Means().Agent || r.Resume == nil || r.Resume.Type != ActiveAgent {
		return
	}
	units := slices.DeleteFunc(slices.Clone(d.Units), func(u Unit) bool { return u.ID != r.Resume.Plan })
	if len(units) > 0 {
		d.Action, d.Units, d.Point = Start, units, &units[0]
	}
}

// Awaits says what a run waits for whose limit has not ended.
func (r *Run) Awaits() string {
	what := "a limit or an outage"
	switch r.Awaited {
	case AwaitsLimit:
		what = "a limit"
	case AwaitsOutage:
		what = "an outage"
	}
	says := "waits for " + what + " until " + r.Until.UTC().Format("2006-01-02 15:04 MST")
	if r.Limit != "" {
		says += " (" + r.Limit + ")"
	}
	return says
}

// waits lists the open steps that questions are about, if the files alone would let the
// run continue; nil if a question concerns more than one step.
func (r *Run) waits(a Action) (out []string) {
	filed := cmp.Or(r.filed, r.State)
	if a != Ask && a != Start || filed != NotStarted && filed != Interrupted {
		return nil
	}
	asked := r.PendingQuestions()
	for _, a := range r.Asks {
		asked = append(asked, a.Question())
	}
	for _, q := range asked {
		s := r.Step(cmp.Or(q.By, q.Subject))
		if s == nil || s.Status.Closed() {
			return nil
		}
		out = append(out, s.ID)
	}
	return out
}

// suspend makes a decision cautious if an agent began something, left no result, and its
// effect is unknown.
func (d *Decision) suspend(r *Run, o Observed) {
	for _, u := range o.UnreadOn(r) {
		if d.Verdict == Safe {
			d.Verdict = Caution
		}
		d.because("what was begun and left without a result is not known: " + u.String())
	}
	more := 0
	on := o.SessionsOn(r)
	for i := range on {
		s := &on[i]
		for _, c := range s.Calls {
			if !c.Open() {
				continue
			}
			if d.Verdict == Safe {
				d.Verdict = Caution
			}
			if more++; more > CallsTold {
				continue
			}
			d.because(fmt.Sprintf("%s began %q and left no result: find out whether it took effect", s.CLI, cmp.Or(c.Text, c.Tool)))
		}
	}
	if more -= CallsTold; more > 0 {
		d.because(fmt.Sprintf("%d more calls of sessions were begun and left without a result", more))
	}
}

// weigh classifies the steps by the evidence found outside their ledgers.
func (d *Decision) weigh(r *Run, rules Policy) {
	if closed := r.Progress().Done; closed > 0 {
		d.Keep = make([]string, 0, closed)
		defer func() {
			if len(d.Keep) == 0 {
				d.Keep = nil
			}
		}()
	}
	gone := r.lostAfter(-1)
	for i := range r.Steps {
		s := &r.Steps[i]
		switch {
		case s.Status.Closed() && gone[s.ID]:
			d.Doubtful = append(d.Doubtful, s.Unit("its work, or what it was built on, is not here"))
		case s.Status == Done && against(s):
			d.Doubtful = append(d.Doubtful, s.Unit("its record says done, the evidence says otherwise"))
		case s.Status == Done && s.Grade < rules.Grade:
			d.Doubtful = append(d.Doubtful, s.Unit("done is only "+s.Grade.String()))
		case !s.Status.Closed() && s.Status != InReview && s.Landed() && !s.Ours:
			d.Verify = append(d.Verify, s.Unit(committed))
		case s.Status.Closed():
			d.Keep = append(d.Keep, s.ID)
		default:
			// They are counted in order: a part after a gap is not marked.
			for k := 0; k < len(s.Parts) && s.Parts[k].Landed(); k++ {
				d.Verify = append(d.Verify, s.Parts[k].Unit(committed))
			}
		}
	}
}

const committed = "a commit for it exists; check and mark it instead of doing it again"

// Landed reports whether git has all of the step where the run works.
func (s *Step) Landed() bool {
	return slices.ContainsFunc(s.Evidence, func(e Evidence) bool { return e.For && e.Kind == EvidenceCommit && !e.Elsewhere })
}

// against reports whether evidence contradicts the step's completion and none supports
// it.
func against(s *Step) bool {
	no := false
	if s.Away != nil {
		return true
	}
	for _, e := range s.Evidence {
		if e.For {
			return false
		}
		no = true
	}
	return no
}

// offer lists what may be started: what is owed; else the layout's own offers or, if none of
// them is left, the first open step that is ready.
func (d *Decision) offer(r *Run) {
	if !r.State.Open() && len(r.Owed) == 0 {
		return
	}
	verify := map[string]bool{}
	for _, u := range d.Verify {
		verify[u.ID] = true
	}
	for _, u := range r.Next {
		if s := r.Step(u.ID); s != nil && (verify[u.ID] || s.Status.Closed() || !r.ready(s)) {
			continue
		}
		d.Units = append(d.Units, u)
	}
	if len(d.Units) == 0 && len(r.Next) > 0 {
		for i := range r.Steps {
			s := &r.Steps[i]
			if s.Due() && s.Status != Blocked && !verify[s.ID] && r.ready(s, verify) {
				d.Units = append(d.Units, s.Unit("the first open step that git shows no commit for"))
				break
			}
		}
	}
	if len(d.Units) == 0 {
		d.Units = append(d.Units, d.Verify...)
	}
	if len(d.Units) == 0 {
		d.Units = append(d.Units, r.heard()...)
	}
	if len(r.Owed) > 0 {
		d.Units = slices.Clone(r.Owed)
	}
	if !r.spent(d.Units) {
		d.Units = slices.DeleteFunc(d.Units, func(u Unit) bool { return r.spent([]Unit{u}) })
	}
	if len(d.Units) > 0 {
		point := d.Units[0]
		d.Point = &point
	}
}

// spent reports whether there are units and all of them have used up their attempts.
func (r *Run) spent(units []Unit) bool {
	for _, u := range units {
		if !slices.ContainsFunc(r.Spent, func(s Spent) bool { return s.Unit == u.ID }) {
			return false
		}
	}
	return len(units) > 0
}

// ready reports whether everything a step needs is closed, or is among landed. A step that
// was left out hands its needs on: what needs it needs those.
func (r *Run) ready(s *Step, landed ...map[string]bool) bool {
	seen := map[string]bool{}
	var met func(needs []string) bool
	met = func(needs []string) bool {
		for _, id := range needs {
			need := r.Step(id)
			switch {
			case need == nil:
				return false
			case seen[id] || len(landed) > 0 && landed[0][id]:
			case !need.Status.Closed():
				return false
			case need.Status == Skipped:
				if seen[id] = true; !met(need.Needs) {
					return false
				}
			}
		}
		return true
	}
	return met(s.Needs)
}

// Ready reports whether nothing that a step needs is open any more.
func (r *Run) Ready(s *Step) bool { return r.ready(s) }

// prerequisites finds missing files and the steps that make them.
func (d *Decision) prerequisites(r *Run) {
	if !r.State.Open() {
		return
	}
	for _, a := range r.Artifacts {
		if a.Presence != Missing && a.Presence != Damaged {
			continue
		}
		if s := r.Step(a.MadeBy); s != nil && s.Status.Closed() {
			d.Missing = append(d.Missing, a)
			if !slices.Contains(d.Again, a.MadeBy) {
				d.Again = append(d.Again, a.MadeBy)
			}
			d.Keep = slices.DeleteFunc(d.Keep, func(id string) bool { return id == a.MadeBy })
		} else if a.Critical {
			d.Missing = append(d.Missing, a)
		}
	}
}

// open lists the steps still to be done.
func (d *Decision) open(r *Run) []string {
	var out []string
	for i := range r.Steps {
		if r.Steps[i].Due() {
			out = append(out, r.Steps[i].ID)
		}
	}
	return out
}

func (d *Decision) start(r *Run) {
	d.because(r.Reason)
	switch {
	case len(d.Again) > 0:
		// The output of an earlier phase is gone: it runs again before anything that
		// builds on it.
		s := r.Step(d.Again[0])
		point := s.Unit("what it should have left is missing, so it runs again")
		d.Action, d.Point = Start, &point
		d.Units = append([]Unit{point}, d.Units...)
		d.because(fmt.Sprintf("%s must run again: %s is missing", s.ID, d.Missing[0].Path))
	case d.Point != nil:
		d.Action = Start
		if d.Point.Reason != "" {
			d.because(d.Point.Reason)
		}
	default:
		d.Action = Ask
		d.because("its files name nothing that could be started")
	}
}

func (d *Decision) ask(r *Run) {
	d.Action = Ask
	for _, q := range r.PendingQuestions() {
		d.because("asked: " + q.Text)
	}
}

// refuse leaves a run alone because someone is at work.
func (d *Decision) refuse(s State, why string) {
	d.Action, d.State, d.Verdict, d.Busy, d.Point, d.Units = Refuse, s, BlockedVerdict, true, nil, nil
	d.Reasons = append([]string{why}, d.Reasons...)
}

func (d *Decision) because(why string) {
	if why != "" && !slices.Contains(d.Reasons, why) {
		d.Reasons = append(d.Reasons, why)
	}
}

// judge derives the verdict from findings and doubts.
func (d *Decision) judge(r *Run) {
	switch {
	case r.Worst() == Blocking:
		d.Verdict = BlockedVerdict
		var why []string
		for _, f := range r.Findings {
			if f.Severity == Blocking {
				why = append(why, f.Message)
			}
		}
		rest := d.Reasons
		d.Reasons = nil
		for _, reason := range append(why, rest...) {
			d.because(reason)
		}
		if d.Action == Start {
			d.Action = Refuse
		}
	case d.Action == Repair:
		d.Verdict = BlockedVerdict
	case r.Worst() == Warning, len(d.Doubtful) > 0, len(d.Verify) > 0, len(d.Missing) > 0, d.Action == Ask:
		d.Verdict = Caution
	default:
		d.Verdict = Safe
	}
}
