package engine_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"reprise"
	"reprise/agent"
	"reprise/engine"
)

// otherHands are hands that start no process and run no git: what they are given is plain
// data, and so is what they give.
type otherHands struct {
	ends   []engine.End
	did    []string
	result map[string][]agent.Result // by step, one for each attempt
	denies map[string]error          // by step, what the command says that verifies it
}

func (h *otherHands) Keep(context.Context, *reprise.Run, string, bool) (string, error) {
	return "", nil
}

func (h *otherHands) Prepare(_ context.Context, f *engine.Attempt) error {
	f.Key = f.Step
	return nil
}

func (h *otherHands) Start(_ context.Context, f *engine.Attempt) error {
	h.did = append(h.did, "start "+f.Step)
	e := engine.End{Step: f.Step, Result: agent.Result{Outcome: agent.Done}}
	if left := h.result[f.Step]; len(left) > 0 {
		e.Result, h.result[f.Step] = left[0], left[1:]
	}
	h.ends = append(h.ends, e)
	return nil
}

func (h *otherHands) Verify(_ context.Context, f *engine.Attempt) error {
	h.did = append(h.did, "verify "+f.Step)
	h.ends = append(h.ends, engine.End{Step: f.Step, Err: h.denies[f.Step]})
	return nil
}

func (h *otherHands) Land(_ context.Context, f *engine.Attempt) (engine.Landing, error) {
	h.did = append(h.did, "land "+f.Step)
	return engine.Landing{Commit: "c0ffee"}, nil
}

func (h *otherHands) Await(context.Context, time.Time) (*engine.End, error) {
	if len(h.ends) == 0 {
		return nil, errors.New("nothing is at work")
	}
	e := h.ends[0]
	h.ends = h.ends[1:]
	return &e, nil
}

func (h *otherHands) CommitRecord(context.Context, *reprise.Event) {}

func (h *otherHands) Stop(error) {}

// A third pair of hands, here of another package, carries the same rules to the same end:
// nothing in them or in what they take touches a disk, a process or a clock. (issue 14)
func TestOther_hands_carry_the_same_rules(t *testing.T) {
	t.Parallel()
	e := newEngine(t.TempDir())
	h := &otherHands{
		result: map[string][]agent.Result{"b": {{Outcome: agent.Failed, Reason: "no luck"}}},
		denies: map[string]error{"c": errors.New("not good enough")},
	}
	e.Hands = func(reprise.Ref, engine.Hands) engine.Hands { return h }
	e.Settings.Backoff = time.Nanosecond
	ref := start(t, e, `name: f
steps:
  - {id: a, command: ["false"]}
  - {id: b, needs: [a], command: ["false"], attempts: 2}
  - {id: c, needs: [b], command: ["false"], verify: ["false"], attempts: 1}
  - {id: d, needs: [c], command: ["false"]}
`)
	sum, err := e.Resume(t.Context(), ref, engine.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"start a", "land a", "start b", "start b", "land b", "start c", "verify c"}
	if !slices.Equal(h.did, want) {
		t.Errorf("they did %q, want %q", h.did, want)
	}
	if len(sum.Finished) != 2 || !slices.Equal(sum.Parked, []string{"c"}) || sum.Finished[0].Commit != "c0ffee" {
		t.Errorf("%+v", sum)
	}
}
