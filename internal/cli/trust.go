package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"reprise"
	"reprise/agent"
	"reprise/engine"
	"reprise/flow"
	"reprise/report"
	"reprise/settings"
)

// engine creates the engine for this project, with its settings read and trusted.
func (s *job) engine(mode engine.Mode) (*engine.Engine, error) {
	set, err := s.settings()
	if err != nil {
		return nil, err
	}
	start := func(a settings.Agent) (agent.Agent, error) {
		o := agent.Options{
			Preset: a.Preset, Command: a.Command, Model: a.Model, Approve: agent.Approval(a.Approve), Account: a.Account,
			Grace: set.Grace, MaxLog: set.MaxLog, Now: s.clock,
		}
		env, _ := set.Environ(os.Environ(), a)
		if err := agent.CanStart(o, env, s.root); err != nil {
			return nil, err
		}
		return agent.New(o)
	}
	s.notifies(set)
	e := &engine.Engine{
		Dir: s.root, Settings: set, Agent: start, Environ: os.Environ(), Now: s.clock, Mode: mode, Parallel: s.flags.parallel, Wait: s.flags.wait,
		Prompts: set.Templates, Workflow: s.workflow,
		AllowNetwork: s.flags.network, Adopt: s.flags.adopt, StopOrphans: s.flags.orphans, Hard: s.hard,
		Worlds: s.env("REPRISE_ENGINE") == "worlds",
	}
	if s.asks() {
		e.Ask = s.ask
	}
	return e, nil
}

// settings reads the settings. Those of the project take effect only once a person trusts
// them, because they contain commands.
func (s *job) settings() (*settings.Settings, error) {
	trust, err := s.trusts()
	if err != nil {
		return nil, err
	}
	o := settings.Options{User: settings.UserFile(s.env), Project: s.root, Trust: trust}
	set, untrusted, err := settings.Load(o)
	if err != nil || untrusted == nil {
		return set, err
	}
	if err := s.askTrust(untrusted, false); err != nil {
		return nil, err
	}
	if set, untrusted, err = settings.Load(o); err == nil && untrusted != nil {
		return nil, s.notTrusted(untrusted, false) // changed while the user was reading
	}
	return set, err
}

// askTrust shows what a file would start and asks whether to trust it; a no is an error.
// A dry run does not ask and stores nothing: what it was told to trust counts for this
// job alone. changed says that the run was started from another version of the file.
func (s *job) askTrust(u *settings.Untrusted, changed bool) error {
	trust, err := s.trusts()
	if err != nil {
		return err
	}
	if !s.flags.trust {
		if s.flags.dry || !s.asks() {
			return s.notTrusted(u, changed)
		}
		if changed {
			fmt.Fprintf(s.err, "%s was changed since the run was started.\n", plain(s.inside(u.Path)))
		}
		s.page(s.err).trust(u)
		agreed, err := s.confirm(s.ctx, upkeepFlags{}, "Trust these commands, as they are now?")
		if err != nil {
			return err
		}
		if !agreed {
			return s.notTrusted(u, changed)
		}
	}
	if s.flags.dry {
		trust.Assume(u.Path, u.Hash)
		return nil
	}
	return trust.Trust(u.Path, u.Hash, s.now())
}

// notTrusted reports that settings or a workflow file contain commands that are not
// trusted. The text is already safe for a terminal, since a person decides by it.
func (s *job) notTrusted(u *settings.Untrusted, changed bool) error {
	text := "read " + plain(filepath.Base(u.Path)) + ": "
	if changed {
		text += "it has changed since the run was started and is not trusted yet"
	} else {
		text += "it is not trusted yet"
	}
	if len(u.Starts) > 0 {
		text += "; it would start " + strings.Join(slices.Compact(report.Each(u.Starts, startWords)), "; ")
	}
	if len(u.Scripts) > 0 {
		text += "; trust does not cover " + plain(strings.Join(u.Scripts, ", ")) + ", which can change without another question"
	}
	hint := "review it, then `" + s.again(cmp.Or(s.flags.consent, "--trust")) + "`; you are asked again when it changes"
	if s.flags.dry { // it stores nothing
		hint = "`reprise trust " + quoted(s.inside(u.Path)) + "` shows it and asks; `" + s.again(cmp.Or(s.flags.consent, "--trust")) + "` previews it without saving the trust"
	}
	return &failure{code: exitBlocked, err: errors.New(text), safe: true, hint: hint}
}

// startWords shows all that would be started, with every variable that is set for it.
func startWords(st settings.Start) string {
	words := startCommand(st)
	for i, line := range envWords(st) {
		words += [2]string{" with ", ", "}[min(i, 1)] + line
	}
	return words
}

// startCommand shows a configured command, and whether it works without asking.
func startCommand(st settings.Start) string {
	a := st.Agent
	words := a.Preset
	switch {
	case len(a.Command) > 0:
		words = commandWords(a.Command)
	case a.Preset == "":
		words = "the agent of the role " + plain(strings.Join(st.Roles, ", "))
	}
	switch agent.Approval(a.Approve) {
	case agent.ApproveAll:
		words += " (may do everything without asking)"
	case agent.ApproveCommands:
		words += " (may run any command without asking)"
	}
	return words
}

