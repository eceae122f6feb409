package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/agent"
	"reprise/engine"
	"reprise/flow"
	"reprise/internal/doc"
	"reprise/internal/durable"
	"reprise/journal"
	"reprise/settings"
)

// engine makes the engine for this project, its settings read and trusted. nil
// if a person did not trust them, which has been said then.
func (s *shift) engine(mode engine.Mode) (*engine.Engine, error) {
	now, err := s.clock()
	if err != nil {
		return nil, err
	}
	set, err := s.settings()
	if err != nil || set == nil {
		return nil, err
	}
	e := &engine.Engine{
		Dir: s.root, Settings: set, Agent: agentOf(set, now), Environ: os.Environ(), Now: now, Mode: mode, Parallel: int(s.flags.parallel), Wait: s.flags.wait,
		Prompts:      set.Templates,
		AllowNetwork: s.flags.network, Adopt: s.flags.adopt, StopOrphans: s.flags.orphans, Hard: s.hard,
	}
	e.Workflow = s.workflow
	return e, nil
}

// settings reads the settings. Those of the project count only once a person
// trusts them: they name commands.
func (s *shift) settings() (*settings.Settings, error) {
	trust, err := s.trusts()
	if err != nil {
		return nil, err
	}
	for _, p := range trust.Problems() {
		fmt.Fprintf(s.err, "! %s\n", plain(p.String()))
	}
	o := settings.Options{User: settings.UserFile(s.env), Project: s.root, Trust: trust}
	set, untrusted, err := settings.Load(o)
	if err != nil || untrusted == nil {
		return set, err
	}
	if s.flags.dry && !s.flags.trust {
		return set, &untrustedError{Untrusted: untrusted}
	}
	if err := s.askTrust(trust, untrusted); err != nil {
		return nil, err
	}
	if set, untrusted, err = settings.Load(o); err == nil && untrusted != nil {
		return nil, &untrustedError{Untrusted: untrusted} // changed while a person was reading
	}
	return set, err
}

// askTrust shows what a project's settings would start and asks whether that is
// trusted. Nothing is an error but a no. A dry run that was told to trust writes
// nothing down.
func (s *shift) askTrust(trust *settings.Trust, u *settings.Untrusted) error {
	now, err := s.now()
	if err != nil {
		return err
	}
	if !s.flags.trust {
		if !s.asks() {
			return &untrustedError{Untrusted: u}
		}
		columns, colour := s.terminal(s.err)
		f := face{view: view{w: s.err, columns: columns, colour: colour && s.colours()}}
		f.trust(u)
		agreed, err := s.confirm(s.ctx, upkeepFlags{}, "Trust these commands, as they are now?")
		if err != nil {
			return err
		}
		if !agreed {
			return &untrustedError{Untrusted: u}
		}
	}
	if s.flags.dry {
		trust.Assume(u.Path, u.Hash)
		return nil
	}
	return trust.Trust(u.Path, u.Hash, now)
}

// untrustedError tells that a project's settings, or a workflow file, name commands
// nobody trusted.
type untrustedError struct {
	*settings.Untrusted
	changed bool // since a run was started from it
}

// Error implements error. It is fit for a terminal as it is: a person decides by it.
func (e *untrustedError) Error() string {
	var starts []string
	for _, st := range e.Starts {
		starts = append(starts, startWords(st.Agent))
	}
	text := "read " + plain(filepath.Base(e.Path)) + ": nobody trusted it as it is now"
	if e.changed {
		text = "read " + plain(filepath.Base(e.Path)) + ": it was changed since the run was started, and nobody trusted it as it is now"
	}
	if len(starts) > 0 {
		text += "; it would start " + strings.Join(starts, ", ")
	}
	return text
}

// Hint says what to do.
func (e *untrustedError) Hint() string {
	return "look at it, then say --trust once; it is asked for again when the file changes"
}

// startWords shows a command of the settings.
func startWords(a settings.Agent) string {
	if len(a.Command) == 0 {
		return a.Preset
	}
	return commandWords(a.Command)
}

// trust shows what would be started.
func (f *face) trust(u *settings.Untrusted) {
	f.say("This file names commands that would be started:")
	f.place("  ", u.Path)
	for _, st := range u.Starts {
		f.gap()
		f.command("  "+clip(st.Agent.Name, f.columns/3)+": ", startWords(st.Agent))
		if len(st.Roles) > 0 {
			f.para("    for the roles ", strings.Join(st.Roles, ", "), linesSource)
		}
		for _, name := range slices.Sorted(maps.Keys(st.Agent.Env)) {
			f.command("    with ", name+"="+quoted(st.Agent.Env[name]))
		}
	}
	if len(u.Env) > 0 {
		f.para("  They may see ", strings.Join(u.Env, ", "), linesMessage)
	}
	if len(u.Templates) > 0 {
		f.para("  Prompts are replaced: ", strings.Join(u.Templates, ", "), linesMessage)
	}
	f.gap()
}

