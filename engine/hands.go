package engine

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"sync"
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

// Hands do what reaches beyond the run's own files: they start agents, run git and wait.
// Those of a preview only say what would be done. They take and return plain data, so
// that another program can carry out the same rules.
type Hands interface {
	// Keep takes a snapshot of the state, and with going of the tree too, so that what
	// follows can be undone. It returns the name of the snapshot.
	Keep(ctx context.Context, r *reprise.Run, note string, going bool) (string, error)
	// Prepare readies the place that an attempt works in, and fills in what it needs and
	// finds there. For one of an earlier process it only finds the place.
	Prepare(ctx context.Context, f *Attempt) error
	// Start starts the agent of an attempt that is on record, or the child run that does
	// it. Await returns its end.
	Start(ctx context.Context, f *Attempt) error
	// Verify starts the user's command that says whether an attempt is done. Await
	// returns its end.
	Verify(ctx context.Context, f *Attempt) error
	// Land commits what an attempt left uncommitted and makes everything it left durable.
	// A commit that git refuses is in the Landing; the error says that not even that
	// could be recorded.
	Land(stop context.Context, f *Attempt) (Landing, error)
	// CommitRecord commits what an event that is being recorded changes in a list of tasks
	// that git knows, with the event's key. Where git cannot commit, it is left for the
	// user, who is told.
	CommitRecord(ctx context.Context, ev *reprise.Event)
	// Await waits for an end, or until a time that is not zero, or for an answer in the
	// inbox; for the latter two it returns nil. While nothing is at work it also ends
	// with ctx.
	Await(ctx context.Context, until time.Time) (*End, error)
	// Stop asks everything at work to stop because of an error.
	Stop(cause error)
}

// Archive carries out choices that give up or merge what a run made.
type Archive interface {
	// PutAway archives the state of a run that begins again elsewhere, GiveUp that of a
	// run that does not.
	PutAway(old reprise.Ref) (string, error)
	GiveUp(ctx context.Context, r *reprise.Run) (*upkeep.Cleaned, error)
	// Merge merges what was built into the project's branch, Discard archives it.
	Merge(ctx context.Context) (worktree.Merged, error)
	Discard(ctx context.Context) (worktree.Discarded, error)
}

// End is the end of an attempt, or of the command that verifies one.
type End struct {
	Step   string
	Result agent.Result // of an agent
	Ran    *Summary     // of a run of its own
	// Err is why the verify command failed; otherwise why the end is unknown.
	Err      error
	Findings []reprise.Finding
	// AtStart are the hashes of the expected files when the agent was started, if that was
	// in another process; see Attempt.
	AtStart map[string]reprise.Hash
}

// local are the hands that work on this machine.
type local struct {
	*work
	withEnd string              // the latest commit that has the end of its attempt in the list
	leftOut string              // the latest step of whose work no commit has anything
	unheld  map[string][]string // what the commit of a step left out of its work, by step
	running map[string]*process // by step
	ends    chan End
	notes   chan note
	failed  error // why everything is being stopped
}

func newLocal(w *work) *local {
	return &local{work: w, running: map[string]*process{}, ends: make(chan End, 64), notes: make(chan note)}
}

// startError says that no agent is configured for a unit, or that it cannot be started.
type startError struct{ error }

// Unwrap gives the cause.
func (e *startError) Unwrap() error { return e.error }

// process is an attempt at work.
type process struct {
	Attempt
	cancel  context.CancelFunc
	session agent.Session // nil where a command or a run of its own is at work
	log     io.Closer
	begun   begun
}

// note is an event that an attempt wants recorded while it is at work. The loop is the
// only writer of the journal; the attempt waits for it.
type note struct {
	ev   reprise.Event
	done chan error
}

// Keep implements Hands.
func (h *local) Keep(ctx context.Context, r *reprise.Run, note string, going bool) (string, error) {
	if !going {
		return upkeep.Keep(ctx, h.store, []*reprise.Run{r}, note)
	}
	snap, err := upkeep.KeepGoing(ctx, h.store, r, note)
	if err != nil {
		return "", err
	}
	return snap, h.store.ForgetStopped() // how the last process ended has been told
}

// Prepare implements Hands. What an earlier attempt left may keep this one from being recorded:
// that is asked each time, and costs no attempt.
func (h *local) Prepare(ctx context.Context, f *Attempt) error {
	if err := cmp.Or(durable.Room(h.Dir), durable.Writable(h.Dir, h.ref.Path)); err != nil {
		return fmt.Errorf("start %s: %w", f.Step, err)
	}
	if err := h.prepare(ctx, f, h.checkout); err != nil {
		return err
	}
	_, err := h.store.Scratch(h.attemptName(f))
	return err
}

