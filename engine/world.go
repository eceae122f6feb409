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
	preset    string
	agent     agent.Agent
	command   []string
	env       []string
	secrets   []string
	timeout   time.Duration
	silence   time.Duration
	call      time.Duration
	continues bool // it can continue with a session
}

// bind finds who does a unit: the command in the user's workflow file, or the agent that
// the settings configure for the role. The error is a *startError.
func (w *work) bind(a reprise.Assignment) (_ binding, err error) {
	var s settings.Agent
	var ag agent.Agent
	if len(a.Command) > 0 {
		s = settings.Agent{Name: a.Command[0], Command: a.Command}
		ag = script.New(script.Options{Grace: w.Settings.Grace, MaxLog: w.Settings.MaxLog, Shim: w.Shim, Now: w.Now})
	} else if s, err = w.Settings.For(a.Role); err == nil {
		ag, err = w.Agent(s)
	}
	if err != nil {
		return binding{}, &startError{err}
	}
	if len(a.Env) > 0 {
		all := maps.Clone(s.Env)
		if all == nil {
			all = map[string]string{}
		}
		maps.Copy(all, a.Env) // the step's own count
		s.Env = all
	}
	env, secrets := w.Settings.Environ(w.Environ, s)
	return binding{
		name: s.Name, preset: s.Preset, agent: ag, command: s.Command, env: env, secrets: secrets,
		timeout: pick(a.Timeout, s.Timeout, w.Settings.Timeout), silence: pick(s.Silence, w.Settings.Silence), call: pick(s.Call, w.Settings.Call),
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

// repoAt opens the repository of the folder an attempt works in; nil if there is none.
func (w *work) repoAt(ctx context.Context, dir string) (*gitx.Repo, error) {
	if dir == w.Dir || w.repo == nil {
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

// dirty lists uncommitted files where an attempt works.
func (w *work) dirty(ctx context.Context, dir string) ([]string, error) {
	repo, err := w.repoAt(ctx, dir)
	if repo == nil || err != nil {
		return nil, err
	}
	return repo.Changes(ctx)
}

// worldState is a fingerprint of the folder an attempt works in.
func (w *work) worldState(ctx context.Context, dir string) (string, error) {
	repo, err := w.repoAt(ctx, dir)
	if repo == nil || err != nil {
		return "", err
	}
	return repo.State(ctx, w.isState)
}

// branch is the branch that is checked out where an attempt works, "" if there is none.
func (w *work) branch(ctx context.Context, dir string) string {
	repo, err := w.repoAt(ctx, dir)
	if repo == nil || err != nil {
		return ""
	}
	return repo.Current()
}

// head is the commit that is checked out where an attempt works, "" if there is none.
func (w *work) head(ctx context.Context, dir string) string {
	repo, err := w.repoAt(ctx, dir)
	if repo == nil || err != nil {
		return ""
	}
	commit, _, err := repo.Resolve(ctx, "HEAD")
	if err != nil {
		return ""
	}
	return commit
}

// ErrCutShort says that a verify command was stopped before it ended: it told nothing.
var ErrCutShort = errors.New("stopped before it ended")

// errNotAsked says that a verify command is not run in a preview.
var errNotAsked = errors.New("it was not asked")

// inherit are the files that every process of an attempt keeps open: the lease.
func (w *work) inherit() []*os.File {
	if lock := w.store.LockFile(); lock != nil {
		return []*os.File{lock}
	}
	return nil
}
