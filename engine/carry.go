package engine

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"reprise"
	"reprise/agent"
	"reprise/convention"
	"reprise/journal"
	"reprise/project"
)

// loop takes turns until nothing is left to do, a person or a time is needed, or
// continuing would be unsafe. A run that an agent put in the archive of its tool is over: if
// it is complete, that is the last thing on record. Everything it knows is on disk when it returns.
func (w *work) loop(ctx context.Context) error {
	err := w.turns(ctx)
	if _, gone := errors.AsType[*GoneError](err); !gone {
		return err
	}
	of, seen := convention.Of(w.ref.Layout), []string(nil)
	if of.PutAway != nil {
		seen = w.succeeded
	}
	away := project.PutAway(w.led.Files(), of, w.ref, w.hist, seen...)
	if away == nil {
		return err
	}
	w.run = away
	if w.run.State == reprise.Complete {
		return w.finish(w.decide(), zeroTime)
	}
	w.sumUp(w.decide(), zeroTime)
	return nil
}

// tookAway reports whether an attempt that ended well put its run, finished, where finished
// ones are kept: it was the last step, and nothing but the place speaks against accepting it.
// The run is then read in that place, and its files take in nothing more. What was read last
// may be from the middle of the attempt, which may have closed other steps by then.
func (w *work) tookAway(s *Seen, err error) bool {
	due := func(st reprise.Step) bool { return st.ID != s.Step && st.Due() }
	if _, gone := errors.AsType[*GoneError](err); !gone || s.Result.Outcome != agent.Done || len(w.atWork) > 0 || slices.ContainsFunc(w.run.Steps, due) {
		return false
	}
	away := project.PutAway(w.led.Files(), convention.Of(w.ref.Layout), w.ref, w.hist, s.Step)
	if away == nil || away.State != reprise.Complete || len(project.Overrun(away, w.hist, s.Step))+len(project.Overstepped(away, w.hist, s.Step)) > 0 {
		return false
	}
	c := w.playbook.Conclude(w.led.Files(), away.AsFiled(s.Step), s.Assignment, s.reply())
	if c.Problem != "" || c.Failed || c.Blocked || len(c.Questions)+len(c.Then) > 0 || c.Outcome == journal.Rejected {
		return false
	}
	for i := range s.Expect {
		if s.Expect[i].Path == w.ref.Path {
			s.Expect[i].Path = away.Path
		}
	}
	w.away = away
	w.setRun(away)
	return true
}

// turns is the loop: a turn builds a view, asks the rules and does what they say.
func (w *work) turns(ctx context.Context) error {
	w.recallLimits()
	for {
		v, err := w.see(ctx)
		if _, gone := errors.AsType[*GoneError](err); gone && len(w.atWork) > 0 {
			// An attempt at work may put it back. Once that ends, it counts.
			if err = w.await(ctx, zeroTime); err == nil {
				continue
			}
		}
		if err != nil {
			return w.drain(ctx, err)
		}
		ops := Turn(v)
		if err := w.mustMove(ops); err != nil {
			return w.drain(ctx, err)
		}
		for _, op := range ops {
			if op.Leave {
				w.tell(Progress{Kind: Working})
				return w.finish(w.decide(), op.Until)
			}
			w.sum.Account = w.closedBy(op.Until)
			if err := w.do(ctx, op); err != nil {
				return w.drain(ctx, err)
			}
		}
	}
}

// see builds the view of a turn. It reads everything again, because agents write state
// themselves.
func (w *work) see(ctx context.Context) (*View, error) {
	before := w.view
	if err := w.load(); err != nil {
		return nil, err
	}
	if err := w.putBack(ctx); err != nil {
		return nil, err
	}
	if w.view == before { // what is at work may be something else by now
		w.setRun(w.files)
	}
	v := w.known()
	v.Stopping, v.Letters = ctx.Err() != nil, w.letters()
	if len(v.AtWork) == 0 && !v.Stopping {
		v.Open = slices.DeleteFunc(w.hist.Open(), func(ev reprise.Event) bool { return w.Held[ev.Step] || w.asksAbout(ev) })
		slices.SortStableFunc(v.Open, func(a, b reprise.Event) int { return a.At.Compare(b.At) })
		if err := w.dueIn(v); err != nil {
			return nil, err
		}
		if w.StuckRow != w.hist.Events+1 {
			_, v.Alone = w.local()
		}
	}
	if !v.Stopping && !v.Reached && len(v.Held) == 0 {
		w.offerIn(v)
	}
	return v, nil
}

