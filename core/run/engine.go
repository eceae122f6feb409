//go:build unix

// Package run is the loop: look, Next, do. It holds nothing in memory that would be missed.
package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"reprise/agent"
	"reprise/core"
	"reprise/core/hands"
	"reprise/core/journal"
	"reprise/core/world"
)

// Config says what is run.
type Config struct {
	Dir        string // the project
	Run        string // the id of the run
	Plan       string // its file, relative to the project
	Of         string // the name of its convention
	Kind       string // what its runs are
	ID         string // its name for people
	Convention core.Convention
	// Judge asks the convention what it makes of an attempt whose step seems to be done, or whose
	// agent asks; nil where it has nothing to say.
	Judge func(Judged) (*core.Judgement, error)
	// Other gives the convention and the judge of another run of this checkout.
	Other func(core.Begin) (core.Convention, func(Judged) (*core.Judgement, error))
	// Inner gives the run of its own that does a step; nil where no step has one.
	Inner func(core.Step) (Config, error)
	// Rests is told when a run that does a step of another one rests, and of its open question; nil
	// for nobody.
	Rests func(asked *core.Ask)
	// Begins makes the files of a run that is not there yet: what it is begun for. Nil for one
	// that is.
	Begins *core.BeginRun
	// Work says who does an attempt, and fills in the job: the prompt, the environment, what it
	// may do, the session. An error means that nothing was started: the run rests with it.
	Work func(ctx context.Context, a Assignment) (agent.Agent, agent.Job, error)
	// Check is the command that says whether a step is done, for those that want it.
	Check func(step core.Step) (by agent.Agent, job agent.Job, ok bool)
	// Used tells what an attempt used, as its End keeps it; nil for nobody. Budget gives what is
	// asked before more is used, nil if nothing is used up.
	Used   func(a Attempted) json.RawMessage
	Budget func() *core.Question
	// Recorded is told of each record that is made; nil for nobody.
	Recorded func(core.Record)
	Skip     map[string]bool
	Until    string
	Leaves   []string // what steps leave, that is brought from one place to another though git ignores it
	Parallel int      // attempts side by side, each in a worktree of its own; one in the project if less than two
	Tries    int      // failures in a row before a person is asked; 3 if zero
	Cuts     int      // likewise how often a step may be cut off; 5 if zero
	// Looker, if set, is what looks at the runs of a checkout share.
	Looker *Looker
	// Patient waits for the end of a usage limit instead of resting until then.
	Patient bool
	// Hard, once closed, kills the agents that the end of a context only asks to stop.
	Hard <-chan struct{}
	// StopOrphans stops what outlived its engine and its keeper, instead of waiting for it.
	StopOrphans bool
	Hide        func(text string) string // takes the secrets of the project out of a text; nil for none
	Now         func() time.Time
	// Boot and Booted name the time since the machine was started, and say when that was; the
	// system is asked if they are empty.
	Boot   string
	Booted time.Time
	Tell   func(Progress) // may be called by several goroutines; nil for nobody
}

func (c *Config) boot() {
	if c.Boot == "" {
		c.Boot, c.Booted = world.Boot()
	}
}

// Attempted is an attempt that is over.
type Attempted struct {
	*core.Start
	Dir, Session string // where it worked, and the id of its session if that is known
	Began        time.Time
	Result       agent.Result
}

// Judged is an attempt that its convention is to judge.
type Judged struct {
	Step        string
	Attempt     int
	Before, Now fs.FS // the project, before its first attempt and now
	Result      agent.Result
}

// Assignment is one attempt, for whoever knows agents.
type Assignment struct {
	Step      core.Step
	Attempt   int
	Dir       string // absolute, where it works
	Key       string // the value of the trailer of its commits
	Result    string // absolute, where it may leave its reply
	Continues bool   // an earlier attempt left work there
	// Session is the one of the attempt before, of CLI, that can be continued; "" if none can. A
	// new one is told what the one before left, by Continues, Failure and Answers.
	Session, CLI string
	Answers      []core.Said
	Failure      string // why the last attempt failed, "" if it did not
}

// Progress is one thing that happens while a run is worked on.
type Progress struct {
	Kind          Kind
	Step, Title   string
	Attempt       int
	Text, Outcome string
	Until         time.Time
	Took          time.Duration
	Log           string // absolute
}

// Kind says what a Progress is about.
type Kind string

