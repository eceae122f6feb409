package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"reprise/internal/durable"
	"reprise/report"
)

func (a *app) newUndo() *cobra.Command {
	var flags upkeepFlags
	cmd := &cobra.Command{
		Use:   "undo [SNAPSHOT]",
		Short: "Bring back the state before a resume, repair or clean-up",
		Long: "Bring back a snapshot: files, git's index and HEAD as they were. What has appeared\n" +
			"since is archived, not deleted, and a snapshot of the present state is taken first.\n" +
			"Without SNAPSHOT: the list of what can be brought back.",
		Args: args(cobra.MaximumNArgs(1)),
		RunE: guarded(func(cmd *cobra.Command, args []string) error {
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
	if doc.Changed, err = t.PlanUndo(list[i]); err != nil {
		return err
	}
	for _, l := range list[i].Left {
		doc.Notes = append(doc.Notes, fmt.Sprintf("%s is not in the snapshot: %s", l.Path, l.Why))
	}
	if !a.json {
		v.undoPlan(list[i], doc)
	}
	if !flags.dry {
		agreed, err := a.confirm(cmd.Context(), flags, "Bring it back?")
		if err != nil {
			return err
		}
		if agreed {
			done, err := t.Undo(cmd.Context(), list[i].ID)
			if err != nil {
				return err
			}
			doc.Undone = done.ID
			doc.Changed, doc.Archived = append([]string{}, done.Restored...), append(doc.Archived, done.Archived...)
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

func (v *view) undoPlan(s durable.Snapshot, doc report.Undo) {
	v.line("Snapshot %s of %s: %s", s.ID, s.At.UTC().Format(time.RFC3339), plain(s.Note))
	for _, p := range doc.Changed {
		v.line("  write back %s", plain(p))
	}
	if s.Tree != nil {
		v.line("  git: HEAD, index and %s as they were", count(len(s.Tree.Entries), "file"))
	}
	for _, n := range doc.Notes {
		v.line("  ! %s", plain(n))
	}
}