// asksAbout reports whether a person is being asked what came of an attempt. Its step
// waits for the answer.
func (w *work) asksAbout(ev reprise.Event) bool {
	q, asked := w.question(cutOffQuestion(ev.Step, ev.Attempt))
	if !asked || q.Answered {
		return false
	}
	w.Parked[ev.Step] = "only a person can say what became of it"
	return true
}

// known is the view of what was read last.
func (w *work) known() *View {
	return &View{
		View: w.view, Memory: w.Memory, Spending: w.spending(), Used: w.due, Reached: w.reached(), Patient: w.Wait, Askable: w.Ask != nil,
	}
}

// maxSettle bounds how many turns in a row may only record events.
const maxSettle = 200

// mustMove tells that a turn only records what the last one recorded, or that too many
// turns only recorded: what never comes to rest is a bug, not a reason to write forever.
func (w *work) mustMove(ops []Op) error {
	last := w.Last
	w.Last = slices.Clone(ops)
	for i := range ops {
		w.Last[i].Record = unnamed(ops[i].Record)
	}
	if slices.ContainsFunc(ops, func(op Op) bool { return !op.onlyRecords() }) {
		w.Rounds = 0
		return nil
	}
	w.Rounds++
	switch {
	case reflect.DeepEqual(w.Last, last):
		return fmt.Errorf("work on %s: %s was recorded and changed nothing; it is not recorded again", w.ref.ID, ops[0].what())
	case w.Rounds > maxSettle:
		return fmt.Errorf("work on %s: it does not settle; the last event would be %s", w.ref.ID, ops[0].what())
	}
	return nil
}

// unnamed leaves the names of new questions out: each is another one, whatever it asks.
func unnamed(events []reprise.Event) []reprise.Event {
	events = slices.Clone(events)
	for i := range events {
		if events[i].Kind == reprise.QuestionAsked {
			events[i].Question = ""
		}
	}
	return events
}

// dueIn asks the playbook what to record. What the files did not take the last time is
// not recorded again at once.
func (w *work) dueIn(v *View) (err error) {
	if len(v.Open)+len(v.Letters)+len(v.Held)+len(v.Run.Owed) > 0 {
		return nil // that comes first
	}
	v.Due, err = w.playbook.Settle(w.led.Files(), w.run, v.Decision)
	if len(w.Last) == 1 && w.Last[0].Phase && reflect.DeepEqual(unnamed(v.Due), w.Last[0].Record) {
		v.Due = nil
	}
	return err
}

// offerIn adds the units that come next, up to the first that may be started.
func (w *work) offerIn(v *View) {
	units, _ := v.next(func(busy []string) []reprise.Unit { return w.playbook.Pick(w.run, v.Decision, busy) })
	w.letThrough()
	for _, u := range units {
		if len(w.atWork) >= w.parallel() {
			return
		}
		a, err := w.assign(u)
		if err != nil {
			a = reprise.Assignment{Unit: u, Step: u.ID}
		}
		if w.atWork[a.Step] != nil || w.Parked[a.Step] != "" || err == nil && v.blocked(a.Step) {
			continue
		}
		o := Offer{Assignment: a, Problem: err}
		if err == nil {
			o.From, o.Never = w.mayStart(a)
		}
		if at := w.NotBefore[a.Step]; at.After(o.From) {
			o.From = at
		}
		v.Offers = append(v.Offers, o)
		if err != nil || o.Never != "" || !o.From.After(v.Now) {
			return
		}
	}
}

