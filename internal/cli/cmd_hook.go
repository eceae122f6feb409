package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"reprise"
	"reprise/briefing"
	"reprise/convention"
	"reprise/internal/durable"
	"reprise/internal/hook"
	"reprise/journal"
	"reprise/project"
	"reprise/report"
	"reprise/settings"
)

// hookTime limits how long a hook may take. A session waits for it: including process
// start and exit, it answers within 150 ms.
var hookTime = 125 * time.Millisecond

func (a *app) newHook() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hook",
		Short: "Make agent CLIs and git report interrupted work",
		Long: "A session that starts in a project with interrupted work gets a briefing into its\n" +
			"context: what was interrupted, at most 1,200 bytes, and nothing if nothing was. When\n" +
			"the session stops, ends or is compacted, that is noted for the runs it worked on. A\n" +
			"hook answers within 150 ms: with what it has found by then, and how much it has not\n" +
			"looked at. It never fails the tool.",
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.newHookChange("install", "Add reprise's hooks to the settings of a tool", hook.Tool.Install), a.newHookUninstall(), a.newHookRun())
	return cmd
}

// toolNames lists the tools that hooks exist for.
func toolNames() []string {
	return report.Each(hook.Tools(), func(t hook.Tool) string { return t.Name })
}

// hookChange changes the text of a tool's settings.
type hookChange func(t hook.Tool, old []byte, program string) ([]byte, error)

// uninstallHooks removes our hooks from settings.
func uninstallHooks(t hook.Tool, old []byte, _ string) ([]byte, error) { return t.Uninstall(old) }

// newHookUninstall creates the command that removes our hooks, from one tool or all.
func (a *app) newHookUninstall() *cobra.Command {
	cmd := a.newHookChange("uninstall", "Remove reprise's hooks from the settings of a tool", uninstallHooks)
	cmd.Use = strings.Replace(cmd.Use, " ", " [", 1) + "]"
	cmd.Long += "\n\nWithout a tool: out of every tool's settings, of the user and of the project. What\n" +
		"cannot be removed is named, and the rest is removed."
	cmd.Args = args(cobra.MaximumNArgs(1))
	return cmd
}

// uninstallAll removes our hooks from the settings of all tools, as far as possible.
func (a *app) uninstallAll(ctx context.Context, flags hookFlags) error {
	var stayed []error
	for _, tool := range hook.Tools() {
		for _, scope := range []hookFlags{{user: true}, {project: true}} {
			if scope.user && flags.project || scope.project && flags.user {
				continue
			}
			scope.upkeepFlags = flags.upkeepFlags
			place, err := a.hookPlace(ctx, tool, scope)
			if err != nil {
				continue // it has no such settings, or nothing could have been installed in them
			}
			settings, err := durable.ReadPrivate(place.Path)
			if err == nil && !tool.Installed(settings) {
				continue
			}
			if err == nil {
				err = a.changeHooks(ctx, tool, scope, uninstallHooks)
			}
			if err != nil {
				a.did(report.SetupFile{Path: place.Path, Outcome: "kept"})
				stayed = append(stayed, fmt.Errorf("%s: %w", tool.Name, err))
			}
		}
	}
	switch {
	case stayed != nil:
		return fail(exitBlocked, "", "some hooks could not be removed:\n%w", errors.Join(stayed...))
	case len(a.setup.Files) == 0:
		a.telling().say("No reprise hooks are installed.")
	}
	return nil
}

// hookFlags select the settings to change.
type hookFlags struct {
	upkeepFlags
	user, project bool
}

