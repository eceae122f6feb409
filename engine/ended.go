package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"reprise"
	"reprise/agent"
	"reprise/internal/durable"
	"reprise/journal"
)

// takeEnd takes in an attempt that ended. The disk is read again first: agents
// write state themselves.
func (w *work) takeEnd(ctx context.Context, l ending) error {
	f := w.atWork[l.step]
	delete(w.atWork, l.step)
	f.cancel()
	defer func() {
		if w.atWork[l.step] != f {
			w.folders.leave(f.use)
		}
	}()
	if then := f.checked; then != nil {
		f.checked = nil
		if err := w.load(); err != nil {
			return err
		}
		return then(ctx, l.err)
	}
	if f.logfile != nil {
		if err := f.logfile.Close(); err != nil {
			w.notice(reprise.Finding{Code: reprise.CodeUnreadable, Severity: reprise.Warning, Subject: l.step, Message: "the log of the step is not whole: " + err.Error(), Source: reprise.Source{File: f.log}})
		}
	}
	if l.err != nil {
		return l.err
	}
	if f.a.Child != nil {
		return w.takeChildEnd(ctx, f, l.child)
	}
	r := l.result
	w.left(f.account, r.Outcome)
	for _, left := range r.LeftOver {
		w.notice(reprise.Finding{
			Code: reprise.CodeLeftProcess, Severity: reprise.Warning, Subject: l.step,
			Message: "a process outlived the step and was stopped: " + left,
			Hint:    "an agent must end what it starts",
		})
	}
	if err := w.load(); err != nil {
		return err
	}
	if err := w.hands.Home(context.WithoutCancel(ctx), f); err != nil {
		// Whoever would accept it is told the same again; an attempt that failed is
		// told of as that.
		w.notice(reprise.Finding{Code: reprise.CodeWorktreeForeign, Severity: reprise.Warning, Subject: l.step, Message: "the checkout of the run is not as it should be: " + err.Error()})
	}
	return w.outcome(ctx, f, r)
}

// outcome records how an attempt ended.
func (w *work) outcome(ctx context.Context, f *attempt, r agent.Result) error {
	// What ended is taken in wholly, also while we are being stopped.
	stop := ctx
	ctx = context.WithoutCancel(ctx)
	switch r.Outcome {
	case agent.Done:
		return w.conclude(stop, f, r)
	case agent.Stopped, agent.TimedOut, agent.Killed, agent.Lost:
		return w.unseen(stop, f, r)
	case agent.Limited:
		return w.limited(ctx, f, r)
	case agent.NeedsPerson:
		if r.Reply != nil && r.Reply.Outcome == "done" && r.Exit == 0 && r.Signal == "" {
			// Done, with something to ask: what that means for the step is
			// the playbook's to say, now as after a crash.
			return w.conclude(stop, f, r)
		}
		return w.waitForPerson(ctx, f, r, wanted(r))
	case agent.OutOfContext, agent.SessionNotFound:
		// Not a failure of the work: a new session takes over, told what is
		// known. It is bounded like attempts that were cut off.
		ev := w.about(ctx, f, reprise.StepResolved)
		ev.Outcome, ev.Text, ev.Cause = string(reprise.Rerun), lostWords[r.Outcome], journal.SessionLost
		reset := w.about(ctx, f, reprise.StepReset)
		reset.Text, reset.Outcome, reset.Agent = ev.Text, "lost", "" // nobody goes on with it
		return w.endWith(ctx, f, string(r.Outcome), r.Reason, ev, reset)
	}
	return w.fail(ctx, f, r)
}

// unseen records an attempt that did not end by itself: it may have come to its
// end before it was stopped, killed or given up on, just as one whose engine
// died. What proves that it landed counts; else its policy says what follows.
func (w *work) unseen(stop context.Context, f *attempt, r agent.Result) error {
	ctx := context.WithoutCancel(stop)
	if policyOf(f.a) == reprise.Rerun {
		return w.unproved(ctx, f, r)
	}
	found, proof := w.proof(ctx, f)
	switch {
	case proof != "":
		return w.landedBy(stop, f, found, proof)
	case r.Outcome != agent.Stopped && w.verifiable(f):
		return w.check(stop, f, func(stop context.Context, err error) error {
			switch {
			case err == nil:
				return w.landedBy(stop, f, found, provedByCommand)
			case errors.Is(err, errCutShort):
				w.cutShort(f)
				return nil
			}
			return w.unproved(ctx, f, r)
		})
	}
	return w.unproved(ctx, f, r)
}

