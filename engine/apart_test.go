package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"reprise"
	"reprise/agent"
	"reprise/engine"
	"reprise/internal/sample"
)

// apartHands start nothing: attempts end when the test says so.
type apartHands struct {
	otherHands
	started []engine.Elsewhere
}

func (h *apartHands) Start(_ context.Context, f *engine.Attempt) error {
	h.started = append(h.started, engine.Elsewhere{Step: f.Step, Number: f.Number})
	return nil
}

func (h *apartHands) Await(ctx context.Context, until time.Time) (*engine.End, error) {
	if len(h.ends) == 0 {
		return nil, engine.ErrApart
	}
	return h.otherHands.Await(ctx, until)
}

// A run is carried in parts, each by a process that knows only what is on disk. An attempt
// at work elsewhere is not settled meanwhile, its end is recorded once, and an end of an
// attempt that has one already is late. (issue 19)
func TestA_run_is_carried_in_parts(t *testing.T) {
	t.Parallel()
	e := newEngine(t.TempDir())
	e.Carried = &engine.Carried{}
	h := &apartHands{}
	e.Hands = func(reprise.Ref, engine.Hands) engine.Hands { return h }
	ref := start(t, e, `name: f
parallel: 2
steps:
  - {id: a, command: ["false"]}
  - {id: b, command: ["false"]}
  - {id: c, needs: [a, b], command: ["false"], on_crash: rerun}
`)
	if _, err := e.Resume(t.Context(), ref, engine.Choice{}); !errors.Is(err, engine.ErrApart) {
		t.Fatal(err)
	}
	a, b := engine.Elsewhere{Step: "a", Number: 1}, engine.Elsewhere{Step: "b", Number: 1}
	if len(h.started) != 2 || h.started[0] != a || h.started[1] != b {
		t.Fatalf("started %v", h.started)
	}
	ended := func(at engine.Elsewhere) error {
		h.ends = []engine.End{{Step: at.Step, Result: agent.Result{Outcome: agent.Done, Session: "s1"}}}
		_, err := e.TakeEnd(t.Context(), ref, at)
		h.ends = nil
		return err
	}
	if err := ended(a); err != nil {
		t.Fatal(err)
	}
	late := new(engine.LateError)
	for _, at := range []engine.Elsewhere{a, {Step: "b", Number: 2}, {Step: "c", Number: 1}} {
		if err := ended(at); !errors.As(err, &late) {
			t.Errorf("an end of %v: %v", at, err)
		}
	}
	// b is at work: it is neither settled nor started again, and c waits for it.
	if _, err := e.Continue(t.Context(), ref, engine.Choice{}, []engine.Elsewhere{b}); !errors.Is(err, engine.ErrApart) || len(h.started) != 2 {
		t.Fatalf("%v, started %v", err, h.started)
	}
	if err := ended(b); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Continue(t.Context(), ref, engine.Choice{}, nil); !errors.Is(err, engine.ErrApart) || len(h.started) != 3 {
		t.Fatalf("%v, started %v", err, h.started)
	}
	// The process that c worked in is lost: the attempt is given up, and a new one begins.
	if _, err := e.Continue(t.Context(), ref, engine.Choice{}, nil); !errors.Is(err, engine.ErrApart) || len(h.started) != 4 || h.started[3].Number != 2 {
		t.Fatalf("%v, started %v", err, h.started)
	}
	if err := ended(h.started[2]); !errors.As(err, &late) {
		t.Errorf("the end of the attempt that was given up: %v", err)
	}
	if err := ended(h.started[3]); err != nil {
		t.Fatal(err)
	}
	sum, err := e.Continue(t.Context(), ref, engine.Choice{}, nil)
	if err != nil || !sum.IsFinished() {
		t.Fatalf("%v, %+v", err, sum)
	}
}

// childHands start nothing but child runs, which have hands of the same sort.
type childHands struct {
	engine.Hands
	all   *[]engine.Elsewhere
	child reprise.Ref
	end   **engine.End
	ends  []engine.End
}

func (h *childHands) Start(ctx context.Context, f *engine.Attempt) error {
	if f.Child == nil {
		*h.all = append(*h.all, engine.Elsewhere{Run: h.child, Step: f.Step, Number: f.Number})
		return nil
	}
	if err := h.Hands.Start(ctx, f); err != nil {
		return err
	}
	end, err := h.Hands.Await(ctx, time.Time{})
	if err == nil && !errors.Is(end.Err, engine.ErrApart) {
		h.ends = append(h.ends, *end)
	}
	return err
}

