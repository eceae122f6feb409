package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"reprise"
	"reprise/report"
	"reprise/upkeep"
)

func (a *app) newRepair() *cobra.Command {
	var flags upkeepFlags
	cmd := &cobra.Command{
		Use:   "repair [RUN]",
		Short: "Show what is damaged and rebuild it from other ledgers",
		Long: "Look for damaged files, show what can be rebuilt from which other ledger as a\n" +
			"diff, and do it after a yes. The originals are kept; `reprise undo` brings them back.\n" +
			"Without RUN: all runs of the project, and reprise's own journals.",
		Args:              args(cobra.MaximumNArgs(1)),
		ValidArgsFunction: a.completeRuns(&flags.dir),
		RunE: a.guarded(func(cmd *cobra.Command, args []string) error {
			return a.repair(cmd.Context(), flags, strings.Join(args, ""))
		}),
	}
	flags.add(a, cmd, "schema/repair.v1.json")
	return cmd
}

func (a *app) repair(ctx context.Context, flags upkeepFlags, arg string) error {
	j, run, err := a.chosen(ctx, flags, arg)
	if err != nil {
		return err
	}
	runs := j.Runs
	if arg != "" {
		runs = []*reprise.Run{run}
	}
	t, err := a.tender(flags)
	if err != nil {
		return err
	}
	plan, err := t.PlanRepair(ctx, runs)
	if err != nil {
		return err
	}
	doc := repairDocument(j.Root, plan)
	v, err := a.newView()
	if err != nil {
		return err
	}
	if !a.json {
		v.repairPlan(doc)
		v.findings(nil, nil, j.Findings)
	}
	if plan.Empty() {
		switch {
		case slices.ContainsFunc(plan.Elsewhere, func(f reprise.Finding) bool { return f.Code == reprise.CodeLiveOwner }):
			a.code = exitHeld
		case len(plan.Elsewhere) > 0:
			a.code = exitBlocked
		case len(plan.Hopeless) > 0:
			a.code = exitUnreadable
		default:
			a.code = nothingCode(j.Result)
		}
	} else if !flags.dry {
		agreed, err := a.confirm(ctx, flags, "Repair it?")
		if err != nil {
			return err
		}
		if agreed {
			done, err := t.Repair(ctx, plan)
			if err != nil {
				return err
			}
			doc.Done, doc.Snapshot, doc.Archive = true, done.Snapshot, append(doc.Archive[:0], done.Archived...)
		}
	}
	if a.json {
		return a.writeJSON(a.out, doc)
	}
	if doc.Done {
		v.line("Done. `reprise undo %s` brings the originals back.", doc.Snapshot)
	}
	return nil
}

func repairDocument(root string, plan *upkeep.RepairPlan) report.Repair {
	doc := report.Repair{Schema: report.RepairSchema, Root: root, Mends: []report.MendDoc{}, Journals: []string{}, Archive: []string{}, Hopeless: []report.Finding{}, Elsewhere: []report.Finding{}}
	for _, m := range plan.Mends {
		mend := report.MendDoc{Run: m.Run.ID, What: m.Mend.What, From: m.Mend.From, Files: []string{}, Diff: m.Diff}
		for _, e := range m.Mend.Edits {
			mend.Files = append(mend.Files, e.Path)
		}
		doc.Mends = append(doc.Mends, mend)
	}
	for _, l := range plan.Logs {
		doc.Journals = append(doc.Journals, l.Damage.Error())
	}
	for _, f := range plan.Leftovers {
		doc.Archive = append(doc.Archive, f.Source.File)
	}
	doc.Hopeless = append(doc.Hopeless, report.NewFindings(plan.Hopeless)...)
	doc.Elsewhere = append(doc.Elsewhere, report.NewFindings(plan.Elsewhere)...)
	return doc
}

func (v *view) repairPlan(doc report.Repair) {
	if len(doc.Mends)+len(doc.Journals)+len(doc.Archive)+len(doc.Hopeless)+len(doc.Elsewhere) == 0 {
		v.line("Nothing is damaged here.")
		return
	}
	for _, m := range doc.Mends {
		v.line("%s: %s", plain(m.Run), plain(m.What))
		v.line("  rebuilt from %s", plain(m.From))
		v.diff(m.Diff)
	}
	for _, text := range doc.Journals {
		v.line("journal: %s", plain(text))
		v.line("  every whole record is kept; the original stays beside it")
	}
	for _, p := range doc.Archive {
		v.line("leftover of an interrupted write, archived: %s", plain(p))
	}
	for _, f := range doc.Elsewhere {
		v.line("✗ %s, not here: %s", plain(f.Subject), plain(f.Message))
		v.line("  %s", plain(f.Hint))
	}
	for _, f := range doc.Hopeless {
		for i, l := range wrap("✗ "+plain(f.Source)+": "+plain(f.Message)+" (nothing to rebuild it from)", v.columns-2) {
			if i > 0 {
				l = "  " + l
			}
			v.line("%s", l)
		}
	}
}
