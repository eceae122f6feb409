package temporal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"reprise"
	"reprise/agent"
	"reprise/engine"
	"reprise/flow"
	"reprise/settings"
)

// elsewhere is the agent of roles that only other workers have one for.
const elsewhere = "elsewhere"

// trusted is what a worker trusts: the contents that its owner trusts in the clone it was
// started in, at the same place in the project, or everything that the remote has.
type trusted struct {
	clone string // absolute, "" for none
	all   bool
}

// in gives the trust for a project in a checkout.
func (t trusted) in(root string) (*settings.Trust, error) {
	trust, err := settings.OpenTrust(settings.TrustFile(os.Getenv))
	if err != nil || t.clone == "" {
		return trust, err
	}
	top := root // of the checkout, as the clone is the top of its own
	for dir := root; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			top = dir
			break
		}
	}
	for _, g := range trust.All() {
		if rest, ok := strings.CutPrefix(g.Path, t.clone+string(filepath.Separator)); ok {
			trust.Assume(filepath.Join(top, rest), g.Hash)
		}
	}
	return trust, nil
}

// settings reads the settings of a project in a checkout.
func (t trusted) settings(root string) (*settings.Settings, *settings.Trust, error) {
	trust, err := t.in(root)
	if err != nil {
		return nil, nil, err
	}
	o := settings.Options{User: settings.UserFile(os.Getenv), Project: root, Trust: trust}
	set, untrusted, err := settings.Load(o)
	if err == nil && untrusted != nil && t.all {
		trust.Assume(untrusted.Path, untrusted.Hash)
		set, untrusted, err = settings.Load(o)
	}
	if err == nil && untrusted != nil {
		err = &untrustedError{filepath.Base(untrusted.Path)}
	}
	return set, trust, err
}

// untrustedError says that a file with commands is not trusted here, and what its owner can
// do: it is read on another machine, where an error is its text alone.
type untrustedError struct{ file string }

func (e *untrustedError) Error() string {
	return fmt.Sprintf("read %s: it is not trusted on this worker; `reprise trust %s` in the worker's clone trusts it, `reprise-fleet worker --trust` all that the remote has", e.file, reprise.Pasted(e.file, "FILE"))
}

// isUntrusted reports whether an error says that a file is not trusted on this worker.
func isUntrusted(err error) bool {
	_, is := errors.AsType[*untrustedError](err)
	return is
}

// engineFor makes the engine for a project in a checkout that is the run's own.
func (t trusted) engineFor(root string, now func() time.Time) (*engine.Engine, error) {
	set, trust, err := t.settings(root)
	if err != nil {
		return nil, err
	}
	return &engine.Engine{
		Dir: root, Settings: set, Environ: os.Environ(), Now: now, Mode: engine.Autopilot, Prompts: set.Templates, Wait: true, Adopt: true, InPlace: true,
		Agent: func(a settings.Agent) (agent.Agent, error) {
			o := agentOptions(a, set, now)
			env, _ := set.Environ(os.Environ(), a)
			if err := agent.CanStart(o, env, root); err != nil {
				return nil, err
			}
			return agent.New(o)
		},
		Workflow: func(file string) (*flow.Workflow, reprise.Hash, error) {
			path := filepath.Join(root, filepath.FromSlash(file))
			w, hash, err := engine.ReadFlow(path)
			if err == nil && !t.all && !trust.Trusted(path, hash) {
				err = &untrustedError{file}
			}
			return w, hash, err
		},
	}, nil
}

func agentOptions(a settings.Agent, set *settings.Settings, now func() time.Time) agent.Options {
	return agent.Options{
		Preset: a.Preset, Command: a.Command, Model: a.Model, Approve: agent.Approval(a.Approve), Account: a.Account,
		Grace: set.Grace, MaxLog: set.MaxLog, Now: now,
	}
}

// deciderFor is engineFor for those who start nothing: every role has an agent, and the
// files of the project count as they are.
func deciderFor(root string, now func() time.Time) (*engine.Engine, error) {
	e, err := trusted{all: true}.engineFor(root, now)
	if err != nil {
		return nil, err
	}
	if _, err := e.Settings.For("default"); err != nil {
		e.Settings.Agents[elsewhere] = settings.Agent{Name: elsewhere, Preset: agent.Command, Command: []string{elsewhere}}
		e.Settings.Roles["default"] = elsewhere
	}
	e.Agent = func(a settings.Agent) (agent.Agent, error) { return agent.New(agentOptions(a, e.Settings, now)) }
	return e, nil
}

// Queues of a repository: one for what works on branches alone, one for the commands of
// workflow files, one for each role that the project's reprise.yaml names, and one for all
// other roles.
const (
	commandQueue = "command"
	defaultQueue = "default"
)

// queue is a task queue of a repository.
func queue(repo, role string) string { return strings.TrimSuffix("reprise:"+repo+":"+role, ":") }

// projectRoles are the roles that the project's own reprise.yaml names: they are the same
// on every machine.
func projectRoles(root string) (map[string]bool, error) {
	set, _, err := trusted{all: true}.projectOnly(root)
	if err != nil {
		return nil, err
	}
	roles := map[string]bool{}
	for role := range set.Roles {
		roles[role] = true
	}
	return roles, nil
}

func (t trusted) projectOnly(root string) (*settings.Settings, *settings.Untrusted, error) {
	trust, err := settings.OpenTrust("")
	if err != nil {
		return nil, nil, err
	}
	o := settings.Options{Project: root, Trust: trust}
	set, untrusted, err := settings.Load(o)
	if err == nil && untrusted != nil {
		trust.Assume(untrusted.Path, untrusted.Hash)
		return settings.Load(o)
	}
	return set, nil, err
}

// Offers are the queues of attempts that a machine has agents for, by what its settings
// and the project's say. problems tell why a role is not offered.
func (t trusted) offers(root string) (roles []string, problems []error, err error) {
	named, err := projectRoles(root)
	if err != nil {
		return nil, nil, err
	}
	set, _, err := t.settings(root)
	if err != nil {
		return nil, []error{err}, nil
	}
	roles = append(roles, commandQueue)
	named[defaultQueue] = true
	for role := range named {
		a, err := set.For(role)
		if err == nil {
			env, _ := set.Environ(os.Environ(), a)
			err = agent.CanStart(agentOptions(a, set, time.Now), env, root)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("role %s is not offered: %w", role, err))
			continue
		}
		roles = append(roles, role)
	}
	return roles, problems, nil
}
