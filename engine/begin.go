package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
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

// begun fills in the events that make a run.
func (e *Engine) begun(events []reprise.Event) []reprise.Event {
	out := slices.Clone(events)
	for i := range out {
		ev := &out[i]
		if ev.At.IsZero() {
			ev.At = e.Now()
		}
		if ev.Kind == reprise.RunStarted && ev.Outcome == "" {
			ev.Outcome = string(e.Mode)
		}
	}
	return out
}

// Begin makes a run from nothing and returns its ref; Resume does the work, as the choice
// says. A run that exists is returned as it is. Nothing is made that Resume would refuse to
// work on: the error is the one that it would give.
func (e *Engine) Begin(ctx context.Context, layout string, kind reprise.Kind, g reprise.Goal, c Choice) (reprise.Ref, error) {
	playbook, err := convention.Playbook(layout, kind)
	if err != nil {
		return reprise.Ref{}, err
	}
	return e.begin(ctx, playbook, g, c)
}

// BeginFlow makes a run of a workflow file. file is its path in the project and hash that
// of its content: commands are only ever taken from that file.
func (e *Engine) BeginFlow(ctx context.Context, wf *flow.Workflow, file string, hash reprise.Hash, g reprise.Goal, c Choice) (reprise.Ref, error) {
	playbook, err := e.beginsFlow(wf, file, hash, &g)
	if err != nil {
		return reprise.Ref{}, err
	}
	return e.begin(ctx, playbook, g, c)
}

// beginsFlow is the playbook of a new run of a workflow file, whose graph becomes the goal.
func (e *Engine) beginsFlow(wf *flow.Workflow, file string, hash reprise.Hash, g *reprise.Goal) (playbook workflowPlaybook, err error) {
	playbook = e.ownFlow(wf, origin{file, hash}, hash)
	g.Text, err = playbook.graph()
	return playbook, err
}

// beginAt asks a playbook where a goal begins. A name that changes nothing is refused: it is
// that of no run.
func beginAt(playbook reprise.Playbook, fsys fs.FS, g reprise.Goal) (reprise.Ref, []reprise.Event, error) {
	ref, events, err := playbook.Begin(fsys, g)
	if err != nil || g.ID == "" || g.Path == "" || strings.HasSuffix(ref.ID, g.ID) {
		return ref, events, err
	}
	unnamed := g
	unnamed.ID = ""
	if same, _, err := playbook.Begin(fsys, unnamed); err == nil && same == ref {
		return ref, nil, &NameError{Given: g.ID, Path: g.Path, Is: ref.ID}
	}
	return ref, events, nil
}

func (e *Engine) begin(ctx context.Context, playbook reprise.Playbook, g reprise.Goal, c Choice) (reprise.Ref, error) {
	p, err := e.previewBegin(ctx, playbook, g, c)
	switch {
	case err != nil || !p.begins:
	case p.unsafe != nil:
		err = p.unsafe
	default:
		err = p.Refused
	}
	if err != nil {
		return reprise.Ref{}, err
	}
	store, _, err := e.take(ctx)
	if err != nil {
		return reprise.Ref{}, err
	}
	defer store.Release()
	g.Now, g.Mode = e.Now(), string(e.Mode)
	ref, events, err := beginAt(playbook, store, g)
	if err != nil || len(events) == 0 {
		return ref, err
	}
	// Finished work is not repeated because its files are gone.
	lost, err := project.LostOf(store, ref)
	if err != nil {
		return ref, err
	}
	if lost != nil {
		return ref, &GoneError{Run: ref.ID, Path: ref.Path}
	}
	if seeded(ref) || e.Worlds && ref.Kind == reprise.KindGraph {
		return ref, e.beginWorlds(ctx, store, ref, playbook, g.Text, events)
	}
	if _, err := upkeep.Keep(ctx, store, []*reprise.Run{{Ref: ref}}, "before starting "+ref.ID); err != nil {
		return ref, err
	}
	w, err := e.open(ctx, store, ref, playbook)
	if err != nil {
		return ref, err
	}
	if w.hist.Started {
		// An earlier process began it and was killed before its files existed; they do
		// now.
		if _, events, err = playbook.Begin(store, g); err != nil {
			return ref, err
		}
	}
	if events = e.begun(events); len(events) > 0 {
		// Until its files exist, only the journal knows the run.
		place := reprise.Place(ref)
		events[0].Run = &place
	}
	if err := w.recordAll(ctx, events...); err != nil {
		return ref, err
	}
	return ref, w.led.Record(ctx, reprise.Event{Kind: reprise.EngineLeft, At: e.Now(), Actor: actor})
}

