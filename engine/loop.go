package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"reprise"
	"reprise/agent"
	"reprise/journal"
)

// maxSettle bounds how many rounds of events may follow each other with no step
// between them: a playbook that never comes to rest is a fault of ours, not a
// reason to write for ever.
const maxSettle = 200

// loop takes turns until nothing is left to do, a person or a time is needed,
// or going on would be unsafe. Everything it knows is on disk when it returns.
func (w *work) loop(ctx context.Context) error {
	w.recallLimits()
	for {
		if err := w.load(); err != nil {
			return w.drain(ctx, err)
		}
		if err := w.putBack(ctx); err != nil {
			return w.drain(ctx, err)
		}
		if err := w.takeIn(ctx); err != nil {
			return w.drain(ctx, err)
		}
		if len(w.flights) == 0 && ctx.Err() == nil {
			if err := w.apply(ctx); err != nil {
				return err
			}
			if err := w.acceptLater(ctx); err != nil {
				return err
			}
			if err := w.settleChanged(ctx); err != nil {
				return err
			}
			if err := w.settleCutoffs(ctx); err != nil {
				return err
			}
			if err := w.settleLost(ctx); err != nil {
				return err
			}
			if err := w.settleClaimed(ctx); err != nil {
				return err
			}
			if len(w.owed()) == 0 && len(w.flights) == 0 && len(w.held) == 0 {
				if err := w.settle(ctx); err != nil {
					return err
				}
			}
		}
		d := w.decide()
		w.tell(Progress{Kind: Working})
		if len(w.held) > 0 && len(w.flights) == 0 {
			return w.end(d, time.Time{})
		}
		if again, err := w.burst(ctx, d); err != nil {
			return w.drain(ctx, err)
		} else if again {
			continue
		}
		var wake time.Time
		if ctx.Err() == nil && !w.reached() && len(w.held) == 0 {
			var err error
			if wake, err = w.startWhatMay(ctx, d); err != nil {
				return w.drain(ctx, err)
			}
		}
		if len(w.flights) > 0 {
			if err := w.hands.Await(ctx, wake); err != nil {
				return w.drain(ctx, err)
			}
			continue
		}
		if ctx.Err() != nil || w.reached() {
			return w.end(d, wake)
		}
		if !wake.IsZero() && w.waitsFor(wake) {
			if err := w.hands.Sleep(ctx, wake); err != nil {
				return err
			}
			continue
		}
		left := len(w.leftOpen)
		again, err := w.askPerson(ctx)
		if err != nil {
			return err
		}
		// Beside what a person leaves open something else may be done.
		if !again && len(w.leftOpen) == left {
			return w.end(w.decide(), wake)
		}
	}
}

// settle records what is due while nothing is at work.
func (w *work) settle(ctx context.Context) error {
	last := ""
	for range maxSettle {
		events, err := w.book.Settle(w.led.Files(), w.run, w.decide())
		if err != nil {
			return err
		}
		same := fmt.Sprintf("%+v", events)
		if len(events) == 0 || same == last {
			return nil // nothing is due, or the files do not take it in
		}
		last = same
		for _, ev := range events {
			if ev.Kind == reprise.StepReset && ev.Actor != person {
				w.tellReopened(ev.Step)
			}
		}
		if err := w.recordAll(ctx, slices.Clone(events)...); err != nil {
			return err
		}
		if err := w.load(); err != nil {
			return err
		}
	}
	return fmt.Errorf("work on %s: its playbook does not come to rest", w.ref.ID)
}

// reached reports whether the step a person named as the last is closed.
func (w *work) reached() bool {
	if w.choice.Until == "" {
		return false
	}
	if s := w.run.Step(w.choice.Until); s != nil {
		return s.Status.Closed()
	}
	// Not every step stays in the files: planning is none of a plan's.
	for i := len(w.told) - 1; i >= 0; i-- {
		switch ev := &w.told[i]; ev.Kind {
		case reprise.StateRestored:
			return false // what was done before it need not be any more
		case reprise.StepFinished, reprise.StepSkipped:
			if ev.Step == w.choice.Until {
				return true
			}
		case reprise.StepStarted, reprise.StepFailed, reprise.StepBlocked, reprise.StepReset:
			if ev.Step == w.choice.Until {
				return false
			}
		}
	}
	return false
}

