package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"reprise"
	"reprise/agent"
	"reprise/agent/script"
	"reprise/internal/durable"
	"reprise/journal"
	"reprise/settings"
	"reprise/upkeep"
	"reprise/worktree"
)

// Hands do what touches more of the world than the run's own files. Those of whoever
// works start agents, run git and wait; those of a preview tell what would be done.
type Hands interface {
	// Keep keeps the state, and going on the tree, so that what follows can be undone. It
	// gives the name of the snapshot.
	Keep(ctx context.Context, r *reprise.Run, note string, going bool) (string, error)
	// Checkout makes the run's own checkout whole and gives its path in the project.
	Checkout(ctx context.Context) (string, error)
	// Scratch is a folder for the files of an attempt.
	Scratch(name string) (string, error)
	// Open opens another run of the project, worked on by the playbook or as its files say.
	Open(ctx context.Context, ref reprise.Ref, book reprise.Playbook) (*work, error)
	// Unbound takes in that the settings name nobody who could do a unit.
	Unbound(a reprise.Assignment, cause error)
	// Launch starts the process of an attempt that is on record.
	Launch(ctx context.Context, f *attempt, bound binding, job agent.Job) error
	// Child starts to work on a run within the run, which does the unit of an attempt.
	// again is when a person said that it is to be tried again, zero if nobody did.
	Child(ctx context.Context, f *attempt, again time.Time)
	// Verify starts the person's own command that says whether a step is done. wait
	// gives what it says; it may be called from any goroutine.
	Verify(ctx context.Context, f *attempt) (wait func() error, err error)
	// Home puts the checkout that an attempt worked in on the run's branch.
	Home(ctx context.Context, f *attempt) error
	// Commit gives the commit that holds the work of an attempt, which it makes of what
	// is left uncommitted; "" if there is none.
	Commit(stop context.Context, f *attempt) (string, error)
	// Flush makes what an attempt left durable.
	Flush() error
	// TakeOut takes answers that are on record out of the inbox.
	TakeOut(lines [][]byte) error
	// Await waits for something that is at work to end, for a time, or to be stopped;
	// Sleep for a time while nothing is.
	Await(ctx context.Context, wake time.Time) error
	Sleep(ctx context.Context, until time.Time) error
	// PutAway archives the state of a run that begins again elsewhere, GiveUp that of
	// one that does not.
	PutAway(old reprise.Ref) (string, error)
	GiveUp(ctx context.Context, r *reprise.Run) (*upkeep.Cleaned, error)
	// Merge takes what was built into the project's branch, Discard keeps it elsewhere.
	Merge(ctx context.Context) (worktree.Merged, error)
	Discard(ctx context.Context) (worktree.Discarded, error)

	of(w *work) Hands
}

// local are the hands of whoever works on this machine.
type local struct{ *work }

// Unbound implements Hands: the unit is left to a person.
func (w *local) Unbound(a reprise.Assignment, cause error) { w.refuse(a, cause) }

// Keep implements Hands.
func (w *local) Keep(ctx context.Context, r *reprise.Run, note string, going bool) (string, error) {
	if !going {
		return upkeep.Keep(ctx, w.store, []*reprise.Run{r}, note)
	}
	snap, err := upkeep.KeepGoing(ctx, w.store, r, note)
	if err != nil {
		return "", err
	}
	return snap, w.store.ForgetStopped() // how the last process ended has been told
}

func (w *local) of(next *work) Hands { return &local{next} }

// Open implements Hands.
func (w *local) Open(ctx context.Context, ref reprise.Ref, book reprise.Playbook) (*work, error) {
	return w.Engine.open(ctx, w.store, ref, book)
}

// Scratch implements Hands.
func (w *local) Scratch(name string) (string, error) { return w.store.Scratch(name) }

// Flush implements Hands.
func (w *local) Flush() error { return w.store.Flush() }

// TakeOut implements Hands.
func (w *local) TakeOut(lines [][]byte) error {
	return durable.UpdatePrivate(w.inbox(), func(old []byte) ([]byte, error) { return withoutLines(old, lines), nil })
}

// GiveUp implements Hands.
func (w *local) GiveUp(ctx context.Context, r *reprise.Run) (*upkeep.Cleaned, error) {
	return upkeep.GiveUp(ctx, w.store, r, w.Now())
}

// Merge implements Hands.
func (w *local) Merge(ctx context.Context) (worktree.Merged, error) {
	return worktree.Merge(ctx, w.tree())
}

// Discard implements Hands.
func (w *local) Discard(ctx context.Context) (worktree.Discarded, error) {
	return worktree.Discard(ctx, w.tree())
}

// PutAway implements Hands.
func (w *local) PutAway(old reprise.Ref) (string, error) {
	if old.Path != w.ref.Path {
		j, err := journal.Open(w.store, w.layout, old)
		if err == nil {
			err = j.Note(reprise.Event{Kind: reprise.RunStopped, At: w.Now(), Actor: actor, Outcome: "archived", Text: "the state was archived"})
		}
		if err != nil {
			return "", err
		}
	}
	return w.store.Archive(old.Path)
}