// The kinds, by the words of the board.
const (
	Began    Kind = "started"
	Said     Kind = "line"     // the last line of an agent
	Ended    Kind = "ended"    // an attempt of ours
	Resolved Kind = "resolved" // one that an earlier engine left
	Waits    Kind = "waiting"  // for a time
	Question Kind = "question"
	Noticed  Kind = "notice"
)

// Engine has a run, alone. Close gives it back.
type Engine struct {
	Config
	Repo    *world.Repo
	Journal *journal.Journal

	below   string                         // where the project is in the repository; empty at its top
	dir     string                         // of the run
	child   map[hands.Attempt]*hands.Child // the agents that we started
	seen    map[hands.Attempt]bool         // the attempts whose end we saw: nothing came after their last sign
	inner   map[string]*core.Inner         // by step, since this engine began: the runs that do steps
	others  []*Engine                      // the runs of this checkout with an attempt that has no end
	at      core.World                     // where our own last move left the project; empty if time has passed
	full    bool                           // our store could not be packed
	stop    string                         // why nothing more is begun
	resumed *core.SetHold                  // what the plan is to say of the resume with its next change
}

// Open takes a run, or makes a new one if there is none.
func Open(ctx context.Context, c Config) (_ *Engine, err error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Tell == nil {
		c.Tell = func(Progress) {}
	}
	if c.Tries == 0 {
		c.Tries = 3
	}
	c.boot()
	e := &Engine{Config: c, child: map[hands.Attempt]*hands.Child{}, seen: map[hands.Attempt]bool{}}
	if e.Repo, err = world.Open(ctx, c.Dir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			e.Close()
		}
	}()
	if e.below, err = e.Repo.Below(c.Dir); err != nil {
		return nil, err
	}
	e.dir = filepath.Join(runsOf(e.Repo.Top, e.below), c.Run)
	if err := note(e.Repo.Top, e.below); err != nil {
		return nil, err
	}
	if e.Journal, err = journal.Open(e.dir); err != nil {
		return nil, err
	}
	e.Repo.Always = e.always()
	if err := e.findOthers(); err != nil {
		return nil, err
	}
	switch s := e.state(); {
	case s.Seq == 0:
		err = e.beginRun(ctx)
	case c.Begins != nil && s.Due != nil: // an engine was killed while it made the files
		err = e.makeDue(ctx)
	}
	return e, err
}

// beginRun makes the first record, and the files of a run that has none.
func (e *Engine) beginRun(ctx context.Context) error {
	b := e.Config.begin()
	if e.Begins != nil {
		now, err := e.Repo.Take(ctx)
		if err != nil {
			return err
		}
		e.Journal.State.Run = *b // who reads the plan asks where it is
		if b.Move, err = e.planMove(now, *e.Begins, "Begin "+e.ID, ""); err != nil {
			return err
		}
		b.Text = e.Begins.Text
	}
	return e.do(ctx, core.Record{Begin: b})
}

