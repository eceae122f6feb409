package temporal

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"reprise"
	"reprise/engine"
	"reprise/report"
)

// maxFinished bounds how many steps of each sort the result of a run names.
const maxFinished = 200

// run is a run at work. The branch holds all that matters; what is here can be lost.
type run struct {
	in        Run
	atWork    map[string]AtWork
	ended     []LandInput
	answers   map[string]string
	refused   map[string]string // answers that were not taken, and why
	taken     map[string]bool   // answers that were
	questions []Question
	until     time.Time
	account   string                         // what a limit closed until then, "" if that is not known
	opened    workflow.ReceiveChannel        // tells that a person opened an account
	failed    map[string]report.FleetFailure // of steps that were not accepted since
	landings  int
	joined    bool // a landing tells what comes next
}

// RunRun is the workflow of one run: it asks what comes next, has that done, and has what
// came of it landed, until the run is left. It knows nothing of steps, files or agents.
func RunRun(ctx workflow.Context, in Run) (*report.Summary, error) {
	r := &run{in: in, atWork: map[string]AtWork{}, answers: map[string]string{}, refused: map[string]string{}, taken: map[string]bool{}, failed: map[string]report.FleetFailure{}}
	if err := r.listen(ctx); err != nil {
		return nil, err
	}
	r.opened = workflow.GetSignalChannel(ctx, OpenedSignal)
	r.joined = workflow.GetVersion(ctx, "landing-decides", workflow.DefaultVersion, 1) == 1
	var d *Decision
	for {
		if err := r.next(ctx, &d); err != nil {
			return r.stopped(ctx, err)
		}
		if d.Left != nil && len(r.atWork) == 0 {
			if len(d.Questions) == 0 && d.Left.Until == nil {
				return r.result(d.Left), workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) })
			}
			// It was left in good order and is taken up again, as it stands.
			r.in.Taken, r.in.Choice = false, engine.Choice{Until: r.in.Choice.Until}
		}
		if err := r.wait(ctx); err != nil {
			return r.stopped(ctx, err)
		}
		d = nil
		if err := r.land(ctx, &d); err != nil {
			return r.stopped(ctx, err)
		}
		if r.grown(ctx, 0) && len(r.atWork) > 0 && workflow.GetVersion(ctx, "drain", workflow.DefaultVersion, 1) == 1 {
			// With steps beside each other something would be at work all the time.
			if err := r.landAll(ctx); err != nil {
				return r.stopped(ctx, err)
			}
			d = nil
		}
		if r.begin(ctx) {
			return nil, workflow.NewContinueAsNewError(ctx, RunWorkflow, r.in)
		}
	}
}

// next asks what comes next, unless a landing told that and no answer came since.
func (r *run) next(ctx workflow.Context, d **Decision) (err error) {
	if *d == nil || len(r.answers) > 0 {
		*d, err = r.decide(ctx, false)
	}
	return err
}

// listen answers queries, and takes answers to questions.
func (r *run) listen(ctx workflow.Context) error {
	err := workflow.SetQueryHandler(ctx, StateQuery, func() (State, error) {
		s := State{Run: r.in.Ref.ID, Questions: r.questions, Answering: len(r.answers), Until: r.until, Account: r.account, Accepted: r.in.Accepted}
		for _, step := range slices.Sorted(maps.Keys(r.atWork)) {
			s.AtWork = append(s.AtWork, r.atWork[step])
		}
		for _, step := range slices.Sorted(maps.Keys(r.failed)) {
			s.Failed = append(s.Failed, r.failed[step])
		}
		return s, nil
	})
	if err != nil {
		return err
	}
	return workflow.SetUpdateHandlerWithOptions(ctx, AnswerUpdate, r.answer, workflow.UpdateHandlerOptions{Validator: r.valid})
}

// valid refuses an answer to what is not asked, and one that the question does not take.
func (r *run) valid(question, text string) error {
	i := slices.IndexFunc(r.questions, func(q Question) bool { return q.ID == question })
	switch {
	case i < 0:
		return fmt.Errorf("%s is not asked", question)
	case strings.TrimSpace(text) == "":
		return fmt.Errorf("the answer to %s is empty", question)
	case r.answers[question] != "":
		return fmt.Errorf("%s was answered a moment ago", question)
	}
	return r.questions[i].takes(text)
}

