package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"reprise"
	"reprise/agent"
	"reprise/internal/durable"
	"reprise/internal/hook"
	"reprise/report"
	"reprise/settings"
)

func (a *app) newInit() *cobra.Command {
	var flags upkeepFlags
	cmd := &cobra.Command{
		Use:   "init [PATH]",
		Short: "Set up a project: agents, and hooks that report interrupted work",
		Long: "Find the installed agent CLIs and show a commented reprise.yaml that names them and\n" +
			"says what they may do without asking: change files and run commands, as building\n" +
			"and testing take. If you say yes, it is written and trusted. Then init offers hooks\n" +
			"that make these agents report interrupted work. An existing reprise.yaml is left as\n" +
			"it is, and without an agent CLI none is written.",
		Example: "  reprise init\n  reprise init --dry-run\n  reprise init shop --yes",
		Args:    args(cobra.MaximumNArgs(1)),
		RunE: a.guarded(func(cmd *cobra.Command, args []string) error {
			flags.dir = "."
			if len(args) > 0 {
				flags.dir, a.site.dir = args[0], args[0]
			}
			return a.setsUp(a.initProject(cmd.Context(), flags))
		}),
	}
	cmd.Flags().BoolVarP(&flags.dry, "dry-run", "n", false, "show the file and write nothing")
	cmd.Flags().BoolVarP(&flags.yes, "yes", "y", false, "write it without asking; hooks are only listed")
	a.setupJSON(cmd)
	return cmd
}

// setupJSON adds --json to a command that sets something up.
func (a *app) setupJSON(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.json, "json", false, "print JSON (schema/setup.v1.json)")
}

// setsUp ends such a command: with --json it prints the document of what was done.
func (a *app) setsUp(err error) error {
	if err != nil || !a.json {
		return err
	}
	doc := report.Setup{Schema: report.SetupSchema, Files: report.List(a.setup.Files), Next: report.List(a.setup.Next)}
	return a.writeJSON(a.out, doc)
}

// did records what happened to a file.
func (a *app) did(f report.SetupFile) { a.setup.Files = append(a.setup.Files, f) }

// telling returns a page for a person, which is discarded with --json.
func (a *app) telling() *page {
	p := a.page(a.out)
	if a.json {
		p.w = io.Discard
	}
	return p
}

// initProject sets a project up.
func (a *app) initProject(ctx context.Context, flags upkeepFlags) error {
	root, err := filepath.Abs(flags.dir)
	if err != nil {
		return err
	}
	switch info, err := os.Stat(root); {
	case err != nil:
		return err
	case !info.IsDir():
		return misuse("%s is not a folder", flags.dir)
	}
	if err := a.isPerson(flags); err != nil {
		return err
	}
	env, _ := settings.Default().Environ(os.Environ(), settings.Agent{})
	var names []string
	for _, i := range agent.Look(ctx, env, root) {
		if i.Path != "" {
			names = append(names, i.Preset.Name)
		}
	}
	file := filepath.Join(root, settings.FileName)
	if _, err := os.Lstat(file); err == nil || !errors.Is(err, fs.ErrNotExist) {
		a.did(report.SetupFile{Path: file, Outcome: "kept"})
		if err != nil {
			return err
		}
		a.telling().say(settings.FileName + " exists already and stays as it is.")
		if err := a.lacksAgent(root, names); err != nil {
			return err
		}
	} else if len(names) == 0 {
		return a.lacksCLI()
	} else if err := a.writeSettings(ctx, flags, file, names); err != nil {
		return err
	}
	return a.offerHooks(ctx, flags, root, names)
}

// lacksAgent says what an existing file lacks for a run to be resumed: trust, or an agent.
func (a *app) lacksAgent(root string, names []string) error {
	set, untrusted, err := a.settings(root)
	switch {
	case err != nil:
		return err
	case untrusted != nil:
		a.telling().say("It has no effect until you trust it: `reprise trust`.")
	case len(set.Agents) == 0 && len(names) == 0:
		return a.lacksCLI()
	case len(set.Agents) == 0:
		_, text, _ := strings.Cut(string(settings.Sample(names[:1], nil)), "\n\n")
		text, _, _ = strings.Cut(text, "\n\n")
		a.toAdd(text)
		return fail(exitBlocked, "add these lines, then `reprise trust`", "%s names no agent, so nothing can be resumed", settings.FileName)
	}
	return nil
}

