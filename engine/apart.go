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
	"reprise/journal"
)

// ErrApart is what hands return from Await where nothing can be done in this process
// before something ends elsewhere, or before a time. It ends the loop: what is at work
// stays so on record.
var ErrApart = errors.New("the running attempt ends elsewhere")

// Elsewhere names an attempt that is on record as started and works in another process,
// perhaps on another machine. Number is its fencing token: once the journal has an end of
// that attempt, no other end of it is recorded.
type Elsewhere struct {
	Run    reprise.Ref `json:",omitzero"` // the child run that it is of, zero for the run itself
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
	Waits    []Waiting         `json:",omitempty"`
	Refused  []string          `json:",omitempty"` // why steps could not be started
	// Children are the child runs at work, by step.
	Children map[string]reprise.Ref `json:",omitempty"`
	// Runs are what is told of child runs, by path. Only that of the outermost run has them.
	Runs map[string]*Carried `json:",omitempty"`
}

// Waiting is a question of a child run that was left with it, and the step that the child
// run does.
type Waiting struct {
	Step          string
	Run           reprise.Ref
	ID            string
	Text, Subject string
	Options       []string `json:",omitempty"`
	Closed        bool     `json:",omitempty"`
	AskedAt       time.Time
	whole         *reprise.Question // what is not carried of it, too
}

func waitingFor(step string, run reprise.Ref, q *reprise.Question) Waiting {
	return Waiting{step, run, q.ID, q.Text, q.Subject, q.Options, q.Closed, q.AskedAt, q}
}

// Question is what is asked.
func (q *Waiting) Question() reprise.Question {
	if q.whole != nil {
		return *q.whole
	}
	return reprise.Question{ID: q.ID, Text: q.Text, Subject: q.Subject, Options: q.Options, Closed: q.Closed, AskedAt: q.AskedAt}
}

// Name tells the question apart from those of other runs.
func (q *Waiting) Name() string { return q.Run.ID + "/" + q.ID }

// Continue takes turns with a run that Resume took up before, in this process or another
// one. The attempts at work elsewhere are not settled; their ends come from TakeEnd. Child
// runs continue with it. The error is ErrApart once nothing can be done before one of them
// ends. Where ctx has ended, nothing more is started and the run is left in good order.
func (e *Engine) Continue(ctx context.Context, ref reprise.Ref, c Choice, at []Elsewhere) (*Summary, error) {
	w, release, err := e.takeUp(context.WithoutCancel(ctx), ref, Elsewhere{})
	if err != nil {
		return nil, err
	}
	defer release()
	return w.goOn(ctx, c, at)
}

// goOn takes turns with a run that was taken up before.
func (w *work) goOn(ctx context.Context, c Choice, at []Elsewhere) (*Summary, error) {
	w.choice, w.elsewhere = c, at
	if err := w.rejoin(ctx); err != nil {
		return nil, err
	}
	defer w.carry()
	defer w.tellAlone()
	return w.sum, w.loop(ctx)
}

// tellAlone tells which steps turns before this one accepted by their agent's word alone:
// each has a summary of its own, and the last is that of the run.
func (w *work) tellAlone() {
	if w.run == nil {
		return // it could not be read
	}
	for i := range w.run.Steps {
		step := w.run.Steps[i].ID
		end := w.hist.Step(step).Accepted
		if end == nil || end.Cause != journal.WordAlone || !w.run.Steps[i].Status.Closed() {
			continue
		}
		if f := nothingMade(step); !slices.ContainsFunc(w.sum.Findings, func(told reprise.Finding) bool { return told.Code == f.Code && told.Subject == step }) {
			w.notice(f)
		}
	}
}