// unproved records an attempt that did not end by itself and that nothing proves to
// have landed, by its policy.
func (w *work) unproved(ctx context.Context, f *attempt, r agent.Result) error {
	policy := policyOf(f.a)
	switch {
	case policy == reprise.AskWho:
		if err := w.askWhatHappened(ctx, f); err != nil {
			return err
		}
		w.ended(f, string(r.Outcome), "only a person can tell what came of it")
		return nil
	case r.CutOff:
		return w.cutOff(ctx, f, r)
	case r.Outcome != agent.Stopped:
		return w.fail(ctx, f, r)
	case policy != reprise.Rerun && len(f.a.Verify) > 0:
		// Its command will tell; the attempt stays open on record until then.
		w.ended(f, string(r.Outcome), "stopped; what came of it is looked at when the work goes on")
		return nil
	}
	ev := w.about(ctx, f, reprise.StepReset)
	ev.Text, ev.Outcome = "stopped before it was finished", "stopped"
	return w.endWith(ctx, f, string(r.Outcome), ev.Text, ev)
}

// cutOff records an attempt whose keeper was killed: that tells nothing about its
// command, and is bounded like attempts whose engine was killed.
func (w *work) cutOff(ctx context.Context, f *attempt, r agent.Result) error {
	return w.endWith(ctx, f, string(r.Outcome), r.Reason, w.givenBack(ctx, f, r.Reason)...)
}