// checkout makes the run's own checkout. It is complete before it is on record, and an
// incomplete one is made again.
func (h *local) checkout(ctx context.Context) (string, error) {
	made, err := worktree.Ensure(ctx, h.tree())
	if err != nil {
		return "", fmt.Errorf("create the checkout of %s: %w", h.ref.ID, err)
	}
	for _, text := range made.Notes {
		h.notice(reprise.Finding{Code: reprise.CodeLeftover, Severity: reprise.Info, Subject: h.ref.ID, Message: text})
	}
	if made.Record != nil {
		if err := h.record(ctx, *made.Record); err != nil {
			return "", err
		}
	}
	return made.Path, nil
}

// Start implements Hands. Cancelling ctx stops every agent; the engine waits until they
// are gone.
func (h *local) Start(ctx context.Context, f *Attempt) (err error) {
	p := &process{}
	ctx, p.cancel = context.WithCancel(ctx)
	if f.Child != nil {
		go func() {
			ran, err := h.Engine.runChild(ctx, h.work, *f)
			h.ends <- End{Step: f.Step, Ran: ran, Err: err}
		}()
	} else if err = h.startAgent(ctx, f, p); err != nil {
		p.cancel()
		return err
	}
	// crash: agent-started
	p.Attempt, h.running[f.Step] = *f, p
	p.begun.tell(func() {
		h.tell(Progress{Kind: Began, Step: f.Step, Title: f.Unit.Title, Role: f.Role, Attempt: f.Number, Log: f.Log})
	})
	return nil
}

// startAgent starts the agent of an attempt. A session id that we choose is on record
// before the process exists.
func (h *local) startAgent(ctx context.Context, f *Attempt, p *process) error {
	bound, err := h.bind(f.Assignment)
	if err != nil {
		return err
	}
	if f.Commit {
		files, _ := h.lookAt(f)
		f.Files = &files
	}
	out, name, err := h.store.CreateLog(h.attemptName(f))
	if err != nil {
		return err
	}
	f.Log, p.log = name, out
	job, told := h.job(f, bound), *f
	job.Log, job.Inherit = out, h.inherit()
	job.Line = func(text string) { h.tellLine(&told, p, text) }
	job.Learned = func(session string) error {
		n := note{reprise.Event{Kind: reprise.SessionKnown, At: h.Now(), Step: told.Step, Attempt: told.Number, Agent: session}, make(chan error, 1)}
		h.notes <- n
		return <-n.done
	}
	started := make(chan struct{})
	go func() {
		p.session, err = bound.agent.Start(ctx, job)
		close(started)
	}()
	for {
		select {
		case n := <-h.notes:
			n.done <- h.record(ctx, n.ev)
			continue
		case <-started:
		}
		break
	}
	if err != nil {
		out.Close()
		return &startError{err}
	}
	go func() { h.ends <- End{Step: told.Step, Result: p.session.Wait()} }()
	return nil
}

// tellLine reports a line of an agent. It is called from the agent's goroutine and reads
// nothing that the loop changes.
func (h *local) tellLine(f *Attempt, p *process, text string) {
	if h.Tell == nil {
		return
	}
	said := Progress{Kind: Said, At: h.Now(), Run: h.ref.ID, Step: f.Step, Title: f.Unit.Title, Role: f.Role, Attempt: f.Number, Text: text, Done: -1, Total: -1}
	p.begun.say(func() { h.Tell(said) })
}

// begun delays lines of an agent until its start was reported: its process runs before
// Start returns.
type begun struct {
	mu   sync.Mutex
	told bool
	said []func()
}

// tell reports the start, and then the lines before it.
func (b *begun) tell(began func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	began()
	for _, say := range b.said {
		say()
	}
	b.told, b.said = true, nil
}

// maxSaid bounds how many lines are delayed; the log has them all.
const maxSaid = 1000

// say reports a line once the start was reported.
func (b *begun) say(what func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.told:
		what()
	case len(b.said) < maxSaid:
		b.said = append(b.said, what)
	}
}

// Verify implements Hands.
func (h *local) Verify(ctx context.Context, f *Attempt) error {
	env, secrets := h.Settings.Environ(h.Environ, settings.Agent{Env: f.Env})
	out, name, err := h.store.CreateLog(h.attemptName(f) + ".verify")
	if err != nil {
		return err
	}
	p := &process{Attempt: *f, log: out}
	ctx, p.cancel = context.WithCancel(ctx)
	session, err := script.New(script.Options{Grace: h.Settings.Grace, MaxLog: h.Settings.MaxLog, Shim: h.Shim}).Start(ctx, agent.Job{
		Run: h.ref.ID, Step: f.Step, Attempt: f.Number, Role: "verify", Project: h.Dir, Dir: f.Dir, Command: f.Assignment.Verify, Env: env, Secrets: secrets,
		Result: filepath.Join(filepath.Dir(f.ReplyFile), "verify.json"), Timeout: pick(f.Timeout, h.Settings.Timeout), Log: out, Inherit: h.inherit(),
	})
	if err != nil {
		p.cancel()
		out.Close()
		return fmt.Errorf("verify %s: %w", f.Step, err)
	}
	h.running[f.Step] = p
	go func() {
		end := End{Step: p.Step}
		switch r := session.Wait(); r.Outcome {
		case agent.Done:
		case agent.Stopped:
			end.Err = ErrCutShort
		default:
			end.Err = fmt.Errorf("verify %s: %s failed: %s (%s)", p.Step, p.Assignment.Verify[0], first(r.Reason, string(r.Outcome)), name)
		}
		h.ends <- end
	}()
	return nil
}

