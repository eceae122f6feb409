package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"reprise"
	"reprise/project"
	"reprise/report"
)

// The modes of a check, as the words of the seed.
const (
	modeInteractive = "interactive"
	modePreflight   = "preflight"
)

type checkFlags struct {
	mode, verify, grade string
}

func (a *app) newCheck() *cobra.Command {
	dir := "."
	var flags checkFlags
	cmd := &cobra.Command{
		Use:   "check [RUN]",
		Short: "Tell whether it is safe to go on with a run, from where, and why",
		Long: "Hold what a run's files say against git, the files it refers to and the processes\n" +
			"of this machine, and give a verdict: safe, caution or blocked, with the reasons,\n" +
			"the resume plan and what can be chosen. Changes nothing.\n\n" +
			"Without RUN: the one that was interrupted, or the list if there are several.\n\n" +
			"Exit code: 0 safe, 3 nothing interrupted, 10 caution, 11 blocked, 12 needs an\n" +
			"answer, 20 held by a live run, 40 its files cannot be read, 75 waits for a limit.",
		Example: "  reprise check\n  reprise check 4.2 --mode preflight\n  reprise check 004 --json\n" +
			"  reprise check 004 --verify 'make test' --grade verified",
		Args:              args(cobra.MaximumNArgs(1)),
		ValidArgsFunction: a.completeRuns(&dir),
		RunE: func(cmd *cobra.Command, args []string) error {
			run := func(cmd *cobra.Command, args []string) error {
				return a.check(cmd.Context(), dir, strings.Join(args, ""), flags)
			}
			if flags.verify != "" { // a command of the user's must not outlive us
				run = a.guarded(run)
			}
			return run(cmd, args)
		},
	}
	cmd.Flags().BoolVar(&a.json, "json", false, "print JSON (schema/check.v1.json)")
	cmd.Flags().StringVarP(&dir, "dir", "C", ".", "the project folder")
	cmd.Flags().StringVar(&flags.mode, "mode", modeInteractive, "interactive, or preflight: every file, every step and the whole plan")
	cmd.Flags().StringVar(&flags.verify, "verify", "", "a command to run in a throw-away copy of what was committed; done steps it confirms are verified")
	cmd.Flags().StringVar(&flags.grade, "grade", "", "how well a done must be founded to be passed over: "+strings.Join(reprise.GradeWords(), ", "))
	words := func(list ...string) cobra.CompletionFunc {
		return cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)
	}
	_ = cmd.RegisterFlagCompletionFunc("mode", words(modeInteractive, modePreflight))
	_ = cmd.RegisterFlagCompletionFunc("grade", words(reprise.GradeWords()...))
	return cmd
}

// options turns the flags into what project.Judge is asked for.
func (c checkFlags) options() (project.JudgeOptions, error) {
	opts := project.JudgeOptions{Verify: c.verify, Full: true}
	if c.mode != modeInteractive && c.mode != modePreflight {
		return opts, usageError{fmt.Errorf("--mode is %q; it can be %s or %s", c.mode, modeInteractive, modePreflight)}
	}
	if c.grade != "" {
		if err := opts.Grade.UnmarshalText([]byte(c.grade)); err != nil {
			return opts, usageError{fmt.Errorf("--grade is %q; it can be %s", c.grade, strings.Join(reprise.GradeWords(), ", "))}
		}
	}
	return opts, nil
}

func (a *app) check(ctx context.Context, dir, arg string, flags checkFlags) error {
	opts, err := flags.options()
	if err != nil {
		return err
	}
	root, below := projectFolder(dir)
	found, err := a.judge(ctx, root, opts)
	if err != nil {
		return err
	}
	if below != "" {
		found.Runs = under(found.Runs, below)
	}
	list, err := candidates(found, arg)
	if info, no := os.Stat(arg); err != nil && no == nil && info.IsDir() {
		return usageError{fmt.Errorf("%s is a folder and no run; the project folder is named with --dir", strconv.Quote(arg))}
	}
	if err != nil {
		return err
	}
	a.code = nothingCode(found.Result)
	if len(list) > 0 {
		a.code = checkCode(list[0].d)
	}
	if a.json {
		return a.writeJSON(a.out, checkDocument(found, list, flags.mode))
	}
	columns, colour := a.terminal(a.out)
	f := face{
		view:      view{w: a.out, columns: columns, colour: colour && a.colours(), now: found.Observed.Now},
		preflight: flags.mode == modePreflight,
	}
	switch {
	case len(found.Runs) == 0:
		f.nothing(found.Result)
		return nil
	case len(list) == 0:
		f.uninterrupted(found.Result)
	case len(list) == 1:
		f.check(list[0])
		f.verified(verification(found))
	default:
		f.candidates(list)
	}
	f.folder(found.Findings)
	return nil
}

