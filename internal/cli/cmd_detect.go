package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"reprise"
	"reprise/project"
	"reprise/report"
)

func (a *app) newDetect() *cobra.Command {
	dir := "."
	cmd := &cobra.Command{
		Use:   "detect [RUN]",
		Short: "Tell how one run was interrupted and what can be done (ResumeState)",
		Long: "Tell how a run was interrupted, as the ResumeState that other programs can read.\n" +
			"Without RUN: the one that one would resume first. Changes nothing.\n\n" +
			"Exit code: 0 interrupted, 3 nothing interrupted, 12 waiting for an answer,\n40 its files cannot be read.",
		Example:           "  reprise detect\n  reprise detect 004 --json",
		Args:              args(cobra.MaximumNArgs(1)),
		ValidArgsFunction: a.completeRuns(&dir),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.detect(cmd, dir, strings.Join(args, ""))
		},
	}
	cmd.Flags().BoolVar(&a.json, "json", false, "print JSON (schema/detect.v1.json)")
	cmd.Flags().StringVarP(&dir, "dir", "C", ".", "the project folder")
	return cmd
}

// completeRuns offers the names of runs to the shell, with what they are.
func (a *app) completeRuns(dir *string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		res, err := project.Read(cmd.Context(), *dir, project.Options{})
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

func (a *app) detect(cmd *cobra.Command, dir, arg string) error {
	res, err := a.judge(cmd.Context(), dir, project.JudgeOptions{})
	if err != nil {
		return err
	}
	run, err := pick(res.Runs, arg)
	if err != nil {
		return err
	}
	answer := report.NewDetect(res.Root, run, res.Decisions[run], res.Findings)
	a.code = detectCode(res.Result, run, answer.ResumeState)
	if a.json {
		return a.writeJSON(a.out, answer)
	}
	now, err := a.now()
	if err != nil {
		return err
	}
	columns, colour := a.terminal(a.out)
	v := view{w: a.out, columns: columns, colour: colour && a.colours(), now: now, all: true}
	if run == nil {
		v.nothing(res.Result)
		return nil
	}
	v.detect(run, reprise.Names(res.Runs)[run], answer)
	return nil
}

// pick returns the run an argument means; without one, the first that is open.
func pick(runs []*reprise.Run, arg string) (*reprise.Run, error) {
	if arg == "" {
		for _, r := range runs {
			if r.State.Open() && r.State != reprise.NotStarted {
				return r, nil
			}
		}
		if len(runs) > 0 {
			return runs[0], nil
		}
		return nil, nil
	}
	hits := reprise.Select(runs, arg)
	if len(hits) == 1 {
		return hits[0], nil
	}
	names := reprise.Names(runs)
	list := func(runs []*reprise.Run) []string {
		var out []string
		for _, r := range runs {
			out = append(out, names[r])
		}
		return out
	}
	return nil, &runError{arg: arg, hits: list(hits), all: list(runs)}
}

func detectCode(res *project.Result, r *reprise.Run, s reprise.ResumeState) int {
	switch {
	case r == nil:
		return nothingCode(res)
	case r.State == reprise.Unreadable:
		return exitUnreadable
	case !s.Interrupted:
		return exitNothing
	case len(r.PendingQuestions()) > 0 && r.State == reprise.Waiting:
		return exitNeedsAnswer
	}
	return exitOK
}
