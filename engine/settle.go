package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"reprise"
	"reprise/agent"
	"reprise/internal/redact"
	"reprise/journal"
	"reprise/project"
	"reprise/settings"
)

// takeEnd settles what ended. It reads the disk first: agents write state themselves.
func (w *work) takeEnd(ctx context.Context, e *End) error {
	s := w.atWork[e.Step]
	delete(w.atWork, e.Step)
	defer func() {
		if w.atWork[e.Step] == nil {
			w.folders.leave(&s.Attempt)
		}
	}()
	for _, f := range e.Findings {
		w.notice(f)
	}
	switch {
	case s.Verifying:
		s.heard(e.Err)
	case e.Err != nil:
		return e.Err
	case e.Ran != nil:
		s.Ran = e.Ran
		w.sum.add(e.Ran)
	default:
		s.Result = e.Result
		if err := w.heardOf(ctx, s, e); err != nil {
			return err
		}
		if e.Result.Outcome == agent.Done {
			w.succeeded = append(w.succeeded, s.Step)
		}
		w.left(s.Account, e.Result.Outcome)
		w.Air.landed(s.Step, e.Result)
	}
	if err := w.load(); err != nil && !w.tookAway(s, err) {
		return err
	}
	w.tellSettings(&s.Attempt)
	if err := w.tellOverstepped(ctx, s); err != nil {
		return err
	}
	return w.settle(ctx, s)
}

// heard takes the answer of the verify command.
func (s *Seen) heard(err error) {
	s.Verifying, s.Refuted = false, ""
	switch {
	case err == nil:
		s.Verified = VerifiedDone
	case errors.Is(err, ErrCutShort):
		s.Verified = VerifyStopped
	case errors.Is(err, errNotAsked):
		s.Verified = VerifySkipped
	default:
		s.Verified, s.Refuted = VerifiedNot, err.Error()
	}
}

// add adds the summary of a child run.
func (s *Summary) add(ran *Summary) {
	s.Launches += ran.Launches
	s.Commands += ran.Commands
	s.Finished = append(s.Finished, ran.Finished...)
	s.Failed = append(s.Failed, ran.Failed...)
	s.Findings = append(s.Findings, ran.Findings...)
	s.Refused = append(s.Refused, ran.Refused...)
	s.Skipped = append(s.Skipped, ran.Skipped...)
}

// settle finds out what has to be known about an attempt that is over, and records its
// end. Verifying stops with stop; then the attempt stays open on record.
func (w *work) settle(stop context.Context, s *Seen) error {
	// An end is settled completely even while we are being stopped.
	ctx := context.WithoutCancel(stop)
	if err := w.look(ctx, s); err != nil {
		return err
	}
	for {
		s.Run, s.Events, s.History, s.Now, s.Stopping = w.run, w.events, w.hist.Step(s.Step), w.Now(), stop.Err() != nil
		e := EndOf(s)
		switch e.Move {
		case RecordEnd:
			return w.recordEnd(ctx, s, e)
		case LookForCommits:
			if err := w.lookForCommits(ctx, s); err != nil {
				return err
			}
		case RunVerify:
			if w.verify(stop, s); s.Verifying {
				return nil // it continues once that has ended
			}
		case RecordLanded:
			if err := w.recordEnd(ctx, s, e); err != nil {
				return err
			}
			s.Landed, s.Result = e.Text, agent.Result{Outcome: agent.Done, Reply: s.Reply}
		case AskPlaybook:
			c := w.playbook.Conclude(w.led.Files(), w.run.AsFiled(s.Step), s.Assignment, s.reply())
			s.Conclusion = &c
		case LandWork:
			if err := w.land(stop, s); err != nil {
				return err
			}
		}
	}
}

