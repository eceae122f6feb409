package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"reprise"
	"reprise/engine"
	"reprise/internal/redact"
	"reprise/project"
	"reprise/report"
	"reprise/settings"
)

// locate finds the project that a folder inside it refers to. For starting something new,
// that is the folder itself.
func (a *app) locate(dir string) (root, below string) {
	if a.starts {
		return project.Holder(dir)
	}
	root, below = project.Locate(dir)
	if root != dir && below == "" {
		a.around = root
	}
	return root, below
}

// judge reads and judges the project in a folder, or the one around it, with what all
// commands share: the clock and, for a person who waits longer than a second, a progress
// line.
func (a *app) judge(ctx context.Context, dir string, opts project.JudgeOptions) (*project.Judgement, error) {
	root, _ := a.locate(dir)
	a.noted(root)
	return a.look(ctx, dir, opts)
}

// look is judge for commands that do not work in the project.
func (a *app) look(ctx context.Context, dir string, opts project.JudgeOptions) (*project.Judgement, error) {
	root, _ := a.locate(dir)
	a.stands(root)
	if opts.Full || opts.Sessions {
		opts.Hide = a.hide(root)
	}
	progress := a.newProgress()
	opts.Progress = progress.show
	defer progress.clear()
	began := time.Now()
	found, err := a.judgeAgain(ctx, root, opts)
	if err == nil && len(opts.Layouts) == 0 && !opts.Ignored {
		a.keepPlaces(found, time.Since(began))
	}
	return found, err
}

// judgeAgain judges a project found before. It shows and stores nothing.
func (a *app) judgeAgain(ctx context.Context, root string, opts project.JudgeOptions) (*project.Judgement, error) {
	opts.Now, opts.Budget = a.now(), engine.Budgets(root, a.env)
	ask, done := engine.Foresee(root, opts.Now)
	defer done()
	opts.Foresee, opts.Lapsed = ask, engine.Lapsed(root, a.env, opts.Now)
	return project.Judge(ctx, root, opts)
}

// settings reads the settings that apply to a project. An untrusted file has no effect.
func (a *app) settings(root string) (*settings.Settings, *settings.Untrusted, error) {
	trust, err := settings.OpenTrust(settings.TrustFile(a.env))
	if err != nil {
		return nil, nil, err
	}
	if root, err = filepath.Abs(root); err != nil {
		return nil, nil, err
	}
	return settings.Load(settings.Options{User: settings.UserFile(a.env), Project: root, Trust: trust})
}

// hide removes the secrets from a text: known ones and what looks like one. It is for texts
// that are shown line by line: a secret may have several.
func (a *app) hide(root string) func(string) string {
	known := a.knownSecrets(root)
	return func(text string) string { return redact.Text(known(text)) }
}

// knownSecrets removes the known secrets from a text: those of the environment and the settings.
// Unreadable or untrusted settings contribute none.
func (a *app) knownSecrets(root string) func(string) string {
	set, _, err := a.settings(root)
	if err != nil {
		set = settings.Default()
	}
	return redact.New(set.Known(os.Environ())).String
}

// distrusts returns the file that must be trusted before a run is resumed, or "".
// Unreadable files are reported elsewhere.
func (a *app) distrusts(root string) func(reprise.Ref) string {
	_, untrusted, err := a.settings(root)
	if err == nil && untrusted != nil {
		return func(reprise.Ref) string { return settings.FileName }
	}
	trust, err := settings.OpenTrust(settings.TrustFile(a.env))
	return func(ref reprise.Ref) string {
		file, _ := engine.Origin(root, ref)
		if file == "" || err != nil {
			return ""
		}
		at, err := filepath.Abs(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			return ""
		}
		if _, hash, err := engine.ReadFlow(at); err != nil || trust.Trusted(at, hash) {
			return ""
		}
		return file
	}
}

// whoDoes returns who does the next step of a run: an agent or, in a workflow, a command;
// "" if no one is needed.
func (a *app) whoDoes(root string) func(judged) string {
	set, untrusted, err := a.settings(root)
	return func(j judged) string {
		u := j.d.Point
		if u == nil || j.d.Unrecoverable(j.run) {
			return ""
		}
		first := u.Role
		if file, _ := engine.Origin(root, j.run.Ref); file != "" {
			wf, _, _ := engine.ReadFlow(filepath.Join(root, filepath.FromSlash(file))) // an unreadable one is a finding
			if wf != nil {
				if step := wf.Step(u.ID); step != nil && len(step.Command) > 0 {
					return "the command " + commandWords(step.Command)
				} else if step != nil {
					first = step.Role
				}
			}
		}
		if first == "" {
			return ""
		}
		if err != nil {
			return "unknown: the settings cannot be read; `reprise doctor` says why"
		}
		agent, missing := set.For(first)
		switch {
		case missing == nil && agent.Model != "":
			return agent.Name + ", model " + agent.Model
		case missing == nil:
			return agent.Name
		case untrusted != nil && !slices.Contains(people, first):
			return "unknown: " + settings.FileName + " is not trusted yet, and `reprise resume` asks about that"
		case slices.Contains(people, first):
			return "you"
		}
		unbound, _ := errors.AsType[*settings.UnboundError](missing)
		return unserved + first + "; " + unbound.Hint()
	}
}

