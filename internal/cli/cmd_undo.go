package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"reprise"
	"reprise/engine"
	"reprise/internal/durable"
	"reprise/report"
	"reprise/settings"
	"reprise/upkeep"
)

func (a *app) newUndo() *cobra.Command {
	var flags upkeepFlags
	var choice upkeep.UndoChoice
	cmd := &cobra.Command{
		Use:   "undo [SNAPSHOT]",
		Short: "Restore the state before a resume, repair or clean",
		Long: "Restore a snapshot: files, git's index and HEAD as they were, and for a build its\n" +
			"branch and its checkout. Only what the run changed since is taken back; what you\n" +
			"or another run changed is shown and stays, unless you say --all. What changed\n" +
			"while an agent was at work counts as the run's: --keep leaves a file of yours\n" +
			"among it alone. New files are archived, not deleted, and a snapshot of the present\n" +
			"state is taken first.\n\n" +
			"Without SNAPSHOT: the list of snapshots.",
		Args: args(cobra.MaximumNArgs(1)),
		RunE: a.guarded(func(cmd *cobra.Command, args []string) error {
			return a.undo(cmd.Context(), flags, strings.Join(args, ""), choice)
		}),
	}
	cmd.Flags().BoolVar(&choice.All, "all", false, "undo everything since, including what you or other runs changed")
	cmd.Flags().StringArrayVar(&choice.Keep, "keep", nil, "leave this file or folder as it is, whoever changed it (repeatable)")
	flags.add(a, cmd, "schema/undo.v1.json")
	return cmd
}

func (a *app) undo(ctx context.Context, flags upkeepFlags, id string, choice upkeep.UndoChoice) error {
	if strings.Contains(id, "@") {
		return a.undoWorlds(ctx, flags, id, choice)
	}
	t := a.tender(flags)
	list, unread := t.Snapshots()
	if len(list) == 0 && unread != nil {
		return unread
	}
	doc := report.Undo{
		Schema: report.UndoSchema, Root: flags.dir, Changed: []string{}, Archived: []string{}, AtWork: []string{}, Kept: []string{}, Notes: []string{},
		Snapshots: report.Each(list, func(s durable.Snapshot) report.SnapshotLine {
			return report.SnapshotLine{ID: s.ID, At: s.At, Why: s.Note}
		}),
	}
	if unread != nil {
		doc.Notes = append(doc.Notes, unread.Error())
	}
	if id == "" { // who names a snapshot gets that, whatever else is there
		taken, err := a.undoer(flags).TakenUp()
		if err != nil {
			unread = errors.Join(unread, err)
			doc.Notes = append(doc.Notes, err.Error())
		}
		if len(doc.Snapshots)+len(taken) == 0 && unread != nil {
			return unread
		}
		for _, t := range taken {
			doc.Snapshots = append(doc.Snapshots, report.SnapshotLine{ID: t.ID, At: t.At, Why: "before resuming " + t.Ref.ID})
		}
		slices.SortStableFunc(doc.Snapshots, func(a, b report.SnapshotLine) int { return b.At.Compare(a.At) })
	}
	switch {
	case id == "" && flags.yes && len(list) > 0:
		return misuse("--yes needs the name of a snapshot; the last one is `reprise undo %s --yes`", list[0].ID)
	case id == "" && (choice.All || len(choice.Keep) > 0):
		return misuse("--all and --keep need the name of a snapshot; `reprise undo` lists them")
	case id == "":
		return a.print(doc, func(p *page) { p.snapshots(doc.Snapshots, unread) })
	}
	i := slices.IndexFunc(list, func(s durable.Snapshot) bool { return s.ID == id || strings.TrimLeft(s.ID, "0") == id })
	if i < 0 && unread != nil {
		return unread
	}
	if i < 0 { // the name of a run stands for the last time that it was taken up
		return a.undoWorlds(ctx, flags, id, choice)
	}
	for i, name := range choice.Keep {
		choice.Keep[i] = path.Clean(filepath.ToSlash(name))
	}
	choice.As = asTyped(choice)
	plan, err := t.PlanUndo(ctx, &list[i], choice)
	if err != nil {
		return err
	}
	for _, name := range choice.Keep {
		if !slices.ContainsFunc(plan.Kept, func(k upkeep.Kept) bool { return k.Path == name || strings.HasPrefix(k.Path, name+"/") }) {
			return fail(exitUsage, "`"+commandWords([]string{"reprise", "undo", list[i].ID, "--dry-run"})+"` lists what would change", "undo %s would not change %s", list[i].ID, name)
		}
	}
	doc.Changed, doc.Archived, doc.AtWork = report.List(plan.Back), report.List(plan.Appeared), report.List(plan.AtWork)
	doc.Kept = report.Each(plan.Kept, func(k upkeep.Kept) string { return k.Path })
	doc.Notes = report.List(slices.Concat(doc.Notes, plan.Moves, plan.Others, plan.Missing))
	question := "Restore it?"
	if n := len(plan.Others); choice.All && n > 0 {
		question = fmt.Sprintf("Restore it, and also undo %s of others?", count(n, "change"))
	}
	var done *durable.UndoReport
	return a.tend(ctx, flags, tending{
		document: &doc, question: question, back: "takes it back again", done: undone(plan, choice.All),
		show: func(p *page) { p.undoPlan(list[i], plan, choice) },
		more: func(p *page) {
			if len(plan.AtWork) > 0 && done.Ref != "" {
				p.line("One file alone: `%s`.", oneFile(t.Dir, done.Ref, plan.AtWork[0]))
			}
		},
		do: func() (_ string, err error) {
			if done, err = t.Undo(ctx, list[i].ID, choice); err != nil {
				return "", err
			}
			doc.Undone = done.ID
			doc.Changed, doc.Archived = report.List(done.Restored), report.List(done.Archived)
			return done.Before, nil
		},
	})
}

