package temporal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"reprise"
	"reprise/agent"
	"reprise/engine"
	"reprise/internal/gitx"
)

// beat sends the heartbeats of a turn until it is stopped. One that is lost is taken again.
func beat(ctx context.Context, what func() any) (stop func()) {
	timeout := activity.GetInfo(ctx).HeartbeatTimeout
	ctx = context.WithoutCancel(ctx) // what was asked to stop is still at work
	done := make(chan struct{})
	var gone sync.WaitGroup
	gone.Go(func() {
		tick := time.NewTicker(max(timeout/5, 100*time.Millisecond))
		defer tick.Stop()
		for {
			activity.RecordHeartbeat(ctx, what())
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	})
	return sync.OnceFunc(func() { close(done); gone.Wait() })
}

// alive tells the server that an attempt is at work, until stop is called. work ends once the
// worker is to stop, the server says that the attempt is to end or is none of its own, or no
// word was taken for longer than a heartbeat may take: the server counts the attempt as lost
// then, and another one may begin. One answer that is late says none of that, so it is not left
// to the SDK, which ends the work with the first one.
func (a *Activities) alive(ctx context.Context, timeout time.Duration, what func() any) (work context.Context, stop func()) {
	work, cancel := context.WithCancelCause(ctx)
	base, leave := context.WithCancel(context.WithoutCancel(ctx)) // what was asked to stop is still at work
	var gone sync.WaitGroup
	gone.Go(func() {
		select {
		case <-activity.GetWorkerStopChannel(ctx):
			cancel(errStopping)
		case <-base.Done():
		}
	})
	gone.Go(func() {
		token, last := activity.GetInfo(ctx).TaskToken, time.Now()
		for base.Err() == nil {
			sent := time.Now()
			call, end := context.WithDeadline(base, last.Add(timeout))
			err := a.Client.RecordActivityHeartbeat(call, token, what())
			end()
			switch {
			case err == nil:
				last = sent
			case decisive(err):
				activity.RecordHeartbeat(base, what()) // the SDK has to hear it as well
				cancel(err)
				last = sent
			case time.Since(last) >= timeout:
				cancel(errCutOff)
				last = time.Now()
			}
			select {
			case <-base.Done():
			case <-time.After(max(timeout/5, 100*time.Millisecond)):
			}
		}
	})
	return work, func() { leave(); gone.Wait(); cancel(context.Canceled) }
}

// decisive reports whether the answer to a heartbeat is the server's word that the attempt is to
// end.
func decisive(err error) bool {
	var gone *serviceerror.NamespaceNotFound
	var away *serviceerror.NamespaceNotActive
	return temporal.IsCanceledError(err) || isNotFound(err) || errors.As(err, &gone) || errors.As(err, &away) ||
		errors.Is(err, activity.ErrActivityPaused) || errors.Is(err, activity.ErrActivityReset)
}

// errStopping says that the worker is to stop.
var errStopping = errors.New("the worker is to stop")

// errCutOff says that the server was out of reach for too long.
var errCutOff = errors.New("the server was out of reach for longer than a heartbeat may take")

// Attempt carries out an attempt that is on record as started: it works in a checkout of
// the run's branch and pushes its commit to a ref of its own. What counts of it is for
// Land to say.
func (a *Activities) Attempt(ctx context.Context, in AttemptInput) (*AttemptResult, error) {
	said := &words{beat: Heartbeat{Worker: a.Name, Step: keyOf(in.Start.Elsewhere), Attempt: in.Start.Number}}
	work, done := a.alive(ctx, in.Run.Heartbeat, said.last)
	defer done()
	waits, over := patience(ctx, activity.GetWorkerStopChannel(ctx))
	defer over()
	return a.attempt(waits, work, now(ctx), in, said)
}

// patience is for as long as the server waits for an attempt. It does so where it asked the
// attempt to stop: what was finished by then is pushed, however long the remote is out of
// reach, unless the worker stops as well.
func patience(ctx context.Context, stops <-chan struct{}) (context.Context, func()) {
	out, cancel := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		select {
		case <-ctx.Done():
		case <-out.Done():
		}
		if temporal.IsCanceledError(context.Cause(ctx)) {
			select {
			case <-stops:
			case <-out.Done():
			}
		}
		cancel()
	}()
	return out, cancel
}