// lacksCLI says that there is nothing to set up, and the ways out.
func (a *app) lacksCLI() error {
	var known []string
	for _, p := range agent.Presets() {
		if p.Name != agent.Command {
			known = append(known, p.Program)
		}
	}
	a.toAdd(settings.Own)
	return fail(exitBlocked, "install one of them, then `reprise init`; or name a command of your own in "+settings.FileName+", then `reprise trust`",
		"no agent CLI is in your PATH (%s); nothing was written", strings.Join(known, ", "))
}

// toAdd shows what would do in the settings.
func (a *app) toAdd(text string) {
	p := a.telling()
	p.line("With these lines in %s an agent does the work:", settings.FileName)
	for line := range strings.Lines(text) {
		p.line("  %s", strings.TrimSuffix(line, "\n"))
	}
}

// keysOf lists the variables of the environment by which these agents are signed in, or told where
// their models are: without them they work for a person and not for reprise.
func keysOf(agents []string) []string {
	var keys []string
	for _, p := range agent.Presets() {
		if slices.Contains(agents, p.Name) {
			keys = append(keys, p.Keys...)
		}
	}
	return settings.Named(os.Environ(), keys)
}

// writeSettings shows a settings file, and writes and trusts it after a yes.
func (a *app) writeSettings(ctx context.Context, flags upkeepFlags, name string, agents []string) error {
	keys := keysOf(agents)
	p, text := a.telling(), settings.Sample(agents, keys)
	for line := range strings.Lines(string(text)) {
		p.line("  %s", strings.TrimSuffix(line, "\n"))
	}
	p.gap()
	p.say("With it, " + strings.Join(agents, " and ") + " may change files here and run any command (build, tests, git) without asking you.")
	if len(keys) > 0 {
		p.say("Of your environment it gets " + strings.Join(keys, ", ") + ".")
	}
	if flags.dry {
		a.did(report.SetupFile{Path: name, Outcome: "written", Dry: true, Text: string(text)})
		return nil
	}
	agreed, err := a.confirm(ctx, flags, "Write this to "+settings.FileName+"?")
	if err != nil || !agreed {
		a.did(report.SetupFile{Path: name, Outcome: "declined", Text: string(text)})
		return err
	}
	err = durable.Rewrite(name, 0o644, func(old []byte) ([]byte, error) {
		if old != nil {
			return nil, errors.New("it was created meanwhile")
		}
		return text, nil
	})
	if err != nil {
		return err
	}
	a.did(report.SetupFile{Path: name, Outcome: "written", Text: string(text)})
	// The user has just read it.
	trust, err := settings.OpenTrust(settings.TrustFile(a.env))
	if err == nil {
		err = trust.Trust(name, reprise.HashOf(text), a.now())
	}
	if err != nil {
		fmt.Fprintf(a.err, "! wrote %s, but it is not trusted: %s\n", settings.FileName, plain(err.Error()))
		return nil
	}
	a.did(report.SetupFile{Path: name, Outcome: "trusted"})
	p.say("Wrote " + settings.FileName + " and trusted it.")
	return nil
}

// offerHooks offers hooks for the installed agents and for git.
func (a *app) offerHooks(ctx context.Context, flags upkeepFlags, root string, names []string) error {
	if _, err := os.Stat(filepath.Join(root, ".git")); err == nil {
		names = append(names, hook.Git)
	}
	p := a.telling()
	var missing []hook.Tool
	for _, name := range names {
		tool, known := hook.Find(name)
		place, err := a.hookPlace(ctx, tool, hookFlags{upkeepFlags: upkeepFlags{dir: root}})
		if !known || err != nil {
			continue
		}
		settings, err := durable.ReadPrivate(place.Path)
		if err == nil && !tool.Installed(settings) {
			missing = append(missing, tool)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if flags.dry || flags.yes || !a.asks() {
		p.say("To let each new session know what was interrupted:")
		for _, tool := range missing {
			a.setup.Next = append(a.setup.Next, "reprise hook install "+tool.Name)
			p.line("  reprise hook install %s", tool.Name)
		}
		return nil
	}
	for _, tool := range missing {
		agreed, err := a.confirm(ctx, flags, "Have "+tool.Name+" tell by itself what was interrupted?")
		if err != nil {
			return err
		}
		if agreed {
			if err := a.changeHooks(ctx, tool, hookFlags{upkeepFlags: upkeepFlags{dir: root}}, hook.Tool.Install); err != nil {
				return err
			}
		}
	}
	return nil
}