// asTyped is a choice as flags.
func asTyped(c upkeep.UndoChoice) string {
	var words []string
	if c.All {
		words = append(words, "--all")
	}
	for _, name := range c.Keep {
		words = append(words, "--keep", name)
	}
	return commandWords(words)
}

// oneFile is the command that gets back a file which an undo took away.
func oneFile(dir, ref, name string) string {
	git := []string{"git", "show", ref + ":files/" + name}
	if dir != "." {
		git = slices.Insert(git, 1, "-C", dir)
	}
	return commandWords(git) + " > " + quoted(filepath.Join(dir, name))
}

func (p *page) snapshots(list []report.SnapshotLine, unread error) {
	if len(list) == 0 {
		p.line("Nothing to undo: reprise has changed nothing here yet.")
		return
	}
	for _, s := range list {
		p.line("  %s  %s  %s", s.ID, s.At.UTC().Format(time.RFC3339), plain(s.Why))
	}
	if unread != nil {
		p.line("! %s", plain(unread.Error()))
		p.line("  %s", plain(reprise.HintOf(unread)))
	}
	p.gap()
	p.line("`reprise undo %s --dry-run` shows what would change.", list[0].ID)
}

func (a *app) undoer(flags upkeepFlags) *engine.Engine {
	return &engine.Engine{Dir: flags.dir, Settings: settings.Default(), Environ: os.Environ(), Now: a.clock, AllowNetwork: flags.network, Adopt: flags.adopt}
}

// undoWorlds takes back what was finished of a run since it was taken up.
func (a *app) undoWorlds(ctx context.Context, flags upkeepFlags, id string, choice upkeep.UndoChoice) error {
	dir, err := filepath.Abs(flags.dir)
	if err != nil {
		return err
	}
	flags.dir = dir
	e := a.undoer(flags)
	all, unread := e.TakenUp()
	i := slices.IndexFunc(all, func(t engine.Taken) bool { return t.ID == id || t.Ref.ID == id || strings.HasPrefix(t.Ref.ID, id+"-") })
	if i < 0 && unread != nil {
		return unread
	}
	if i < 0 {
		return fail(exitUsage, "`reprise undo` lists them", "no snapshot is called %q", id)
	}
	for i, name := range choice.Keep {
		choice.Keep[i] = path.Clean(filepath.ToSlash(name))
	}
	steps, files, err := e.UndoSince(ctx, all[i], choice.Keep, true)
	if err != nil {
		return err
	}
	for _, name := range choice.Keep {
		if !slices.Contains(files, name) {
			return fail(exitUsage, "`"+commandWords([]string{"reprise", "undo", all[i].ID, "--dry-run"})+"` lists what would change", "undo %s would not change %s", all[i].ID, name)
		}
	}
	files = slices.DeleteFunc(files, func(f string) bool { return slices.Contains(choice.Keep, f) })
	doc := report.Undo{
		Schema: report.UndoSchema, Root: flags.dir, Changed: report.List(files), Archived: []string{}, AtWork: []string{}, Kept: report.List(choice.Keep), Notes: []string{},
		Snapshots: []report.SnapshotLine{},
	}
	return a.tend(ctx, flags, tending{
		document: &doc, question: "Take it back?", idle: len(steps) == 0,
		done: "Undone: " + count(len(steps), "step") + " taken back, each by a commit; what you changed since stays.",
		show: func(p *page) {
			if len(steps) == 0 {
				p.line("Nothing that was finished since is left to take back.")
			}
			p.some("  take back ", steps)
			p.some("  in ", files)
			if len(files) > 0 && len(choice.Keep) == 0 {
				p.line("What changed while the run's agents were at work counts as the run's.")
				p.line("`reprise undo %s --keep FILE` leaves a file of yours as it is.", all[i].ID)
			}
		},
		do: func() (string, error) {
			steps, _, err := e.UndoSince(ctx, all[i], choice.Keep, false)
			if err == nil {
				doc.Undone = all[i].ID
			}
			doc.Notes = report.Each(steps, func(s string) string { return "taken back: " + s })
			return "", err
		},
	})
}

