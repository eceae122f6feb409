package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"reprise"
	"reprise/convention"
	"reprise/engine"
	"reprise/examine"
	"reprise/project"
	"reprise/report"
	"reprise/settings"
)

type statusFlags struct {
	layouts []string
	all     bool
	ignored bool
	why     bool
	cost    bool
	// short is the line for a prompt; known are the remembered projects, and remember
	// adds to them.
	short, known, remember bool
	list                   []settings.Seen
	apart                  bool // it covers several projects
}

func (a *app) newStatus() *cobra.Command {
	var (
		flags statusFlags
		dir   string
	)
	cmd := &cobra.Command{
		Use:   "status [PATH...]",
		Short: "List every run in a project: state, progress, age, next step",
		Long: "List every run in a folder: first what was interrupted, then\n" +
			"what waits for a person, then what was not begun, each in the order in which you\n" +
			"would resume them. JSON has one list in that order, whatever the state. For\n" +
			"several projects, named or below one folder, a column names the project. Changes\n" +
			"nothing.",
		Example: "  reprise status\n  reprise status ../shop --json\n  reprise status ~/projects/*\n  reprise status --known\n  reprise status --convention autoclaude --all",
		Args:    args(cobra.ArbitraryArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			if flags.known || flags.remember {
				if len(args) > 0 || cmd.Flags().Changed("dir") {
					return misuse("--known lists the projects you work in; it takes no folder")
				}
				dirs, list, err := a.known(flags.remember)
				if err != nil {
					return err
				}
				flags.list = list
				return a.status(cmd.Context(), dirs, flags)
			}
			if cmd.Flags().Changed("dir") {
				args = append([]string{dir}, args...)
			}
			switch len(args) {
			case 0:
				args = []string{"."}
			case 1:
				a.site.dir = args[0]
			}
			if flags.short {
				if len(args) > 1 {
					return misuse("--short is about one project")
				}
				return a.short(cmd.Context(), args[0])
			}
			return a.status(cmd.Context(), args, flags)
		},
	}
	a.folderFlags(cmd, &dir, "schema/status.v1.json")
	cmd.Flags().StringSliceVar(&flags.layouts, "convention", nil, "look for runs of these conventions only: "+strings.Join(convention.Names(), ", "))
	cmd.Flags().BoolVar(&flags.all, "all", false, "show every run, finished ones too, and every finding")
	cmd.Flags().BoolVar(&flags.ignored, "ignored", false, "also look into vendored folders and those git ignores")
	cmd.Flags().BoolVar(&flags.why, "why", false, "explain the order of the first runs")
	cmd.Flags().BoolVar(&flags.cost, "cost", false, "show the tokens and money each run used, as its agents reported")
	cmd.Flags().BoolVar(&flags.short, "short", false, "one line for a shell prompt, empty if nothing is open (docs/how-to/prompt.md)")
	cmd.Flags().BoolVar(&flags.known, "known", false, "list the projects you work in, if you keep a list of them")
	cmd.Flags().BoolVar(&flags.remember, "remember", false, "start that list with this project; projects you look at later are added")
	for _, other := range []string{"json", "known", "convention", "all", "ignored", "why", "cost"} {
		cmd.MarkFlagsMutuallyExclusive("short", other)
	}
	completes(cmd, "convention", convention.Names()...)
	return cmd
}

func (a *app) status(ctx context.Context, dirs []string, flags statusFlags) error {
	opts := project.JudgeOptions{Sessions: true, Options: project.Options{Layouts: flags.layouts, Ignored: flags.ignored}}
	found, apart, bad, err := together(dirs, func(dir string) (*project.Judgement, error) { return a.look(ctx, dir, opts) })
	if err != nil {
		return err
	}
	defer a.leftOut(bad)
	if !apart && !flags.known {
		a.noted(found.Root)
	}
	if at := shortPath(found.Root); !apart && a.site.dir == "" && (len(flags.list) > 0 || len(dirs) > 1) && at != "." {
		a.site.dir = at
	}
	if apart {
		// Each command gets the folder of the project it is about.
		a.around, a.site, flags.apart = "", site{}, true
	}
	return a.showStatus(found, flags)
}

