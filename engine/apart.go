package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"reprise"
	"reprise/agent"
)

// ErrApart is what hands return from Await where nothing can be done in this process
// before something ends elsewhere, or before a time. It ends the loop: what is at work
// stays so on record.
var ErrApart = errors.New("what is at work ends elsewhere")

// Elsewhere names an attempt that is on record as started and works in another process,
// perhaps on another machine. Number is its fencing token: once the journal has an end of
// that attempt, no other end of it is recorded.
type Elsewhere struct {
	Step   string
	Number int
}

// LateError says that an attempt has an end on record already, or was never started: what
// it left does not count.
type LateError struct {
	Run string
	Elsewhere
}

func (e *LateError) Error() string {
	return fmt.Sprintf("work on %s: attempt %d of %s is no longer open", e.Run, e.Number, e.Step)
}

// Carried is what a process that works on a part of a run tells the next one. It may be
// lost, as with any crash.
type Carried struct {
	Parked   map[string]string `json:",omitempty"`
	Denied   map[string]bool   `json:",omitempty"`
	LastDone string            `json:",omitempty"`
}

// Continue takes turns with a run that Resume took up before, in this process or another
// one. The attempts at work elsewhere are not settled; their ends come from TakeEnd. The
// error is ErrApart once nothing can be done before one of them ends. Where ctx has ended,
// nothing more is started and the run is left in good order.
func (e *Engine) Continue(ctx context.Context, ref reprise.Ref, c Choice, at []Elsewhere, m *Carried) (*Summary, error) {
	w, release, err := e.takeUp(context.WithoutCancel(ctx), ref)
	if err != nil {
		return nil, err
	}
	defer release()
	w.choice = c
	w.recallCarried(m)
	defer w.carry(m)
	for _, a := range at {
		if open := w.hist.Step(a.Step).Open; open != nil && open.Attempt == a.Number {
			w.atWork[a.Step] = &Seen{Attempt: *w.recalled(open)}
		}
	}
	return w.sum, w.loop(ctx)
}

