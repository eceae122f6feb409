package engine

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"time"

	"reprise"
	"reprise/flow"
	"reprise/project"
	"reprise/settings"
)

// Foresee says what resuming a run of a project would ask and start before anything ends
// that it starts, for project.JudgeOptions. Workflow files do not have to be trusted:
// nothing of them is started.
func Foresee(dir string, now time.Time) func(context.Context, reprise.Ref) (project.Foreseen, error) {
	return func(ctx context.Context, ref reprise.Ref) (project.Foreseen, error) {
		root, err := filepath.Abs(dir)
		if err != nil {
			return project.Foreseen{}, err
		}
		set, err := settings.Budget(settings.Options{User: settings.UserFile(os.Getenv), Project: root})
		if err != nil {
			return project.Foreseen{}, err
		}
		e := &Engine{
			Dir: root, Settings: set, Environ: os.Environ(), Now: func() time.Time { return now }, AllowNetwork: true, Adopt: true,
			Workflow: func(file string) (*flow.Workflow, reprise.Hash, error) {
				return ReadFlow(filepath.Join(root, filepath.FromSlash(file)))
			},
		}
		return e.prospect(ctx, ref)
	}
}

func (e *Engine) prospect(ctx context.Context, ref reprise.Ref) (out project.Foreseen, err error) {
	events, starts, err := e.foresee(ctx, ref)
	for _, ev := range events {
		out.Asks = append(out.Asks, askedIn(ev))
	}
	out.Starts = starts
	return out, err
}

// askedIn is the question that an event asks.
func askedIn(ev reprise.Event) reprise.Asked {
	return reprise.Asked{ID: ev.Question, Text: ev.Text, Subject: ev.Step, Options: ev.Options, Closed: ev.Closed, Own: ev.Own}
}

// foresee takes the turns that Resume would take, with a ledger and hands that keep
// everything to themselves, and returns the events that ask a person something and the
// steps that are started. The error is why Resume would refuse. It takes no lease and
// changes nothing.
func (e *Engine) foresee(ctx context.Context, ref reprise.Ref) (asked []reprise.Event, starts []reprise.Unit, err error) {
	store, err := e.look()
	if err != nil {
		return nil, nil, err
	}
	defer store.Release()
	w, err := e.looking(store, ref, nil)
	if err != nil {
		return nil, nil, err
	}
	if begins := w.cutOffBeginning(); begins.Open() {
		return nil, nil, nil // it is made before anything is asked
	}
	p := newPreviewState(store, &Preview{Run: ref})
	if err := w.asPreview(ctx, p); err != nil {
		return nil, nil, err
	}
	w.Parallel = math.MaxInt // what is asked does not depend on the settings
	hands := &foresight{previewHands: &previewHands{work: w, preview: p}}
	w.hands = hands
	if _, err := w.caughtUp(ctx, p); err != nil {
		return nil, nil, err
	}
	if w.playbook, err = e.playbookOf(p.dry, ref); err != nil {
		return nil, nil, err
	}
	if err := w.load(); err != nil {
		return nil, nil, err
	}
	if err := w.mayRevise(); err != nil {
		return nil, nil, err
	}
	if _, err := hands.Keep(ctx, w.run, "", true); err != nil {
		return nil, nil, err
	}
	if err := w.revise(ctx); err != nil {
		return nil, nil, err
	}
	if err := w.loop(ctx); err != nil && !errors.Is(err, errShown) {
		return nil, nil, err
	}
	for _, refused := range w.sum.Refused {
		// What is in the way of a checkout has ways around it, which are offered.
		if _, offered := errors.AsType[*InTheWayError](refused); !offered && len(hands.starts)+len(p.asked) == 0 {
			return nil, nil, refused
		}
	}
	return p.asked, hands.starts, nil
}

// foresight are hands for which every attempt stays at work.
type foresight struct {
	*previewHands
	starts []reprise.Unit
}

// Prepare implements Hands: what an earlier process left is looked at, and what a new
// attempt must leave. Agents and git are not asked.
func (h *foresight) Prepare(ctx context.Context, f *Attempt) error {
	if f.Recalled {
		return h.previewHands.Prepare(ctx, f)
	}
	if err := h.place(ctx, f, h.checkout); err != nil || f.Dir == "" {
		return err
	}
	return h.expects(f)
}

// Start implements Hands.
func (h *foresight) Start(_ context.Context, f *Attempt) error {
	h.starts = append(h.starts, f.Unit)
	return nil
}

// Await implements Hands.
func (h *foresight) Await(context.Context, time.Time) (*End, error) { return nil, errShown }