// answer returns once the answer is on the branch, and tells which that is: whoever answers
// the same asking of a question as well is told of the one that came first.
func (r *run) answer(ctx workflow.Context, question, text string) (string, error) {
	r.answers[question] = text
	delete(r.taken, question)
	delete(r.refused, question)
	if err := workflow.Await(ctx, func() bool { return r.taken[question] || r.refused[question] != "" }); err != nil {
		return "", err
	}
	if why := r.refused[question]; why != "" {
		return "", errors.New(why)
	}
	return text, nil
}

// maxTurnBeat bounds how long a worker may be silent that has a turn: another one can take
// it at any time.
const maxTurnBeat = 30 * time.Second

// ours are the options of activities that work on the branch alone. They can be repeated
// any time, and are until the remote can be reached.
func (r *run) ours(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 30 * time.Minute, HeartbeatTimeout: min(r.in.Heartbeat, maxTurnBeat),
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: time.Minute},
	})
}

// decide asks what comes next and hands over the answers that came.
func (r *run) decide(ctx workflow.Context, stop bool) (*Decision, error) {
	in := DecideInput{Run: r.in.brief(), Answers: maps.Clone(r.answers), Stop: stop, AtWork: r.elsewhere("")}
	var d Decision
	if err := workflow.ExecuteActivity(r.ours(ctx), DecideActivity, in).Get(ctx, &d); err != nil {
		return nil, err
	}
	for question := range in.Answers {
		delete(r.answers, question)
		if d.Refused != "" {
			r.refused[question] = d.Refused
		} else {
			r.taken[question] = true
		}
	}
	r.in.Taken, r.in.Begun, r.in.Last = true, true, cmp.Or(d.Last, r.in.Last)
	r.follow(ctx, &d)
	return &d, nil
}

// follow does what was decided.
func (r *run) follow(ctx workflow.Context, d *Decision) {
	r.in.Carried, r.questions, r.until, r.account = d.Carried, d.Questions, d.Until, d.Account
	r.accept(d.Finished...)
	for _, s := range d.Starts {
		r.start(ctx, s)
	}
}

// elsewhere are the attempts at work but for one.
func (r *run) elsewhere(but string) (out []engine.Elsewhere) {
	for _, step := range slices.Sorted(maps.Keys(r.atWork)) {
		if step != but {
			out = append(out, r.atWork[step].Elsewhere)
		}
	}
	return out
}

// start has an attempt carried out by a worker that offers its role. What comes of it is
// for the rules to say: the server never repeats it.
func (r *run) start(ctx workflow.Context, s Start) {
	r.atWork[keyOf(s.Elsewhere)] = AtWork{Start: s, Since: workflow.Now(ctx)}
	if !s.Verify {
		r.in.Launches++
	}
	in := AttemptInput{Run: r.in.brief(), Start: s}
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: s.Queue, StartToCloseTimeout: s.Timeout, HeartbeatTimeout: r.in.Heartbeat, WaitForCancellation: true,
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
	})
	workflow.Go(ctx, func(ctx workflow.Context) {
		end := LandInput{Start: s}
		back := func(why string) {
			at := r.atWork[keyOf(s.Elsewhere)]
			at.Back = why
			r.atWork[keyOf(s.Elsewhere)] = at
		}
		if err := carryOut(ctx, in, &end.Result, back); err != nil {
			if end.Lost, end.Failed = whyLost(err); end.Failed {
				end.Final = isFinal(err)
				end.Kept, end.Where = isKept(err)
				r.failed[keyOf(s.Elsewhere)] = report.FleetFailure{Step: s.Name(), Attempt: s.Number, Reason: said(err)}
			}
		}
		if s.Verify {
			verified := end.Result
			end.Verify, end.Result = &verified, AttemptResult{Commit: s.Commit}
		}
		r.ended = append(r.ended, end)
		r.atWork[keyOf(s.Elsewhere)] = AtWork{Start: s, Since: workflow.Now(ctx), Ended: true, Lost: end.Lost != "" && end.Lost != stoppedText && !end.Failed}
	})
}