// attempt is Attempt with a context that ends with the work, beside one that ends with the
// patience of the server.
func (a *Activities) attempt(ctx, work context.Context, at moment, in AttemptInput, said *words) (*AttemptResult, error) {
	c, had, err := a.place(work, in)
	if err != nil || had != nil {
		return had, a.unbegun(work, err)
	}
	defer c.Close()
	r, err := a.attemptIn(ctx, work, at, c, in, said)
	return r, marked(err)
}

// attemptIn is attempt in its checkout.
func (a *Activities) attemptIn(ctx, work context.Context, at moment, c *Checkout, in AttemptInput, said *words) (*AttemptResult, error) {
	e, err := a.trust.engineFor(filepath.Join(c.Dir, filepath.FromSlash(in.Run.Folder)), clock(at.started))
	switch {
	case isUntrusted(err):
		return nil, a.unbegun(work, err)
	case err != nil && in.Start.Verify:
		return nil, err // the ref of the attempt has its end already
	case err != nil:
		return a.push(ctx, c, in, &engine.End{Result: agent.Result{Outcome: agent.NotStarted, Reason: err.Error()}}, said)
	}
	e.Tell, e.Kept, e.Still = said.hear, &a.kept, c.still
	if in.Start.Verify {
		end, err := e.RunVerify(work, in.Run.Ref, in.Start.Elsewhere)
		switch {
		case err != nil:
			return nil, a.unbegun(work, err)
		case end.Err != nil && work.Err() != nil:
			return nil, a.unbegun(work, end.Err) // a command that is cut short refutes nothing
		case end.Err != nil:
			return &AttemptResult{Refuted: tail(end.Err.Error(), 1000)}, nil
		}
		return &AttemptResult{Verified: true}, nil
	}
	if err := c.setApart(work); err != nil {
		return nil, a.unbegun(work, err)
	}
	end, err := e.RunAttempt(work, in.Run.Ref, in.Start.Elsewhere, said.session)
	var late *engine.LateError
	switch {
	case errors.As(err, &late):
		return &AttemptResult{Outcome: "late"}, nil
	case err != nil:
		return nil, a.unbegun(work, err)
	}
	r, err := a.push(ctx, c, in, end, said)
	if err != nil {
		err = a.keepWork(ctx, c, in, end, err)
	}
	return r, err
}

// notBegun marks the error of an attempt that came to nothing because its worker gave up, before
// an agent was started.
const notBegun = "not-begun"

// unbegun is the error of an attempt whose agent was not started, or of a verify command that
// told nothing. Where the work was to end, that is why: it says nothing about the step. Neither does
// a worker that may not start it: another one may.
func (a *Activities) unbegun(work context.Context, err error) error {
	why := context.Cause(work)
	switch {
	case isUntrusted(err) && !temporal.IsCanceledError(why):
		return temporal.NewApplicationErrorWithCause(fmt.Sprintf("the worker %s gave it back: %v", a.Name, err), notBegun, err)
	case err == nil || why == nil:
		return err
	case temporal.IsCanceledError(why):
		return why // the server asked for it
	}
	return temporal.NewApplicationErrorWithCause(fmt.Sprintf("it was not begun: %v", why), notBegun, err)
}

// KeptError says that what an attempt left could not be pushed, and where its worker keeps
// it.
type KeptError struct {
	Worker, Dir string
	Err         error
	finished    bool // the attempt is, and no one is to do it again unasked
}

func (e *KeptError) Error() string {
	return fmt.Sprintf("the work could not be pushed; the worker %s keeps it in %s: %v", e.Worker, e.Dir, e.Err)
}

// Unwrap gives the cause.
func (e *KeptError) Unwrap() error { return e.Err }

func (e *KeptError) kept() bool { return e.finished }

