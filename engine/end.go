package engine

import (
	"errors"
	"slices"
	"strings"

	"reprise"
	"reprise/agent"
	"reprise/journal"
)

// EndOf decides what comes of an attempt. It is asked again after each move, until it
// says how to record the end. It touches no disk, no process and no clock.
func EndOf(s *Seen) Ending {
	switch {
	case s.Number == 0:
		return accepted(s) // a unit that needs no one
	case s.Wrote != nil && s.Wrote.Gone && s.Landed != provedByPerson:
		e, _ := contradicted(s)
		return e
	case s.Landed != "":
		return claimed(s)
	case s.Ran != nil:
		return ranEnd(s)
	}
	switch s.Result.Outcome {
	case "":
		return unseen(s)
	case agent.Done:
		return claimed(s)
	case agent.Stopped, agent.TimedOut, agent.Killed, agent.Lost:
		return cutShort(s)
	case agent.NotStarted:
		return notStarted(s)
	case agent.NeedsSetup:
		return notReady(s, journal.NotReady, s.Result.Reason)
	case agent.Limited:
		return limited(s)
	case agent.NeedsPerson:
		if r := s.Result; r.Reply != nil && r.Reply.Outcome == "done" && r.Exit == 0 && r.Signal == "" {
			// Done, with a question: the playbook says what that means for the step, now
			// and after a crash.
			return claimed(s)
		}
		asked := wanted(s.Result)
		if s.Result.Finished && refusedAll(s, asked) {
			return claimed(s) // it did without what a person refused
		}
		return asks(s, asked)
	case agent.OutOfContext:
		return newSession(s, "the context of its session was used up; a new session takes over")
	case agent.SessionNotFound:
		return newSession(s, "its session could not be found; a new session takes over")
	}
	return failed(s, s.Result.Outcome, first(s.Result.Reason, string(s.Result.Outcome)))
}

// about is an event about the attempt.
func (s *Seen) about(kind reprise.EventKind, outcome, text string) reprise.Event {
	return reprise.Event{Kind: kind, Step: s.Step, Phase: s.Unit.Phase, Attempt: s.Number, Actor: s.Role, Outcome: outcome, Text: text}
}

// ours is an event about the attempt that the engine decided.
func (s *Seen) ours(kind reprise.EventKind, outcome, text string) reprise.Event {
	ev := s.about(kind, outcome, text)
	ev.Actor = actor
	return ev
}

// reply is what the attempt says of its own work.
func (s *Seen) reply() reprise.Reply {
	switch {
	case s.Ran != nil:
		return reprise.Reply{Outcome: "done"}
	case s.Result.Reply != nil:
		return *s.Result.Reply
	}
	return reprise.Reply{}
}

// claimed checks what an attempt claims against what it left. It is accepted only if
// nothing is missing.
func claimed(s *Seen) Ending {
	reply := s.reply()
	switch {
	case s.Result.ReplyProblem != "":
		return failed(s, agent.Failed, "its result cannot be used: "+s.Result.ReplyProblem)
	case reply.Outcome == "failed":
		return failed(s, agent.Failed, first(reply.Summary, "the agent says that it failed"))
	case reply.Outcome == "blocked":
		return blocked(s, first(reply.Summary, "the agent says that it is blocked"))
	case reply.Outcome == "question" && len(reply.Questions) == 0:
		return failed(s, agent.Failed, "it says it has a question but asks none")
	case reply.Outcome == "question":
		return asks(s, reply.Questions)
	}
	problem, look := s.lacking(reply.Outcome)
	if look {
		return Ending{Move: LookForCommits}
	}
	if problem == "" && len(s.Verify) > 0 && s.Landed != provedByRecord {
		switch s.Verified {
		case NotVerified:
			return Ending{Move: RunVerify}
		case VerifyStopped:
			return leftOpen(agent.Stopped, verifiesAgain)
		case VerifiedNot:
			problem = first(s.Refuted, "its verify command fails")
		}
	}
	if problem != "" {
		if len(reply.Questions) > 0 {
			return asks(s, reply.Questions)
		}
		return failed(s, agent.Failed, problem)
	}
	return concluded(s, reply)
}

// lacking is what is missing of an attempt's work, "" if nothing is. Where earlier attempts
// that were not accepted made all of it, nothing may have been left to do: its reply or a
// commit says so. look is set if git has to be asked first.
func (s *Seen) lacking(outcome string) (problem string, look bool) {
	switch {
	case s.Missing == "" || !s.MadeBefore:
		return s.Missing, false
	case outcome == "done":
		return "", false
	case s.Commits == nil:
		return s.Missing, true
	case s.Commits.Accepted != "" || s.Commits.Before != "":
		return "", false
	}
	return s.Missing, false
}