// look fills in what can be seen of an attempt's files.
func (w *work) look(ctx context.Context, s *Seen) (err error) {
	s.Git, s.Denied = w.repo != nil, w.Denied[s.Key]
	if s.Number == 0 || s.Child != nil {
		return nil
	}
	s.Missing, s.MadeBefore = w.missing(&s.Attempt), w.madeBefore(&s.Attempt)
	if s.Missing == "" {
		if s.Missing, err = w.emptied(ctx, &s.Attempt); err != nil {
			return err
		}
	}
	if s.Filed = ""; s.Result.Outcome != agent.Done {
		s.Reply = w.reply(&s.Attempt)
	}
	// A file that is itself the work may be half of it; one that reports the work comes last.
	if step := w.files.Step(s.Step); step != nil && step.Status.Closed() && (s.Commit || !project.ByPresence(step, s.Expect)) {
		s.Filed = step.Status.String()
	}
	if s.Wrote = w.wrote(s.Step, s.Expect); s.Wrote == nil {
		s.Wrote, err = w.tookBack(ctx, &s.Attempt)
	}
	if s.Wrote == nil && err == nil {
		s.Wrote = w.tookCriteria(&s.Attempt)
	}
	return err
}

// lookForCommits fills in what git has of an attempt and, if its end is on record, what
// has changed since.
func (w *work) lookForCommits(ctx context.Context, s *Seen) (err error) {
	s.Commits = &Commits{}
	if s.Commits.Accepted, err = w.commitOf(ctx, &s.Attempt, s.Key, reprise.TrailerAccepted); err != nil {
		return err
	}
	if s.Missing != "" && s.MadeBefore {
		if s.Commits.Before, err = w.commitBefore(ctx, &s.Attempt); err != nil {
			return err
		}
	}
	if s.Held != nil && s.Commits.Accepted == "" {
		s.Changed = w.changedSince(ctx, &s.Attempt)
	}
	return nil
}

// verify starts the verify command, beside all other work.
func (w *work) verify(stop context.Context, s *Seen) {
	err := ErrCutShort
	if stop.Err() == nil {
		err = w.hands.Verify(stop, &s.Attempt)
	}
	switch {
	case err == nil:
		s.Verifying = true
		w.atWork[s.Step] = s
		return
	case stop.Err() != nil:
		err = ErrCutShort
	}
	s.heard(err)
}

// land makes the work of an attempt durable.
func (w *work) land(stop context.Context, s *Seen) error {
	s.Ends = accepted(s).Record
	s.Ends[0].At = w.Now()
	why, err := w.stashed(context.WithoutCancel(stop), &s.Attempt)
	if err != nil {
		return err
	}
	if why != nil && s.Landed != provedByPerson {
		s.Landing = &Landing{Err: why, Own: true}
		return nil
	}
	l, err := w.hands.Land(stop, &s.Attempt)
	if err != nil {
		return err // not even that could be put on record
	}
	l.At, l.Ended = s.Ends[0].At, s.Ends[0].Ended
	if s.Commit && l.Err == nil && l.Commit == "" && s.Ran == nil {
		l.Empty, l.Unsure = w.leftNothing(context.WithoutCancel(stop), &s.Attempt)
	}
	if l.Empty && s.Result.Reply == nil && s.Wrote == nil {
		step := w.files.Step(s.Step)
		switch {
		case w.lists() && step != nil && step.Status == reprise.Done:
			s.Wrote = &Wrote{Status: reprise.Unknown, Text: "marked it done in " + step.Source.File + ", and left no result and no other change"}
		case l.Unsure != "":
			s.Wrote = &Wrote{Status: reprise.Unknown, Text: "left no result and no change that git sees; " + l.Unsure}
		}
	}
	s.Landing = &l
	return nil
}

// recordEnd records how an attempt ended, and then reports it: nothing is reported before
// it is on record.
func (w *work) recordEnd(ctx context.Context, s *Seen, e Ending) error {
	if len(e.Record) > 0 {
		if err := w.recordReports(ctx, s.Step); err != nil {
			return err
		}
	}
	events := slices.Clone(e.Record)
	if e.Limit {
		events[0].Until = w.gate.Close(events[0].Account, events[0].Until, s.Now)
	}
	for i := range events {
		w.complete(ctx, s, &events[i])
	}
	if len(events) > 0 && s.Number > 0 {
		events[0].Stands = w.stands(ctx, s, e.Accepted)
	}
	if e.Move == RecordEnd && !e.Accepted {
		events = append(events, w.stillSaid(ctx, s, events)...)
	}
	// crash: effect-durable
	if err := w.recordAll(ctx, events...); err != nil {
		return err
	}
	// crash: finished-recorded
	if e.Accepted {
		if err := w.load(); err != nil {
			return err
		}
	}
	w.tellEnd(s, e)
	w.tellAsked(s.Run, s.Assignment, events)
	return nil
}