// startWhatMay starts what may be started now. wake is when something that must
// not be started yet may be, zero if nothing is waiting for a time.
func (w *work) startWhatMay(ctx context.Context, d reprise.Decision) (wake time.Time, err error) {
	units, ok := w.next(d)
	if !ok {
		return wake, nil
	}
	w.letThrough()
	for _, u := range units {
		if len(w.flights) >= w.parallel() {
			break
		}
		a, err := w.assign(u)
		if err != nil {
			if a = (reprise.Assignment{Unit: u, Step: u.ID}); w.parked[u.ID] == "" {
				w.refuse(a, err)
			}
			continue
		}
		if w.flights[a.Step] != nil || w.parked[a.Step] != "" || w.unanswered(a.Step) || w.doubted(w.run.Step(a.Step)) {
			continue
		}
		at, why := w.mayStart(a)
		switch {
		case why != "":
			w.park(a, why)
			continue
		case at.After(w.Now()):
			if wake.IsZero() || at.Before(wake) {
				wake = at
			}
			continue
		}
		account := w.account(a)
		if at, ok := w.enter(account); !ok {
			if wake.IsZero() || at.Before(wake) {
				wake = at
			}
			continue
		}
		if a.Local == "" && a.Ask == nil {
			w.tellReopened(a.Step)
		}
		before := w.hist.Events
		if err := w.start(ctx, a); err != nil {
			if unready, ok := errors.AsType[*unreadyError](err); ok && w.store.Poisoned() == nil && ctx.Err() == nil {
				// One step that cannot be prepared does not hold up the others.
				w.refuse(a, unready.error)
				w.left(account, agent.NotStarted)
				continue
			}
			return wake, err
		}
		if w.flights[a.Step] == nil {
			w.left(account, agent.NotStarted)
		}
		if w.flights[a.Step] == nil && w.hist.Events == before {
			if w.parked[a.Step] == "" {
				w.park(a, "nothing comes of it: what it asks was answered before")
			}
			continue
		}
		if w.flights[a.Step] == nil {
			// It needed nobody and is recorded: what may be started is
			// another question now.
			return w.Now(), nil
		}
	}
	return wake, nil
}

// next gives the units that come next. ok is false where the decision asks for
// something else than to start them.
func (w *work) next(d reprise.Decision) (units []reprise.Unit, ok bool) {
	if w.asksWhetherChanged() {
		return nil, false
	}
	if units = w.owed(); len(units) > 0 {
		return units, true
	}
	if d.Verdict == reprise.BlockedVerdict {
		return nil, false
	}
	busy := w.busy()
	if d.Action != reprise.Start && len(busy) == 0 {
		if units = w.chosenAgent(d); len(units) > 0 {
			return units, true
		}
		if busy = w.waiting(d); len(busy) == 0 {
			return nil, false
		}
	}
	units = w.book.Pick(w.run, d, busy)
	return append(units, w.retryable(units)...), true
}

// chosenAgent is the work of the agent that a person chose to go on with, whatever
// else waits for them.
func (w *work) chosenAgent(d reprise.Decision) []reprise.Unit {
	r := w.run.Resume
	chosen := w.choice.Option == "resume-agent" || w.choice.Option == "respawn"
	if !chosen || d.Action != reprise.Ask || r == nil || r.Type != reprise.ActiveAgent {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(d.Units), func(u reprise.Unit) bool { return u.ID != r.Plan })
}

// waiting lists the steps that wait for a person, where nothing else makes the run
// wait: what can be done beside them needs nobody. It is empty where a question is
// about more than a step, and where a person can be asked at once and did not put it off.
func (w *work) waiting(d reprise.Decision) []string {
	files := w.files.State
	if d.Action != reprise.Ask || files != reprise.NotStarted && files != reprise.Interrupted {
		return nil
	}
	var out []string
	for _, q := range w.run.PendingQuestions() {
		s := w.run.Step(first(q.By, q.Subject))
		if s == nil || s.Status.Closed() || w.Ask != nil && !w.leftOpen[q.ID] && !w.putOff[q.ID] {
			return nil
		}
		out = append(out, s.ID)
	}
	return out
}