// playbookOf finds how a run is worked on. A run of a workflow file needs that file,
// because its commands stand nowhere else.
func (e *Engine) playbookOf(store fs.FS, ref reprise.Ref) (reprise.Playbook, error) {
	f := e.findPlaybook(store, ref)
	return f.playbook, f.err
}

// found is how a run is worked on, and which file says so.
type found struct {
	origin
	playbook reprise.Playbook
	err      error
}

// origin is the workflow file that a run was started from, empty if there is none.
type origin struct {
	file string
	hash reprise.Hash
}

func (e *Engine) findPlaybook(store fs.FS, ref reprise.Ref) (f found) {
	if f.origin, f.err = originOf(store, ref); f.err != nil {
		return f
	}
	switch {
	case f.file == "":
		f.playbook, f.err = convention.Playbook(ref.Layout, ref.Kind)
	case e.Workflow == nil:
		f.err = fmt.Errorf("resume %s: it was started from %s, which is not read here", ref.ID, f.file)
	default:
		wf, have, err := e.Workflow(f.file)
		if err != nil {
			f.err = fmt.Errorf("resume %s: %w", ref.ID, err)
			return f
		}
		f.playbook = e.ownFlow(wf, f.origin, have)
	}
	return f
}

// playbookAhead finds how a run is worked on while its journal is read. The function that
// it returns waits for that and must be called; it looks again if the files have changed
// since.
func (e *Engine) playbookAhead(store *durable.Store, ref reprise.Ref) func() (reprise.Playbook, error) {
	ahead := make(chan found, 1)
	go func() { ahead <- e.findPlaybook(store, ref) }()
	return func() (reprise.Playbook, error) {
		f := <-ahead
		if now, err := originOf(store, ref); err != nil || now != f.origin || f.err != nil {
			f = e.findPlaybook(store, ref)
		}
		return f.playbook, f.err
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

// workflowPlaybook is the playbook of a workflow file.
type workflowPlaybook struct {
	eventrun.Book
	wf   *flow.Workflow
	from origin       // what the run was started from
	hash reprise.Hash // of the file as it is now
	// attempts is how often a step may fail, as the settings say.
	attempts int
}

// Parallel is how many steps at once the file asks for, zero if it does not.
func (o workflowPlaybook) Parallel() int { return o.wf.Parallel }

// GoalOf implements reprise.Goaler: a run begins again with the file as it is now.
func (o workflowPlaybook) GoalOf(fsys fs.FS, r *reprise.Run) string {
	if o.changed() {
		if text, err := o.graph(); err == nil {
			return text
		}
	}
	return o.Book.GoalOf(fsys, r)
}

// changed reports whether the file has changed since the run was started.
func (o workflowPlaybook) changed() bool { return o.hash != o.from.hash }

// graph is the task graph of a run of the file as it is now.
func (o workflowPlaybook) graph() (string, error) { return o.wf.Graph(o.from.file, o.hash, o.attempts) }

func (e *Engine) ownFlow(wf *flow.Workflow, from origin, hash reprise.Hash) workflowPlaybook {
	return workflowPlaybook{eventrun.WithSteps(wf.Assignment), wf, from, hash, e.Settings.Attempts}
}
