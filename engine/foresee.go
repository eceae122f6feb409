package engine

import (
	"context"
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
	return e.foreseenOnWorlds(ctx, ref)
}

// Refused tells, before anything is written, that no agent is configured or installed for
// any of the steps that Resume would start first, or for a known one that comes after them.
// It is nil where Resume refuses for another reason: a close look tells of that.
func (e *Engine) Refused(ctx context.Context, ref reprise.Ref) error {
	if e.servesAll() {
		return nil // it need not be looked at so closely
	}
	return e.refusedOnWorlds(ref, Choice{})
}

// askedIn is the question that an event asks.
func askedIn(ev reprise.Event) reprise.Asked {
	return reprise.Asked{ID: ev.Question, Text: ev.Text, Subject: ev.Step, Options: ev.Options, Closed: ev.Closed, Own: ev.Own}
}
