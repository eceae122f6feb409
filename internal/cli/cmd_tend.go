package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"reprise"
	"reprise/project"
	"reprise/report"
	"reprise/upkeep"
)

// upkeepFlags are common to all commands that change state.
type upkeepFlags struct {
	dir      string
	dry, yes bool
	network  bool
	adopt    bool
}

func (f *upkeepFlags) add(a *app, cmd *cobra.Command, schema string) {
	a.folderFlags(cmd, &f.dir, schema)
	cmd.Flags().BoolVarP(&f.dry, "dry-run", "n", false, "show what would be done and change nothing")
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "do it without asking")
	f.addStore(cmd)
}

// addStore adds the flags about the state folder itself.
func (f *upkeepFlags) addStore(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.network, "allow-network-fs", false, "trust the locks of a network file system")
	cmd.Flags().BoolVar(&f.adopt, "adopt", false, "use a state folder that was copied with its project")
}

// tender makes the one who does it.
func (a *app) tender(f upkeepFlags) upkeep.Tender {
	root, _ := project.Locate(f.dir)
	tell := func(f reprise.Finding) {
		fmt.Fprintf(a.err, "reprise: %s: %s\n  %s\n", plain(f.Subject), plain(f.Message), plain(f.Hint))
	}
	return upkeep.Tender{Dir: root, Now: a.now(), AllowNetwork: f.network, Adopt: f.adopt, Tell: tell}
}

// chosen judges the project and returns the run an argument refers to or, without one,
// the first open run; nil if there is none.
func (a *app) chosen(ctx context.Context, f upkeepFlags, arg string) (*project.Judgement, *reprise.Run, error) {
	found, err := a.judge(ctx, f.dir, project.JudgeOptions{Full: true, Adopt: f.adopt})
	if err != nil {
		return nil, nil, err
	}
	run, err := pick(found.Runs, arg)
	if run != nil {
		a.about(run, reprise.Names(found.Runs)[run])
		err = within(found, run)
	}
	return found, run, err
}

// isPerson rejects a command that changes a project if one of that project's own attempts
// calls it: it would pass for a person's decision. Attempts may do what they like in
// other projects.
func (a *app) isPerson(f upkeepFlags) error {
	of := a.env("REPRISE_PROJECT")
	if of == "" || f.dry {
		return nil
	}
	root, _ := project.Locate(f.dir)
	here, err := os.Stat(root)
	if err != nil {
		return nil
	}
	if there, err := os.Stat(of); err != nil || !os.SameFile(here, there) {
		return nil
	}
	return fail(exitBlocked, "ask a person with a question in your result; status, check, log, brief and --dry-run are allowed",
		"this was called from within %s of %s, and agents cannot decide about their own run", a.env("REPRISE_STEP"), a.env("REPRISE_RUN"))
}

// confirm asks a person. It asks only on a terminal; anything but yes is a no.
func (a *app) confirm(ctx context.Context, f upkeepFlags, question string) (bool, error) {
	if err := a.isPerson(f); err != nil {
		return false, err
	}
	if f.yes {
		return true, nil
	}
	if !a.asks() {
		return false, fail(exitNeedsAnswer, "`"+a.again("--yes")+"` does it, `"+a.again("--dry-run")+"` only looks", "it needs a confirmation, and there is no terminal to ask on")
	}
	line, _, err := a.readLine(ctx, question+" [y/N] ")
	if err != nil {
		return false, err
	}
	word := strings.ToLower(strings.TrimSpace(line))
	return word == "y" || word == "yes", nil
}

// tending is a change that is planned, shown, confirmed and then made.
type tending struct {
	document any // what programs get in the end; do completes it
	show     func(*page)
	idle     bool // there is nothing to do, or it must not be done
	question string
	do       func() (snapshot string, err error)
	done     string      // what was done, "" if it is all that was shown
	back     string      // what undoing the snapshot does
	more     func(*page) // what else is to be said once it is done
}