// concluded does what the playbook makes of a complete attempt.
func concluded(s *Seen, reply reprise.Reply) Ending {
	if s.Conclusion == nil {
		return Ending{Move: AskPlaybook}
	}
	switch c := s.Conclusion; {
	case len(reply.Questions) > 0 && !takesIn(c):
		return asks(s, reply.Questions)
	case c.Problem != "":
		return failed(s, agent.Failed, c.Problem)
	case c.Failed:
		return failed(s, agent.Failed, c.Text)
	case c.Blocked:
		return blocked(s, c.Text)
	case len(c.Questions) > 0 && !c.Finished:
		return asks(s, c.Questions)
	}
	if e, ok := contradicted(s); ok {
		return e
	}
	switch l := s.Landing; {
	case l == nil:
		return Ending{Move: LandWork}
	case l.Err != nil && l.Own:
		return failed(s, agent.Failed, l.Err.Error())
	case l.Err != nil:
		return held(l.Err)
	case s.Commit && l.Empty && s.Result.Reply == nil:
		return failed(s, agent.Failed, "it ended without a result, a commit or a changed file")
	}
	return accepted(s)
}

// takesIn reports whether a conclusion deals with the questions of the attempt.
func takesIn(c *reprise.Conclusion) bool {
	return c.Problem == "" && (c.Failed || c.Blocked || len(c.Questions) > 0 ||
		slices.ContainsFunc(c.Then, func(ev reprise.Event) bool { return ev.Kind == reprise.QuestionAsked }))
}

// accepted records the step as finished, with what follows from it.
func accepted(s *Seen) Ending {
	c, reply := s.Conclusion, s.reply()
	ev := s.about(reprise.StepFinished, first(c.Outcome, reply.Verdict), first(c.Text, reply.Summary))
	ev.Verdict, ev.Issues, ev.Key, ev.Answers = c.Verdict, c.Issues, s.Key, s.Told
	if s.Landing != nil {
		ev.Commit, ev.At, ev.Ended, ev.Unheld = s.Landing.Commit, s.Landing.At, s.Landing.Ended, s.Landing.Unheld
		// Doing again what was done before may change nothing.
		made := slices.ContainsFunc(s.Events, func(old reprise.Event) bool {
			return old.Kind == reprise.StepFinished && old.Step == s.Step && old.Commit != ""
		})
		if s.Landing.Empty && !made && reply.Verdict == "" && c.Verdict == "" && s.Verified != VerifiedDone {
			ev.Cause = journal.WordAlone
		}
	}
	all := []reprise.Event{ev}
	for _, id := range slices.Sorted(slices.Values(s.Told)) {
		answer := ""
		if q := s.Run.Question(id); q != nil {
			answer = q.Answer
		}
		all = append(all, reprise.Event{Kind: reprise.AnswerApplied, Step: s.Step, Question: id, Text: answer, Actor: actor})
	}
	all = append(append(all, c.Then...), questions(s.Run, s.Events, s.Assignment, c.Questions, "")...)
	return Ending{Record: all, Outcome: counts, Text: ev.Text, Accepted: true}
}

// failed records a failed attempt. Recording finds out whether it failed like the one
// before.
func failed(s *Seen, outcome agent.Outcome, why string) Ending {
	ev := s.about(reprise.StepFailed, string(outcome), why)
	if s.Ran != nil && len(s.Ran.Parked) > 0 {
		ev.Outcome = journal.Pointless
	}
	return Ending{Record: []reprise.Event{ev}, Outcome: string(outcome), Text: why, Failed: true}
}

// blocked records that the step needs something from outside.
func blocked(s *Seen, why string) Ending {
	return Ending{Record: []reprise.Event{s.about(reprise.StepBlocked, "", why)}, Outcome: "blocked", Text: why, Failed: true, Park: "is blocked: " + why}
}

// held leaves an attempt open on record whose finished work cannot be committed. The next
// resume commits it and repeats nothing.
func held(why error) Ending {
	text := "its work is complete and on record, but git cannot commit it: " + why.Error() +
		"; once git can, `reprise resume` commits it and repeats nothing"
	if hint, ok := errors.AsType[interface {
		error
		Hint() string
	}](why); ok {
		text += " (" + hint.Hint() + ")"
	}
	return Ending{Outcome: string(agent.Stopped), Text: text, Park: text, Hold: true}
}

// leftOpen leaves an attempt open on record: the next resume finds out what came of it.
func leftOpen(outcome agent.Outcome, why string) Ending {
	return Ending{Outcome: string(outcome), Text: why}
}

const verifiesAgain = "stopped during verification, which is repeated when the work continues"

// limited records that a limit is in the way of all steps with the same account. It costs
// no attempt.
func limited(s *Seen) Ending {
	e := postponed(s, string(s.Result.Outcome), first(s.Result.Reason, "a limit or an outage"))
	ev := &e.Record[0]
	ev.Account, ev.Outcome = first(s.Account, s.Result.Account), s.Result.Awaits
	if s.Result.Until.After(s.Now) { // else it is over, and still there: no one knows how long
		ev.Until = s.Result.Until
	}
	e.Limit = true
	return e
}

// postponed records that the step is open again and waits for a time.
func postponed(s *Seen, outcome, why string) Ending {
	return Ending{
		Record:  []reprise.Event{s.about(reprise.StepDeferred, "", why), s.about(reprise.StepReset, "limited", why)},
		Outcome: outcome, Text: why,
	}
}