// do carries out an op.
func (w *work) do(ctx context.Context, op Op) error {
	for _, f := range op.Notice {
		w.notice(f)
	}
	if err := w.put(ctx, op); err != nil {
		return err
	}
	switch {
	case len(op.TakeOut) > 0:
		return w.led.TakeOut(op.TakeOut)
	case op.Mark:
		return w.markLanded(ctx)
	case len(op.Settle) > 0:
		return w.settleOpen(ctx, op.Settle)
	case op.Refuse != nil:
		w.refuse(op.Refuse.Assignment, op.Refuse.Problem)
	case op.Park != nil:
		w.park(op.Park.Assignment, op.Park.Never)
	}
	if !op.Row && op.Start == nil && !op.Await && op.Until.IsZero() && len(op.Ask) == 0 {
		return nil
	}
	w.tell(Progress{Kind: Working})
	switch {
	case op.Row:
		return w.recordRow(ctx)
	case op.Start != nil:
		return w.begin(ctx, *op.Start)
	case len(op.Ask) > 0:
		return w.putTo(ctx, op.Ask)
	}
	return w.await(ctx, op.Until)
}

// put records what an op wants on record.
func (w *work) put(ctx context.Context, op Op) error {
	events := slices.Clone(op.Record)
	if op.BeginAt != "" {
		again, err := w.resetsFrom(ctx, op.BeginAt)
		if err != nil {
			return err
		}
		events = append(again, events...)
	}
	if err := w.recordSaid(ctx, events); err != nil || len(op.Question) == 0 {
		return err
	}
	return w.ask(ctx, reprise.Assignment{}, op.Question)
}

// await waits for an end, a time or an answer, and settles what ended.
func (w *work) await(ctx context.Context, until time.Time) error {
	e, err := w.hands.Await(ctx, until)
	if err != nil || e == nil {
		return err
	}
	return w.takeEnd(ctx, e)
}

// begin starts a unit, unless a limit is in the way.
func (w *work) begin(ctx context.Context, a reprise.Assignment) error {
	account := w.account(a)
	if at, ok := w.enter(account); !ok {
		w.NotBefore[a.Step] = at
		return nil
	}
	before := w.hist.Events
	err := w.start(ctx, a)
	if w.atWork[a.Step] == nil {
		w.left(account, agent.NotStarted)
	}
	if unready, ok := errors.AsType[*unreadyError](err); ok && w.store.Poisoned() == nil && ctx.Err() == nil {
		// One step that cannot be prepared does not delay the others.
		w.refuse(a, unready.error)
		return nil
	}
	if err == nil && w.atWork[a.Step] == nil && w.hist.Events == before && w.Parked[a.Step] == "" {
		w.park(a, "it has no effect: the question was already answered")
	}
	return err
}

// putTo asks a person questions.
func (w *work) putTo(ctx context.Context, open []reprise.Question) error {
	for _, q := range open {
		if ctx.Err() != nil {
			return nil
		}
		answer, ok := w.Ask(ctx, q)
		if err := w.recordLetters(ctx); err != nil {
			return err
		}
		if now := w.run.Question(q.ID); now != nil && now.Answered {
			w.tell(Progress{Kind: Noticed, Step: q.Subject, Text: fmt.Sprintf("%s was answered elsewhere meanwhile, and that counts: %s", q.ID, oneLine(now.Answer, maxLoggedLen))})
			continue
		}
		ev, err := answerTo(&q, answer)
		if _, none := errors.AsType[*reprise.NotOfferedError](err); none || !ok {
			w.LeftOpen[q.ID] = true
			continue
		}
		if err == nil {
			err = w.record(ctx, ev)
		}
		if err != nil {
			return err
		}
		if q.Postpones(ev.Text) {
			w.LeftOpen[q.ID] = true
		}
	}
	return nil
}

// reached reports whether the step a person named as the last is closed, and not to be
// done again: its files may be half of an attempt that was never accepted.
func (w *work) reached() bool {
	if w.choice.Until == "" || slices.ContainsFunc(w.run.Owed, func(u reprise.Unit) bool { return u.ID == w.choice.Until }) {
		return false
	}
	if s := w.run.Step(w.choice.Until); s != nil {
		return s.Status.Closed()
	}
	// Not every step is kept in the files; planning, for example, is not a step of the
	// plan.
	last := w.lastOf(w.choice.Until)
	return last == reprise.StepFinished || last == reprise.StepSkipped
}