// people are the role names that conventions use for a person.
var people = []string{"human", "user", reprise.Person}

// args turns a mistake in the arguments into a usage error.
func args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, list []string) error {
		err := check(cmd, list)
		if err == nil {
			return nil
		}
		if len(list) == 0 || !cmd.HasSubCommands() {
			return fail(exitUsage, "usage: "+cmd.UseLine(), "%s: wrong number of arguments: %d", cmd.Name(), len(list))
		}
		hint := "`" + cmd.CommandPath() + " --help` lists the commands"
		cmd.SuggestionsMinimumDistance = 2
		if like := cmd.SuggestionsFor(list[0]); len(like) > 0 {
			hint = "did you mean `" + cmd.CommandPath() + " " + like[0] + "`?"
		} else if info, err := os.Stat(list[0]); err == nil && info.IsDir() && !cmd.HasParent() {
			hint = "`" + commandWords([]string{"reprise", "-C", list[0]}) + "` looks in that folder"
		}
		return fail(exitUsage, hint, "%w", err)
	}
}

// oneRun makes a command take the name of a run, with shell completion; run receives it,
// "" for none.
func (a *app) oneRun(cmd *cobra.Command, dir *string, run func(ctx context.Context, name string) error) {
	cmd.Args = args(cobra.MaximumNArgs(1))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.called(cmd.Context(), dir, strings.Join(args, ""), func(name string) error { return run(cmd.Context(), name) })
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		root, _ := project.Locate(*dir)
		res, err := project.Read(cmd.Context(), root, project.Options{})
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		names := reprise.Names(res.Runs)
		var out []string
		for _, r := range res.Runs {
			about := fmt.Sprintf("%s %s", r.State, r.Layout)
			if r.Title != "" {
				about += ": " + fit(plain(r.Title), 50)
			}
			out = append(out, cobra.CompletionWithDesc(plain(names[r]), about))
		}
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// elsewhereError reports that a run belongs to a project below the folder.
type elsewhereError struct{ dir, name string }

// Error implements error.
func (e *elsewhereError) Error() string {
	return fmt.Sprintf("%s is a run of the project %s", e.name, e.dir)
}

// within returns an *elsewhereError if a run belongs to a project below the folder: the
// work of its agents and its records belong there.
func within(found *project.Judgement, r *reprise.Run) error {
	folder := found.Of(r)
	if folder == "" {
		return nil
	}
	return &elsewhereError{shortPath(filepath.Join(found.Root, filepath.FromSlash(folder))), nameIn(found.Runs, r)}
}

// called runs a command about the run with this name. In a folder that only contains
// projects it moves into the run's project. A name that only status uses, which lists the
// projects of a folder separately, also moves the command.
func (a *app) called(ctx context.Context, dir *string, name string, run func(name string) error) error {
	err := run(name)
	if of, ok := errors.AsType[*elsewhereError](err); ok {
		*dir, a.site.dir = of.dir, of.dir
		return run(of.name)
	}
	if !errors.Is(err, errNoRun) {
		return err
	}
	all, apart, bad, no := together([]string{*dir}, func(dir string) (*project.Judgement, error) {
		root, _ := a.locate(dir)
		return a.judgeAgain(ctx, root, project.JudgeOptions{})
	})
	if no != nil || !apart || len(bad) > 0 { // one that cannot be read may have a run of that name
		return err
	}
	meant, no := pick(all.Runs, name)
	switch {
	case errors.Is(no, errNoRun):
		return err
	case no != nil:
		return no
	}
	*dir = shortPath(filepath.Join(all.Root, filepath.FromSlash(meant.Project)))
	a.site.dir = *dir
	return run(nameIn(all.Runs, meant))
}

// nameIn returns what a run is called in its own project, where the runs of projects below it
// are seen as well.
func nameIn(runs []*reprise.Run, one *reprise.Run) string {
	runs = slices.DeleteFunc(slices.Clone(runs), func(r *reprise.Run) bool {
		return r.Project != one.Project && one.Project != "" && one.Project != "." && !strings.HasPrefix(r.Project, one.Project+"/")
	})
	return reprise.Names(runs)[one]
}

// folderFlags adds -C and --json.
func (a *app) folderFlags(cmd *cobra.Command, dir *string, schema string) {
	cmd.Flags().BoolVar(&a.json, "json", false, "print JSON ("+schema+")")
	cmd.Flags().StringVarP(dir, "dir", "C", ".", "the project folder")
}

// completes completes a flag from a list.
func completes(cmd *cobra.Command, flag string, list ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp))
}

// errNoRun means that no run has a given name.
var errNoRun = errors.New("no run is called")