// about makes an event about an attempt. One that does not accept it tells what
// stands in the place of what it was to leave, and what else it changed.
func (w *work) about(ctx context.Context, f *attempt, kind reprise.EventKind) reprise.Event {
	ev := reprise.Event{Kind: kind, At: w.Now(), Step: f.a.Step, Phase: f.a.Unit.Phase, Attempt: f.attempt, Actor: f.a.Role, Agent: w.hist.Step(f.a.Step).Session}
	switch kind {
	case reprise.StepFailed, reprise.StepReset, reprise.StepResolved:
		for _, e := range f.a.Expect {
			if now, err := w.hash(e.Path); err == nil && !now.IsZero() {
				ev.Expect = append(ev.Expect, reprise.Expected{Path: e.Path, Before: now})
			}
		}
	}
	if kind == reprise.StepFailed || kind == reprise.StepReset {
		ev.Left = w.leftBy(context.WithoutCancel(ctx), f)
		ev.Work = w.printed(context.WithoutCancel(ctx), f, ev.Left)
	}
	return ev
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// conclude holds what an attempt claims against what it left, and records it as
// finished only if all of it is there. What it waits for ends with stop; then the
// attempt stays open on record.
func (w *work) conclude(stop context.Context, f *attempt, r agent.Result) error {
	ctx := context.WithoutCancel(stop)
	reply := reprise.Reply{}
	if r.Reply != nil {
		reply = *r.Reply
	}
	switch {
	case r.ReplyProblem != "":
		return w.lied(ctx, f, r, "its result cannot be used: "+r.ReplyProblem)
	case reply.Outcome == "failed":
		r.Outcome, r.Reason = agent.Failed, first(reply.Summary, "the agent says that it failed")
		return w.fail(ctx, f, r)
	case reply.Outcome == "blocked":
		return w.blocked(ctx, f, first(reply.Summary, "the agent says that it is blocked"))
	case reply.Outcome == "question" && len(reply.Questions) == 0:
		return w.lied(ctx, f, r, "it says that it has a question and asks none")
	case reply.Outcome == "question":
		return w.waitForPerson(ctx, f, r, reply.Questions)
	}
	problem := w.missing(f)
	if problem != "" && w.madeBefore(f) && (reply.Outcome == "done" || w.commitBefore(ctx, f) != "") {
		problem = "" // nothing was left to do
	}
	if problem == "" && len(f.a.Verify) > 0 && !f.verified {
		if f.refuted == "" {
			return w.check(stop, f, func(stop context.Context, err error) error {
				if errors.Is(err, errCutShort) {
					w.cutShort(f)
					return nil
				}
				return w.conclude(stop, f, r)
			})
		}
		problem = f.refuted
	}
	c := reprise.Conclusion{Problem: problem}
	if problem == "" {
		c = w.book.Conclude(w.led.Files(), w.run, f.a, reply)
	}
	switch {
	case len(reply.Questions) > 0 && !takesIn(c):
		return w.waitForPerson(ctx, f, r, reply.Questions)
	case c.Problem != "":
		return w.lied(ctx, f, r, c.Problem)
	case c.Failed:
		r.Outcome, r.Reason = agent.Failed, c.Text
		return w.fail(ctx, f, r)
	case c.Blocked:
		return w.blocked(ctx, f, c.Text)
	case len(c.Questions) > 0 && !c.Finished:
		return w.waitForPerson(ctx, f, r, c.Questions)
	}
	commit, err := w.hands.Commit(stop, f)
	switch {
	case err != nil && w.itsOwn(f, err):
		return w.lied(ctx, f, r, err.Error())
	case err != nil && w.hist.Step(f.a.Step).Held == nil:
		return err // not even that could be put on record
	case err != nil:
		w.hold(f, err)
		return nil
	}
	if f.a.Commit && w.repo != nil && commit == "" && r.Reply == nil && !w.madeAny(f) && !w.changedAnything(ctx, f) {
		return w.lied(ctx, f, r, "it ended without a result, a commit or a changed file")
	}
	return w.finish(ctx, f, c, reply, commit)
}

// takesIn reports whether a conclusion does something about what was asked.
func takesIn(c reprise.Conclusion) bool {
	return c.Problem == "" && (c.Failed || c.Blocked || len(c.Questions) > 0 ||
		slices.ContainsFunc(c.Then, func(ev reprise.Event) bool { return ev.Kind == reprise.QuestionAsked }))
}

// lostWords say why a session is not gone on with.
var lostWords = map[agent.Outcome]string{
	agent.OutOfContext:    "the context of its session was used up; a new session takes over",
	agent.SessionNotFound: "its session could not be found; a new session takes over",
}

// madeAny reports whether a file that was expected is there and was not, or not so,
// before this attempt or those before it that were not accepted.
func (w *work) madeAny(f *attempt) bool {
	before := w.beforeAll(f)
	return slices.ContainsFunc(f.a.Expect, func(e reprise.Expected) bool {
		now, err := w.hash(e.Path)
		if err != nil || now.IsZero() {
			return false
		}
		was, known := before[e.Path]
		return !f.unchanged(e, now) || known && now != was && e.Path != w.ref.Path
	})
}

// beforeAll tells what an attempt is to leave as it was before the first of those
// that were not accepted; nothing where this is the first.
func (w *work) beforeAll(f *attempt) map[string]reprise.Hash {
	first := w.hist.Step(f.a.Step).First
	if first == nil || first.Attempt == f.attempt {
		return nil
	}
	before := map[string]reprise.Hash{}
	for _, e := range first.Expect {
		before[e.Path] = e.Before
	}
	return before
}

// unchanged reports whether a file is what it was before the attempt.
func (f *attempt) unchanged(e reprise.Expected, now reprise.Hash) bool {
	started, known := f.atStart[e.Path]
	return now == e.Before || known && now == started
}

// lied records an attempt that says it is done and is not.
func (w *work) lied(ctx context.Context, f *attempt, r agent.Result, why string) error {
	r.Outcome, r.Reason = agent.Failed, why
	return w.fail(ctx, f, r)
}

// missing says what an attempt should have left and did not, "" if it is all
// there.
func (w *work) missing(f *attempt) string {
	var lacks []string
	for _, e := range f.a.Expect {
		now, err := w.hash(e.Path)
		switch {
		case err != nil:
			lacks = append(lacks, e.Path+" cannot be read: "+whyUnread(err))
		case now.IsZero() && w.isFolder(e.Path):
			lacks = append(lacks, e.Path+" is a folder with nothing in it")
		case now.IsZero():
			lacks = append(lacks, e.Path+" is not there")
		case e.Changed && f.unchanged(e, now):
			what := e.Path + " is what it was before"
			if e.Lacks != "" {
				what += "; " + e.Lacks
			}
			lacks = append(lacks, what)
		}
	}
	if len(lacks) == 0 {
		return ""
	}
	return "it ended without leaving what it should: " + strings.Join(lacks, ", ")
}

// whyUnread is why a file cannot be read, without its name.
func whyUnread(err error) string {
	if odd, ok := errors.AsType[*durable.NotRegularError](err); ok {
		return strings.TrimPrefix(err.Error(), "open "+odd.Path+": ")
	}
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err.Error()
	}
	return err.Error()
}

// madeBefore reports whether everything an attempt should have changed was
// changed by the attempts before it, which were not accepted: it may have found
// that their work was whole.
func (w *work) madeBefore(f *attempt) bool {
	before := w.beforeAll(f)
	if before == nil {
		return false
	}
	for _, e := range f.a.Expect {
		now, err := w.hash(e.Path)
		was, known := before[e.Path]
		// What we write to the run's own file ourselves is no work of an agent.
		if err != nil || now.IsZero() || e.Changed && (!known || now == was || e.Path == w.ref.Path) {
			return false
		}
	}
	return true
}

