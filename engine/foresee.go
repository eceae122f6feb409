package engine

import (
	"cmp"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"sync"
	"time"

	"reprise"
	"reprise/flow"
	"reprise/internal/gitx"
	"reprise/project"
	"reprise/settings"
)

// Foresee says what resuming a run of a project would ask and start before anything ends
// that it starts, for project.JudgeOptions. Workflow files do not have to be trusted:
// nothing of them is started. Whoever asks says when it is done: until then the project is seen
// at one moment.
func Foresee(dir string, now time.Time) (ask func(context.Context, reprise.Ref) (project.Foreseen, error), done func()) {
	shared := &looker{}
	look := sync.OnceValues(func() (*Engine, error) {
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
		e.LookOnce()
		e.looker = shared
		return e, nil
	})
	return func(ctx context.Context, ref reprise.Ref) (project.Foreseen, error) {
		e, err := look()
		if err != nil {
			return project.Foreseen{}, err
		}
		return e.prospect(ctx, ref)
	}, shared.Close
}

// LookOnce makes previews of several runs share one look at the project's repository. It is for
// an engine that only looks, and only for a moment.
func (e *Engine) LookOnce() {
	e.Repo = sync.OnceValues(func() (*gitx.Repo, error) {
		return gitx.Open(context.Background(), e.Dir, gitx.Options{Environ: e.Environ}) // each call has a time limit
	})
}

func (e *Engine) prospect(ctx context.Context, ref reprise.Ref) (out project.Foreseen, err error) {
	if e.isOnWorlds(ref) {
		return e.foreseenOnWorlds(ctx, ref)
	}
	asked, starts, err := e.foresee(ctx, ref)
	for _, ev := range asked {
		out.Asks = append(out.Asks, askedIn(ev))
	}
	if starts != nil {
		last := starts.last()
		sum := last.sum
		out.Starts, out.Stops, out.Finishes = starts.units, sum.State == reprise.Stopped, sum.Action == reprise.Finish
		out.Holds = len(starts.units)+len(asked) == 0 && last.decide().Holds(last.run)
		out.Steps = starts.steps
		for _, open := range starts.open {
			if end := last.lastOf(open.Step); end == reprise.StepFinished || end == reprise.StepSkipped {
				out.Settled = append(out.Settled, open.Step)
			}
		}
	}
	return out, err
}

// Refused tells, before anything is written, that no agent is configured or installed for
// any of the steps that Resume would start first, or for a known one that comes after them.
// It is nil where Resume refuses for another reason: a close look tells of that.
func (e *Engine) Refused(ctx context.Context, ref reprise.Ref) error {
	if e.servesAll() {
		return nil // it need not be looked at so closely
	}
	if e.isOnWorlds(ref) {
		return e.refusedOnWorlds(ref, Choice{})
	}
	_, starts, err := e.foresee(ctx, ref)
	if err != nil || starts == nil {
		return nil
	}
	return starts.unserved
}

// askedIn is the question that an event asks.
func askedIn(ev reprise.Event) reprise.Asked {
	return reprise.Asked{ID: ev.Question, Text: ev.Text, Subject: ev.Step, Options: ev.Options, Closed: ev.Closed, Own: ev.Own}
}

// foresee takes the turns that Resume would take, with a ledger and hands that keep
// everything to themselves, and returns the events that ask a person something and what is
// started, nil if the run is not made yet. The error is why Resume would refuse. It takes
// no lease and changes nothing.
func (e *Engine) foresee(ctx context.Context, ref reprise.Ref) (asked []reprise.Event, starts *foresight, err error) {
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
	for _, open := range w.hist.Open() {
		if w.hist.Step(open.Step).Held == nil {
			hands.open = append(hands.open, open)
		}
	}
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
		if _, offered := errors.AsType[*InTheWayError](refused); !offered && len(hands.units)+len(p.asked) == 0 {
			return nil, nil, refused
		}
	}
	if hands.served {
		hands.unserved = w.unserved(hands.units)
	}
	return p.asked, hands, nil
}

// foresight are hands for which every attempt stays at work. open are the attempts whose end
// was not seen, steps those that units are started for. unserved is why none of them could
// be started, or one that comes later, nil if nothing is known to be in the way.
type foresight struct {
	*previewHands
	open     []reprise.Event
	units    []reprise.Unit
	steps    []string
	served   bool
	unserved error
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
	h.units, h.steps = append(h.units, f.Unit), append(h.steps, f.Step)
	if h.served || f.Child != nil {
		h.served = true
		return nil
	}
	_, err := h.bind(f.Assignment)
	h.served, h.unserved = err == nil, cmp.Or(h.unserved, err)
	return nil
}