// pick returns the run an argument refers to or, without one, the first in display order;
// nil if there are none.
func pick(runs []*reprise.Run, arg string) (*reprise.Run, error) {
	if arg == "" {
		if len(runs) == 0 {
			return nil, nil
		}
		return reprise.ByState(runs, func(r *reprise.Run) reprise.State { return r.Shown(r.State) })[0], nil
	}
	hits := reprise.Select(runs, arg)
	if len(hits) == 1 {
		return hits[0], nil
	}
	all := reprise.Names(runs)
	if len(hits) == 0 {
		return nil, fail(exitUsage, oneOf(runs, all), "%w %q", errNoRun, arg)
	}
	return nil, fail(exitUsage, oneOf(hits, all), "%q means %d runs", arg, len(hits))
}

// oneOf names the runs that could be meant.
func oneOf(runs []*reprise.Run, names map[*reprise.Run]string) string {
	if len(runs) == 0 {
		return "there are no runs here; `reprise status` looks for them"
	}
	list := report.Each(runs, func(r *reprise.Run) string { return names[r] })
	return "name one of: " + enumerate(list) + "; `reprise status` shows them"
}

// enumerate lists names in a sentence: the first ones, and how many more there are.
func enumerate(names []string) string {
	const most = 8
	if more := len(names) - most; more > 1 {
		names = append(slices.Clone(names[:most]), fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// candidates lists the runs that are meant: the named one, or all open ones that were
// begun.
func candidates(found *project.Judgement, arg string) ([]judged, error) {
	if arg != "" {
		r, err := pick(found.Runs, arg)
		if err != nil {
			if info, no := os.Stat(arg); no == nil && info.IsDir() {
				err = misuse("%s is a folder, not a run; name the project folder with --dir", strconv.Quote(arg))
			}
			return nil, err
		}
		return judgedOf(found, r), nil
	}
	return thatAre(found, func(r *reprise.Run) bool { return found.Decisions[r].State.Begun() }), nil
}

// contested lists the runs that were not interrupted here, but are not fine either.
func contested(found *project.Judgement) []judged {
	return thatAre(found, func(r *reprise.Run) bool { return found.Decisions[r].Contested() })
}

// thatAre lists such runs, in display order.
func thatAre(found *project.Judgement, such func(*reprise.Run) bool) []judged {
	return judgedOf(found, slices.DeleteFunc(byState(found), func(r *reprise.Run) bool { return !such(r) })...)
}

// worst returns the worst outcome of looking at some runs.
func worst(list []judged) reprise.Outcome {
	worst := reprise.OutcomeNothing
	for _, j := range list {
		worst = worst.Worse(j.d.Outcome())
	}
	return worst
}

// several returns the error for an ambiguous run when no person can be asked; verb is the
// command that takes one.
func (a *app) several(verb string, list []judged) error {
	names := report.Each(list, nameOf)
	return fail(exitNeedsAnswer, "`"+a.command(verb, names[0])+"` takes the first of "+enumerate(names), "%d runs to choose from, and there is no terminal to ask on", len(list))
}

// noRuns says that the project has none, with everything else that was found.
func (a *app) noRuns(found *project.Judgement, document any) error {
	a.came(found.Nothing())
	return a.print(document, func(p *page) {
		p.all = true
		p.nothing(found)
	})
}

// outcomeCodes is the single table from outcomes to exit codes.
var outcomeCodes = map[reprise.Outcome]int{
	reprise.OutcomeOK: exitOK, reprise.OutcomeFailed: exitUnexpected, reprise.OutcomeNothing: exitNothing, reprise.OutcomeCaution: exitCaution,
	reprise.OutcomeBlocked: exitBlocked, reprise.OutcomeAsk: exitNeedsAnswer, reprise.OutcomeHeld: exitHeld,
	reprise.OutcomeUnreadable: exitUnreadable, reprise.OutcomeWait: exitWait,
}

// came sets the exit code for an outcome.
func (a *app) came(to reprise.Outcome) { a.code = outcomeCodes[to] }

// print prints the answer of a command: JSON for programs, otherwise a page for a person,
// through a pager if it is long.
func (a *app) print(document any, say func(*page)) error {
	if a.json {
		return a.writeJSON(a.out, document)
	}
	var text bytes.Buffer
	p := a.page(a.out)
	p.w = &text
	if a.around != "" {
		p.line("In %s, the project around this folder:", plain(a.around))
	}
	say(p)
	return a.paged(text.Bytes())
}

// addIf adds the guard against a state that has changed since it was looked at.
func addIf(cmd *cobra.Command, digest *string) {
	cmd.Flags().Func("if", "only if the state is still the one with this `digest`, which check shows", func(text string) error {
		// A variable that turned out empty must not disable the guard.
		if !regexp.MustCompile(`^v[0-9]+:[0-9a-f]{32}$`).MatchString(text) {
			return errors.New("that is not a digest; `reprise check RUN --json` shows it")
		}
		*digest = text
		return nil
	})
}

// as rejects a run that has changed since it was looked at; digest is "" if that does not
// matter.
func (j judged) as(verb, digest string) error {
	if digest == "" {
		return nil
	}
	if have := j.digest(); have != digest {
		return &engine.StaleError{Op: verb, Want: digest, Have: have}
	}
	return nil
}
