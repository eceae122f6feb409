package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"reprise"
	"reprise/agent"
	"reprise/engine"
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