// Proceed is TakeEnd and Continue at once, for less than both: landed is what the one says,
// and left what the other does. It ends after the first, with left nil, if that has an error
// or may says so.
func (e *Engine) Proceed(ctx context.Context, ref reprise.Ref, ended Elsewhere, c Choice, at []Elsewhere, may func() bool) (landed, left *Summary, err error) {
	if ended.Run.Path != "" { // its end is for the child run, what comes next for the one around it
		if landed, err = e.TakeEnd(ctx, ref, ended); err == nil && may() {
			left, err = e.Continue(ctx, ref, c, at)
		}
		return landed, left, err
	}
	w, release, err := e.takeUp(ctx, ref, ended)
	if err != nil {
		return nil, nil, err
	}
	defer release()
	landed, err = w.end(ctx, ended)
	switch {
	case err != nil:
		return landed, nil, err
	case !may():
		return landed, nil, w.leftForNow(ctx)
	}
	w.sum = &Summary{Run: landed.Run, Started: landed.Started, StateOnly: landed.StateOnly}
	left, err = w.goOn(ctx, c, at)
	return landed, left, err
}

// rejoin takes over what the process before tells. The attempts that are at work elsewhere
// are at work here, too, and the child runs that are at work continue.
func (w *work) rejoin(ctx context.Context) error {
	if w.Carried == nil {
		return nil
	}
	w.recallCarried()
	children := w.Carried.of(w.within).Children
	for _, open := range w.hist.Open() {
		f := w.recalled(&open)
		if child, ok := children[open.Step]; ok {
			f.Child = &child // whatever the files offer by now
		}
		switch {
		case slices.Contains(w.elsewhere, Elsewhere{w.within, open.Step, open.Attempt}):
			w.atWork[open.Step] = &Seen{Attempt: *f}
		case f.Child != nil:
			f.Recalled = false // its end is seen
			if err := w.setOff(ctx, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// TakeEnd settles an attempt that worked elsewhere. The run is read first, then the
// hands' Await brings what the attempt left and says how it ended, as if it had worked
// here. An attempt that only a person can settle stays open on record. The error is a
// *LateError, with nothing recorded, if the attempt is not open, and ErrApart if its
// verify command has to be run elsewhere first.
func (e *Engine) TakeEnd(ctx context.Context, ref reprise.Ref, at Elsewhere) (*Summary, error) {
	w, release, err := e.takeUp(ctx, ref, at)
	if err != nil {
		return nil, err
	}
	defer release()
	sum, err := w.end(ctx, at)
	if err == nil {
		err = w.leftForNow(ctx)
	}
	return sum, err
}

// end settles an attempt that worked elsewhere.
func (w *work) end(ctx context.Context, at Elsewhere) (*Summary, error) {
	f, err := w.openAttempt(at)
	if err != nil {
		return nil, err
	}
	if err := w.hands.Prepare(ctx, f); err != nil {
		return nil, err
	}
	f.Recalled = false // its end is seen
	w.recallCarried()
	defer w.carry()
	w.atWork[at.Step] = &Seen{Attempt: *f}
	for w.atWork[at.Step] != nil {
		if err := w.await(ctx, zeroTime); err != nil {
			return w.sum, err
		}
	}
	w.sum.Limits = maps.Clone(w.hist.Limits)
	accounts := w.Accounts()
	maps.DeleteFunc(w.sum.Limits, func(account string, until time.Time) bool {
		_, shared := accounts[account]
		return !w.believed(until).After(w.Now()) || !shared
	})
	return w.sum, nil
}

// leftForNow records that no process works on the run before the next one takes it up.
func (w *work) leftForNow(ctx context.Context) error {
	return w.led.Record(ctx, reprise.Event{Kind: reprise.EngineLeft, At: w.Now(), Actor: actor})
}

// AnswerWithin is Answer for a run and the child runs that wait for an answer, whose
// questions have the names of Waiting. A child run that waits for nothing more can be
// continued.
func (e *Engine) AnswerWithin(ctx context.Context, ref reprise.Ref, answers map[string]string) error {
	runs := map[reprise.Ref]map[string]string{ref: {}}
	waits := slices.Clone(e.Carried.Waits)
	for _, id := range slices.Sorted(mapKeys(answers)) {
		run, question := ref, id
		if i := slices.IndexFunc(waits, func(q Waiting) bool { return q.Name() == id }); i >= 0 {
			run, question = waits[i].Run, waits[i].ID
			waits = slices.Delete(waits, i, i+1)
		}
		if runs[run] == nil {
			runs[run] = map[string]string{}
		}
		runs[run][question] = answers[id]
	}
	for run, given := range runs {
		if len(given) == 0 {
			continue
		}
		if err := e.Answer(ctx, run, given); err != nil {
			return err
		}
	}
	for _, q := range e.Carried.Waits {
		if !slices.ContainsFunc(waits, func(left Waiting) bool { return left.Step == q.Step }) {
			delete(e.Carried.Parked, q.Step)
		}
	}
	e.Carried.Waits = waits
	return nil
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
	w, release, err := e.takeUp(ctx, ref, at)
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
		result, err := notStartedBy(ctx, err)
		if result == nil {
			return nil, err
		}
		return &End{Step: at.Step, Result: *result}, nil
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

// Accounts are the accounts that usage limits of the agents in the settings close, and whether
// each is one of this project alone: that of a plain command to which the settings give none. A
// limit of any other account concerns one run alone.
func (e *Engine) Accounts() map[string]bool {
	out := map[string]bool{}
	for _, a := range e.Settings.Agents {
		account, own := accountOf(a)
		if others, known := out[account]; known {
			own = own && others
		}
		out[account] = own
	}
	return out
}

// takeUp opens a run whose project no one else works on, or the child run that an attempt
// is of.
func (e *Engine) takeUp(ctx context.Context, ref reprise.Ref, at Elsewhere) (w *work, release func(), err error) {
	e = e.orderly()
	if at.Run.Path != "" {
		ref = at.Run
	}
	store, report, err := e.take(ctx)
	if err != nil {
		return nil, nil, err
	}
	w, err = e.open(ctx, store, ref, nil)
	if err == nil {
		w.within = at.Run
		w.noteTaking(report)
		err = w.loaded()
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
		Held: w.hist.Step(open.Step).Held, Recalled: true, Branch: open.Branch, Head: open.Base, Found: open.Found,
	}
	f.Role = first(open.Actor, f.Role) // a run around this one may have named it
	f.Expect, f.Policy, f.Account = open.Expect, open.Policy, w.account(f.Assignment)
	return f
}

// of is what is told of a run: of a child run, or of the outermost one.
func (m *Carried) of(run reprise.Ref) *Carried {
	if run.Path == "" {
		return m
	}
	if m.Runs[run.Path] == nil {
		if m.Runs == nil {
			m.Runs = map[string]*Carried{}
		}
		m.Runs[run.Path] = &Carried{}
	}
	return m.Runs[run.Path]
}

func (w *work) recallCarried() {
	if w.Carried == nil {
		return
	}
	m := w.Carried.of(w.within)
	maps.Copy(w.Parked, m.Parked)
	maps.Copy(w.Denied, m.Denied)
	w.LastDone, w.Waits = m.LastDone, m.Waits
	w.sum.Refused = nil
	for _, why := range m.Refused {
		w.sum.Refused = append(w.sum.Refused, errors.New(why))
	}
}

// carry tells the next process. What was told of a child run that is no longer at work is
// dropped.
func (w *work) carry() {
	if w.Carried == nil {
		return
	}
	m := w.Carried.of(w.within)
	m.Parked, m.Denied, m.LastDone, m.Waits = w.Parked, w.Denied, w.LastDone, w.Waits
	m.Refused = nil
	for _, err := range w.sum.Refused {
		m.Refused = append(m.Refused, err.Error())
	}
	children := map[string]reprise.Ref{}
	for step, child := range m.Children {
		if w.hist.Step(step).Open != nil {
			children[step] = child
		} else {
			delete(w.Carried.Runs, child.Path)
		}
	}
	for step, s := range w.atWork {
		if s.Child != nil {
			children[step] = *s.Child
		}
	}
	m.Children = children
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
