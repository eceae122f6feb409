package engine

import (
	"context"
	"errors"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"reprise"
	"reprise/agent"
	"reprise/agent/script"
	"reprise/internal/gitx"
	"reprise/settings"
)

// binding is who does a unit of work.
type binding struct {
	name      string
	agent     agent.Agent
	command   []string
	env       []string
	secrets   []string
	timeout   time.Duration
	silence   time.Duration
	continues bool // it can go on with a session
}

// bind finds who does a unit: the command of the person's own workflow file, or
// the agent that their settings bind to the role.
func (w *work) bind(a reprise.Assignment) (binding, error) {
	if len(a.Command) > 0 {
		env, secrets := w.Settings.Environ(w.Environ, settings.Agent{Env: a.Env})
		return binding{
			name: a.Command[0], agent: script.New(script.Options{Grace: w.Settings.Grace, MaxLog: w.Settings.MaxLog, Shim: w.Shim}),
			command: a.Command, env: env, secrets: secrets, timeout: pick(a.Timeout, w.Settings.Timeout), silence: w.Settings.Silence,
		}, nil
	}
	s, err := w.Settings.For(a.Role)
	if err != nil {
		return binding{}, err
	}
	if len(a.Env) > 0 {
		own := maps.Clone(a.Env) // of the step, before those of whoever does it
		for name, value := range s.Env {
			if _, ok := own[name]; !ok {
				own[name] = value
			}
		}
		s.Env = own
	}
	ag, err := w.Agent(s)
	if err != nil {
		return binding{}, err
	}
	env, secrets := w.Settings.Environ(w.Environ, s)
	return binding{
		name: s.Name, agent: ag, command: s.Command, env: env, secrets: secrets,
		timeout: pick(a.Timeout, s.Timeout, w.Settings.Timeout), silence: pick(s.Silence, w.Settings.Silence),
		continues: s.Preset != "" && s.Preset != "command",
	}, nil
}

func pick[T int | time.Duration](all ...T) T {
	for _, d := range all {
		if d > 0 {
			return d
		}
	}
	return 0
}

// goesOn reports whether the next attempt of a step goes on with the session of
// the last one: it was cut off or stopped, not full and not unknown.
func (w *work) goesOn(string) bool { return !w.newSessions }

// placeIt sets the folder that an attempt works in: the project itself, or the run's
// own checkout, there the folder that the project has in its repository. dir stays ""
// while the checkout is not made.
func (w *work) placeIt(ctx context.Context, f *attempt) error {
	f.dir = w.Dir
	if !f.a.Worktree || w.repo == nil {
		return nil
	}
	at, err := w.hands.Checkout(ctx)
	if f.dir = ""; err != nil || at == "" {
		return err
	}
	f.inside = path.Join(at, w.repo.Prefix())
	f.dir, f.a.Place = w.absolute(f.inside), f.inside
	return w.load()
}

// repoAt opens the repository of the folder an attempt works in.
func (w *work) repoAt(ctx context.Context, dir string) (*gitx.Repo, error) {
	if dir == w.Dir {
		return w.repo, nil
	}
	return w.repo.In(ctx, strings.TrimSuffix(dir, filepath.FromSlash(path.Join("/", w.repo.Prefix()))))
}

// prefix is the folder of the project in its repository, with a slash; "" where that
// is its root, or there is none.
func (w *work) prefix() string {
	if w.repo == nil {
		return ""
	}
	return w.repo.Prefix()
}

// dirty lists what no commit holds where an attempt works, nil where that cannot
// be told.
func (w *work) dirty(ctx context.Context, dir string) ([]string, error) {
	if w.repo == nil {
		return nil, nil
	}
	repo, err := w.repoAt(ctx, dir)
	if err != nil {
		return nil, err
	}
	return repo.Changes(ctx)
}

// worldState is a fingerprint of the folder an attempt works in.
func (w *work) worldState(ctx context.Context, dir string) (string, error) {
	if w.repo == nil {
		return "", nil
	}
	repo, err := w.repoAt(ctx, dir)
	if err != nil {
		return "", err
	}
	return repo.State(ctx, w.isState)
}

// head is the commit that is checked out where an attempt works, "" if there is
// none.
func (w *work) head(ctx context.Context, dir string) string {
	if w.repo == nil {
		return ""
	}
	repo, err := w.repoAt(ctx, dir)
	if err != nil {
		return ""
	}
	commit, _, err := repo.Resolve(ctx, "HEAD")
	if err != nil {
		return ""
	}
	return commit
}

// errCutShort is returned where a person wanted everything to stop at once.
var errCutShort = errors.New("stopped before it ended")

// errNotAsked is returned where a command would tell and is not run.
var errNotAsked = errors.New("it was not asked")

// check runs the person's own command that says whether a step is done, beside all
// other work, and goes on with then once it has ended: with nil where it succeeded,
// with errCutShort where it was stopped before it could say anything, with errNotAsked
// where it was not run.
func (w *work) check(stop context.Context, f *attempt, then func(stop context.Context, err error) error) error {
	if stop.Err() != nil {
		return then(stop, errCutShort)
	}
	ctx, cancel := context.WithCancel(stop)
	said := func(stop context.Context, err error) error {
		if f.verified = err == nil || errors.Is(err, errNotAsked); !f.verified && !errors.Is(err, errCutShort) {
			f.refuted = err.Error()
		}
		return then(stop, err)
	}
	wait, err := w.hands.Verify(ctx, f)
	if err != nil {
		cancel()
		if stop.Err() != nil {
			err = errCutShort
		}
		return said(stop, err)
	}
	f.cancel, f.checked = cancel, said
	w.atWork[f.a.Step] = f
	go func() { w.ends <- ending{step: f.a.Step, err: wait()} }()
	return nil
}

// cutShort tells that an attempt stays open on record: whether it is done was not
// found out.
func (w *work) cutShort(f *attempt) {
	w.ended(f, string(agent.Stopped), "stopped while it was verified; that is done again when the work goes on")
}

// inherit are the files every process of an attempt keeps: the lease.
func (w *work) inherit() []*os.File {
	if lock := w.store.LockFile(); lock != nil {
		return []*os.File{lock}
	}
	return nil
}
