package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"reprise/internal/durable"
	"reprise/report"
	"reprise/upkeep"
)

func (a *app) newUndo() *cobra.Command {
	var flags upkeepFlags
	cmd := &cobra.Command{
		Use:   "undo [SNAPSHOT]",
		Short: "Bring back the state before a resume, repair or clean-up",
		Long: "Bring back a snapshot: files, git's index and HEAD as they were, and for a build its\n" +
			"branch and its checkout. All that came since goes with it, also commits and work of\n" +
			"other runs; that is said first. What has appeared since is archived, not deleted, and\n" +
			"a snapshot of the present state is taken first.\n" +
			"Without SNAPSHOT: the list of what can be brought back.",
		Args: args(cobra.MaximumNArgs(1)),
		RunE: a.guarded(func(cmd *cobra.Command, args []string) error {
			return a.undo(cmd, flags, strings.Join(args, ""))
		}),
	}
	flags.add(a, cmd, "schema/undo.v1.json")
	return cmd
}

func (a *app) undo(cmd *cobra.Command, flags upkeepFlags, id string) error {
	t, err := a.tender(flags)
	if err != nil {
		return err
	}
	list, err := t.Snapshots()
	if err != nil {
		return err
	}
	doc := report.Undo{Schema: report.UndoSchema, Root: flags.dir, Snapshots: []report.SnapshotLine{}, Changed: []string{}, Archived: []string{}, Notes: []string{}}
	for _, s := range list {
		doc.Snapshots = append(doc.Snapshots, report.SnapshotLine{ID: s.ID, At: s.At, Why: s.Note})
	}
	v, err := a.newView()
	if err != nil {
		return err
	}
	if id == "" {
		if a.json {
			return a.writeJSON(a.out, doc)
		}
		v.snapshots(doc)
		return nil
	}
	i := slices.IndexFunc(list, func(s durable.Snapshot) bool { return s.ID == id || strings.TrimLeft(s.ID, "0") == id })
	if i < 0 {
		return usageError{fmt.Errorf("no snapshot is called %q", id)}
	}
	plan, err := t.PlanUndo(cmd.Context(), &list[i])
	if err != nil {
		return err
	}
	doc.Changed, doc.Notes = append(doc.Changed, plan.Back...), slices.Concat(doc.Notes, plan.Moves, plan.Others, plan.Missing)
	doc.Archived = append(doc.Archived, plan.Appeared...)
	if !a.json {
		v.undoPlan(list[i], plan)
	}
	if !flags.dry {
		question := "Bring it back?"
		if n := len(plan.Others); n > 0 {
			question = fmt.Sprintf("Bring it back, though the %s above goes with it?", map[bool]string{true: "commit or run", false: fmt.Sprintf("list of %d commits and runs", n)}[n == 1])
		}
		agreed, err := a.confirm(cmd.Context(), flags, question)
		if err != nil {
			return err
		}
		if agreed {
			done, err := t.Undo(cmd.Context(), list[i].ID)
			if err != nil {
				return err
			}
			doc.Undone = done.ID
			doc.Changed, doc.Archived = append([]string{}, done.Restored...), append([]string{}, done.Archived...)
			if !a.json {
				v.line("Done. `reprise undo %s` takes it back again.", done.Before)
			}
		}
	}
	if a.json {
		return a.writeJSON(a.out, doc)
	}
	return nil
}

func (v *view) snapshots(doc report.Undo) {
	if len(doc.Snapshots) == 0 {
		v.line("Nothing to undo: reprise has changed nothing here yet.")
		return
	}
	for _, s := range doc.Snapshots {
		v.line("  %s  %s  %s", s.ID, s.At.UTC().Format(time.RFC3339), plain(s.Why))
	}
	v.line("")
	v.line("`reprise undo %s --dry-run` shows what would change.", doc.Snapshots[0].ID)
}

func (v *view) undoPlan(s durable.Snapshot, plan *upkeep.UndoPlan) {
	v.line("Snapshot %s of %s: %s", s.ID, s.At.UTC().Format(time.RFC3339), plain(s.Note))
	v.some("  write back ", plan.Back)
	v.some("  archive ", plan.Appeared)
	if s.Tree != nil {
		v.line("  git: HEAD, index and %s as they were", count(len(s.Tree.Entries), "file"))
	}
	for _, text := range plan.Moves {
		v.line("  git: %s", plain(text))
	}
	if len(plan.Others) > 0 {
		v.line("This goes with it, whoever made it; all of it is kept:")
		v.some("  ! ", plan.Others)
	}
	for _, n := range plan.Missing {
		v.line("  ! %s", plain(n))
	}
}

// some prints the first of many lines and how many there are more.
func (v *view) some(lead string, list []string) {
	const most = 30
	for _, p := range list[:min(len(list), most)] {
		v.line("%s%s", lead, plain(p))
	}
	if n := len(list) - most; n > 0 {
		v.line("%s… and %d more", lead, n)
	}
}