// sessionGone is the outcome of a reset after which no session is continued.
const sessionGone = "lost"

// newSession resets the step for a new session, which gets a briefing. It is not a
// failure of the work, and counts like an interrupted attempt.
func newSession(s *Seen, why string) Ending {
	ev := s.about(reprise.StepResolved, string(reprise.Rerun), why)
	ev.Cause = journal.SessionLost
	return Ending{Record: []reprise.Event{ev, s.about(reprise.StepReset, sessionGone, why)}, Outcome: string(s.Result.Outcome), Text: s.Result.Reason}
}

// notStarted takes back an attempt whose agent cannot be started. Trying again is useless
// until the settings are mended.
func notStarted(s *Seen) Ending {
	return Ending{Record: []reprise.Event{s.about(reprise.StepReset, string(agent.NotStarted), s.Result.Reason)}, Refuse: true}
}

// notReady takes back an attempt whose agent found that it cannot work as it is set up.
// Nothing is asked, and the next resume tries again.
// outcome is journal.NotReady or journal.NotAllowed.
func notReady(s *Seen, outcome, why string) Ending {
	return Ending{Record: []reprise.Event{s.about(reprise.StepReset, outcome, why)}, Outcome: outcome, Text: why, Refuse: true}
}

// asks ends an attempt with questions: the step is reset and waits for the answers. An
// attempt that asks only what it was already told has failed, unless its program denied a
// call again that a person did not refuse: no answer and no other attempt changes that.
func asks(s *Seen, asked []reprise.Asked) Ending {
	known, denied := "", false
	var open []reprise.Asked
	for _, q := range asked {
		id := askedBefore(s.Events, s.Step, q.Text)
		if have := s.Run.Question(id); have != nil && have.Answered {
			known, denied = q.Text, denied || q.Denied && !have.Refused()
			continue
		}
		if id != "" {
			q.ID = id
		} else if q.ID != "" && (isAsked(s.Run, s.Events, q.ID) || s.Run.Step(q.ID) != nil) && fromAgent(s.Result, q) {
			// Agents number their questions from one each time, and a question with the
			// name of a step is that step's.
			q.ID, q.Own = "", q.ID
		}
		open = append(open, q)
	}
	if len(open) == 0 && denied {
		return notReady(s, journal.NotAllowed, "its program denies again what you answered, so no answer can allow it: "+reprise.AllowMore+", or do that part yourself ("+known+")")
	}
	if len(open) == 0 {
		return failed(s, agent.Failed, "it asks again what was already answered: "+known)
	}
	events := questions(s.Run, s.Events, s.Assignment, open, s.Step)
	return Ending{Record: append(events, s.about(reprise.StepReset, "question", "waits for an answer")), Outcome: "question", Text: open[0].Text}
}

// refusedAll reports whether all that an attempt asks is about calls that its program denied
// and a person refused before.
func refusedAll(s *Seen, asked []reprise.Asked) bool {
	return !slices.ContainsFunc(asked, func(q reprise.Asked) bool {
		have := s.Run.Question(askedBefore(s.Events, s.Step, q.Text))
		return !q.Denied || have == nil || !have.Refused()
	})
}

// ranEnd decides what comes of a unit that a child run did.
func ranEnd(s *Seen) Ending {
	ran, why := s.Ran, s.Ran.why()
	switch {
	case ran.State == reprise.Complete || ran.Action == reprise.Finish:
		switch {
		case s.Conclusion == nil:
			return Ending{Move: AskPlaybook}
		case s.Conclusion.Problem != "":
			return failed(s, agent.Failed, s.Conclusion.Problem)
		case s.Landing == nil:
			return Ending{Move: LandWork}
		}
		return accepted(s)
	case s.Stopping || len(ran.Held)+len(ran.Questions) > 0 || !ran.Until.IsZero():
	case len(ran.Parked) > 0, len(ran.Failed) > 0 && len(ran.Refused) == 0: // what cannot go on has not failed
		return failed(s, agent.Failed, why)
	}
	e := Ending{Record: []reprise.Event{s.ours(reprise.StepReset, "waiting", why)}, Outcome: "waiting", Text: why}
	if !s.Stopping {
		e.Park = "waits: " + why
	}
	if !ran.Until.IsZero() && !s.Stopping && len(ran.Questions) == 0 {
		e = postponed(s, "waiting", why)
		e.Record[0].Until, e.Record[0].Account = ran.Until, ran.Account
	}
	e.Hold, e.Waits = len(ran.Held) > 0, ran.Questions
	return e
}

// why is why a run stopped: what it says of the first step that is held, parked or cannot go
// on, or else its first reason.
func (s *Summary) why() string {
	for _, steps := range [][]string{s.Held, s.Parked} {
		for _, reason := range slices.Backward(s.Reasons) {
			if len(steps) > 0 && strings.HasPrefix(reason, steps[0]+": ") {
				return reason
			}
		}
	}
	for _, reason := range s.Reasons {
		if len(s.Refused) > 0 && strings.HasSuffix(reason, s.Refused[0].Error()) {
			return reason
		}
	}
	return first(append(slices.Clone(s.Reasons), "it stopped")...)
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