// tend carries out a change. Without a yes, or in a dry run, nothing changes.
func (a *app) tend(ctx context.Context, flags upkeepFlags, t tending) error {
	p := a.page(a.out)
	p.all = true
	if !a.json {
		t.show(p)
	}
	if !t.idle && !flags.dry {
		agreed, err := a.confirm(ctx, flags, t.question)
		if err != nil {
			return err
		}
		if agreed {
			snapshot, err := t.do()
			if err != nil {
				return err
			}
			if !a.json {
				if done := cmp.Or(t.done, "Done."); snapshot == "" {
					p.line("%s", done)
				} else {
					p.line("%s `reprise undo %s` %s.", done, snapshot, t.back)
				}
				if t.more != nil {
					t.more(p)
				}
			}
		}
	}
	if a.json {
		return a.writeJSON(a.out, t.document)
	}
	return nil
}

func (a *app) newRepair() *cobra.Command {
	var flags upkeepFlags
	cmd := &cobra.Command{
		Use:   "repair [RUN]",
		Short: "Show what is damaged and rebuild it from other records",
		Long: "Find damaged files, show as a diff what can be rebuilt from which other record, and\n" +
			"do it if you say yes. The originals are kept; `reprise undo` brings them back.\n\n" +
			"Without RUN: all runs of the project, and reprise's own journals.",
	}
	a.oneRun(cmd, &flags.dir, func(ctx context.Context, name string) error { return a.repair(ctx, flags, name) })
	cmd.RunE = a.guarded(cmd.RunE)
	flags.add(a, cmd, "schema/repair.v1.json")
	return cmd
}

func (a *app) repair(ctx context.Context, flags upkeepFlags, arg string) error {
	found, run, err := a.chosen(ctx, flags, arg)
	if err != nil {
		return err
	}
	runs := found.Runs
	if arg != "" {
		runs = []*reprise.Run{run}
	} else {
		a.about(nil, "") // it concerns all of them
	}
	t := a.tender(flags)
	plan, err := t.PlanRepair(ctx, runs)
	if err != nil {
		return err
	}
	if plan.Empty() {
		a.came(cmp.Or(plan.Outcome(), found.Nothing()))
	}
	doc := repairDocument(found.Root, plan)
	return a.tend(ctx, flags, tending{
		document: &doc, idle: plan.Empty(), question: "Repair it?", back: "brings the originals back",
		show: func(p *page) {
			p.repairPlan(doc)
			p.findings(nil, nil, found.Findings)
		},
		do: func() (string, error) {
			done, err := t.Repair(ctx, plan)
			if err != nil {
				return "", err
			}
			doc.Done, doc.Snapshot, doc.Archive = true, done.Snapshot, report.List(done.Archived)
			return done.Snapshot, nil
		},
	})
}

func repairDocument(root string, plan *upkeep.RepairPlan) report.Repair {
	return report.Repair{
		Schema: report.RepairSchema, Root: root, Hopeless: report.NewFindings(plan.Hopeless), Elsewhere: report.NewFindings(plan.Elsewhere),
		Mends: report.Each(plan.Mends, func(m upkeep.RunMend) report.MendDoc {
			files := report.Each(m.Mend.Edits, func(e reprise.Edit) string { return e.Path })
			return report.MendDoc{Run: m.Run.ID, What: m.Mend.What, From: m.Mend.From, Files: files, Diff: m.Diff}
		}),
		Journals: report.Each(plan.Logs, func(l upkeep.LogDamage) string { return l.Damage.Error() }),
		Archive:  report.Each(plan.Leftovers, func(f reprise.Finding) string { return f.Source.File }),
	}
}

