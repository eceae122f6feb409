package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"reprise"
	"reprise/agent"
	"reprise/internal/redact"
	"reprise/project"
	"reprise/settings"
)

// settleCutoff settles an attempt whose end nobody saw.
func (w *work) settleCutoff(ctx context.Context, ev reprise.Event) error {
	f, err := w.resumed(ctx, ev)
	if err != nil {
		return err
	}
	return w.settleOpen(ctx, ev, f)
}

// settleOpen settles an attempt that was brought back.
func (w *work) settleOpen(ctx context.Context, ev reprise.Event, f *attempt) error {
	if f.a.Child != nil {
		// The child run has a journal of its own and goes on where it stands;
		// that is no attempt that anything was lost of.
		reset := w.about(ctx, f, reprise.StepReset)
		reset.Text, reset.Outcome, reset.Actor = "its own run goes on where it stands", "cut-off", actor
		return w.record(ctx, reset)
	}
	if f.held != nil && w.repo == nil {
		// That there is no git makes no commit of it.
		w.hold(f, errNoRepository)
		return nil
	}
	if step := w.files.Step(ev.Step); step != nil && step.Status.Closed() && !project.ByPresence(step, ev.Expect) && w.missing(f) == "" {
		return w.landedBy(ctx, f, agent.Result{Outcome: agent.Done, Reply: w.reply(f)}, "its files call it "+step.Status.String())
	}
	// Also what may be done twice is not, where it surely landed.
	if r, proof := w.proof(ctx, f); proof != "" {
		return w.landedBy(ctx, f, r, proof)
	}
	if w.verifiable(f) && !w.denied[f.key] {
		return w.check(ctx, f, func(stop context.Context, err error) error {
			switch {
			case err == nil:
				return w.landedBy(stop, f, agent.Result{Outcome: agent.Done, Reply: w.reply(f)}, provedByCommand)
			case errors.Is(err, errCutShort):
				w.cutShort(f)
				return nil
			case errors.Is(err, errNotAsked):
			default:
				w.denied[f.key] = true
			}
			return w.giveUp(stop, f, ev.Policy)
		})
	}
	return w.giveUp(ctx, f, ev.Policy)
}

// giveUp settles an attempt that nothing shows to have landed.
func (w *work) giveUp(ctx context.Context, f *attempt, policy reprise.Ambiguity) error {
	why := "nothing shows that it was finished"
	if f.held != nil {
		why = "it was finished and could not be committed, and " + w.whatChanged(f)
	}
	if policy == reprise.AskWho || f.held != nil && policy != reprise.Rerun {
		return w.askWhatHappened(ctx, f)
	}
	return w.runAgain(ctx, f, why)
}

// resumed brings an attempt of an earlier process back as far as the journal
// and the playbook know it.
func (w *work) resumed(ctx context.Context, ev reprise.Event) (*attempt, error) {
	a, err := w.assignmentOf(ev.Step)
	if err != nil {
		return nil, err
	}
	a.Expect = ev.Expect
	f := &attempt{a: a, attempt: ev.Attempt, key: ev.Key, began: ev.At, answers: ev.Answers, held: w.hist.Step(ev.Step).Held}
	if a.Child != nil {
		return f, nil
	}
	if err = w.placeIt(ctx, f); err != nil {
		return nil, err
	}
	scratch, err := w.hands.Scratch(w.attemptName(f))
	if err != nil {
		return nil, err
	}
	f.result = filepath.Join(scratch, resultName)
	return f, nil
}