// CatchUp records and carries out what is over, where nobody must be asked, and begins nothing:
// what a person wants is recorded on top of it.
func (e *Engine) CatchUp(ctx context.Context) error {
	defer func() { e.stop = "" }()
	for e.stop = "nothing is begun yet"; e.state().Due != nil || len(e.state().Open) > 0; {
		v, err := e.look(ctx)
		if err != nil {
			return err
		}
		switch d := core.Next(v).(type) {
		case core.MakeMove:
			err = e.makeDue(ctx)
		case core.EndAttempt:
			err = e.end(ctx, d, v)
		default:
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Afresh begins a run again that was begun: its files are those of a new one, and nothing of it
// was done. What its steps made stays in the project.
func (e *Engine) Afresh(ctx context.Context, begins core.BeginRun) error {
	for _, open := range e.state().Open { // what one that is over left stays in the project, too
		if e.attempt(open).Alive() {
			return fmt.Errorf("an agent of it is at work on %s", open.Step)
		}
	}
	now, err := e.Repo.Take(ctx)
	if err != nil {
		return err
	}
	b := e.Config.begin()
	without, err := e.Repo.Without(now, e.plan())
	if err != nil {
		return err
	}
	if b.Move, err = e.planMove(without, begins, "Begin "+e.ID+" afresh", ""); err != nil || b.Move == nil {
		return err
	}
	b.Text, b.Move.Base, b.Move.From = begins.Text, now, now
	return e.do(ctx, core.Record{Begin: b})
}

// Replanned writes that a person has changed the plan itself: what failed in it is tried anew.
func (e *Engine) Replanned(ctx context.Context, why string) error {
	now, err := e.Repo.Take(ctx)
	if err != nil {
		return err
	}
	p := &core.Plan{Why: why, Revised: true}
	if p.Move, err = e.planMove(now, core.Settle{}, "Revise "+e.ID, ""); err != nil || p.Move == nil {
		return err
	}
	return e.do(ctx, core.Record{Plan: p})
}

func (c Config) begin() *core.Begin {
	return &core.Begin{Run: c.Run, Plan: c.Plan, Of: c.Of, Kind: c.Kind, ID: c.ID}
}

// Look gives what an engine would see and decide now. It takes no lock and changes nothing
// in the project.
func Look(ctx context.Context, c Config) (v core.View, d core.Decision, err error) {
	e, done, err := looking(ctx, c)
	if err != nil {
		return v, nil, err
	}
	defer done()
	if err := e.findOthers(); err != nil {
		return v, nil, err
	}
	if v, err = e.look(ctx); err != nil {
		return v, nil, err
	}
	return v, core.Next(v), nil
}

// Looker lets who looks at many runs of a checkout open it once, and see all of them at one
// moment. It must be closed.
type Looker struct {
	mu   sync.Mutex
	repo *world.Repo
}

// Close forgets what was seen.
func (l *Looker) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.repo != nil {
		l.repo.Close()
		l.repo = nil
	}
}

// open gives the checkout to one who looks, until done.
func (l *Looker) open(ctx context.Context, dir string) (_ *world.Repo, done func(), err error) {
	l.mu.Lock()
	if l.repo == nil {
		l.repo, err = world.Look(ctx, dir)
	}
	if err != nil {
		l.mu.Unlock()
		return nil, nil, err
	}
	return l.repo, l.mu.Unlock, nil
}

// Glance is Look for who only wants to know what comes next. Where no engine ever worked there is
// nothing to hold the plan against: git is not asked, nor whether the user is in the middle of
// something.
func Glance(ctx context.Context, c Config) (core.View, core.Decision, error) {
	for dir := c.Dir; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, world.Folder, "worlds")); !errors.Is(err, fs.ErrNotExist) {
			return Look(ctx, c)
		}
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil || dir == filepath.Dir(dir) {
			break
		}
	}
	v := core.View{State: &core.State{Run: *c.begin()}, Tries: 1, Skip: c.Skip, Until: c.Until, Now: time.Now()}
	if c.Budget != nil {
		v.Budget = c.Budget()
	}
	var err error
	if v.Shape, err = c.Convention.Load(os.DirFS(c.Dir), c.Plan); err != nil {
		return v, nil, err
	}
	v.Steps = v.State.Known(v.Steps)
	return v, core.Next(v), nil
}

