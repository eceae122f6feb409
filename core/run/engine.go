//go:build unix

// Package run is the loop: look, Next, do. It holds nothing in memory that would be missed.
package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
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
	Parallel int // attempts side by side, each in a worktree of its own; one in the project if less than two
	Tries    int // failures in a row before a person is asked; 3 if zero
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

	below  string                         // where the project is in the repository; empty at its top
	dir    string                         // of the run
	child  map[hands.Attempt]*hands.Child // the agents that we started
	seen   map[hands.Attempt]bool         // the attempts whose end we saw: nothing came after their last sign
	others []*Engine                      // the runs of this checkout with an attempt that has no end
	at     core.World                     // where our own last move left the project; empty if time has passed
	full   bool                           // our store could not be packed
	stop   string                         // why nothing more is begun
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
	e.dir = filepath.Join(e.Repo.Top, world.Folder, "runs", c.Run)
	if e.Journal, err = journal.Open(e.dir); err != nil {
		return nil, err
	}
	e.Repo.Always = []string{path.Join(e.below, c.Plan)}
	if err := e.findOthers(); err != nil {
		return nil, err
	}
	if e.state().Seq == 0 {
		_, err = e.append(core.Record{Begin: c.begin()})
		return e, err
	}
	return e, nil
}

func (c Config) begin() *core.Begin {
	return &core.Begin{Run: c.Run, Plan: c.Plan, Of: c.Of, Kind: c.Kind, ID: c.ID}
}

// Look gives what an engine would see and decide now. It takes no lock and changes nothing
// in the project.
func Look(ctx context.Context, c Config) (v core.View, d core.Decision, err error) {
	e, err := looking(ctx, c)
	if err != nil {
		return v, nil, err
	}
	defer e.Repo.Close()
	if err := e.findOthers(); err != nil {
		return v, nil, err
	}
	if v, err = e.look(ctx); err != nil {
		return v, nil, err
	}
	return v, core.Next(v), nil
}

// looking gives an engine that only looks. Its repository must be closed.
func looking(ctx context.Context, c Config) (e *Engine, err error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	c.boot()
	e = &Engine{Config: c, Journal: &journal.Journal{}}
	if e.Repo, err = world.Look(ctx, c.Dir); err != nil {
		return nil, err
	}
	if e.below, err = e.Repo.Below(c.Dir); err == nil {
		e.dir = filepath.Join(e.Repo.Top, world.Folder, "runs", c.Run)
		e.Repo.Always = []string{path.Join(e.below, c.Plan)}
		e.Journal.State, err = journal.Peek(e.dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		e.Journal.State.Run, err = *c.begin(), nil
	}
	if err != nil {
		e.Repo.Close()
		return nil, err
	}
	return e, nil
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
	for e.at, e.stop = "", ""; ; {
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
		case core.EndAttempt:
			err = e.end(ctx, d, v)
		case core.AdoptStep:
			err = e.adopt(ctx, d.Step, v.Steps)
		case core.UndoStep:
			err = e.undo(ctx, d)
		case core.MakeMove:
			err = e.makeDue(ctx)
		case core.DropMove:
			err = e.made()
		case core.Verify:
			err = e.verify(stop, d.Step, v.Steps)
		case core.LapseQuestion:
			_, err = e.append(core.Record{Answer: &core.Answer{ID: d.ID, Text: "the budget or what was used has changed; this is no longer asked"}})
		case core.SkipStep:
			err = e.skip(ctx, d.Step, v.Steps)
		case core.AskPerson:
			err = e.ask(d)
		case core.CloseRun:
			_, err = e.append(core.Record{Close: &core.Close{Why: "all steps are done", Complete: true}})
		case core.Rest:
			if d.Until.IsZero() || d.Limit && !e.Patient || e.stop != "" {
				return d, nil
			}
			e.sleep(stop, d)
		}
		if err != nil {
			return rest, err
		}
	}
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
		return e.answerText(q, option)
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

// Undo takes the work of a step that is done back out of the project. It is refused, with
// nothing changed, where the same lines were changed since.
func (e *Engine) Undo(ctx context.Context, step string) error {
	if len(e.state().Open) > 0 || e.state().Due != nil {
		return errors.New("an attempt is open: resume first")
	}
	if !e.state().Step(step).Done {
		return fmt.Errorf("step %s is not done", step)
	}
	return e.undo(ctx, core.UndoStep{Step: step, Why: "asked for"})
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
		if err := e.Repo.Whole(m.From, m.To); err != nil {
			return err
		}
	}
	if _, err := e.append(r); err != nil || r.Move() == nil {
		return err
	}
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

// plan gives the path of the plan in worlds.
func (e *Engine) plan() string { return path.Join(e.below, e.state().Run.Plan) }

// steps and record reach the convention, in the part of a world that is the project. Steps
// have the ids that the records know them by.
func (e *Engine) steps(files fs.FS) ([]core.Step, error) {
	files, err := e.sub(files)
	if err != nil {
		return nil, err
	}
	steps, err := e.Convention.Load(files, e.state().Run.Plan)
	return e.state().Known(steps), err
}

// A plan that has a step no more has no place for its status.
func (e *Engine) record(files fs.FS, change core.Change) ([]core.Edit, error) {
	if status, ok := change.(core.SetStatus); ok {
		steps, err := e.steps(files)
		i := slices.IndexFunc(steps, func(s core.Step) bool { return s.ID == status.Step })
		if i < 0 || err != nil {
			return nil, err
		}
		status.Step = steps[i].InPlan
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
