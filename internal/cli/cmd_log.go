package cli

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"reprise"
	"reprise/journal"
	"reprise/project"
	"reprise/report"
	"reprise/upkeep"
)

func (a *app) newLog() *cobra.Command {
	var flags upkeepFlags
	cmd := &cobra.Command{
		Use:   "log [RUN [STEP]]",
		Short: "Show what reprise has recorded of a run, or of one of its steps",
		Long: "Show the journal of a run: every event that reprise recorded, with the files that\n" +
			"followed it; of a step, also the last lines that the agent of each attempt printed.\n" +
			"Changes nothing.",
		Example: "  reprise log\n  reprise log 004 subtask-2-3",
	}
	a.oneRun(cmd, &flags.dir, nil)
	cmd.Args = args(cobra.MaximumNArgs(2))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		named := append(slices.Clone(args), "", "")
		return a.log(cmd.Context(), flags, named[0], named[1])
	}
	a.folderFlags(cmd, &flags.dir, "schema/log.v1.json")
	return cmd
}

func (a *app) log(ctx context.Context, flags upkeepFlags, arg, step string) error {
	t := a.tender(flags)
	found, err := a.judge(ctx, flags.dir, project.JudgeOptions{Full: true})
	if err != nil {
		return err
	}
	if arg != "" && len(reprise.Select(found.Runs, arg)) == 0 {
		// It may have been archived; its journal stays.
		if h, err := t.LogOf(arg); err == nil && h != nil {
			return a.showLog(flags.dir, arg, step, h)
		}
	}
	run, err := pick(found.Runs, arg)
	if err != nil {
		return err
	}
	if run == nil {
		return a.nothing(found, report.Log{Schema: report.LogSchema, Root: found.Root, Entries: []report.LogEntry{}}, noRuns(found))
	}
	h, err := t.Log(run)
	if err != nil {
		return err
	}
	return a.showLog(found.Root, reprise.Names(found.Runs)[run], step, h)
}

func (a *app) showLog(root, name, step string, h *upkeep.History) error {
	doc := report.Log{Schema: report.LogSchema, Root: root, Layout: h.Run.Layout, ID: h.Run.ID, Path: h.Run.Path, Step: step, Entries: []report.LogEntry{}}
	printed := map[int]report.LogEntry{}
	if step != "" {
		var err error
		if h.Entries, printed, err = a.ofStep(root, step, h); err != nil {
			return err
		}
	}
	for i, e := range h.Entries {
		entry := report.LogEntry{
			Seq: e.Seq, Generation: e.Generation, At: e.Event.At, Kind: e.Event.Kind,
			Step: e.Event.Step, Question: e.Event.Question, Actor: e.Event.Actor, Text: e.Event.Text, Files: []string{},
			Log: printed[i].Log, Output: printed[i].Output, Usage: e.Event.Usage,
		}
		for _, f := range e.Files {
			entry.Files = append(entry.Files, f.Path)
		}
		doc.Entries = append(doc.Entries, entry)
	}
	doc.Cost = costOf(journal.Fold(h.Entries).Spent)
	if h.Damage != nil {
		doc.Damage = h.Damage.Error()
		a.came(reprise.OutcomeUnreadable)
	}
	return a.print(doc, func(p *page) { p.log(name, doc) })
}

// ofStep gives the entries that are about a step and, by their places among them, what
// attempts printed last, at the last entry of each.
func (a *app) ofStep(root, step string, h *upkeep.History) (entries []journal.Entry, printed map[int]report.LogEntry, err error) {
	began, hide, steps := journal.Fold(h.Entries).Began, a.hide(root), []string{}
	printed = map[int]report.LogEntry{}
	last := map[int]int{}
	for _, e := range h.Entries {
		if e.Event.Step == step {
			last[e.Event.Attempt] = len(entries)
			entries = append(entries, e)
		} else if e.Event.Step != "" && !slices.Contains(steps, e.Event.Step) {
			steps = append(steps, e.Event.Step)
		}
	}
	if len(entries) == 0 {
		return nil, nil, fail(exitUsage, "there are "+strings.Join(steps, ", "), "nothing is on record of a step called %q", step)
	}
	for attempt, i := range last {
		if attempt > 0 {
			log, output := project.OutputOf(root, h.Run.Ref, began, step, attempt, hide)
			printed[i] = report.LogEntry{Log: log, Output: output}
		}
	}
	return entries, printed, nil
}

// log prints a journal, oldest first.
func (p *page) log(name string, doc report.Log) {
	if len(doc.Entries) == 0 && doc.Damage == "" {
		p.line("reprise has recorded nothing of %s.", plain(name))
		p.line("What its own files tell: `reprise check %s`", plain(name))
		return
	}
	p.line("%s, %s", plain(name), count(len(doc.Entries), "event"))
	for _, e := range doc.Entries {
		text := e.At.UTC().Format(time.RFC3339) + "  " + strings.ReplaceAll(string(e.Kind), "_", " ")
		if id := plain(cmp.Or(e.Question, e.Step)); id != "" {
			text += " " + id
		}
		if e.Actor != "" {
			text += " (" + plain(e.Actor) + ")"
		}
		if said := readable(e.Text); said != "" {
			text += ": " + plain(said)
		}
		p.line("  %s", fit(text, p.columns-2))
		for _, f := range e.Files {
			p.line("      %s", fit("→ "+plain(f), p.columns-6))
		}
		p.used("      ", "used ", e.Usage)
		p.output(e.Log, e.Output)
	}
	if doc.Cost != nil {
		p.used("", "Used in all: ", &doc.Cost.Total)
	}
	if doc.Damage != "" {
		p.line("✗ %s", fit(plain(doc.Damage), p.columns-2))
		p.line("  `reprise repair` shows what can be saved")
	}
}