// where says of work that no worker pushes by itself where it is.
func (e *KeptError) where() string {
	return fmt.Sprintf("the worker %s keeps it in %s", e.Worker, e.Dir)
}

// Outcome implements the rule that outcomes have exit codes.
func (e *KeptError) Outcome() reprise.Outcome { return reprise.OutcomeBlocked }

// keepWork keeps the checkout of an attempt that git could not commit, and says where. One
// that another attempt took the place of is no longer wanted, and one that the remote refused
// is kept already. Where the server no longer waits for the attempt, its end is an ordinary
// one, and the policy of its step decides.
func (a *Activities) keepWork(ctx context.Context, c *Checkout, in AttemptInput, end *engine.End, cause error) error {
	var rejected *RejectedError
	var app *temporal.ApplicationError
	if errors.As(cause, &rejected) || errors.As(cause, &app) {
		return cause
	}
	kept, is := errors.AsType[*KeptError](cause)
	if !is {
		dir, err := c.keepAs(fmt.Sprintf("kept-%s-%s-%d", refWord(in.Run.Ref.ID), refWord(keyOf(in.Start.Elsewhere)), in.Start.Number))
		finished := end.Result.Outcome == agent.Done
		if err == nil && finished {
			err = noteKept(dir, keptFolder{in, newEnd(in.Start.Key, end), c.Base})
		}
		if err != nil {
			return errors.Join(cause, err)
		}
		kept = &KeptError{a.Name, dir, cause, finished}
	}
	if ctx.Err() != nil {
		return kept
	}
	return lasting(kept)
}

// words are the last that an agent said.
type words struct {
	mu   sync.Mutex
	beat Heartbeat
}

func (w *words) last() any {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.beat
}

func (w *words) hear(p engine.Progress) {
	if p.Kind != engine.Said {
		return
	}
	w.says(p.Text)
}

func (w *words) says(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.beat.Line = oneLine(text)
}

func (w *words) session(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.beat.Session = id
}

// place makes the checkout that an attempt works in: the branch, and what the last
// attempt at the step left unless that conflicts with it. One that has pushed its end before
// is not carried out again: had is that end.
func (a *Activities) place(ctx context.Context, in AttemptInput) (c *Checkout, had *AttemptResult, err error) {
	branch := "refs/heads/" + Branch(in.Run.Ref.ID)
	at := in.Start.Elsewhere
	at.Number = 0
	own := AttemptRef(in.Run.Ref.ID, at)
	a.pushKept(ctx)
	found, err := a.Mirror.Fetch(ctx, branch, own[:len(own)-1]+"*")
	if err != nil {
		return nil, nil, err
	}
	if done := found[AttemptRef(in.Run.Ref.ID, in.Start.Elsewhere)]; done != "" && !in.Start.Verify {
		read, err := a.Mirror.about(ctx, done)
		if err != nil {
			return nil, nil, err
		}
		if end, err := readEnd(read[done].message); err == nil && end.Key == in.Start.Key && !end.Kept {
			return nil, &AttemptResult{Commit: done, Outcome: string(end.Result.Outcome)}, nil
		}
	}
	tip, err := a.Mirror.recorded(ctx, found[branch], &in.Run)
	if err != nil {
		return nil, nil, err
	}
	if c, err = a.Mirror.Checkout(ctx, tip, Branch(in.Run.Ref.ID)); err != nil {
		return nil, nil, err
	}
	c.folder = in.Run.Folder
	left := in.Start.Commit
	for at.Number = in.Start.Number - 1; at.Number > 0 && left == "" && !in.Start.Verify; at.Number-- {
		left = found[AttemptRef(in.Run.Ref.ID, at)]
	}
	if had, err = a.finishedBefore(ctx, c, in, left); err != nil || had != nil {
		return nil, had, errors.Join(err, c.Close())
	}
	kept, marked, err := unmark(filepath.Join(c.Dir, filepath.FromSlash(in.Run.Folder)))
	if err == nil && !marked {
		err = a.Mirror.ours(ctx, in.Run.Ref.ID, found[branch])
	}
	if i := slices.IndexFunc(kept, func(k keptAway) bool { return k.Step == keyOf(in.Start.Elsewhere) }); err == nil && i >= 0 && !in.Start.Verify {
		err = lasting(&KeptAwayError{"work on " + in.Start.Name(), in.Run.Ref.ID, kept[i : i+1]})
	}
	if err == nil && left != "" {
		_, _, err = c.Bring(ctx, left, commit{})
	}
	if err != nil {
		return nil, nil, cmp.Or(c.Close(), err)
	}
	return c, nil, nil
}