// tellEnd remembers and reports an ending that is on record.
func (w *work) tellEnd(s *Seen, e Ending) {
	f := &s.Attempt
	if e.Unpark {
		delete(w.Parked, s.Step)
	}
	if e.Hold {
		w.Held[s.Step] = true
	}
	if e.Park != "" {
		w.Parked[s.Step] = e.Park
	}
	if e.Used != "" {
		s.Told = append(s.Told, e.Used)
	}
	if s.Verified == VerifiedNot && s.Result.Outcome == "" {
		w.Denied[s.Key] = true
	}
	for i := range e.Waits {
		w.Waits = append(w.Waits, waitingFor(s.Step, *s.Child, &e.Waits[i]))
	}
	switch {
	case e.Accepted:
		done := w.report(f, e.Text)
		done.Commit, done.Resolved = e.Record[0].Commit, s.Recalled && s.Child == nil
		w.sum.Finished = append(w.sum.Finished, done)
		if e.Record[0].Cause == journal.WordAlone {
			w.notice(nothingMade(s.Step))
		}
	case e.Failed:
		w.sum.Failed = append(w.sum.Failed, w.report(f, e.Text))
	case e.Refuse:
		if s.Result.Outcome == agent.NotStarted {
			w.countLaunch(f, -1)
		}
		if s.Err == nil {
			s.Err = &NotReadyError{Agent: s.Account, Reason: e.Text, Denied: e.Outcome == journal.NotAllowed}
		}
		w.refuse(s.Assignment, s.Err)
	}
	switch {
	case e.Found:
		w.tell(Progress{Kind: Resolved, Step: s.Step, Title: s.Unit.Title, Attempt: s.Number, Outcome: e.Outcome, Text: e.Text})
	case e.Outcome != "":
		w.tell(Progress{Kind: Ended, Step: s.Step, Title: s.Unit.Title, Role: s.Role, Attempt: s.Number, Outcome: e.Outcome, Text: e.Text, Took: w.Now().Sub(s.Began), Log: s.Log})
	}
	if e.Accepted {
		w.stuck(s.Assignment, e.Record[0].Outcome)
	}
}

// nothingMade says that a step was accepted by its agent's word alone.
func nothingMade(step string) reprise.Finding {
	return reprise.Finding{Code: reprise.CodeNothingMade, Severity: reprise.Warning, Subject: step, Message: step + reprise.SaidAlone}
}

// complete adds to an event about an attempt its session, what it changed and no commit
// holds and, if the event does not accept it, what stands in place of the expected files
// and whether it failed like the one before.
func (w *work) complete(ctx context.Context, s *Seen, ev *reprise.Event) {
	if ev.Step != s.Step || ev.Attempt != s.Number || ev.Kind == reprise.QuestionAsked || ev.Kind == reprise.AnswerApplied {
		return
	}
	if ev.Outcome != sessionGone {
		ev.Agent = s.History.Session
	}
	if !s.Billed {
		ev.Usage, s.Billed = w.used(s), true
	}
	if ev.Commit == "" && !s.Recalled && s.Dir == w.Dir {
		ev.Head = w.head(ctx, s.Dir)
	}
	switch ev.Kind {
	case reprise.StepFailed, reprise.StepReset, reprise.StepResolved:
		ev.Expect, ev.Ref = w.standing(&s.Attempt), s.Ref
	}
	// What is not committed is told apart from others' changes by that alone.
	if ev.Kind == reprise.StepFailed || ev.Kind == reprise.StepReset || ev.Kind == reprise.StepFinished && !s.Commit {
		ev.Left = w.leftBy(ctx, &s.Attempt)
		ev.Work = w.printed(ctx, &s.Attempt, ev.Left)
	}
	if ev.Kind == reprise.StepFailed {
		ev.Cause = w.cause(ctx, s, ev)
		if last := s.History.LastFailure; last != nil && ev.Cause != "" && last.Cause == ev.Cause && ev.Outcome != journal.Pointless {
			ev.Outcome = journal.SameAgain
		}
	}
}