// envWords shows the variables that are set for a command, each with what it does by
// itself. A secret is not shown.
func envWords(st settings.Start) (out []string) {
	for _, name := range slices.Sorted(maps.Keys(st.Agent.Env)) {
		words := plain(name) + "=" + quoted(st.Agent.Env[name])
		if settings.Hidden(name) {
			words = plain(name) + " (a secret)"
		} else if deed := settings.Deed(name); deed != "" {
			words += " (" + deed + ")"
		}
		out = append(out, words)
	}
	return out
}

// trust shows what would be started.
func (p *page) trust(u *settings.Untrusted) {
	p.say("This file names commands that would be started:")
	p.place("  ", u.Path)
	for _, st := range u.Starts {
		p.gap()
		p.command("  "+clip(st.Agent.Name, p.columns/3)+": ", startCommand(st))
		if len(st.Roles) > 0 && (st.Agent.Preset != "" || len(st.Agent.Command) > 0) {
			p.command("    for the roles ", plain(strings.Join(st.Roles, ", ")))
		}
		for _, words := range envWords(st) {
			p.command("    with ", words)
		}
	}
	if len(u.Env) > 0 {
		p.command("  They may see ", plain(strings.Join(u.Env, ", ")))
	}
	if len(u.Templates) > 0 {
		p.command("  Prompts are replaced: ", plain(strings.Join(u.Templates, ", ")))
	}
	p.gap()
	p.say("Trust covers this file and its prompts. You are not asked again when other files change that these commands read or start.")
	if len(u.Scripts) > 0 {
		p.command("  Named by them: ", plain(strings.Join(u.Scripts, ", ")))
	}
	p.gap()
}

// flowPath returns the path of a workflow file, as used for trust.
func (s *job) flowPath(name string) string {
	return filepath.Join(s.root, filepath.FromSlash(name))
}

// readFlow reads a workflow file of the project.
func (s *job) readFlow(name string) (*flow.Workflow, reprise.Hash, error) {
	return engine.ReadFlow(s.flowPath(name))
}

// workflow reads the workflow file a run was started from, as it is now. It contains
// commands, so it must be trusted on this machine; what state files say about it proves
// nothing.
func (s *job) workflow(file string) (*flow.Workflow, reprise.Hash, error) {
	w, hash, err := s.untrustedWorkflow(file)
	if err != nil {
		return nil, hash, err
	}
	u, err := s.untrustedFlow(file, w, hash)
	if u != nil {
		err = s.notTrusted(u, false)
	}
	if err != nil {
		return nil, hash, err
	}
	return w, hash, nil
}

// untrustedWorkflow is workflow for commands that start nothing from it.
func (s *job) untrustedWorkflow(file string) (*flow.Workflow, reprise.Hash, error) {
	w, hash, err := s.readFlow(file)
	if errors.Is(err, fs.ErrNotExist) {
		err = fail(exitBlocked, "restore it: nothing else says what the steps do; `reprise clean` gives the run up",
			"read workflow %s: the file the run was started from is gone", file)
	}
	return w, hash, err
}

// trustOrigin asks for trust in the workflow file a run was started from, before the
// engine reads it.
func (s *job) trustOrigin(ref reprise.Ref) error {
	file, hash := engine.Origin(s.root, ref)
	if file == "" {
		return nil
	}
	w, have, err := s.readFlow(file)
	if err != nil {
		return nil // the engine reports what is wrong with it
	}
	return s.trustFlow(file, w, have, have != hash)
}

// trustFlow asks whether the commands of a workflow file may be started, once for each
// content.
func (s *job) trustFlow(name string, w *flow.Workflow, hash reprise.Hash, changed bool) error {
	u, err := s.untrustedFlow(name, w, hash)
	if err != nil || u == nil {
		return err
	}
	return s.askTrust(u, changed)
}

// untrustedFlow returns what a workflow file would start, nil if its content is trusted.
func (s *job) untrustedFlow(name string, w *flow.Workflow, hash reprise.Hash) (*settings.Untrusted, error) {
	trust, err := s.trusts()
	if err != nil || trust.Trusted(s.flowPath(name), hash) {
		return nil, err
	}
	starts := flowStarts(w.Steps())
	return &settings.Untrusted{Path: s.flowPath(name), Hash: hash, Starts: starts, Scripts: settings.Scripts(s.root, starts)}, nil
}

// flowStarts is all that steps of a workflow start, with the variables they set for it:
// commands of their own, the agents of roles, and what verifies them.
func flowStarts(steps []flow.Step) (out []settings.Start) {
	for _, st := range steps {
		add := func(name string, command []string, roles ...string) {
			out = append(out, settings.Start{Agent: settings.Agent{Name: name + " " + st.ID, Command: command, Env: st.Env}, Roles: roles})
		}
		if len(st.Command) > 0 {
			add("step", st.Command)
		}
		if st.Role != "" {
			add("step", nil, st.Role)
		}
		if len(st.Verify) > 0 {
			add("verify", st.Verify)
		}
	}
	return out
}