// candidates lists the runs that are meant: the one that is named, else every
// one that was begun and is open.
func candidates(found *project.Judgement, arg string) ([]judged, error) {
	names := reprise.Names(found.Runs)
	judge := func(r *reprise.Run) judged {
		return newJudged(r, names[r], found)
	}
	if arg != "" {
		r, err := pick(found.Runs, arg)
		if err != nil {
			return nil, err
		}
		return []judged{judge(r)}, nil
	}
	var list []judged
	for _, r := range found.Runs {
		if s := found.Decisions[r].State; s.Open() && s != reprise.NotStarted {
			list = append(list, judge(r))
		}
	}
	return list, nil
}

// checkDocument is about the first of the runs that are meant, and names the
// others.
func checkDocument(found *project.Judgement, list []judged, mode string) report.Check {
	if len(list) == 0 {
		return report.NewCheck(found.Root, "", mode, nil, reprise.Decision{}, found.Observed).About(found.Findings, nil)
	}
	var runs []report.Run
	if len(list) > 1 {
		for _, j := range list {
			runs = append(runs, report.NewJudged(j.run, j.d))
		}
	}
	j := list[0]
	doc := report.NewCheck(found.Root, j.digest(), mode, j.run, j.d, j.o).About(found.Findings, runs)
	doc.Verified = verification(found)
	return doc
}

// verification is how the command given with --verify ended, nil without one.
func verification(found *project.Judgement) *report.Verified {
	v := found.Verified
	if v == nil {
		return nil
	}
	return &report.Verified{Command: v.Command, Commit: v.Commit, OK: v.OK, Reason: v.Reason, Tail: v.Tail}
}

// checkCode says the verdict as an exit code.
func checkCode(d reprise.Decision) int {
	switch {
	case d.Action == reprise.Repair || d.State == reprise.Unreadable:
		return exitUnreadable
	case d.Action == reprise.Refuse && d.State == reprise.Running:
		return exitHeld
	case d.Action == reprise.Finish:
		return exitNothing
	case d.Verdict == reprise.BlockedVerdict:
		return exitBlocked
	case d.Action == reprise.Ask:
		return exitNeedsAnswer
	case d.Action == reprise.Wait:
		return exitWait
	case d.Verdict == reprise.Caution:
		return exitCaution
	}
	return exitOK
}

// uninterrupted is the answer for a project in which nothing waits to be
// resumed; that is no failure.
func (f *face) uninterrupted(res *project.Result) {
	counts := map[reprise.State]int{}
	for _, r := range res.Runs {
		counts[r.State]++
	}
	f.say(fmt.Sprintf("Nothing was interrupted in %s: %s.", clip(filepath.Base(res.Root), 60), tally(counts)))
	f.gap()
	f.say("`reprise status --all` lists the runs, `reprise check RUN` looks at one of them.")
}

// shownTail is how many of the last lines of a command's output are shown.
const shownTail = 8

// verified tells how the command a person gave ended, and what it printed last
// if it did not succeed.
func (f *face) verified(v *report.Verified) {
	if v == nil {
		return
	}
	f.gap()
	if v.OK {
		f.para("Verify: ", fmt.Sprintf("`%s` succeeded on %s", v.Command, shortHash(v.Commit)), linesSource)
		return
	}
	f.para("Verify: ", fmt.Sprintf("`%s` did not succeed: %s", v.Command, v.Reason), linesMessage)
	lines := strings.Split(strings.TrimSpace(v.Tail), "\n")
	for _, l := range lines[max(0, len(lines)-shownTail):] {
		if l = clip(l, f.columns-4); l != "" {
			f.line("  | %s", l)
		}
	}
}

// folder prints what is to be said of the project and of no single run.
func (f *face) folder(findings []reprise.Finding) {
	if len(findings) == 0 {
		return
	}
	f.heading("About the folder:")
	for _, x := range report.Sorted(findings) {
		f.marked("  ", marks[x.Severity], severityColours[x.Severity], findingWords(x)+" ["+x.Code+"]", linesMessage)
		if x.Hint != "" {
			f.para("      to do: ", x.Hint, linesMessage)
		}
	}
}