// maxAgain bounds how often one process may finish a step without an agent. Loops need
// far less.
const maxAgain = 200

// stuck parks a step that is finished twice in a row: its files do not take it, and
// repeating it forever costs money.
func (w *work) stuck(a reprise.Assignment, outcome string) {
	again := w.LastDone == a.Step+" "+outcome
	w.LastDone = a.Step + " " + outcome
	if w.Times[a.Step]++; again && a.Local == "" || w.Times[a.Step] > maxAgain {
		w.park(a, "was finished, but its files do not record it")
	}
}

// counts is the outcome of an accepted attempt.
const counts = "done"

// report is the report of an attempt.
func (w *work) report(f *Attempt, text string) StepReport {
	return StepReport{ID: f.Step, Title: f.Unit.Title, Role: f.Role, Attempt: f.Number, Took: w.Now().Sub(f.Began), Text: text, Log: f.Log}
}

// refuse parks a step that cannot be started, or whose attempt a person has to look at first:
// trying again mends neither.
func (w *work) refuse(a reprise.Assignment, cause error) {
	w.park(a, fmt.Sprintf("cannot go on: %v", cause))
	w.sum.Refused = append(w.sum.Refused, cause)
}

// settleOpen settles attempts of an earlier process without an end on record.
func (w *work) settleOpen(ctx context.Context, open []reprise.Event) error {
	for i, ev := range open {
		if i > 0 {
			if err := w.load(); err != nil {
				return err
			}
		}
		f := w.recalled(&ev)
		if f.Child == nil {
			if err := w.hands.Prepare(ctx, f); err != nil {
				return err
			}
		}
		if f.Ended {
			f.Recalled = false // its end is seen
			if err := w.setOff(ctx, f); err != nil {
				return err
			}
			continue
		}
		s := &Seen{Attempt: *f}
		if err := w.tellOverstepped(ctx, s); err != nil {
			return err
		}
		if err := w.settle(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// assignmentOf is what a step needs: as the files offer it, or from the step itself.
func (w *work) assignmentOf(step string) reprise.Assignment {
	d := w.decide()
	for _, u := range append(slices.Clone(d.Units), w.run.Next...) {
		if a, err := w.assign(u); err == nil && a.Step == step {
			return a
		}
	}
	u := reprise.Unit{ID: step, Phase: step}
	if s := w.run.Step(step); s != nil {
		u = s.Unit("")
	}
	a, err := w.assign(u)
	if err != nil {
		// The files no longer have the step. What is known of the attempt is enough to
		// look for what it left.
		a = reprise.Assignment{Unit: u}
	}
	a.Step = step
	return a
}

// offered reports whether the files offer a step.
func (w *work) offered(step string) bool {
	for _, u := range w.run.Next {
		if a, err := w.assign(u); err == nil && a.Step == step {
			return true
		}
	}
	return false
}

// reply is the result that an attempt left, nil if it cannot be used.
func (w *work) reply(f *Attempt) *reprise.Reply {
	reply, err := agent.ReadReply(f.ReplyFile)
	if err != nil || reply == nil {
		return nil
	}
	redact.New(w.secrets(f.Env)).Reply(reply)
	return reply
}

// secrets are the values to hide of all agents of the settings: which one did an attempt
// of an earlier process is not on record.
func (w *work) secrets(env map[string]string) []string {
	_, all := w.Settings.Environ(w.Environ, settings.Agent{Env: env})
	for _, a := range w.Settings.Agents {
		_, more := w.Settings.Environ(w.Environ, a)
		all = append(all, more...)
	}
	return all
}