// workflow reads the workflow file a run was started from, as it is now. It names
// commands: it must be trusted on this machine; what state files say of it proves
// nothing.
func (s *shift) workflow(file string) (*flow.Workflow, reprise.Hash, error) {
	w, hash, err := s.untrustedWorkflow(file)
	if err != nil {
		return nil, hash, err
	}
	trust, err := s.trusts()
	if err != nil {
		return nil, hash, err
	}
	if !trust.Trusted(s.flowPath(file), hash) {
		return nil, hash, &untrustedError{Untrusted: s.untrustedFlow(file, w, hash)}
	}
	return w, hash, nil
}

// untrustedWorkflow is workflow for those who start nothing of it.
func (s *shift) untrustedWorkflow(file string) (*flow.Workflow, reprise.Hash, error) {
	w, hash, err := s.readFlow(s.flowPath(file))
	if errors.Is(err, fs.ErrNotExist) {
		err = &goneFlowError{file}
	}
	return w, hash, err
}

// goneFlowError tells that the workflow file of a run is not there.
type goneFlowError struct{ file string }

// Error implements error.
func (e *goneFlowError) Error() string {
	return "read workflow " + e.file + ": the file the run was started from is gone"
}

// Hint says what to do.
func (e *goneFlowError) Hint() string {
	return "bring it back: what the steps are to do stands nowhere else; `reprise clean` gives the run up"
}

// trustOrigin asks for trust in the workflow file a run was started from, before
// the engine wants to read it.
func (s *shift) trustOrigin(ref reprise.Ref) error {
	if ref.Kind != reprise.KindGraph {
		return nil
	}
	file, hash := s.originOf(ref)
	if file == "" {
		return nil
	}
	w, have, err := s.readFlow(s.flowPath(file))
	if err != nil {
		return nil // the engine says what is wrong with it
	}
	if trust, err := s.trusts(); err == nil && have != hash && !trust.Trusted(s.flowPath(file), have) && s.asks() {
		fmt.Fprintf(s.err, "%s was changed since the run was started.\n", plain(file))
	}
	err = s.trustFlow(file, w, have)
	if u, ok := errors.AsType[*untrustedError](err); ok {
		u.changed = have != hash
	}
	return err
}

// originOf is the workflow file that a run was started from, "" for a run that was
// started in another way, or whose files cannot tell.
func (s *shift) originOf(ref reprise.Ref) (file string, hash reprise.Hash) {
	return originOf(s.root, ref)
}

func originOf(root string, ref reprise.Ref) (file string, hash reprise.Hash) {
	if ref.Kind != reprise.KindGraph || !local(ref.Path) {
		return "", hash
	}
	graph, err := doc.ReadRegular(os.DirFS(root), path.Join(ref.Path, "task-graph.json"), doc.MaxSize)
	if err != nil {
		graph = begunWith(root, ref) // only begun, lost or no file any more: its journal alone tells
	}
	file, hash, _ = flow.Origin(graph)
	if !local(file) {
		return "", reprise.Hash{}
	}
	return file, hash
}

// begunWith is the graph that a run was begun with, as its journal has it.
func begunWith(root string, ref reprise.Ref) []byte {
	if _, err := os.Stat(filepath.Join(root, durable.StateDir)); err != nil {
		return nil
	}
	store, err := durable.Open(root, durable.Options{AllowNetwork: true, Adopt: true})
	if err != nil {
		return nil // whoever works on it says why
	}
	defer store.Release()
	entries, _, err := journal.Read(store, journal.Name(ref))
	if err != nil {
		return nil // likewise
	}
	for i := range slices.Backward(entries) {
		for _, ev := range append([]reprise.Event{entries[i].Event}, entries[i].Event.Then...) {
			if ev.Kind == reprise.RunStarted || ev.Kind == reprise.RunRevised {
				return []byte(ev.Text)
			}
		}
	}
	return nil
}

// budget says how often the steps of a run are tried, from the settings and from the
// workflow file it was started from. Nothing but these numbers is taken from them, so
// nobody has to trust them.
func (a *app) budget(dir string) func(reprise.Ref) (func(string) journal.Budget, error) {
	return func(ref reprise.Ref) (func(string) journal.Budget, error) {
		root, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		var usual journal.Budget
		if usual.Attempts, usual.Cutoffs, err = settings.Budget(settings.Options{User: settings.UserFile(a.env), Project: root}); err != nil {
			return nil, err
		}
		file, _ := originOf(root, ref)
		if file == "" {
			return func(string) journal.Budget { return usual }, nil
		}
		wf, _, err := engine.ReadFlow(filepath.Join(root, filepath.FromSlash(file)), settings.KeptFolder(a.env))
		if err != nil {
			return nil, err
		}
		return func(step string) journal.Budget {
			b := usual
			if own := wf.Attempts(step); own > 0 {
				b.Attempts = own
			}
			return b
		}, nil
	}
}

// agentOf gives the way to start an agent of these settings.
func agentOf(set *settings.Settings, now func() time.Time) func(settings.Agent) (agent.Agent, error) {
	return func(a settings.Agent) (agent.Agent, error) {
		return agent.New(agent.Options{Preset: a.Preset, Command: a.Command, Model: a.Model, Approve: agent.Approval(a.Approve), Account: a.Account, Grace: set.Grace, MaxLog: set.MaxLog, Now: now})
	}
}