// newHookChange creates the command that changes a tool's settings.
func (a *app) newHookChange(verb, short string, change hookChange) *cobra.Command {
	var flags hookFlags
	cmd := &cobra.Command{
		Use:   verb + " " + strings.Join(toolNames(), "|"),
		Short: short,
		Long: short + ". Only the bytes of these entries change;\n" +
			"comments and white space stay, and uninstall restores what was there.\n\n" +
			"By default these are the user's settings; --project takes the project's, the private\n" +
			"ones where the tool has some. Shared files call `reprise` by its name. For git it is one\n" +
			"line in the project's post-checkout hook, or with --user in the one that core.hooksPath\n" +
			"names for all projects.",
		Example:   "  reprise hook " + verb + " claude\n  reprise hook " + verb + " codex --project\n  reprise hook " + verb + " git --dry-run",
		Args:      args(cobra.ExactArgs(1)),
		ValidArgs: toolNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			tool, known := hook.Find(strings.Join(args, ""))
			switch err := a.isPerson(flags.upkeepFlags); {
			case len(args) > 0 && !known:
				return misuse("no tool is called %q; it can be %s", args[0], strings.Join(toolNames(), ", "))
			case err != nil:
				return err
			case len(args) == 0:
				return a.setsUp(a.uninstallAll(cmd.Context(), flags))
			}
			return a.setsUp(a.changeHooks(cmd.Context(), tool, flags, change))
		},
	}
	cmd.Flags().StringVarP(&flags.dir, "dir", "C", ".", "the project folder")
	cmd.Flags().BoolVar(&flags.user, "user", false, "the settings of the user (the default except for git)")
	cmd.Flags().BoolVar(&flags.project, "project", false, "the settings of this project")
	cmd.Flags().BoolVarP(&flags.dry, "dry-run", "n", false, "show the change without making it")
	cmd.MarkFlagsMutuallyExclusive("user", "project")
	a.setupJSON(cmd)
	return cmd
}

// changeHooks changes the settings of a tool, or shows the change.
func (a *app) changeHooks(ctx context.Context, tool hook.Tool, flags hookFlags, change hookChange) error {
	place, err := a.hookPlace(ctx, tool, flags)
	if err != nil {
		return fail(exitBlocked, "", "find the settings of %s: %w", tool.Name, err)
	}
	program, err := ownPath()
	if err != nil {
		return err
	}
	notes := []string{place.Note}
	if place.Shared {
		program = "reprise"
		if _, err := exec.LookPath(program); err != nil {
			notes = append(notes, place.Path+" is shared by everyone who has the project, so it calls reprise by name, and reprise is not in your PATH.")
		}
	}
	var before, after []byte
	var stayed *hook.StayedError
	dry := errors.New("a dry run")
	err = durable.Rewrite(place.Path, place.Perm, func(old []byte) ([]byte, error) {
		next, err := change(tool, old, program)
		if errors.As(err, &stayed) {
			err = nil
		}
		if before, after = old, next; err == nil && flags.dry {
			err = dry
		}
		return next, err
	})
	if err != nil && !errors.Is(err, dry) {
		return err
	}
	diff := durable.Diff(filepath.ToSlash(strings.TrimPrefix(place.Path, "/")), before, after)
	outcome := "changed"
	if diff == "" {
		outcome = "unchanged"
	}
	a.did(report.SetupFile{Path: place.Path, Outcome: outcome, Dry: flags.dry, Text: diff})
	if !tool.Installed(after) {
		notes = nil // they are for people who have our hooks installed
	} else {
		notes = append(notes, tool.Notes(after)...)
	}
	a.telling().hooks(tool, place.Path, diff, flags.dry, notes)
	if stayed != nil {
		return fail(exitBlocked, "", "change %s: %w", place.Path, stayed)
	}
	return nil
}

// hooks reports what happened to a tool's settings.
func (p *page) hooks(tool hook.Tool, path, diff string, dry bool, notes []string) {
	switch {
	case diff == "":
		p.para("", tool.Name+": nothing to change in "+path, linesAll)
	case dry:
		p.diff(diff)
	default:
		p.para("", tool.Name+": changed "+path, linesAll)
	}
	for _, note := range notes {
		if note != "" {
			p.marked("", "!", yellow, note, linesAll)
		}
	}
}

// hookPlace returns the file to change.
func (a *app) hookPlace(ctx context.Context, tool hook.Tool, flags hookFlags) (hook.Place, error) {
	if !flags.project && (tool.Name != hook.Git || flags.user) {
		return tool.UserPlace(ctx, os.Environ(), a.env)
	}
	root, _ := a.locate(flags.dir)
	root, err := filepath.Abs(root)
	if err != nil {
		return hook.Place{}, err
	}
	return tool.ProjectPlace(ctx, root, os.Environ())
}

// ownPath returns the path by which others call this program: the name it was called by,
// if that is this program, because a link there survives an update.
func ownPath() (string, error) {
	own, err := os.Executable()
	if err != nil {
		return "", err
	}
	called, err := exec.LookPath(os.Args[0])
	if err != nil {
		return own, nil
	}
	if called, err = filepath.Abs(called); err != nil {
		return own, nil
	}
	here, err := os.Stat(own)
	if there, no := os.Stat(called); err == nil && no == nil && os.SameFile(here, there) {
		return called, nil
	}
	return own, nil
}