func (h *childHands) Await(context.Context, time.Time) (*engine.End, error) {
	if end := *h.end; end != nil {
		*h.end = nil
		return end, nil
	}
	if len(h.ends) == 0 {
		return nil, engine.ErrApart
	}
	end := h.ends[0]
	h.ends = h.ends[1:]
	return &end, nil
}

// Child runs are carried in parts with the run around them: their attempts work elsewhere,
// each is started once, and what is told from one process to the next is plain data.
// (issue 19)
func TestChild_runs_are_carried_in_parts(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	epic := workflows[slices.IndexFunc(workflows, func(w workflow) bool { return w.name == "epic" })]
	there := epic.project(t)
	here := *there
	here.Ask, here.Parallel = nil, 2
	var started []engine.Elsewhere
	var end *engine.End
	ref, err := there.Begin(t.Context(), epic.layout, epic.kind, epic.goal, engine.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	here.Carried = &engine.Carried{}
	here.Hands = func(of reprise.Ref, local engine.Hands) engine.Hands {
		h := &childHands{Hands: local, all: &started, end: &end}
		if of.Path != ref.Path {
			h.child = of
		}
		return h
	}
	sum, err := here.Resume(t.Context(), ref, engine.Choice{})
	seen := map[engine.Elsewhere]bool{}
	for errors.Is(err, engine.ErrApart) {
		at := started[0]
		started = started[1:]
		if seen[at] {
			t.Fatalf("%v was started twice", at)
		}
		seen[at] = true
		if end, err = there.RunAttempt(t.Context(), ref, at, nil); err != nil {
			t.Fatal(err)
		}
		told, broken := json.Marshal(here.Carried)
		here.Carried = &engine.Carried{}
		if err := errors.Join(broken, json.Unmarshal(told, here.Carried)); err != nil {
			t.Fatal(err)
		}
		if _, err := here.TakeEnd(t.Context(), ref, at); err != nil {
			t.Fatal(err)
		}
		sum, err = here.Continue(t.Context(), ref, engine.Choice{}, started)
	}
	if err != nil || !sum.IsFinished() || len(seen) < 6 {
		t.Errorf("%v, %+v after %v", err, sum, seen)
	}
	if len(here.Carried.Runs)+len(here.Carried.Children) > 0 {
		t.Errorf("it is still told of %v", here.Carried)
	}
}

// An end is taken and the run continued at once: the next step is on record as started, and
// the two are told apart. What may not continue yet is left in good order. (issue 19)
func TestA_run_proceeds_after_an_end(t *testing.T) {
	t.Parallel()
	e := newEngine(t.TempDir())
	e.Carried = &engine.Carried{}
	h := &apartHands{}
	e.Hands = func(reprise.Ref, engine.Hands) engine.Hands { return h }
	ref := start(t, e, "name: f\nsteps:\n  - {id: a, command: [\"false\"]}\n  - {id: b, needs: [a], command: [\"false\"]}\n  - {id: c, needs: [b], command: [\"false\"]}\n")
	if _, err := e.Resume(t.Context(), ref, engine.Choice{}); !errors.Is(err, engine.ErrApart) {
		t.Fatal(err)
	}
	proceed := func(step string, may bool) (landed, left *engine.Summary, err error) {
		h.ends = []engine.End{{Step: step, Result: agent.Result{Outcome: agent.Done}}}
		return e.Proceed(t.Context(), ref, engine.Elsewhere{Step: step, Number: 1}, engine.Choice{}, nil, func() bool { h.ends = nil; return may })
	}
	landed, left, err := proceed("a", true)
	if !errors.Is(err, engine.ErrApart) || len(landed.Finished) != 1 || len(left.Finished) != 0 || len(h.started) != 2 {
		t.Fatalf("%+v, %+v, %v, started %v", landed, left, err, h.started)
	}
	late := new(engine.LateError)
	if _, left, err := proceed("a", true); !errors.As(err, &late) || left != nil {
		t.Errorf("again: %+v, %v", left, err)
	}
	if landed, left, err = proceed("b", false); err != nil || len(landed.Finished) != 1 || left != nil || len(h.started) != 2 {
		t.Errorf("%+v, %+v, %v, started %v", landed, left, err, h.started)
	}
}