func (p *page) repairPlan(doc report.Repair) {
	if len(doc.Mends)+len(doc.Journals)+len(doc.Archive)+len(doc.Hopeless)+len(doc.Elsewhere) == 0 {
		p.line("Nothing is damaged here.")
	}
	for _, m := range doc.Mends {
		p.line("%s: %s", plain(m.Run), plain(m.What))
		p.line("  rebuilt from %s", plain(m.From))
		p.diff(m.Diff)
	}
	for _, text := range doc.Journals {
		p.line("journal: %s", plain(text))
		p.line("  the intact records are kept, and so is the original")
	}
	for _, name := range doc.Archive {
		p.line("leftover of an interrupted write, archived: %s", plain(name))
	}
	for _, f := range doc.Elsewhere {
		p.line("✗ %s, not from here: %s", plain(f.Subject), plain(f.Message))
		p.line("  %s", plain(f.Hint))
	}
	for _, f := range doc.Hopeless {
		text := f.Source + ": " + f.Message
		if f.Code != reprise.CodePermission {
			text += " (nothing to rebuild it from)"
		}
		p.marked("", "✗", "", text, linesAll)
		p.para("  to do: ", cmp.Or(f.Hint, "restore the file by hand; `reprise clean` gives the run up"), linesMessage)
	}
}

func (a *app) newClean() *cobra.Command {
	var flags upkeepFlags
	cmd := &cobra.Command{
		Use:   "clean [RUN]",
		Short: "Give up a run: archive its state and reset steps left in progress",
		Long: "Give up a run that will not be resumed: steps left in progress are reset, the\n" +
			"state is moved to .reprise/archive, and both are logged. Nothing is deleted, and a\n" +
			"task list stays where it is. `reprise undo` brings the run back.",
		Example: "  reprise clean 004 --dry-run\n  reprise clean 004 --yes",
	}
	a.oneRun(cmd, &flags.dir, func(ctx context.Context, name string) error { return a.clean(ctx, flags, name) })
	cmd.RunE = a.guarded(cmd.RunE)
	flags.add(a, cmd, "schema/clean.v1.json")
	return cmd
}

func (a *app) clean(ctx context.Context, flags upkeepFlags, arg string) error {
	found, run, err := a.chosen(ctx, flags, arg)
	if err != nil {
		return err
	}
	doc := report.CleanUp{Schema: report.CleanSchema, Root: found.Root, Resets: []string{}}
	if run == nil {
		return a.noRuns(found, doc)
	}
	t := a.tender(flags)
	plan, err := t.PlanClean(ctx, run, found.Decisions[run])
	if err != nil {
		return err
	}
	a.came(plan.Outcome())
	doc.ID, doc.Archive, doc.Diff, doc.Refused, doc.Resets = run.ID, plan.Archive, plan.Diff, plan.Refused, report.List(plan.Resets)
	return a.tend(ctx, flags, tending{
		document: &doc, idle: a.code != exitOK, question: "Do it?", back: "brings it back",
		show: func(p *page) { p.cleanPlan(plan) },
		do: func() (string, error) {
			done, err := t.Clean(ctx, plan)
			if err != nil {
				return "", err
			}
			doc.Done, doc.Archived, doc.Snapshot = true, done.Archived, done.Snapshot
			return done.Snapshot, nil
		},
	})
}

func (p *page) cleanPlan(plan *upkeep.CleanPlan) {
	p.line("Give up %s (%s)", plain(plan.Run.ID), plan.Run.Layout)
	if plan.Refused != "" {
		mark, when := symbols[reprise.Running], "not now"
		if !plan.Live {
			mark, when = "✗", "not from here"
		}
		p.line("  %s %s: %s", mark, when, plain(plan.Refused))
		if plan.Hint != "" {
			p.line("    %s", plain(plan.Hint))
		}
		return
	}
	if len(plan.Resets) > 0 {
		p.line("  reset     %s", plain(strings.Join(plan.Resets, ", ")))
	}
	switch {
	case plan.Archive != "":
		p.line("  archive   %s", plain(plan.Archive))
	case plan.Ends:
		p.line("  end       its record: its files are gone, and the journal stays")
	case len(plan.Resets) == 0:
		p.line("  nothing to do: no step is in progress, and its state is the document itself")
	default:
		p.line("  archive   nothing: its state is the document itself")
	}
	if plan.Diff != "" {
		p.gap()
		p.diff(plan.Diff)
	}
}