func (a *app) newHookRun() *cobra.Command {
	return &cobra.Command{
		Use:   "run TOOL MOMENT",
		Short: "Called by the installed hooks; always exits 0",
		Long: "Called by a tool at the start, stop, compaction or end of a session. Reads the\n" +
			"tool's message on standard input and prints what the tool passes on to the model.\n" +
			"Takes at most 150 ms, prints no errors, and always exits 0.",
		Example: "  reprise hook run claude start < /dev/null",
		Args:    cobra.ArbitraryArgs,
		// A call that an earlier or later version would understand is not a failure.
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
		PersistentPreRun: func(cmd *cobra.Command, args []string) {
			a.silent = true
			signal.Ignore(syscall.SIGPIPE)
			_ = a.prepare(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if tool, known := hook.Find(strings.Join(args[:min(1, len(args))], "")); known && len(args) == 2 {
				a.runHook(cmd.Context(), tool, hook.Moment(args[1]))
			}
			return nil
		},
	}
}

// runHook answers a tool, or says nothing if that would take too long.
func (a *app) runHook(ctx context.Context, tool hook.Tool, moment hook.Moment) {
	ctx, cancel := context.WithDeadline(ctx, a.began.Add(hookTime))
	defer cancel()
	said := make(chan string, 5)
	first := func() bool { return true } // of a text that was said
	go func() {
		defer func() {
			_ = recover() // our own bug must not affect the session
			close(said)
		}()
		call := a.hookCall()
		if _, calls := tool.Event(moment); !calls {
			return
		}
		if moment == hook.Start {
			first = sync.OnceValue(func() bool { return a.firstCall(tool, call.Session) })
			a.interrupted(ctx, tool, call.Dir, func(text string) {
				if text == "" || text == tooLate || first() {
					said <- text
				}
			})
			return
		}
		a.checkpoint(ctx, reprise.Checkpoint{
			CLI: tool.Name, ID: call.Session, Moment: string(moment), Reason: clip(call.Reason, 200), Transcript: clip(call.Transcript, 1000), At: a.now().UTC(),
		}, call.Dir)
	}()
	last := ""
	for open := true; open; {
		text := ""
		select {
		case text, open = <-said:
			if open {
				last = text
			}
		case <-ctx.Done():
			for open = false; len(said) > 0; {
				last = <-said
			}
		}
	}
	if last != "" && first() {
		_, _ = io.WriteString(a.out, tool.Answer(moment, last)) // there is no one left to tell
	}
}

// sameStart is the longest time between the calls of several hooks for one start of a
// session.
const sameStart = 10 * time.Second

// firstCall reports whether no other hook has answered for this start of a session: user,
// project and plugin hooks may all be installed. It is true if that is unknown.
func (a *app) firstCall(tool hook.Tool, session string) bool {
	file := settings.CallsFile(a.env)
	if session == "" || file == "" {
		return true
	}
	answered := errors.New("answered")
	call := tool.Name + " " + session
	err := durable.UpdatePrivate(file, func(old []byte) ([]byte, error) {
		recent := map[string]time.Time{}
		_ = json.Unmarshal(old, &recent) // an unreadable file says nothing
		maps.DeleteFunc(recent, func(_ string, at time.Time) bool { return time.Since(at).Abs() > sameStart })
		if _, known := recent[call]; known {
			return nil, answered
		}
		recent[call] = time.Now()
		return json.Marshal(recent)
	})
	return !errors.Is(err, answered)
}

// hookCall reads the tool's input. There is none if a person tries the command.
func (a *app) hookCall() hook.Call {
	const most = 1 << 20
	call := hook.Call{}
	if f, ok := a.in.(*os.File); !ok || !term.IsTerminal(int(f.Fd())) {
		data, _ := io.ReadAll(io.LimitReader(a.in, most)) // truncated input says nothing
		call = hook.ReadCall(data)
	}
	if info, err := os.Stat(call.Dir); !filepath.IsAbs(call.Dir) || err != nil || !info.IsDir() {
		call.Dir = "."
	}
	return call
}

// checkpoint records where a session stands for the runs it works on: the run whose
// attempt it is, else all open runs recorded in the project. A project never worked on
// with reprise has no place for it.
func (a *app) checkpoint(ctx context.Context, c reprise.Checkpoint, dir string) {
	root, _ := project.Locate(dir)
	own := a.env("REPRISE_PROJECT")
	if own != "" {
		root = own
	}
	store, err := durable.Open(root, durable.Options{})
	if err != nil {
		return
	}
	defer store.Release()
	logs, err := journal.Logs(store)
	if c.ID == "" || err != nil || len(logs) == 0 {
		return
	}
	read, err := project.Read(ctx, root, project.Options{Now: a.now()})
	if err != nil {
		return
	}
	var refs []reprise.Ref
	for _, r := range read.Runs {
		if r.State.Begun() && slices.Contains(logs, journal.Name(r.Ref)) && (own == "" || r.ID == a.env("REPRISE_RUN")) {
			refs = append(refs, r.Ref)
		}
	}
	if len(refs) > 0 && ctx.Err() == nil {
		_ = journal.Post(store.Dir(), refs, c) // there is no one to tell
	}
}

// tooLate is what a session is told where there was no time to look at a project that may have runs.
const tooLate = "reprise: there was no time to find out whether work in this project was interrupted: `reprise status` tells.\n"

// hookLists is how many lists of tasks a hook reads first.
const hookLists = 8

// interrupted reports what was interrupted in a folder, and nothing if nothing was: first
// what is known without git, then what git shows of the lists of tasks written last, then
// everything; and at any time how much is not known yet. Attempts of ours are told nothing: they have their instructions.
func (a *app) interrupted(ctx context.Context, tool hook.Tool, dir string, say func(text string)) {
	if a.isPerson(upkeepFlags{dir: dir}) != nil {
		return
	}
	root, _ := project.Locate(dir)
	if top, _ := os.ReadDir(root); slices.ContainsFunc(top, func(e os.DirEntry) bool { return slices.Contains(convention.Marks(), e.Name()) }) {
		say(tooLate)
	}
	for _, opts := range []project.JudgeOptions{
		{Alone: true, Options: project.Options{Within: a.places(root), Newest: hookLists}},
		{Options: project.Options{Newest: hookLists}},
		{},
	} {
		opts.Sessions, opts.SessionsTime, opts.Hide = true, hookTime/4, a.hide(root)
		found, err := a.judgeAgain(ctx, root, opts)
		if err != nil || ctx.Err() != nil {
			return
		}
		text := ""
		if n := a.notice(found, opts.Alone); tool.Name == hook.Git {
			text = interruptedLine(n)
		} else {
			n.Unasked = true
			text = n.Text()
		}
		say(text)
		if !opts.Alone && found.Left == 0 {
			return
		}
	}
}

// notice collects what was interrupted; certain leaves out what only git can tell.
func (a *app) notice(found *project.Judgement, certain bool) briefing.Notice {
	runs := interrupted(found, certain)
	n := briefing.Notice{Observed: found.Observed, Left: found.Left, Unsure: len(interrupted(found, false)) - len(runs), AtWork: working(found) > 0}
	for _, s := range found.Sessions(false) {
		if s.Owner.Life != reprise.Alive {
			n.Sessions = append(n.Sessions, s)
		}
	}
	n.Runs = report.Each(runs, func(j judged) briefing.Other { return briefing.Other{Name: j.name, Run: j.run, Decision: j.d} })
	if first := found.Foremost(report.Each(runs, func(j judged) *reprise.Run { return j.run })); first != nil && len(n.Sessions) > 0 {
		n.Foremost = first.ID == n.Sessions[0].ID
	}
	return n
}

// interruptedLine says on one line what was interrupted.
func interruptedLine(n briefing.Notice) string {
	var parts []string
	for _, part := range []struct {
		n    int
		noun string
	}{{len(n.Sessions), "agent session"}, {len(n.Runs), "run"}} {
		if part.n > 0 {
			parts = append(parts, count(part.n, part.noun))
		}
	}
	if parts == nil {
		return n.Unread()
	}
	return fmt.Sprintf("reprise: %s in this project may have been interrupted. `reprise status` lists them, `reprise brief` tells where the work stands.\n", strings.Join(parts, " and "))
}