// maxPause is the longest time between two tries to push.
const maxPause = 15 * time.Second

// push commits what an attempt left and pushes it to its own ref. It tries for as long as
// the server waits for the attempt, and a little longer.
func (a *Activities) push(ctx context.Context, c *Checkout, in AttemptInput, end *engine.End, said *words) (*AttemptResult, error) {
	patient := ctx
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Hour)
	defer cancel()
	stop := context.AfterFunc(patient, func() { time.AfterFunc(in.Run.Heartbeat, cancel) })
	defer stop()
	told := newEnd(in.Start.Key, end)
	commit, err := a.commitEnd(ctx, c, in, &told)
	if err != nil {
		return nil, err
	}
	end.Result.Outcome, end.Result.Reason = told.Result.Outcome, told.Result.Reason
	ref := AttemptRef(in.Run.Ref.ID, in.Start.Elsewhere)
	for pause := time.Second; ; pause = min(2*pause, maxPause) {
		err := c.Push(ctx, commit, ref, "")
		var rejected *RejectedError
		var refused *RefusedError
		switch {
		case errors.As(err, &refused):
			return nil, a.keepRefused(ctx, c, commit, in, told, refused)
		case err == nil:
			return &AttemptResult{Commit: commit, Outcome: string(end.Result.Outcome)}, nil
		case errors.As(err, &rejected):
			found, err := a.Mirror.Fetch(ctx, ref)
			if err == nil && found[ref] == commit { // the answer to an earlier push was lost
				return &AttemptResult{Commit: commit, Outcome: string(end.Result.Outcome)}, nil
			}
			if err == nil {
				return nil, rejected
			}
		}
		said.says("it has ended, and to push it is tried again: " + Told(err).Error())
		select {
		case <-ctx.Done(): // what git has needs no folder, and is pushed later
			where, not := a.keepCommit(context.WithoutCancel(ctx), c, commit, in)
			if not != nil {
				return nil, errors.Join(err, not)
			}
			return nil, &KeptError{Worker: a.Name, Dir: where, Err: err}
		case <-time.After(pause):
		}
	}
}

// commitEnd commits what an attempt left, with its end. One that left what git cannot read has
// failed.
func (a *Activities) commitEnd(ctx context.Context, c *Checkout, in AttemptInput, told *attemptEnd) (string, error) {
	told.Base = c.Base
	if what := gitx.Operation(gitx.AbsPath(filepath.Join(c.Dir, ".git"))); what != "" && told.Result.Outcome == agent.Done {
		return "", fmt.Errorf("commit what it left: a %s is under way in it", what)
	}
	head := c.head(ctx)
	if err := c.adopt(ctx, head); err != nil {
		return "", err
	}
	message, err := told.message(&in.Start)
	if err != nil {
		return "", err
	}
	o := CommitOptions{Parents: []string{head}, Folder: in.Run.Folder, Also: in.Run.state(in.Start.Elsewhere)}
	for name := range told.AtStart {
		o.Also = append(o.Also, filepath.Join(in.Run.Folder, name))
	}
	commit, _, err := c.Commit(ctx, message, o)
	if err != nil {
		return "", err
	}
	if len(c.unread) > 0 && told.Result.Outcome == agent.Done {
		told.Result.Outcome, told.Result.Reason = agent.Failed, "it left files that git cannot read: "+strings.Join(c.unread[:min(len(c.unread), 5)], ", ")
		return c.again(ctx, commit, *told, &in.Start)
	}
	return commit, nil
}
