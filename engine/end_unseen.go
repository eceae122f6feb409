package engine

import (
	"fmt"
	"slices"

	"reprise"
	"reprise/agent"
)

// Some of the proofs that an attempt finished.
const (
	provedByCommand = "its verify command succeeds"
	provedByRecord  = "its end is on record, and what it left is unchanged"
	provedByPerson  = "a person said that it was finished"
)

// proof finds something that only a finished attempt leaves: its end on record with
// unchanged work, its commit, or a result that says so with nothing missing. A file that
// merely exists proves nothing: it may be half written. look is set if git has to be
// asked first.
func (s *Seen) proof() (proof string, look bool) {
	outcome := ""
	if s.Reply != nil {
		outcome = s.Reply.Outcome
	}
	missing, look := s.lacking(outcome)
	switch {
	case s.Held == nil && missing != "" && !look:
		return "", false
	case s.Commits == nil:
		return "", true
	case s.Held != nil && s.Commits.Accepted == "":
		if len(s.Changed) > 0 {
			return "", false // what else says that it was done says it of other files
		}
		return provedByRecord, false
	case missing != "":
		return "", false
	case s.Commits.Accepted != "":
		return "commit " + s.Commits.Accepted[:min(12, len(s.Commits.Accepted))] + " was made when everything was there", false
	}
	if slices.Contains([]string{"done", "question", "failed", "blocked"}, outcome) {
		return "it left a result that says " + outcome, false
	}
	return "", false
}

// landed accepts that an attempt finished, by evidence.
func landed(s *Seen, proof string) Ending {
	return Ending{Move: RecordLanded, Record: []reprise.Event{s.ours(reprise.StepResolved, "landed", proof)}, Outcome: "landed", Text: proof, Found: true}
}

// shown finds proof that an attempt finished whose end was not seen, at last by its
// verify command. ok is false if nothing shows it.
func shown(s *Seen, command bool) (e Ending, ok bool) {
	switch proof, look := s.proof(); {
	case look:
		return Ending{Move: LookForCommits}, true
	case proof != "":
		return landed(s, proof), true
	case !command || len(s.Verify) == 0 || s.Missing != "":
		return e, false
	}
	switch s.Verified {
	case NotVerified:
		return Ending{Move: RunVerify}, true
	case VerifiedDone:
		return landed(s, provedByCommand), true
	case VerifyStopped:
		return leftOpen(agent.Stopped, verifiesAgain), true
	}
	return e, false
}

// cutShort decides about an attempt that did not end by itself. It may have finished
// before it was stopped or killed, like one whose engine died. Proof that it finished
// counts; otherwise its policy decides.
func cutShort(s *Seen) Ending {
	r, policy := &s.Result, policyOf(s.Assignment)
	if policy != reprise.Rerun {
		if e, ok := shown(s, r.Outcome != agent.Stopped); ok {
			return e
		}
	}
	if e, ok := contradicted(s); ok {
		return e
	}
	switch {
	case policy == reprise.AskWho:
		e := askWhatHappened(s)
		if e.Outcome == "" {
			e.Outcome, e.Text = string(r.Outcome), "only a person can say what became of it"
		}
		return e
	case r.CutOff: // its keeper was killed, which tells nothing about its command
		return Ending{Record: again(s, r.Reason), Outcome: string(r.Outcome), Text: r.Reason}
	case r.Outcome != agent.Stopped:
		return failed(s, r.Outcome, first(r.Reason, string(r.Outcome)))
	case policy != reprise.Rerun && len(s.Verify) > 0:
		return leftOpen(r.Outcome, "stopped; its outcome is checked when the work continues")
	}
	const why = "stopped before it was finished"
	return Ending{Record: []reprise.Event{s.about(reprise.StepReset, "stopped", why)}, Outcome: string(r.Outcome), Text: why}
}