// drain stops what is at work after an error of our own, and returns the error.
func (w *work) drain(ctx context.Context, cause error) error {
	if errors.Is(cause, errShown) || errors.Is(cause, ErrApart) {
		w.sum.Questions = w.pending()
		return cause // nothing is at work here
	}
	ctx, cancel := context.WithCancel(ctx)
	cancel() // nothing more is begun
	w.hands.Stop(cause)
	for len(w.atWork) > 0 {
		e, err := w.hands.Await(ctx, zeroTime)
		if err != nil {
			return cause
		}
		if e == nil {
			continue
		}
		if w.store.Poisoned() == nil && e.Err == nil {
			if e.Result.Outcome != agent.Done {
				e.Result.Outcome = agent.Stopped
			}
			if err := w.takeEnd(ctx, e); err == nil {
				continue
			}
		}
		delete(w.atWork, e.Step)
	}
	return cause
}

// finish fills in the summary and records that the engine left.
func (w *work) finish(d reprise.Decision, wake time.Time) error {
	w.sumUp(d, wake)
	if err := w.leave(w.sum); err != nil {
		return err
	}
	ev := reprise.Event{Kind: reprise.EngineLeft, At: w.Now(), Actor: actor, Outcome: w.sum.Action.String()}
	if len(w.hist.Open()) > 0 {
		ev.Head = w.head(context.Background(), w.Dir)
	}
	return w.led.Record(context.Background(), ev)
}

// sumUp fills in the summary.
func (w *work) sumUp(d reprise.Decision, wake time.Time) {
	s := w.sum
	s.State, s.Action, s.Reasons, s.Ended, s.Reopens = d.State, d.Action, d.Reasons, w.Now(), w.run.Reopens()
	s.Questions = w.pending()
	if used := journal.Used(w.hist.Spent, nil); used != (reprise.Usage{}) {
		s.Usage = &used
	}
	if !wake.IsZero() && d.Action == reprise.Start {
		s.Action, s.Until = reprise.Wait, wake
		s.Reasons = append([]string{UntilWords(wake)}, s.Reasons...)
		s.Account = w.closedBy(wake)
		if s.State == reprise.Interrupted || s.State == reprise.NotStarted {
			s.State = reprise.Waiting
		}
	}
	for i := range w.run.Steps {
		st := &w.run.Steps[i]
		if st.Due() {
			s.Left = append(s.Left, st.ID)
		}
		if h := w.hist.Step(st.ID); st.Status == reprise.Failed && h.LastFailure != nil && w.Parked[st.ID] == "" {
			s.Reasons = append(s.Reasons, fmt.Sprintf("%s: failed %s: %s", st.ID, journal.Times(h.Failures), journal.ReasonOf(h.LastFailure)))
		}
	}
	s.Parked, s.Reached, s.Held = w.givenUp(), w.reached(), slices.Sorted(mapKeys(w.Held))
	s.Findings = append(s.Findings, w.stillUncommitted(context.Background(), d.Action == reprise.Finish)...)
	if f, ok := w.run.Unticked(); ok && d.Action == reprise.Finish {
		s.Findings = append(s.Findings, f)
	}
	w.tellLeftOut(context.Background(), w.leftOutSince()...)
	for _, step := range slices.Sorted(mapKeys(w.Parked)) {
		s.Reasons = append(s.Reasons, step+": "+w.Parked[step])
		if s.Action == reprise.Start {
			s.Action = reprise.Ask
		}
	}
}

// pending are the questions that wait for a person: those of child runs, then its own.
func (w *work) pending() (out []reprise.Question) {
	for i := range w.Waits {
		out = append(out, w.Waits[i].Question())
	}
	return append(out, w.run.PendingQuestions()...)
}

// leave records that the run is no longer being worked on, where the files say otherwise.
// If the process dies before, the files say so until the run is resumed, as after any
// crash.
func (w *work) leave(s *Summary) error {
	leave := convention.Of(w.ref.Layout).Leave
	if leave == nil || s.Action == reprise.Finish || !w.run.State.Open() {
		return nil
	}
	why := ""
	switch {
	case len(s.Questions) > 0:
		why = "waiting for an answer"
	case len(s.Reasons) > 0:
		why = s.Reasons[0]
	}
	for _, ev := range leave(w.run, why) {
		if err := w.record(context.Background(), ev); err != nil {
			return err
		}
	}
	return nil
}