// Checkout implements Hands. A checkout is made whole before it is on record, and a
// half-made one is made again.
func (w *local) Checkout(ctx context.Context) (string, error) {
	made, err := worktree.Ensure(ctx, w.tree())
	if err != nil {
		return "", fmt.Errorf("make the checkout of %s: %w", w.ref.ID, err)
	}
	for _, text := range made.Notes {
		w.notice(reprise.Finding{Code: reprise.CodeLeftover, Severity: reprise.Info, Subject: w.ref.ID, Message: text})
	}
	if made.Record != nil {
		if err := w.record(ctx, *made.Record); err != nil {
			return "", err
		}
	}
	return made.Path, nil
}

// Child implements Hands.
func (w *local) Child(ctx context.Context, f *attempt, again time.Time) {
	go func() {
		sum, err := w.Engine.runChild(ctx, w.work, f.a, again)
		w.ends <- ending{step: f.a.Step, child: sum, err: err}
	}()
}

// Launch implements Hands.
func (w *local) Launch(ctx context.Context, f *attempt, bound binding, job agent.Job) error {
	out, name, err := w.store.CreateLog(w.attemptName(f))
	if err != nil {
		return err
	}
	f.log, f.logfile, job.Log = name, out, out
	// Being asked to stop reaches every agent through this context; the engine
	// itself goes on until they are gone.
	stopped := ctx
	ctx, f.cancel = context.WithCancel(ctx)
	w.countLaunch(f, 1)
	f.session, err = w.startAgent(ctx, bound.agent, job)
	if err != nil {
		f.cancel()
		out.Close()
		if stopped.Err() != nil {
			return w.outcome(ctx, f, agent.Result{Outcome: agent.Stopped})
		}
		if errors.Is(err, agent.ErrLost) { // the command may well start the next time
			return w.cutOff(ctx, f, agent.Result{Outcome: agent.Lost, Reason: err.Error()})
		}
		return w.notStarted(ctx, f, err)
	}
	// crash: agent-started
	w.atWork[f.a.Step] = f
	f.begun.tell(func() {
		w.tell(Progress{Kind: Began, Step: f.a.Step, Title: f.a.Unit.Title, Role: f.a.Role, Attempt: f.attempt, Log: f.log})
	})
	go func() {
		r := f.session.Wait()
		w.ends <- ending{step: f.a.Step, result: r}
	}()
	return nil
}

// startAgent starts an agent and meanwhile records what it wants on record: the
// id of a session that we choose is there before its process is.
func (w *local) startAgent(ctx context.Context, a agent.Agent, job agent.Job) (session agent.Session, err error) {
	started := make(chan struct{})
	go func() {
		session, err = a.Start(ctx, job)
		close(started)
	}()
	for {
		select {
		case n := <-w.notes:
			n.done <- w.record(ctx, n.ev)
		case <-started:
			return session, err
		}
	}
}

// Verify implements Hands.
func (w *local) Verify(ctx context.Context, f *attempt) (wait func() error, err error) {
	env, secrets := w.Settings.Environ(w.Environ, settings.Agent{Env: f.a.Env})
	out, name, err := w.store.CreateLog(w.attemptName(f) + ".verify")
	if err != nil {
		return nil, err
	}
	session, err := script.New(script.Options{Grace: w.Settings.Grace, MaxLog: w.Settings.MaxLog, Shim: w.Shim}).Start(ctx, agent.Job{
		Run: w.ref.ID, Step: f.a.Step, Attempt: f.attempt, Role: "verify", Project: w.Dir, Dir: f.dir, Command: f.a.Verify, Env: env, Secrets: secrets,
		Result: filepath.Join(filepath.Dir(f.result), "verify.json"), Timeout: pick(f.a.Timeout, w.Settings.Timeout), Log: out, Inherit: w.inherit(),
	})
	if err != nil {
		out.Close()
		return nil, fmt.Errorf("verify %s: %w", f.a.Step, err)
	}
	return func() error {
		defer out.Close()
		switch r := session.Wait(); r.Outcome {
		case agent.Done:
			return nil
		case agent.Stopped:
			return errCutShort
		default:
			return fmt.Errorf("verify %s: %s did not succeed: %s (%s)", f.a.Step, f.a.Verify[0], first(r.Reason, string(r.Outcome)), name)
		}
	}, nil
}

// Await implements Hands.
func (w *local) Await(ctx context.Context, wake time.Time) error {
	var timer <-chan time.Time
	if !wake.IsZero() {
		t := time.NewTimer(wake.Sub(w.Now()))
		defer t.Stop()
		timer = t.C
	}
	hard := w.Hard
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-look.C:
			if !wake.IsZero() && !w.Now().Before(wake) {
				return nil // the clock moves on while the machine sleeps, a timer does not
			}
			if len(w.letters()) > 0 {
				return nil
			}
		case l := <-w.ends:
			return w.takeEnd(ctx, l)
		case n := <-w.notes:
			n.done <- w.record(ctx, n.ev)
		case <-timer:
			return nil
		case <-hard:
			hard = nil
			for _, f := range w.atWork {
				f.kill()
			}
		}
	}
}

// Sleep implements Hands.
func (w *local) Sleep(ctx context.Context, until time.Time) error {
	w.tell(Progress{Kind: Waits, Until: until})
	for {
		left := until.Sub(w.Now())
		if left <= 0 {
			return nil
		}
		if len(w.letters()) > 0 {
			return nil
		}
		// Short naps: the clock moves on while the machine sleeps, a timer
		// does not.
		t := time.NewTimer(min(left, lookEvery))
		select {
		case <-ctx.Done():
			t.Stop()
			return nil
		case <-w.Hard:
			t.Stop()
			return context.Canceled
		case <-t.C:
		}
	}
}