// unseen decides about an attempt of an earlier process, whose end was not seen.
func unseen(s *Seen) Ending {
	switch {
	case s.Child != nil:
		// The child run has its own journal and continues where it stands; nothing is
		// lost.
		return Ending{Record: []reprise.Event{s.ours(reprise.StepReset, "cut-off", "its own run continues where it stands")}}
	case s.Held != nil && !s.Git:
		return held(errNoRepository) // that there is no git makes no commit of it
	}
	asked := s.Run.Question(cutOffQuestion(s.Step, s.Number))
	if asked != nil && asked.Answered && asked.Option(asked.Answer) != saidLanded {
		return askWhatHappened(s) // what a person does not take for finished is not, whatever else shows it
	}
	// Work that may be repeated is not, if it is certainly done.
	if e, ok := shown(s, !s.Denied); ok {
		return e
	}
	if asked != nil && asked.Answered {
		return askWhatHappened(s) // a person decided, whatever the files say since
	}
	if e, ok := contradicted(s); ok {
		return e
	}
	why, policy := "nothing shows that it was finished", policyOf(s.Assignment)
	if s.Held != nil {
		why = "it was finished and not committed, and " + s.whatChanged()
	}
	// What its files say was written by an agent that began, or by a person.
	claimed := s.Filed != "" && s.Missing == ""
	if policy == reprise.AskWho || (s.Held != nil || claimed) && policy != reprise.Rerun {
		return askWhatHappened(s)
	}
	return runAgain(s, why)
}

// again are the events that give an attempt up and reset its step.
func again(s *Seen, why string) []reprise.Event {
	reset := s.ours(reprise.StepReset, "cut-off", why)
	if s.Wrote != nil {
		reset.Listed = s.Wrote.Was
	}
	return []reprise.Event{s.ours(reprise.StepResolved, string(reprise.Rerun), why), reset}
}

// runAgain gives up an attempt whose end was not seen.
func runAgain(s *Seen, why string, then ...reprise.Event) Ending {
	return Ending{Record: append(again(s, why), then...), Outcome: "rerun", Text: why, Found: true}
}

// whatChanged says which files have changed since an attempt finished that could not be
// committed.
func (s *Seen) whatChanged() string {
	return fmt.Sprintf("since then %s no longer what it left", someOf(s.Changed))
}

// cutOffPrefix begins the names of questions about interrupted attempts.
const cutOffPrefix = "cut-off-"

// cutOffQuestion names the question about an interrupted attempt.
func cutOffQuestion(step string, attempt int) string {
	return fmt.Sprintf("%s%s-%d", cutOffPrefix, word(step), attempt)
}

// The answers to what happened to an attempt.
const (
	saidLanded = "it was finished"
	saidRerun  = "run it again"
	saidSkip   = "leave it out"
)

// askWhatHappened asks a person, and does what they answer.
func askWhatHappened(s *Seen) Ending {
	id := cutOffQuestion(s.Step, s.Number)
	ask := []reprise.Asked{{
		ID: id, Subject: s.Step, Options: []string{saidLanded, saidRerun, saidSkip}, Closed: true,
		Text: fmt.Sprintf("%s was started at %s and cut off. Was it finished?", s.Step, s.Began.UTC().Format("2006-01-02 15:04:05 MST")),
	}}
	if s.Held != nil {
		ask[0].Text = fmt.Sprintf("%s was finished and not committed. %s. Does it count as finished?", s.Step, upper(s.whatChanged()))
	}
	if s.Wrote != nil {
		ask[0].Text = fmt.Sprintf("The attempt at %s %s. Was it finished?", s.Step, s.Wrote.Text)
		if s.Wrote.Was != nil && s.Wrote.Was.Text == "" {
			ask[0].Options = []string{saidLanded, saidSkip} // no one knows how to put it back
		}
	}
	asked := questions(s.Run, s.Events, s.Assignment, ask, "")
	q := s.Run.Question(id)
	switch {
	case q == nil:
		ev := s.ours(reprise.StepResolved, "ask", "it may have been done and must not be done twice by accident")
		return Ending{Record: append([]reprise.Event{ev}, asked...)}
	case !q.Answered:
		return Ending{}
	}
	used := reprise.Event{Kind: reprise.AnswerApplied, Step: s.Step, Question: id, Text: q.Answer, Actor: actor}
	switch q.Option(q.Answer) {
	case saidLanded:
		e := landed(s, provedByPerson)
		e.Used, e.Unpark = id, true
		return e
	case saidSkip:
		ev := s.about(reprise.StepSkipped, "", "skipped by a person after it was cut off")
		ev.Actor = person
		return Ending{Record: []reprise.Event{ev, used}, Unpark: true}
	case saidRerun:
		e := runAgain(s, "a person said to run it again", used)
		e.Unpark = true
		return e
	}
	// An answer from before the question took only its options.
	return Ending{Record: asked, Park: "was cut off, and the person's reply is not one of the answers"}
}