func (p *page) undoPlan(s durable.Snapshot, plan *upkeep.UndoPlan, choice upkeep.UndoChoice) {
	p.line("Snapshot %s of %s: %s", s.ID, s.At.UTC().Format(time.RFC3339), plain(s.Note))
	p.some("  write back ", plan.Back)
	p.some("  archive ", plan.Appeared)
	switch {
	case s.Tree == nil:
	case plan.HeadStays != "":
		p.line("  git: the branch and the index stay: %s", plan.HeadStays)
	default:
		p.line("  git: HEAD and index as they were")
		p.some("  git: take back ", report.Each(plan.Commits, commitLine))
	}
	for _, text := range plan.Moves {
		p.line("  git: %s", plain(text))
	}
	if len(plan.AtWork) > 0 {
		choice.Keep = append(slices.Clip(choice.Keep), plan.AtWork[0])
		p.line("What changed while the run's agents were at work counts as the run's.")
		p.line("`reprise undo %s %s` leaves a file of yours as it is.", s.ID, asTyped(choice))
	}
	kept := plan.Others
	if choice.All && len(kept) > 0 {
		p.line("This is undone as well; nothing is deleted:")
		p.some("  ! ", kept)
		kept = nil
	}
	if kept = slices.Concat(kept, report.Each(plan.Kept, upkeep.Kept.String)); len(kept) > 0 {
		p.line("Changed by others since, and kept:")
		p.some("  ", kept)
		for _, k := range plan.Kept {
			p.diff(k.Diff)
		}
		if !choice.All {
			p.line("`reprise undo %s --all` undoes that as well.", s.ID)
		}
	}
	for _, text := range plan.Missing {
		p.line("  ! %s", plain(text))
	}
}

// commitLine is a commit with its subject.
func commitLine(c reprise.Commit) string { return fmt.Sprintf("commit %.10s: %s", c.Hash, c.Subject) }

// undone counts what an undo took back, and what it left.
func undone(plan *upkeep.UndoPlan, all bool) string {
	var parts []string
	for _, of := range []struct {
		n         int
		what, did string
	}{
		{len(plan.Back), "file", "written back"}, {len(plan.Appeared), "file", "archived"},
		{len(slices.DeleteFunc(slices.Clone(plan.Kept), func(k upkeep.Kept) bool { return k.Diff == "" })), "file", "mended"},
		{len(plan.Commits), "commit", "taken back"}, {len(plan.Moves), "checkout", "restored"},
	} {
		if of.n > 0 {
			parts = append(parts, count(of.n, of.what)+" "+of.did)
		}
	}
	text := "Undone: " + strings.Join(parts, ", ") + "."
	if parts == nil {
		text = "No file and no commit was taken back."
	}
	stays := slices.DeleteFunc(slices.Clone(plan.Kept), func(k upkeep.Kept) bool { return k.Diff != "" })
	if n := len(stays) + len(plan.Others); n > 0 && !all {
		text += fmt.Sprintf(" What is kept (%d) is listed above.", n)
	}
	return text
}

// some prints the first few lines and the number of those remaining.
func (p *page) some(lead string, list []string) {
	const most = 30
	for _, text := range list[:min(len(list), most)] {
		p.line("%s%s", lead, plain(text))
	}
	if n := len(list) - most; n > 0 {
		p.line("%s… and %d more", lead, n)
	}
}