// carryOut has an attempt carried out. One that a worker gave up before it began has no end: it
// is given to a worker again, as the same attempt, and back is told why. So is a verify command whose
// worker was lost.
func carryOut(ctx workflow.Context, in AttemptInput, result *AttemptResult, back func(why string)) error {
	for pause := time.Second; ; pause = min(2*pause, time.Minute) {
		err := workflow.ExecuteActivity(ctx, AttemptActivity, in).Get(ctx, result)
		var app *temporal.ApplicationError
		var lost *temporal.TimeoutError
		again := errors.As(err, &app) && app.Type() == notBegun || in.Start.Verify && errors.As(err, &lost)
		if !again || workflow.GetVersion(ctx, notBegun, workflow.DefaultVersion, 1) != 1 {
			return err
		}
		back(said(err))
		if err := workflow.Sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// whyLost says in a few words why an attempt told no end, and whether its worker says so.
func whyLost(err error) (why string, failed bool) {
	var timeout *temporal.TimeoutError
	switch {
	case errors.As(err, &timeout):
		return "its worker was lost: " + timeout.TimeoutType().String(), false
	case temporal.IsCanceledError(err):
		return stoppedText, false
	}
	text := said(err)
	return text[:min(len(text), 500)], true
}

// isFinal reports whether a worker says that trying again does not help.
func isFinal(err error) bool {
	var app *temporal.ApplicationError
	return errors.As(err, &app) && app.NonRetryable()
}

// isKept reports whether a worker says that it keeps the work of an attempt that is finished, and
// where that is if it does not push it by itself.
func isKept(err error) (is bool, where string) {
	var app *temporal.ApplicationError
	var hint string
	if !errors.As(err, &app) {
		return false, ""
	}
	if app.Details(&hint, &is, &where) != nil { // an earlier worker does not say
		return app.Details(&hint, &is) == nil && is, ""
	}
	return is, where
}

// said is what a worker said of an attempt that it could not bring to an end.
func said(err error) string {
	var app *temporal.ApplicationError
	if errors.As(err, &app) {
		return app.Message()
	}
	return err.Error()
}

// wait waits until something ended, an answer came, or a time has come, or where nothing is at work
// a person opened an account.
func (r *run) wait(ctx workflow.Context) error {
	came := func() bool { return len(r.ended)+len(r.answers) > 0 }
	if r.until.IsZero() {
		return workflow.Await(ctx, came)
	}
	idle := len(r.atWork) == 0
	_, err := workflow.AwaitWithTimeout(ctx, max(r.until.Sub(workflow.Now(ctx)), time.Second), func() bool { return came() || idle && r.opened.Len() > 0 })
	if idle && r.opened.Len() > 0 {
		// It is taken up as if it had been stopped, and tries now if a person said that to it.
		r.until, r.account, r.in.Taken, r.in.Choice = time.Time{}, "", false, engine.Choice{Until: r.in.Choice.Until}
		for now := false; r.opened.ReceiveAsync(&now); {
			if now {
				r.in.Choice.Option = reprise.OptionNow
			}
		}
	}
	return err
}

// land lands what ended, one after the other. Where a landing is to tell what comes next,
// that is in d.
func (r *run) land(ctx workflow.Context, d **Decision) error {
	for len(r.ended) > 0 {
		in := r.ended[0]
		in.Run = r.in.brief()
		if in.Decide = r.joined && d != nil && r.in.Taken && !r.grown(ctx, 1); in.Decide {
			in.AtWork = r.elsewhere(keyOf(in.Start.Elsewhere))
		}
		var l Landing
		if err := workflow.ExecuteActivity(r.ours(ctx), LandActivity, in).Get(ctx, &l); err != nil {
			return err
		}
		r.ended, r.in.Last = r.ended[1:], cmp.Or(l.Last, r.in.Last)
		r.landings++
		delete(r.atWork, keyOf(in.Start.Elsewhere))
		if d != nil {
			*d = l.Next
		}
		if l.Late {
			continue
		}
		r.in.Carried = l.Carried
		if l.Verify {
			again := in.Start
			again.Verify, again.Commit = true, in.Result.Commit
			r.start(ctx, again)
		}
		r.in.Failed = append(r.in.Failed, l.Failed[:min(len(l.Failed), maxFinished-len(r.in.Failed))]...)
		for _, step := range l.Failed {
			r.failed[keyOf(in.Start.Elsewhere)] = report.FleetFailure{Step: in.Start.Name(), Attempt: step.Attempt, Reason: step.Text}
		}
		if l.Accepted != nil {
			delete(r.failed, keyOf(in.Start.Elsewhere))
			r.accept(*l.Accepted)
		}
		if l.Next != nil {
			r.follow(ctx, l.Next)
		}
	}
	return nil
}

// accept counts steps that are finished, and keeps the first of them by name.
func (r *run) accept(steps ...report.WorkStep) {
	r.in.Accepted += len(steps)
	r.in.Finished = append(r.in.Finished, steps[:min(len(steps), maxFinished-len(r.in.Finished))]...)
}

// landAll starts nothing more and lands what is at work.
func (r *run) landAll(ctx workflow.Context) error {
	for len(r.atWork) > 0 {
		if err := workflow.Await(ctx, func() bool { return len(r.ended) > 0 }); err != nil {
			return err
		}
		if err := r.land(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

// grown reports whether the history is long enough to begin anew, after more landings.
func (r *run) grown(ctx workflow.Context, more int) bool {
	return r.landings+more >= r.in.Landings || workflow.GetInfo(ctx).GetContinueAsNewSuggested()
}

// begin reports whether the history is to begin anew: it has grown, nothing is at work
// and no one waits for an answer to be taken.
func (r *run) begin(ctx workflow.Context) bool {
	return r.grown(ctx, 0) && len(r.atWork)+len(r.ended)+len(r.answers) == 0 && workflow.AllHandlersFinished(ctx)
}

// stopped ends a run that was cancelled: agents are stopped, what they left is landed, and
// the run is left in good order. Where nothing is left to do then, it was not stopped: it is over.
func (r *run) stopped(ctx workflow.Context, cause error) (*report.Summary, error) {
	if !temporal.IsCanceledError(cause) {
		return nil, cause
	}
	ctx, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	if err := r.landEach(ctx); err != nil {
		cause = err
	}
	asks, answered := r.questions, maps.Clone(r.answers)
	d, err := r.decide(ctx, true)
	if !temporal.IsCanceledError(cause) {
		return nil, cause
	}
	if err != nil {
		return nil, err
	}
	// What the stop met may have been the last that was to be done.
	if left := d.Left; left != nil && left.Action == reprise.Finish && len(left.Left) == 0 && workflow.GetVersion(ctx, "stopped-complete", workflow.DefaultVersion, 1) == 1 {
		return r.result(left), nil
	}
	asks = slices.DeleteFunc(slices.Clone(asks), func(q Question) bool { return answered[q.ID] != "" && r.refused[q.ID] == "" })
	if len(asks) > 0 {
		return nil, temporal.NewCanceledError(asks) // it can be answered meanwhile
	}
	return nil, cause
}

// landEach is landAll for a run that is stopped: one attempt that cannot be landed keeps no
// other from it. It stays open on record; the error says why the first of them does.
func (r *run) landEach(ctx workflow.Context) (first error) {
	stuck := map[string]AtWork{}
	for len(r.atWork) > 0 {
		if err := workflow.Await(ctx, func() bool { return len(r.ended) > 0 }); err != nil {
			return err
		}
		if err := r.land(ctx, nil); err != nil {
			first = cmp.Or(first, err)
			step := keyOf(r.ended[0].Start.Elsewhere)
			stuck[step] = r.atWork[step]
			delete(r.atWork, step)
			r.ended = r.ended[1:]
		}
	}
	maps.Copy(r.atWork, stuck)
	return first
}

// result is the summary of the whole run.
func (r *run) result(left *report.Summary) *report.Summary {
	left.Finished = append(r.in.Finished, left.Finished...)
	left.Failed = append(r.in.Failed, left.Failed...)
	return left
}

// AccountRun is the workflow of an account that a usage limit closed: one timer that all
// runs share. Its memo says until when, so that looking needs no worker.
func AccountRun(ctx workflow.Context, until time.Time) error {
	signals := workflow.GetSignalChannel(ctx, ClosedSignal)
	for {
		var later time.Time
		for signals.ReceiveAsync(&later) {
			if later.After(until) {
				until = later
			}
		}
		if err := workflow.UpsertMemo(ctx, map[string]any{untilMemo: until}); err != nil {
			return err
		}
		left := until.Sub(workflow.Now(ctx))
		if left <= 0 {
			return nil
		}
		if _, err := workflow.AwaitWithTimeout(ctx, left, func() bool { return signals.Len() > 0 }); err != nil {
			return err
		}
	}
}