// together judges the projects in several folders, each separately and only once, by
// whatever links it is reached. apart says that there are others besides the one around
// the folder; they are then seen from that folder or, if there are several, from the
// current one. Unreadable folders are left out, and bad says why; err says why none is left.
func together(dirs []string, judge func(dir string) (*project.Judgement, error)) (found *project.Judgement, apart bool, bad []error, err error) {
	var list []*project.Judgement
	seen := map[string]bool{}
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err == nil && !info.IsDir() && len(dirs) > 1 {
			bad = append(bad, &noFolderError{dir})
			continue
		}
		more, unread := projectsIn(dir, judge)
		bad = append(bad, unread...)
		for _, found := range more {
			if at := resolved(found.Root); !seen[at] {
				seen[at] = true
				list = append(list, found)
			}
		}
	}
	switch len(list) {
	case 0:
		if len(bad) == 1 {
			return nil, false, nil, bad[0]
		}
		return nil, false, nil, fail(exitUnreadable, "", "no project to read: %w", errors.Join(bad...))
	case 1:
		return list[0], false, bad, nil
	}
	from := list[0].Root
	if len(dirs) > 1 {
		if from, err = filepath.Abs("."); err != nil {
			return nil, false, nil, err
		}
	}
	return project.Together(from, list), true, bad, nil
}

// noFolderError says that one of several paths is not a folder: `reprise status *` names
// files, too.
type noFolderError struct{ path string }

// Error implements error.
func (e *noFolderError) Error() string { return "read " + e.path + ": not a folder, so not a project" }

// Outcome is that nothing is amiss.
func (e *noFolderError) Outcome() reprise.Outcome { return reprise.OutcomeOK }

// leftOut says which of several folders are not shown, and why. The exit code becomes the
// worst of all.
func (a *app) leftOut(bad []error) {
	for _, err := range bad {
		a.code = max(a.code, a.printError(err))
	}
}

// projectsIn judges the project in a folder and then those below it. Unreadable ones are
// returned as errors.
func projectsIn(dir string, judge func(dir string) (*project.Judgement, error)) (list []*project.Judgement, bad []error) {
	found, err := judge(dir)
	if err != nil {
		return nil, []error{err}
	}
	_, below := project.Locate(dir)
	found.Runs = project.Under(found.Runs, below)
	list = []*project.Judgement{found}
	for _, folder := range found.Split() {
		more, unread := projectsIn(filepath.Join(found.Root, filepath.FromSlash(folder)), judge)
		list, bad = append(list, more...), append(bad, unread...)
	}
	return list, bad
}

func (a *app) showStatus(found *project.Judgement, flags statusFlags) error {
	if to := found.Nothing(); to != reprise.OutcomeNothing {
		a.came(to)
	}
	doc := report.NewStatus(found.Root, found.Runs, found.Decisions, found.Findings, found.Observed)
	for i, r := range found.Runs {
		doc.Runs[i].Says = nextWords(r, found.Decisions[r])
	}
	if flags.cost {
		costs(found, doc.Runs)
	}
	return a.print(doc, func(p *page) {
		p.all, p.why, p.apart, p.from = flags.all, flags.why, flags.apart, found.Root
		if len(flags.list) > 0 {
			p.projects(flags.list, found)
		}
		if len(found.Runs) == 0 {
			p.nothing(found)
			return
		}
		p.status(found)
		p.sessionsHere(found)
		if flags.cost {
			shown, _ := p.choose(found)
			p.spending(shown, found, doc.Runs)
		}
	})
}

func (a *app) newDetect() *cobra.Command {
	dir := "."
	cmd := &cobra.Command{
		Use:   "detect [RUN]",
		Short: "Show how a run was interrupted and what you can do",
		Long: "Show how a run was interrupted, as a ResumeState that other programs can read.\n" +
			"Without RUN: the run you would resume first. Changes nothing.\n\n" +
			"Exit code: 0 interrupted, 3 nothing interrupted, 12 waiting for an answer, 20 at work\n" +
			"right now, 40 its files cannot be read.",
		Example: "  reprise detect\n  reprise detect 004 --json",
	}
	a.oneRun(cmd, &dir, func(ctx context.Context, name string) error { return a.detect(ctx, dir, name) })
	a.folderFlags(cmd, &dir, "schema/detect.v1.json")
	return cmd
}

func (a *app) detect(ctx context.Context, dir, arg string) error {
	found, err := a.judge(ctx, dir, project.JudgeOptions{})
	if err != nil {
		return err
	}
	run, err := pick(found.Runs, arg)
	if err != nil {
		return err
	}
	answer := report.NewDetect(found.Root, run, found.Decisions[run], found.Findings)
	if run == nil {
		return a.noRuns(found, answer)
	}
	j := judgedOf(found, run)[0]
	if a.came(run.Detected(answer.ResumeState)); j.d.State == reprise.Running {
		a.came(j.d.Outcome())
	}
	a.about(run, j.name)
	return a.print(answer, func(p *page) {
		p.detect(run, j.name, answer)
		switch a.code {
		case exitNeedsAnswer:
			p.next(a.decides(j))
		case exitUnreadable:
			p.next(a.command("check", j.name))
		}
	})
}

