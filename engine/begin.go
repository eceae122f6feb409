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
	"reprise/flow"
	"reprise/internal/durable"
	"reprise/playbook"
	"reprise/playbook/eventrun"
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
	book, err := playbook.For(layout, kind)
	if err != nil {
		return reprise.Ref{}, err
	}
	return e.begin(ctx, book, g)
}

// BeginFlow makes a run of a workflow of the person's own. file is its path in
// the project and hash that of its content: commands are only ever taken from
// that file.
func (e *Engine) BeginFlow(ctx context.Context, wf *flow.Workflow, file string, hash reprise.Hash, g reprise.Goal) (reprise.Ref, error) {
	text, err := wf.Graph(file, hash)
	if err != nil {
		return reprise.Ref{}, err
	}
	g.Text = text
	return e.begin(ctx, ownFlow(wf), g)
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
	if _, err := upkeep.Keep(ctx, store, nil, "before starting "+ref.ID); err != nil {
		return ref, err
	}
	w, err := e.open(ctx, store, ref, book)
	if err != nil {
		return ref, err
	}
	if w.ours {
		// Somebody began it and was killed before its files were there; they
		// are by now.
		if _, events, err = book.Begin(store, g); err != nil {
			return ref, err
		}
	}
	if err := w.recordAll(ctx, e.allBegun(events)...); err != nil {
		return ref, err
	}
	return ref, w.j.Note(reprise.Event{Kind: reprise.EngineLeft, At: e.Now(), Actor: actor})
}

// bookOf finds how a run is worked on. One that was started from a workflow
// file of the person's own needs that file: its commands stand nowhere else.
func (e *Engine) bookOf(store *durable.Store, ref reprise.Ref) (reprise.Playbook, error) {
	if ref.Kind != reprise.KindGraph {
		return playbook.For(ref.Layout, ref.Kind)
	}
	data, err := store.ReadFile(path.Join(ref.Path, "task-graph.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return playbook.For(ref.Layout, ref.Kind)
	}
	if err != nil {
		return nil, fmt.Errorf("resume %s: %w", ref.ID, err)
	}
	file, hash, own := flow.Origin(data)
	if !own {
		return playbook.For(ref.Layout, ref.Kind)
	}
	if e.Workflow == nil {
		return nil, fmt.Errorf("resume %s: it was started from %s, which is not read here", ref.ID, file)
	}
	wf, err := e.Workflow(file, hash)
	if err != nil {
		return nil, fmt.Errorf("resume %s: %w", ref.ID, err)
	}
	return ownFlow(wf), nil
}

// own is the playbook of a workflow file.
type own struct {
	eventrun.Book
	parallel int
}

// Parallel is how many steps at once the file asks for, zero if it does not.
func (o own) Parallel() int { return o.parallel }

func ownFlow(wf *flow.Workflow) reprise.Playbook {
	return own{eventrun.WithSteps(wf.Assignment), wf.Parallel}
}