// assignmentOf finds what a step needs: from what the files offer, else from the
// step itself.
func (w *work) assignmentOf(step string) (reprise.Assignment, error) {
	d := w.decide()
	for _, u := range append(slices.Clone(d.Units), w.run.Next...) {
		if a, err := w.assign(u); err == nil && a.Step == step {
			return a, nil
		}
	}
	u := reprise.Unit{ID: step, Phase: step}
	if s := w.run.Step(step); s != nil {
		u = s.Unit("")
	}
	a, err := w.assign(u)
	if err != nil {
		// The files moved on and do not know the step any more; what is known
		// of the attempt is enough to look for what it left.
		a = reprise.Assignment{Unit: u}
	}
	a.Step = step
	return a, nil
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

// proof looks for something that only a finished attempt leaves: its end on record
// with what it left as it was, its commit, or a result that says so with all it should
// have left. A file that is merely there proves nothing: it may be half of what it was
// to become. What else can prove it is a command of the person's own, see check.
func (w *work) proof(ctx context.Context, f *attempt) (agent.Result, string) {
	done := agent.Result{Outcome: agent.Done, Reply: w.reply(f)}
	if f.held != nil && w.commitOf(ctx, f, f.key+accepted) == "" {
		if f.changed = w.changedSince(ctx, f); len(f.changed) > 0 {
			return done, "" // what else says that it was done says it of other files
		}
		f.verified = true // before that was put on record
		return done, "its end is on record, and what it left is what it was"
	}
	if w.missing(f) != "" {
		return done, ""
	}
	if commit := w.commitOf(ctx, f, f.key+accepted); commit != "" {
		return done, "commit " + commit[:min(12, len(commit))] + " was made when everything was there"
	}
	if done.Reply != nil && (done.Reply.Outcome == "done" || done.Reply.Outcome == "question" || done.Reply.Outcome == "failed" || done.Reply.Outcome == "blocked") {
		return done, "it left a result that says " + done.Reply.Outcome
	}
	return done, ""
}

const provedByCommand = "the command that verifies it succeeds"

// verifiable reports whether a command of the person's own can prove that an
// attempt landed.
func (w *work) verifiable(f *attempt) bool { return len(f.a.Verify) > 0 && w.missing(f) == "" }

// reply is what an attempt left as its result, nil if that cannot be used.
func (w *work) reply(f *attempt) *reprise.Reply {
	reply, err := agent.ReadReply(f.result)
	if err != nil || reply == nil {
		return nil
	}
	redact.New(w.secrets(f.a.Env)).Reply(reply)
	return reply
}

// secrets are the values that no agent of the settings may have told: who did an
// attempt of an earlier process is not on record.
func (w *work) secrets(env map[string]string) []string {
	_, all := w.Settings.Environ(w.Environ, settings.Agent{Env: env})
	for _, a := range w.Settings.Agents {
		_, more := w.Settings.Environ(w.Environ, a)
		all = append(all, more...)
	}
	return all
}

// landedBy accepts an attempt whose end was found and not seen.
func (w *work) landedBy(ctx context.Context, f *attempt, r agent.Result, proof string) error {
	ev := w.about(ctx, f, reprise.StepResolved)
	ev.Outcome, ev.Text, ev.Actor = "landed", proof, actor
	if err := w.record(ctx, ev); err != nil {
		return err
	}
	w.tell(Progress{Kind: Resolved, Step: f.a.Step, Title: f.a.Unit.Title, Attempt: f.attempt, Outcome: "landed", Text: proof})
	return w.conclude(ctx, f, r)
}

// runAgain gives an attempt up; the step is open again.
func (w *work) runAgain(ctx context.Context, f *attempt, why string, then ...reprise.Event) error {
	if err := w.recordAll(ctx, append(w.givenBack(ctx, f, why), then...)...); err != nil {
		return err
	}
	w.tell(Progress{Kind: Resolved, Step: f.a.Step, Title: f.a.Unit.Title, Attempt: f.attempt, Outcome: "rerun", Text: why})
	return nil
}

// givenBack are the events by which an attempt is given up and its step is open again.
func (w *work) givenBack(ctx context.Context, f *attempt, why string) []reprise.Event {
	ev := w.about(ctx, f, reprise.StepResolved)
	ev.Outcome, ev.Text, ev.Actor = string(reprise.Rerun), why, actor
	reset := w.about(ctx, f, reprise.StepReset)
	reset.Text, reset.Outcome, reset.Actor = why, "cut-off", actor
	return []reprise.Event{ev, reset}
}

// cutOffPrefix begins the names of questions about attempts that were cut off.
const cutOffPrefix = "cut-off-"

// cutOffQuestion names the question about an attempt that was cut off.
func cutOffQuestion(step string, attempt int) string {
	return fmt.Sprintf("%s%s-%d", cutOffPrefix, word(step), attempt)
}

// The answers to what happened to an attempt.
const (
	saidLanded = "it was finished"
	saidRerun  = "run it again"
	saidSkip   = "leave it out"
)

// askWhatHappened leaves it to a person, and does what they said once they did.
func (w *work) askWhatHappened(ctx context.Context, f *attempt) error {
	id := cutOffQuestion(f.a.Step, f.attempt)
	ask := []reprise.Asked{{
		ID: id, Subject: f.a.Step, Options: []string{saidLanded, saidRerun, saidSkip}, Closed: true,
		Text: fmt.Sprintf("%s was started at %s and cut off. Was it finished?", f.a.Step, f.began.UTC().Format("2006-01-02 15:04:05 MST")),
	}}
	if f.held != nil {
		ask[0].Text = fmt.Sprintf("%s was finished and could not be committed. %s. Does it count as finished?", f.a.Step, upper(w.whatChanged(f)))
	}
	q, asked := w.question(id)
	switch {
	case !asked:
		ev := w.about(ctx, f, reprise.StepResolved)
		ev.Outcome, ev.Actor = "ask", actor
		ev.Text = "it may have been done and must not be done twice by accident"
		asks := w.questions(f.a, ask, "")
		if err := w.recordAll(ctx, append([]reprise.Event{ev}, asks...)...); err != nil {
			return err
		}
		w.tellAsked(f.a, asks)
		return nil
	case !q.Answered:
		return nil
	}
	delete(w.parked, f.a.Step)
	used := reprise.Event{Kind: reprise.AnswerApplied, Step: f.a.Step, Question: id, Text: q.Answer, Actor: actor}
	switch q.Option(q.Answer) {
	case saidLanded:
		f.answers = append(f.answers, id)
		return w.landedBy(ctx, f, agent.Result{Outcome: agent.Done, Reply: w.reply(f)}, "a person said that it was finished")
	case saidSkip:
		ev := w.about(ctx, f, reprise.StepSkipped)
		ev.Actor, ev.Text = person, "left out by a person after it was cut off"
		return w.recordAll(ctx, ev, used)
	case saidRerun:
		return w.runAgain(ctx, f, "a person said to run it again", used)
	}
	// Words that were taken in when anything was: nobody knows what they mean.
	w.parked[f.a.Step] = "was cut off, and what a person said of it is none of the answers"
	return w.ask(ctx, f.a, ask)
}
