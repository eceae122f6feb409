package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"reprise/report"
	"reprise/upkeep"
)

func (a *app) newClean() *cobra.Command {
	var flags upkeepFlags
	cmd := &cobra.Command{
		Use:   "clean [RUN]",
		Short: "Give up a run: archive its state, reset statuses left in the middle",
		Long: "Give up a run that will not be resumed: statuses that were left in the middle are\n" +
			"reset, the state is moved to .reprise/archive (nothing is deleted), and both are\n" +
			"logged. `reprise undo` brings it back.",
		Example:           "  reprise clean 004 --dry-run\n  reprise clean 004 --yes",
		Args:              args(cobra.MaximumNArgs(1)),
		ValidArgsFunction: a.completeRuns(&flags.dir),
		RunE: a.guarded(func(cmd *cobra.Command, args []string) error {
			return a.clean(cmd.Context(), flags, strings.Join(args, ""))
		}),
	}
	flags.add(a, cmd, "schema/clean.v1.json")
	return cmd
}

func (a *app) clean(ctx context.Context, flags upkeepFlags, arg string) error {
	j, run, err := a.chosen(ctx, flags, arg)
	if err != nil {
		return err
	}
	v, err := a.newView()
	if err != nil {
		return err
	}
	doc := report.CleanUp{Schema: report.CleanSchema, Root: j.Root, Resets: []string{}}
	if run == nil {
		a.code = nothingCode(j.Result)
		if a.json {
			return a.writeJSON(a.out, doc)
		}
		v.nothing(j.Result)
		return nil
	}
	t, err := a.tender(flags)
	if err != nil {
		return err
	}
	plan, err := t.PlanClean(ctx, run, j.Decisions[run])
	if err != nil {
		return err
	}
	doc.ID, doc.Archive, doc.Diff, doc.Refused = run.ID, plan.Archive, plan.Diff, plan.Refused
	doc.Resets = append(doc.Resets, plan.Resets...)
	idle := plan.Archive == "" && len(plan.Resets) == 0
	switch {
	case plan.Refused != "" && !plan.Live:
		a.code = exitBlocked
	case plan.Refused != "":
		a.code = exitHeld
	case idle:
		a.code = exitNothing
	}
	if !a.json {
		v.cleanPlan(plan)
	}
	if plan.Refused == "" && !idle && !flags.dry {
		agreed, err := a.confirm(ctx, flags, "Do it?")
		if err != nil {
			return err
		}
		if agreed {
			done, err := t.Clean(ctx, plan)
			if err != nil {
				return err
			}
			doc.Done, doc.Archived, doc.Snapshot = true, done.Archived, done.Snapshot
		}
	}
	if a.json {
		return a.writeJSON(a.out, doc)
	}
	if doc.Done {
		v.line("Done. `reprise undo %s` brings it back.", doc.Snapshot)
	}
	return nil
}

func (v *view) cleanPlan(plan *upkeep.CleanPlan) {
	v.line("Give up %s (%s)", plain(plan.Run.ID), plan.Run.Layout)
	if plan.Refused != "" {
		when := "not now"
		if !plan.Live {
			when = "not here"
		}
		v.line("  ✗ %s: %s", when, plain(plan.Refused))
		if plan.Hint != "" {
			v.line("    %s", plain(plan.Hint))
		}
		return
	}
	if len(plan.Resets) > 0 {
		v.line("  reset     %s", plain(strings.Join(plan.Resets, ", ")))
	}
	switch {
	case plan.Archive != "":
		v.line("  archive   %s", plain(plan.Archive))
	case len(plan.Resets) == 0:
		v.line("  nothing to do: no status is left in the middle, and its state is the document itself")
	default:
		v.line("  archive   nothing: its state is the document itself")
	}
	if plan.Diff != "" {
		v.line("")
		v.diff(plan.Diff)
	}
}