// looking gives an engine that only looks, until done.
func looking(ctx context.Context, c Config) (e *Engine, done func(), err error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	c.boot()
	e = &Engine{Config: c, Journal: &journal.Journal{}}
	if c.Looker == nil {
		c.Looker = &Looker{}
		defer func() {
			if unlock := done; err == nil {
				done = func() { unlock(); c.Looker.Close() }
			} else {
				c.Looker.Close()
			}
		}()
	}
	if e.Repo, done, err = c.Looker.open(ctx, c.Dir); err != nil {
		return nil, nil, err
	}
	if e.below, err = e.Repo.Below(c.Dir); err == nil {
		e.dir = filepath.Join(runsOf(e.Repo.Top, e.below), c.Run)
		e.Repo.Always = e.always()
		e.Journal.State, err = journal.Peek(e.dir)
	}
	if errors.Is(err, fs.ErrNotExist) || err == nil && e.Journal.State.Seq == 0 { // killed before its first record
		e.Journal.State.Run, err = *c.begin(), nil
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	return e, done, nil
}

// always gives what is a part of every world.
func (e *Engine) always() (out []string) {
	for _, name := range append([]string{e.Plan}, e.Leaves...) {
		out = append(out, path.Join(e.below, name))
	}
	return out
}

// Close gives the run back.
func (e *Engine) Close() {
	if e.Journal != nil {
		e.Journal.Close()
	}
	e.Repo.Close()
}

func (e *Engine) state() *core.State { return &e.Journal.State }

// Work works on the run until it is over or rests, and says why. It may die anywhere: the
// keepers end the agents, and the next Open and Work continue from the last record and from
// what the agents left. When ctx ends the agents are asked to stop, their ends are recorded,
// and the run rests. No agent is at work when Work has returned.
func (e *Engine) Work(ctx context.Context) (rest core.Rest, err error) {
	stop, cancel := context.WithCancel(ctx)
	defer e.Repo.Refresh(context.WithoutCancel(ctx))
	defer e.halt(cancel)
	go func() {
		select {
		case <-e.Hard:
			cancel()
		case <-stop.Done():
		}
	}()
	ctx = context.WithoutCancel(ctx)
	for e.at, e.stop, e.inner = "", "", nil; ; {
		if stop.Err() != nil {
			e.stop = "it was stopped"
		}
		e.pack(ctx)
		v, err := e.look(ctx)
		if err != nil {
			return rest, err
		}
		switch d := core.Next(v).(type) {
		case core.WaitFor:
			if !e.wait(stop) {
				return core.Rest{Why: e.stop}, nil
			}
		case core.StartStep:
			// Alone in the project it is waited for: there is nothing to see before it ends.
			if err = e.start(ctx, stop, d.Step); err == nil && e.Parallel < 2 && !e.wait(stop) {
				return core.Rest{Why: e.stop}, nil
			}
		case core.Verify:
			err = e.verify(stop, d.Step, v.Steps)
		case core.WorkInner:
			err = e.workInner(stop, d.Step)
		case core.AskPerson:
			err = e.ask(d)
		case core.CloseRun:
			_, err = e.append(core.Record{Close: &core.Close{Why: "all steps are done", Complete: true}})
		case core.Rest:
			if d.Until.IsZero() || d.Limit && !e.Patient || e.stop != "" {
				return d, nil
			}
			e.sleep(stop, d)
		default:
			_, err = e.act(ctx, d, v)
		}
		if err != nil {
			return rest, err
		}
	}
}

// act does what is decided and needs neither an agent nor a person; ok is false for anything else.
func (e *Engine) act(ctx context.Context, d core.Decision, v core.View) (ok bool, err error) {
	switch d := d.(type) {
	case core.EndAttempt:
		return true, e.end(ctx, d, v)
	case core.AdoptStep:
		return true, e.adopt(ctx, d, v.Steps)
	case core.UndoStep:
		return true, e.undo(ctx, d)
	case core.MakeMove:
		return true, e.makeDue(ctx)
	case core.DropMove:
		return true, e.made()
	case core.LapseQuestion:
		if _, err = e.append(core.Record{Answer: &core.Answer{ID: d.ID, Lapsed: d.Why}}); err == nil {
			e.notice(d.Step, d.Why, nil)
		}
		return true, err
	case core.SettlePlan:
		return true, e.settle(ctx)
	case core.SkipStep:
		return true, e.skip(ctx, d.Step, v.Steps)
	}
	return false, nil
}

// halt ends the agents that are at work because of an error: what they left is there, and how
// they ended is written down.
func (e *Engine) halt(cancel func()) {
	cancel()
	for _, c := range e.child {
		<-c.Done()
	}
	clear(e.child)
}

// sleep waits for a time, or until the work is to stop. A clock moves on while the machine
// sleeps, and a timer does not: so it naps.
func (e *Engine) sleep(stop context.Context, r core.Rest) {
	e.at = ""
	e.Tell(Progress{Kind: Waits, Text: r.Why, Until: r.Until})
	for e.Now().Before(r.Until) {
		select {
		case <-stop.Done():
			return
		case <-time.After(min(r.Until.Sub(e.Now()), time.Second)):
		}
	}
}

// Answer records what a person chose. It counts once it returns; the next Work acts on it.
func (e *Engine) Answer(id, option string) error {
	q := e.state().Asked
	if q == nil || q.ID != id {
		return fmt.Errorf("%w: %s", ErrNotAsked, id)
	}
	if of := q.Of; of != nil {
		if strings.TrimSpace(option) == "" || of.Closed && !slices.Contains(of.Options, option) {
			return fmt.Errorf("%w: %s has no option %q", ErrNotAsked, id, option)
		}
		return e.answerText(context.Background(), q, option)
	}
	for _, o := range q.Options {
		if o.Key == option {
			head, err := e.Repo.Head()
			if err != nil {
				return err
			}
			_, err = e.append(core.Record{Answer: &core.Answer{ID: id, Option: option, Head: head.Head}})
			return err
		}
	}
	return fmt.Errorf("%w: %s has no option %q", ErrNotAsked, id, option)
}

// ErrNotAsked is given for an answer to something that is not asked.
var ErrNotAsked = errors.New("no such question is open")

// Undo takes the work of a step that is done back out of the project, but for the files in keep. It is refused, with
// nothing changed, where the same lines were changed since.
func (e *Engine) Undo(ctx context.Context, step string, keep ...string) error {
	if len(e.state().Open) > 0 || e.state().Due != nil {
		return errors.New("an attempt is open: resume first")
	}
	if !e.state().Step(step).Done {
		return fmt.Errorf("step %s is not done", step)
	}
	return e.undo(ctx, core.UndoStep{Step: step, Why: "asked for"}, keep...)
}

// append makes a record durable: the only commit point. What it names is so before.
func (e *Engine) append(r core.Record) (core.Record, error) {
	if err := e.Repo.Sync(); err != nil {
		return r, err
	}
	r, err := e.Journal.Append(r, e.Now())
	if err == nil && e.Recorded != nil {
		e.Recorded(r)
	}
	return r, err
}

// do appends a record and makes its move.
func (e *Engine) do(ctx context.Context, r core.Record) error {
	if m := r.Move(); m != nil {
		if e.state().Due != nil {
			return errors.New("what was recorded last was cut off before it was carried out: resume the run first")
		}
		if err := e.Repo.Whole(m.From, m.To); err != nil {
			return err
		}
	}
	if _, err := e.append(r); err != nil || r.Move() == nil {
		return err
	}
	e.resumed = nil
	return e.makeDue(ctx)
}

// makeDue makes the move that is due, and notes that it is made.
func (e *Engine) makeDue(ctx context.Context) error {
	r := e.state().Due
	left, err := e.Repo.Make(ctx, e.Run, *r)
	note := ""
	switch {
	case errors.Is(err, world.ErrMissing): // a power cut took it, or a gc: the plan will differ, and that is asked about
		note = fmt.Sprintf("the move of record %d is lost: %v", r.Seq, err)
	case err != nil:
		return err
	case len(left) > 0:
		note = fmt.Sprintf("left as you changed them: %q", left)
	}
	if err := e.made(); err != nil {
		return err
	}
	if e.at = r.Move().To; note != "" {
		e.at = ""
		_, err = e.append(core.Record{Note: &core.Note{Text: note}})
		return err
	}
	return nil
}

// made notes that the move that is due is made.
func (e *Engine) made() error {
	head, err := e.Repo.Head()
	if err != nil {
		return err
	}
	_, err = e.Journal.Note(core.Record{Made: &core.Made{Of: e.state().Due.Seq, Head: head.Head}}, e.Now())
	return err
}

func (e *Engine) attempt(s *core.Start) hands.Attempt { return hands.At(e.dir, s.Step, s.Attempt) }

// plan gives the path of the plan in worlds, and inPlan whether a file belongs to it: it is a
// file, or a folder.
func (e *Engine) plan() string { return path.Join(e.below, e.state().Run.Plan) }

func (e *Engine) inPlan(name string) bool { return world.Below(name, e.plan()) }

// shape and record reach the convention, in the part of a world that is the project. Steps
// have the ids that the records know them by.
func (e *Engine) shape(files fs.FS) (core.Shape, error) {
	files, err := e.sub(files)
	if err != nil {
		return core.Shape{}, err
	}
	shape, err := e.Convention.Load(files, e.state().Run.Plan)
	shape.Steps = e.state().Known(shape.Steps)
	return shape, err
}

func (e *Engine) steps(files fs.FS) ([]core.Step, error) {
	shape, err := e.shape(files)
	return shape.Steps, err
}

// A list that has an item no more has no place for its status: its number is another one's.
func (e *Engine) record(files fs.FS, change core.Change) ([]core.Edit, error) {
	if status, ok := change.(core.SetStatus); ok {
		steps, err := e.steps(files)
		i := slices.IndexFunc(steps, func(s core.Step) bool { return s.ID == status.Step })
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil || i < 0 && !slices.ContainsFunc(steps, func(s core.Step) bool { return s.Named }) {
			return nil, err
		}
		if i >= 0 {
			status.Step = steps[i].InPlan
		}
		change = status
	}
	files, err := e.sub(files)
	if err != nil {
		return nil, err
	}
	edits, err := e.Convention.Record(files, e.state().Run.Plan, change)
	for i := range edits {
		edits[i].Path = path.Join(e.below, edits[i].Path)
	}
	return edits, err
}

func (e *Engine) sub(files fs.FS) (fs.FS, error) {
	if e.below == "" {
		return files, nil
	}
	return fs.Sub(files, e.below)
}