// TakeEnd settles an attempt that worked elsewhere. The run is read first, then the
// hands' Await brings what the attempt left and says how it ended, as if it had worked
// here. An attempt that only a person can settle stays open on record. The error is a *LateError, with nothing recorded, if the attempt is not open, and
// ErrApart if its verify command has to be run elsewhere first.
func (e *Engine) TakeEnd(ctx context.Context, ref reprise.Ref, at Elsewhere, m *Carried) (*Summary, error) {
	w, release, err := e.takeUp(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer release()
	f, err := w.openAttempt(at)
	if err != nil {
		return nil, err
	}
	if err := w.hands.Prepare(ctx, f); err != nil {
		return nil, err
	}
	f.Recalled = false // its end is seen
	w.recallCarried(m)
	defer w.carry(m)
	w.atWork[at.Step] = &Seen{Attempt: *f}
	for w.atWork[at.Step] != nil {
		if err := w.await(ctx, zeroTime); err != nil {
			return w.sum, err
		}
	}
	w.sum.Limits = maps.Clone(w.hist.Limits)
	maps.DeleteFunc(w.sum.Limits, func(_ string, until time.Time) bool { return !w.believed(until).After(w.Now()) })
	return w.sum, w.led.Record(ctx, reprise.Event{Kind: reprise.EngineLeft, At: w.Now(), Actor: actor})
}

// RunAttempt starts the agent of an attempt that is on record as started, in this
// checkout, and returns its end. What it records stays in this checkout: TakeEnd settles
// the attempt. told is called with the session of the agent as soon as that is known.
// Cancelling ctx stops the agent with everything it started.
func (e *Engine) RunAttempt(ctx context.Context, ref reprise.Ref, at Elsewhere, told func(session string)) (*End, error) {
	atStart := map[string]reprise.Hash{}
	end, err := e.alone(ctx, ref, at, told, func(w *work, f *Attempt) error {
		bound, err := w.bind(f.Assignment)
		if err != nil {
			return err
		}
		if err := w.survey(ctx, f); err != nil {
			return err
		}
		for _, e := range f.Expect {
			atStart[e.Path] = e.Before
		}
		if err := w.instruct(ctx, f, bound); err != nil {
			return err
		}
		return w.hands.Start(ctx, f)
	})
	if end != nil {
		end.AtStart = atStart
	}
	return end, err
}

// RunVerify runs the command that verifies an attempt, in this checkout, which has what
// the attempt left.
func (e *Engine) RunVerify(ctx context.Context, ref reprise.Ref, at Elsewhere) (*End, error) {
	return e.alone(ctx, ref, at, nil, func(w *work, f *Attempt) error { return w.hands.Verify(ctx, f) })
}

// alone starts something of one attempt and waits for its end. What cannot be started is
// an end, too.
func (e *Engine) alone(ctx context.Context, ref reprise.Ref, at Elsewhere, told func(session string), start func(*work, *Attempt) error) (*End, error) {
	w, release, err := e.takeUp(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer release()
	f, err := w.openAttempt(at)
	if err != nil {
		return nil, err
	}
	if err := w.hands.Prepare(ctx, f); err != nil {
		return nil, err
	}
	defer w.folders.leave(f)
	if err := start(w, f); err != nil {
		refused, ok := errors.AsType[*startError](err)
		if !ok {
			return nil, err
		}
		return &End{Step: at.Step, Result: agent.Result{Outcome: agent.NotStarted, Reason: refused.Error()}}, nil
	}
	for {
		if told != nil {
			told(w.hist.Step(at.Step).Session)
		}
		end, err := w.hands.Await(ctx, w.Now().Add(time.Second))
		if err != nil || end != nil {
			return end, err
		}
	}
}

// Accounts are the accounts that usage limits of the agents in the settings close.
func (e *Engine) Accounts() (out []string) {
	for _, a := range e.Settings.Agents {
		if account := accountOf(a); !slices.Contains(out, account) {
			out = append(out, account)
		}
	}
	slices.Sort(out)
	return out
}

// takeUp opens a run whose project nobody else works on.
func (e *Engine) takeUp(ctx context.Context, ref reprise.Ref) (w *work, release func(), err error) {
	e = e.orderly()
	store, report, err := e.take(ctx)
	if err != nil {
		return nil, nil, err
	}
	w, err = e.open(ctx, store, ref, nil)
	if err == nil {
		w.noteTaking(report)
		err = w.load()
	}
	if err != nil {
		return nil, nil, errors.Join(err, store.Release())
	}
	return w, func() { _ = store.Release() }, nil
}

// openAttempt is an attempt as far as the journal and the playbook know it. The error is a
// *LateError if it is not open.
func (w *work) openAttempt(at Elsewhere) (*Attempt, error) {
	open := w.hist.Step(at.Step).Open
	if open == nil || open.Attempt != at.Number {
		return nil, &LateError{w.ref.ID, at}
	}
	return w.recalled(open), nil
}

// recalled is an attempt that another process started.
func (w *work) recalled(open *reprise.Event) *Attempt {
	f := &Attempt{
		Assignment: w.assignmentOf(open.Step), Number: open.Attempt, Key: open.Key, Began: open.At, Told: open.Answers,
		Held: w.hist.Step(open.Step).Held, Recalled: true,
	}
	f.Expect, f.Policy, f.Account = open.Expect, open.Policy, w.account(f.Assignment)
	return f
}

func (w *work) recallCarried(m *Carried) {
	maps.Copy(w.Parked, m.Parked)
	maps.Copy(w.Denied, m.Denied)
	w.LastDone = m.LastDone
}

func (w *work) carry(m *Carried) {
	*m = Carried{w.Parked, w.Denied, w.LastDone}
}

// heardOf takes over what only the process knows that an attempt worked in: what it found
// when it began, and its session.
func (w *work) heardOf(ctx context.Context, s *Seen, e *End) error {
	if e.AtStart == nil {
		return nil
	}
	s.AtStart = e.AtStart
	if e.Result.Outcome == agent.NotStarted {
		s.Err = errors.New(e.Result.Reason)
	}
	if e.Result.Session == "" || e.Result.Session == w.hist.Step(s.Step).Session {
		return nil
	}
	return w.record(ctx, reprise.Event{Kind: reprise.SessionKnown, Step: s.Step, Attempt: s.Number, Agent: e.Result.Session})
}
