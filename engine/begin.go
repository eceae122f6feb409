package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"time"

	"reprise"
	"reprise/convention"
	"reprise/convention/eventrun"
	"reprise/flow"
	"reprise/internal/durable"
	"reprise/project"
	"reprise/upkeep"
)

var zeroTime time.Time

// begun completes an event that makes a run.
func (e *Engine) begun(ev reprise.Event) reprise.Event {
	if ev.At.IsZero() {
		ev.At = e.Now()
	}
	if ev.Kind == reprise.RunStarted && ev.Outcome == "" {
		ev.Outcome = string(e.Mode)
	}
	return ev
}

func (e *Engine) allBegun(events []reprise.Event) []reprise.Event {
	out := slices.Clone(events)
	for i := range out {
		out[i] = e.begun(out[i])
	}
	return out
}

// Begin makes a run from nothing and gives its ref; Resume does the work. A run
// that is there already is given as it is.
func (e *Engine) Begin(ctx context.Context, layout string, kind reprise.Kind, g reprise.Goal) (reprise.Ref, error) {
	book, err := convention.Playbook(layout, kind)
	if err != nil {
		return reprise.Ref{}, err
	}
	return e.begin(ctx, book, g)
}

// BeginFlow makes a run of a workflow of the person's own. file is its path in
// the project and hash that of its content: commands are only ever taken from
// that file.
func (e *Engine) BeginFlow(ctx context.Context, wf *flow.Workflow, file string, hash reprise.Hash, g reprise.Goal) (reprise.Ref, error) {
	book := e.ownFlow(wf, origin{file, hash}, hash)
	text, err := book.graph()
	if err != nil {
		return reprise.Ref{}, err
	}
	g.Text = text
	return e.begin(ctx, book, g)
}

func (e *Engine) begin(ctx context.Context, book reprise.Playbook, g reprise.Goal) (reprise.Ref, error) {
	store, _, err := e.take(ctx)
	if err != nil {
		return reprise.Ref{}, err
	}
	defer store.Release()
	g.Now, g.Mode = e.Now(), string(e.Mode)
	ref, events, err := book.Begin(store, g)
	if err != nil || len(events) == 0 {
		return ref, err
	}
	// What was finished of it is not done a second time because its files are gone.
	lost, err := project.LostOf(store, ref)
	if err != nil {
		return ref, err
	}
	if lost != nil {
		return ref, &GoneError{Run: ref.ID, Path: ref.Path}
	}
	if _, err := upkeep.Keep(ctx, store, []*reprise.Run{{Ref: ref}}, "before starting "+ref.ID); err != nil {
		return ref, err
	}
	w, err := e.open(ctx, store, ref, book)
	if err != nil {
		return ref, err
	}
	if w.hist.Started {
		// Somebody began it and was killed before its files were there; they
		// are by now.
		if _, events, err = book.Begin(store, g); err != nil {
			return ref, err
		}
	}
	if events = e.allBegun(events); len(events) > 0 {
		// Until its files are there, the journal alone tells of the run.
		place := reprise.Place(ref)
		events[0].Run = &place
	}
	if err := w.recordAll(ctx, events...); err != nil {
		return ref, err
	}
	return ref, w.led.Record(ctx, reprise.Event{Kind: reprise.EngineLeft, At: e.Now(), Actor: actor})
}

// bookOf finds how a run is worked on. One that was started from a workflow
// file of the person's own needs that file: its commands stand nowhere else.
func (e *Engine) bookOf(store fs.FS, ref reprise.Ref) (reprise.Playbook, error) {
	f := e.findBook(store, ref)
	return f.book, f.err
}

// found is how a run is worked on, and what its files say of that.
type found struct {
	origin
	book reprise.Playbook
	err  error
}

// origin is the workflow file that a run was started from, empty for a run that
// was started in another way.
type origin struct {
	file string
	hash reprise.Hash
}

func (e *Engine) findBook(store fs.FS, ref reprise.Ref) (f found) {
	if f.origin, f.err = originOf(store, ref); f.err != nil {
		return f
	}
	switch {
	case f.file == "":
		f.book, f.err = convention.Playbook(ref.Layout, ref.Kind)
	case e.Workflow == nil:
		f.err = fmt.Errorf("resume %s: it was started from %s, which is not read here", ref.ID, f.file)
	default:
		wf, have, err := e.Workflow(f.file)
		if err != nil {
			f.err = fmt.Errorf("resume %s: %w", ref.ID, err)
			return f
		}
		f.book = e.ownFlow(wf, f.origin, have)
	}
	return f
}

// bookAhead finds how a run is worked on while its journal is read. The function
// it gives waits for that, and must be called; if the files say something else by
// then, it finds it anew.
func (e *Engine) bookAhead(store *durable.Store, ref reprise.Ref) func() (reprise.Playbook, error) {
	ahead := make(chan found, 1)
	go func() { ahead <- e.findBook(store, ref) }()
	return func() (reprise.Playbook, error) {
		f := <-ahead
		if now, err := originOf(store, ref); err != nil || now != f.origin || f.err != nil {
			f = e.findBook(store, ref)
		}
		return f.book, f.err
	}
}

func originOf(store fs.FS, ref reprise.Ref) (origin, error) {
	if ref.Kind != reprise.KindGraph {
		return origin{}, nil
	}
	data, err := fs.ReadFile(store, path.Join(ref.Path, "task-graph.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return origin{}, nil
	}
	if err != nil {
		return origin{}, fmt.Errorf("resume %s: %w", ref.ID, err)
	}
	file, hash, _ := flow.Origin(data)
	return origin{file, hash}, nil
}

// workflowBook is the playbook of a workflow file.
type workflowBook struct {
	eventrun.Book
	wf   *flow.Workflow
	from origin       // what the run was started from
	hash reprise.Hash // of the file as it is now
	// attempts is how often a step may fail, as the settings say.
	attempts int
}

// Parallel is how many steps at once the file asks for, zero if it does not.
func (o workflowBook) Parallel() int { return o.wf.Parallel }

// GoalOf implements reprise.Goaler: a run of the file begins again with the file as
// it is now.
func (o workflowBook) GoalOf(fsys fs.FS, r *reprise.Run) string {
	if o.changed() {
		if text, err := o.graph(); err == nil {
			return text
		}
	}
	return o.Book.GoalOf(fsys, r)
}

// changed reports whether the file is not what the run was started from.
func (o workflowBook) changed() bool { return o.hash != o.from.hash }

// graph is the text that a run of the file as it is now has its steps from.
func (o workflowBook) graph() (string, error) { return o.wf.Graph(o.from.file, o.hash, o.attempts) }

func (e *Engine) ownFlow(wf *flow.Workflow, from origin, hash reprise.Hash) workflowBook {
	return workflowBook{eventrun.WithSteps(wf.Assignment), wf, from, hash, e.Settings.Attempts}
}