// Stop implements Hands.
func (h *local) Stop(cause error) {
	h.failed = cause
	for _, p := range h.running {
		p.cancel()
	}
}

// Await implements Hands.
func (h *local) Await(ctx context.Context, until time.Time) (*End, error) {
	if len(h.running) == 0 {
		return nil, h.sleep(ctx, until)
	}
	var timer <-chan time.Time
	if !until.IsZero() {
		t := time.NewTimer(until.Sub(h.Now()))
		defer t.Stop()
		timer = t.C
	}
	hard := h.Hard
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-look.C:
			if !until.IsZero() && !h.Now().Before(until) {
				return nil, nil // the clock moves on while the machine sleeps, a timer does not
			}
			if len(h.letters()) > 0 {
				return nil, nil
			}
		case e := <-h.ends:
			h.takeIn(ctx, &e)
			return &e, nil
		case n := <-h.notes:
			if h.failed == nil {
				n.done <- h.record(ctx, n.ev)
			} else {
				n.done <- h.failed
			}
		case <-timer:
			return nil, nil
		case <-hard:
			hard = nil
			for _, p := range h.running {
				p.cancel()
				if p.session != nil {
					p.session.Kill()
				}
			}
		}
	}
}

// takeIn cleans up after what ended and adds findings about it. It puts a checkout that
// the agent left on another branch back on the run's branch.
func (h *local) takeIn(ctx context.Context, e *End) {
	p := h.running[e.Step]
	delete(h.running, e.Step)
	p.cancel()
	found := func(code, message, hint, file string) {
		e.Findings = append(e.Findings, reprise.Finding{
			Code: code, Severity: reprise.Warning, Subject: e.Step, Message: message, Hint: hint, Source: reprise.Source{File: file},
		})
	}
	if p.log != nil {
		if err := p.log.Close(); err != nil {
			found(reprise.CodeUnreadable, "the log of the step is incomplete: "+err.Error(), "", p.Log)
		}
	}
	if p.session == nil {
		return
	}
	for _, left := range e.Result.LeftOver {
		found(reprise.CodeLeftProcess, "a process outlived the step and was stopped: "+left, "an agent must stop what it starts", "")
	}
	if now := h.switched(&p.Attempt); now != "" {
		found(reprise.CodeWorktreeForeign, "while it was at work, "+now+" was checked out instead of "+h.checkedOut+", and what follows is committed there",
			"`git switch "+reprise.Pasted(h.checkedOut, "BRANCH")+"` goes back", "")
		h.checkedOut = h.repo.Current()
	}
	if err := h.home(context.WithoutCancel(ctx), &p.Attempt); err != nil {
		// Accepting the attempt reports the same error again; a failed attempt is
		// reported as that.
		found(reprise.CodeWorktreeForeign, "the checkout of the run is not as it should be: "+err.Error(), "", "")
	}
}

// sleep waits for a time while nothing is at work.
func (h *local) sleep(ctx context.Context, until time.Time) error {
	h.tell(Progress{Kind: Waits, Until: until})
	for {
		left := until.Sub(h.Now())
		if left <= 0 || len(h.letters()) > 0 {
			return nil
		}
		// Short naps: the clock moves on while the machine sleeps, a timer does not.
		t := time.NewTimer(min(left, lookEvery))
		select {
		case <-ctx.Done():
			t.Stop()
			return nil
		case <-h.Hard:
			t.Stop()
			return context.Canceled
		case <-t.C:
		}
	}
}

// GiveUp implements Archive.
func (h *local) GiveUp(ctx context.Context, r *reprise.Run) (*upkeep.Cleaned, error) {
	return upkeep.GiveUp(ctx, h.store, r, h.Now())
}

// Merge implements Archive.
func (h *local) Merge(ctx context.Context) (worktree.Merged, error) {
	return worktree.Merge(ctx, h.tree())
}

// Discard implements Archive.
func (h *local) Discard(ctx context.Context) (worktree.Discarded, error) {
	return worktree.Discard(ctx, h.tree())
}

// PutAway implements Archive.
func (h *local) PutAway(old reprise.Ref) (string, error) {
	if old.Path != h.ref.Path {
		j, err := journal.Open(h.store, h.layout, old)
		if err == nil {
			err = j.Note(reprise.Event{Kind: reprise.RunStopped, At: h.Now(), Actor: actor, Outcome: "archived", Text: "the state was archived"})
		}
		if err != nil {
			return "", err
		}
	}
	return h.store.Archive(old.Path)
}