type checkFlags struct {
	mode, verify, grade string
	full                bool
}

func (a *app) newCheck() *cobra.Command {
	dir := "."
	var flags checkFlags
	cmd := &cobra.Command{
		Use:   "check [RUN]",
		Short: "Check whether a run is safe to resume, from where, and why",
		Long: "Compare what a run's files say with git, with the files they refer to and with the\n" +
			"processes of this machine, and give a verdict: safe, caution or blocked, with the\n" +
			"reasons, the resume plan and the choices you have. Changes nothing.\n\n" +
			"Without RUN: the run that was interrupted, or the list if there are several; the\n" +
			"exit code is then that of the worst.\n\n" +
			"Exit code: 0 safe, 3 nothing interrupted or ended on purpose, 10 caution, or\n" +
			"marked complete although something contradicts it, 11 blocked, 12 needs an answer,\n" +
			"20 held by a live process, 40 its files or, without RUN, a folder of runs cannot be\n" +
			"read, 75 waits for a limit.",
		Example: "  reprise check\n  reprise check 4.2 --full\n  reprise check 004 --json\n" +
			"  reprise check 004 --verify 'make test' --grade verified",
	}
	a.oneRun(cmd, &dir, func(ctx context.Context, name string) error { return a.check(ctx, dir, name, flags) })
	cmd.RunE = a.guardedIf(cmd.RunE, func() bool { return flags.verify != "" }) // a user's command must not outlive us
	a.folderFlags(cmd, &dir, "schema/check.v2.json")
	cmd.Flags().StringVar(&flags.mode, "mode", string(engine.Interactive), "interactive, or preflight, which shows what --full shows")
	cmd.Flags().BoolVar(&flags.full, "full", false, "show the evidence for every step, every file and the whole plan")
	cmd.Flags().StringVar(&flags.verify, "verify", "", "a command to run in a throw-away copy of what was committed; done steps it confirms are verified")
	cmd.Flags().StringVar(&flags.grade, "grade", "", "the evidence a done step needs to be skipped: "+strings.Join(reprise.Words(reprise.Grade(0)), ", "))
	completes(cmd, "mode", string(engine.Interactive), string(engine.Preflight))
	completes(cmd, "grade", reprise.Words(reprise.Grade(0))...)
	return cmd
}

// options converts the flags for project.Judge.
func (c checkFlags) options() (project.JudgeOptions, error) {
	opts := project.JudgeOptions{Verify: c.verify, Full: true}
	if mode := engine.Mode(c.mode); mode != engine.Interactive && mode != engine.Preflight {
		return opts, misuse("--mode is %q; it can be %s or %s", c.mode, engine.Interactive, engine.Preflight)
	}
	if c.grade != "" && opts.Grade.UnmarshalText([]byte(c.grade)) != nil {
		return opts, misuse("--grade is %q; it can be %s", c.grade, strings.Join(reprise.Words(reprise.Grade(0)), ", "))
	}
	return opts, nil
}