// finish records a step as finished, with what follows from it. The effect is
// durable before: its files by whoever wrote them and Flush, its commit by the
// same.
func (w *work) finish(ctx context.Context, f *attempt, c reprise.Conclusion, reply reprise.Reply, commit string) error {
	if f.attempt > 0 {
		// crash: effect-made
		if err := w.hands.Flush(); err != nil {
			return err
		}
	}
	ev := w.about(ctx, f, reprise.StepFinished)
	ev.Commit, ev.Outcome = commit, first(c.Outcome, reply.Verdict)
	ev.Text, ev.Verdict, ev.Issues = first(c.Text, reply.Summary), c.Verdict, c.Issues
	ev.Key, ev.Answers = f.key, f.answers
	all := append([]reprise.Event{ev}, w.applied(ev)...)
	asks := w.questions(f.a, c.Questions, "")
	all = append(append(all, c.Then...), asks...)
	// crash: effect-durable
	if err := w.recordAll(ctx, all...); err != nil {
		return err
	}
	// crash: finished-recorded
	if err := w.load(); err != nil {
		return err
	}
	w.sum.Finished = append(w.sum.Finished, w.report(f, ev.Text, commit))
	w.ended(f, counts, ev.Text)
	w.tellAsked(f.a, asks)
	w.stuck(f.a, ev.Outcome)
	return nil
}

// maxAgain bounds how often a step that needs nobody may be finished in one
// process: rounds of a loop are far below it.
const maxAgain = 200

// stuck leaves a step to a person that was finished and is finished again with
// nothing in between: the files do not take it in, and doing it for ever costs
// money.
func (w *work) stuck(a reprise.Assignment, outcome string) {
	again := w.lastDone == a.Step+" "+outcome
	w.lastDone = a.Step + " " + outcome
	if w.times[a.Step]++; again && a.Local == "" || w.times[a.Step] > maxAgain {
		w.park(a, "was finished and is asked for again; its files do not take it in")
	}
}

// fail records a failed attempt and whether trying again has any use.
func (w *work) fail(ctx context.Context, f *attempt, r agent.Result) error {
	ev := w.about(ctx, f, reprise.StepFailed)
	ev.Text = first(r.Reason, string(r.Outcome))
	ev.Cause = w.cause(context.WithoutCancel(ctx), f, r)
	last := w.hist.Step(f.a.Step).LastFailure
	switch {
	case f.child != nil && len(f.child.Parked) > 0:
		ev.Outcome = journal.Pointless
	case last != nil && ev.Cause != "" && last.Cause == ev.Cause:
		ev.Outcome = journal.SameAgain
	default:
		ev.Outcome = string(r.Outcome)
	}
	if err := w.endWith(ctx, f, string(r.Outcome), ev.Text, ev); err != nil {
		return err
	}
	w.sum.Failed = append(w.sum.Failed, w.notAccepted(f, ev.Text))
	return nil
}

// blocked records that a step cannot go on without something from outside.
func (w *work) blocked(ctx context.Context, f *attempt, why string) error {
	ev := w.about(ctx, f, reprise.StepBlocked)
	ev.Text = why
	if err := w.endWith(ctx, f, "blocked", why, ev); err != nil {
		return err
	}
	w.parked[f.a.Step] = "is blocked: " + why
	w.sum.Failed = append(w.sum.Failed, w.notAccepted(f, why))
	return nil
}

// endWith records how an attempt ended and tells it then: nothing is told that is not
// on record.
func (w *work) endWith(ctx context.Context, f *attempt, outcome, text string, events ...reprise.Event) error {
	if err := w.recordAll(ctx, events...); err != nil {
		return err
	}
	w.ended(f, outcome, text)
	return nil
}

// counts is how an attempt ended that is accepted.
const counts = "done"

// ended tells that an attempt ended.
func (w *work) ended(f *attempt, outcome, text string) {
	w.tell(Progress{Kind: Ended, Step: f.a.Step, Title: f.a.Unit.Title, Role: f.a.Role, Attempt: f.attempt, Outcome: outcome, Text: text, Took: w.Now().Sub(f.began), Log: f.log})
}

// report tells of an attempt that was accepted.
func (w *work) report(f *attempt, text, commit string) StepReport {
	return StepReport{
		ID: f.a.Step, Title: f.a.Unit.Title, Role: f.a.Role, Attempt: f.attempt, Took: w.Now().Sub(f.began),
		Text: text, Commit: commit, Resolved: f.session == nil && f.attempt > 0 && f.a.Child == nil, Log: f.log,
	}
}

// notAccepted is the report of an attempt that was not accepted, whoever saw its
// end.
func (w *work) notAccepted(f *attempt, text string) StepReport {
	r := w.report(f, text, "")
	r.Resolved = false
	return r
}

// refuse records that nobody can do the work of a role: a mistake in the
// settings that trying again does not mend.
func (w *work) refuse(a reprise.Assignment, cause error) {
	w.park(a, fmt.Sprintf("cannot be started: %v", cause))
	w.sum.Refused = append(w.sum.Refused, cause)
}