// busy lists the steps at work.
func (w *work) busy() []string {
	var out []string
	for id := range w.flights {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

// note is something an attempt wants on record while it is at work. The journal
// has one writer, the loop; the attempt waits for it.
type note struct {
	ev   reprise.Event
	done chan error
}

// noted records an event for an attempt, from its goroutine.
func (w *work) noted(ev reprise.Event) error {
	n := note{ev, make(chan error, 1)}
	w.notes <- n
	return <-n.done
}

// drain ends what is at work after an error of our own, and gives the error.
func (w *work) drain(ctx context.Context, cause error) error {
	if errors.Is(cause, errShown) {
		return cause // nothing is at work but on paper
	}
	ctx, cancel := context.WithCancel(ctx)
	cancel() // nothing more is begun
	for _, f := range w.flights {
		f.cancel()
	}
	for len(w.flights) > 0 {
		select {
		case n := <-w.notes:
			n.done <- cause
		case l := <-w.landed:
			if w.store.Poisoned() == nil && l.err == nil {
				if l.result.Outcome != agent.Done {
					l.result.Outcome = agent.Stopped
				}
				if err := w.land(ctx, l); err == nil {
					continue
				}
			}
			delete(w.flights, l.step)
		}
	}
	return cause
}

// waitsFor reports whether a time is worth waiting for in this process: a
// back-off always, a limit only where a person said so.
func (w *work) waitsFor(wake time.Time) bool {
	return w.Wait || wake.Sub(w.Now()) <= maxBackoff
}

// end says what came of it.
func (w *work) end(d reprise.Decision, wake time.Time) error {
	s := w.sum
	s.State, s.Action, s.Reasons, s.Ended = d.State, d.Action, d.Reasons, w.Now()
	s.Questions = append(s.Questions, w.run.PendingQuestions()...)
	if !wake.IsZero() && d.Action == reprise.Start {
		s.Action, s.Until = reprise.Wait, wake
		s.Reasons = append([]string{untilWords(wake)}, s.Reasons...)
		for account, until := range w.hist.Limits {
			if until.Equal(wake) {
				s.Account = account
			}
		}
		if s.State == reprise.Interrupted || s.State == reprise.NotStarted {
			s.State = reprise.Waiting
		}
	}
	for i := range w.run.Steps {
		if st := &w.run.Steps[i]; !st.Status.Closed() {
			s.Left = append(s.Left, st.ID)
		}
	}
	for i := range w.run.Steps {
		st := &w.run.Steps[i]
		if h := w.hist.Step(st.ID); st.Status == reprise.Failed && h.LastFailure != nil && w.parked[st.ID] == "" {
			s.Reasons = append(s.Reasons, fmt.Sprintf("%s: failed %s: %s", st.ID, journal.Times(h.Failures), journal.ReasonOf(h.LastFailure)))
		}
	}
	s.Parked, s.Reached, s.Held = w.givenUp(), w.reached(), slices.Sorted(mapKeys(w.held))
	s.Findings = append(s.Findings, w.stillUncommitted(context.Background())...)
	w.tellLeftOut(w.leftOutSince()...)
	for _, step := range slices.Sorted(mapKeys(w.parked)) {
		s.Reasons = append(s.Reasons, step+": "+w.parked[step])
		if s.Action == reprise.Start {
			s.Action = reprise.Ask
		}
	}
	if err := w.leave(s); err != nil {
		return err
	}
	return w.led.Record(context.Background(), reprise.Event{Kind: reprise.EngineLeft, At: w.Now(), Actor: actor, Outcome: s.Action.String()})
}

// leave records that nobody is at work any more, where the files say otherwise. If the
// process dies before, they say it until the run is taken up again, as after any crash.
func (w *work) leave(s *Summary) error {
	leaver, ok := w.book.(reprise.Leaver)
	if !ok || s.Action == reprise.Finish || !w.run.State.Open() {
		return nil
	}
	why := ""
	switch {
	case len(s.Questions) > 0:
		why = "waiting for an answer"
	case len(s.Reasons) > 0:
		why = s.Reasons[0]
	}
	for _, ev := range leaver.Leave(w.run, why) {
		if err := w.record(context.Background(), ev); err != nil {
			return err
		}
	}
	return nil
}