func (a *app) check(ctx context.Context, dir, arg string, flags checkFlags) error {
	opts, err := flags.options()
	if err != nil {
		return err
	}
	a.closely()
	root, below := project.Locate(dir)
	opts.Distrusts = a.distrusts(root)
	found, err := a.judge(ctx, dir, opts)
	if err != nil {
		return err
	}
	found.Runs = project.Under(found.Runs, below)
	list, err := candidates(found, arg)
	if err != nil {
		return err
	}
	if arg == "" {
		list = append(list, contested(found)...)
	}
	if len(list) == 0 {
		document := report.NewCheck(found.Root, flags.mode, found.Observed).About(found.Findings)
		a.came(found.Idle())
		if s := found.Foremost(nil); s != nil {
			document.Next = s.Next()
		}
		return a.print(document, func(p *page) {
			p.full, p.verdicts = flags.full, true
			if len(found.Runs) == 0 {
				p.nothing(found)
				p.next(document.Next)
				return
			}
			p.uninterrupted(found)
			p.sessionsHere(found)
			p.folder(found.Findings)
			p.next(document.Next)
		})
	}
	if len(list) == 1 {
		if err := within(found, list[0].run); err != nil {
			return err
		}
		a.about(list[0].run, list[0].name)
	}
	a.came(worst(list))
	if arg == "" {
		a.came(worst(list).Worse(found.Nothing()).Worse(worstSession(found)))
	}
	next := a.looks(ctx, found.Root).ahead()
	var document report.Check
	if a.json || len(list) == 1 { // of many a page shows a few
		document = a.checkDocument(found, list, flags.mode, next)
	}
	var foremost *reprise.Session
	if arg == "" {
		if foremost = found.Foremost(report.Each(list, func(j judged) *reprise.Run { return j.run })); foremost != nil {
			document.Next, document.First = foremost.Next(), ""
		}
	}
	return a.print(document, func(p *page) {
		p.full, p.verdicts, p.ahead = flags.full || flags.mode == string(engine.Preflight), true, next
		if len(list) > 1 {
			p.candidates(list)
		} else {
			p.check(list[0])
			p.verified(document.Verified)
			if p.full {
				p.cost(found, list[0].run)
			}
		}
		if arg == "" {
			p.sessionsHere(found)
		}
		p.folder(found.Findings)
		if len(list) == 1 || foremost != nil {
			if document.First != "" {
				p.para("First: ", document.First, linesAll)
			}
			p.next(document.Next)
		}
	})
}

// longestStart is how many columns a document has for what is started next.
const longestStart = 400

// checkDocument covers all selected runs, the main one first.
func (a *app) checkDocument(found *project.Judgement, list []judged, mode string, next func(judged) ahead) report.Check {
	var runs []report.Checked
	for _, j := range list {
		doc := report.NewChecked(j.digest(), j.run, j.d, j.o)
		_, doc.Says = verdict(j)
		next := next(j)
		doc.Next, doc.Starts, doc.With = next.command(a, a.nextCommand(j)), startsWith(j, longestStart), a.site.fill(next.who)
		doc.First = a.site.fill(next.first())
		doc.Session, doc.Forecast = (*report.SessionCost)(next.session), sessionWords(next.session)
		site{j.name, j.run.ID, a.site.dir, a.site.root}.complete(doc.Findings)
		runs = append(runs, doc)
	}
	doc := report.NewCheck(found.Root, mode, found.Observed, runs...).About(found.Findings)
	site{dir: a.site.dir, root: a.site.root}.complete(doc.Findings)
	if v := found.Verified; v != nil {
		doc.Verified = &report.Verified{Command: v.Command, Commit: v.Commit, OK: v.OK, Reason: v.Reason, Tail: v.Tail}
	}
	return doc
}

func (a *app) newChecks() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "checks",
		Short: "List every check, with the code of its findings and what they mean",
		Long: "List every check that `reprise check` makes: the stable code of its findings,\n" +
			"their usual severity, and what they mean. A blocking finding must be resolved\n" +
			"before you resume; a warning needs a look; info is worth knowing.",
		Example: "  reprise checks\n  reprise checks --json",
		Args:    args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			doc := report.Checks{Schema: report.ChecksSchema, Checks: report.Each(examine.Checks(), func(c examine.Check) report.CheckDoc {
				return report.CheckDoc{Code: c.Code, Severity: c.Severity, Doc: c.Doc}
			})}
			return a.print(doc, func(p *page) { p.checks(doc.Checks) })
		},
	}
	cmd.Flags().BoolVar(&a.json, "json", false, "print JSON (schema/checks.v1.json)")
	return cmd
}

// checks prints the table of all checks; on a narrow terminal the description goes below
// the code.
func (p *page) checks(list []report.CheckDoc) {
	wide := widest(list, func(c report.CheckDoc) string { return c.Code })
	if p.columns < wide+60 {
		for _, c := range list {
			p.marked("", severityMarks[c.Severity], severityColours[c.Severity], fmt.Sprintf("%s (%s)", c.Code, c.Severity), linesTitle)
			p.para("    ", c.Doc, linesAll)
		}
		return
	}
	p.line("%s", p.paint(bold, fmt.Sprintf("  %s  %s  %s", pad("CODE", wide), "SEVERITY", "WHAT IT MEANS")))
	for _, c := range list {
		mark := severityMarks[c.Severity]
		for _, l := range wrap(c.Doc, p.columns-wide-14) {
			p.line("%s %s  %s  %s", p.paint(severityColours[c.Severity], mark), pad(c.Code, wide), pad(c.Severity.String(), 8), l)
			mark, c = " ", report.CheckDoc{}
		}
	}
}
