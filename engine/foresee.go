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
	"reprise/settings"
)

// Asks says what resuming a run of a project would ask a person before anything ends
// that it starts, for project.JudgeOptions. Workflow files do not have to be trusted:
// nothing of them is started.
func Asks(dir string, now time.Time) func(context.Context, reprise.Ref) ([]reprise.Asked, error) {
	return func(ctx context.Context, ref reprise.Ref) ([]reprise.Asked, error) {
		root, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		set, err := settings.Budget(settings.Options{User: settings.UserFile(os.Getenv), Project: root})
		if err != nil {
			return nil, err
		}
		e := &Engine{
			Dir: root, Settings: set, Environ: os.Environ(), Now: func() time.Time { return now }, AllowNetwork: true, Adopt: true,
			Workflow: func(file string) (*flow.Workflow, reprise.Hash, error) {
				return ReadFlow(filepath.Join(root, filepath.FromSlash(file)))
			},
		}
		return e.asks(ctx, ref)
	}
}

func (e *Engine) asks(ctx context.Context, ref reprise.Ref) (out []reprise.Asked, err error) {
	events, err := e.foresee(ctx, ref)
	for _, ev := range events {
		out = append(out, askedIn(ev))
	}
	return out, err
}

// askedIn is the question that an event asks.
func askedIn(ev reprise.Event) reprise.Asked {
	return reprise.Asked{ID: ev.Question, Text: ev.Text, Subject: ev.Step, Options: ev.Options, Closed: ev.Closed, Own: ev.Own}
}

// foresee takes the turns that Resume would take, with a ledger and hands that keep
// everything to themselves, and returns the events that ask a person something. It takes
// no lease and changes nothing.
func (e *Engine) foresee(ctx context.Context, ref reprise.Ref) ([]reprise.Event, error) {
	store, err := e.look()
	if err != nil {
		return nil, err
	}
	defer store.Release()
	w, err := e.looking(store, ref, nil)
	if err != nil {
		return nil, err
	}
	if begins := w.cutOffBeginning(); begins.Open() {
		return nil, nil // it is made before anything is asked
	}
	p := newPreviewState(store, &Preview{Run: ref})
	w.asPreview(ctx, p)
	w.Parallel = math.MaxInt // what is asked does not depend on the settings
	w.hands = &foresight{&previewHands{work: w, preview: p}}
	if _, err := w.caughtUp(ctx, p); err != nil {
		return nil, err
	}
	if w.playbook, err = e.playbookOf(p.dry, ref); err != nil {
		return nil, err
	}
	if err := w.load(); err != nil {
		return nil, err
	}
	if err := w.loop(ctx); err != nil && !errors.Is(err, errShown) {
		return nil, err
	}
	return p.asked, nil
}

// foresight are hands for which every attempt stays at work.
type foresight struct{ *previewHands }

// Prepare implements Hands: only what an earlier process left is looked at.
func (h *foresight) Prepare(ctx context.Context, f *Attempt) error {
	if !f.Recalled {
		return nil
	}
	return h.previewHands.Prepare(ctx, f)
}

// Start implements Hands.
func (h *foresight) Start(context.Context, *Attempt) error { return nil }

// Await implements Hands.
func (h *foresight) Await(context.Context, time.Time) (*End, error) { return nil, errShown }
