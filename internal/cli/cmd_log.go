package cli

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"reprise"
	"reprise/agent"
	"reprise/journal"
	"reprise/project"
	"reprise/report"
	"reprise/upkeep"
)

// logFlags say how a journal is shown.
type logFlags struct {
	upkeepFlags
	timeline, follow, full, diff bool
}

func (a *app) newLog() *cobra.Command {
	var flags logFlags
	cmd := &cobra.Command{
		Use:   "log [RUN [STEP]]",
		Short: "Show what reprise recorded about a run or one of its steps",
		Long: "Show the journal of a run: every event that reprise recorded, with the files that\n" +
			"followed it. For a step, also show the last lines that the agent of each attempt\n" +
			"printed; --full shows all of them, and --diff what each attempt changed.\n" +
			"--timeline draws attempts and waiting times. -f keeps printing until no one works\n" +
			"on the run any longer. Changes nothing.",
		Example: "  reprise log\n  reprise log 004 subtask-2-3 --full\n  reprise log 004 subtask-2-3 --diff\n  reprise log -f\n  reprise log 004 --timeline",
	}
	a.oneRun(cmd, &flags.dir, nil)
	cmd.Args = args(cobra.MaximumNArgs(2))
	cmd.RunE = a.guardedIf(func(cmd *cobra.Command, args []string) error {
		named := append(slices.Clone(args), "", "")
		if flags.full && named[1] == "" {
			return misuse("--full shows the output of a step: reprise log RUN STEP --full")
		}
		if flags.diff && named[1] == "" {
			return misuse("--diff shows what the attempts at a step changed: reprise log RUN STEP --diff")
		}
		return a.called(cmd.Context(), &flags.dir, named[0], func(name string) error { return a.log(cmd.Context(), flags, name, named[1]) })
	}, func() bool { return flags.follow })
	a.folderFlags(cmd, &flags.dir, "schema/log.v1.json, with --timeline schema/timeline.v1.json, with -f schema/follow.v1.json on each line")
	cmd.Flags().BoolVar(&flags.timeline, "timeline", false, "draw attempts and waiting times")
	cmd.Flags().BoolVarP(&flags.follow, "follow", "f", false, "keep printing what is recorded, until the run ends")
	cmd.Flags().BoolVar(&flags.full, "full", false, "with STEP: everything its agents printed")
	cmd.Flags().BoolVar(&flags.diff, "diff", false, "with STEP: what each attempt changed")
	cmd.MarkFlagsMutuallyExclusive("timeline", "follow", "full", "diff")
	return cmd
}

func (a *app) log(ctx context.Context, flags logFlags, arg, step string) error {
	t := a.tender(flags.upkeepFlags)
	found, err := a.judge(ctx, flags.dir, project.JudgeOptions{Full: !flags.follow})
	if err != nil {
		return err
	}
	if arg != "" && len(reprise.Select(found.Runs, arg)) == 0 {
		// It may have been archived; its journal remains.
		if h, err := t.LogOf(arg); err == nil && h != nil {
			return a.showLog(ctx, logged{found.Root, arg, step, h, false}, flags)
		}
	}
	run, err := pick(found.Runs, arg)
	if err != nil {
		return err
	}
	if run == nil {
		return a.noRuns(found, report.Log{Schema: report.LogSchema, Root: found.Root, Entries: []report.LogEntry{}})
	}
	name := reprise.Names(found.Runs)[run]
	if flags.follow {
		return a.follow(ctx, found, run, name, step)
	}
	h, err := t.Log(run)
	if err != nil {
		return err
	}
	return a.showLog(ctx, logged{found.Root, name, step, h, found.Decisions[run].State == reprise.Running}, flags)
}

// logged is a journal, and whether its run is being worked on.
type logged struct {
	root, name, step string
	*upkeep.History
	working bool
}

// showLog shows a journal, or the timeline derived from it.
func (a *app) showLog(ctx context.Context, l logged, flags logFlags) error {
	if l.Damage != nil {
		a.came(reprise.OutcomeUnreadable)
	}
	if flags.timeline {
		doc := a.timeline(l)
		return a.print(doc, func(p *page) { p.timeline(l.name, doc) })
	}
	doc := report.Log{Schema: report.LogSchema, Root: l.root, Layout: l.Run.Layout, ID: l.Run.ID, Path: l.Run.Path, Step: l.step, Entries: []report.LogEntry{}}
	printed := map[int]report.LogEntry{}
	if l.step != "" {
		var err error
		if l.Entries, printed, err = a.ofStep(ctx, l, flags); err != nil {
			return err
		}
	}
	doc.Cost = costOf(journal.Fold(l.Entries).Spent)
	for i, e := range l.Entries {
		entry := logEntry(e)
		entry.Log, entry.Output, entry.Changes = printed[i].Log, printed[i].Output, printed[i].Changes
		doc.Entries = append(doc.Entries, entry)
	}
	if l.Damage != nil {
		doc.Damage = l.Damage.Error()
	}
	return a.print(doc, func(p *page) { p.full = flags.full; p.log(l.name, doc) })
}

// logEntry returns the document of an entry.
func logEntry(e journal.Entry) report.LogEntry {
	entry := report.LogEntry{
		Seq: e.Seq, Generation: e.Generation, At: e.Event.At, Kind: e.Event.Kind,
		Step: e.Event.Step, Question: e.Event.Question, Actor: e.Event.Actor, Text: e.Event.Text, Usage: e.Event.Usage, Session: e.Event.Agent,
		Files: report.Each(e.Files, func(f journal.Touch) string { return f.Path }),
	}
	switch e.Event.Kind {
	case reprise.StepReported:
		entry.Text = reprise.ReportedBy(&e.Event).Note(e.Event.At, e.Source).Word
	case reprise.SessionCheckpoint:
		entry.Text = strings.TrimSuffix(e.Event.Outcome+": "+e.Event.Text, ": ")
	}
	return entry
}

// ofStep returns the entries about a step and, by index, at the last entry of each
// attempt, the attempt's output (all or its end) or its changes.
func (a *app) ofStep(ctx context.Context, l logged, flags logFlags) (entries []journal.Entry, printed map[int]report.LogEntry, err error) {
	began, hide, steps := journal.Fold(l.Entries).Began, a.hide(l.root), []string{}
	printed = map[int]report.LogEntry{}
	last := map[int]int{}
	for _, e := range l.Entries {
		if e.Event.Step == l.step {
			last[e.Event.Attempt] = len(entries)
			entries = append(entries, e)
		} else if e.Event.Step != "" && !slices.Contains(steps, e.Event.Step) {
			steps = append(steps, e.Event.Step)
		}
	}
	if len(entries) == 0 {
		return nil, nil, fail(exitUsage, "there are "+cmp.Or(strings.Join(steps, ", "), "no steps on record"), "no record of a step called %q", l.step)
	}
	if flags.diff {
		show := func(diff string) string { return hide(strings.ToValidUTF8(diff, "\uFFFD")) }
		changes, err := a.tender(flags.upkeepFlags).Changes(ctx, l.History, l.step)
		for attempt, c := range changes {
			printed[last[attempt]] = report.LogEntry{Changes: &report.Changes{
				Attempt: attempt, Commits: report.List(c.Commits), Diff: show(c.Diff), Cut: c.Cut, Left: report.List(c.Left), Now: show(c.Now),
			}}
		}
		return entries, printed, err
	}
	output := project.OutputOf
	if flags.full {
		output = project.AllOutputOf
	}
	for attempt, i := range last {
		if attempt > 0 {
			log, lines := output(l.root, l.Run.Ref, began, l.step, attempt, func(text string) string { return inWords(hide(text)) })
			printed[i] = report.LogEntry{Log: log, Output: lines}
		}
	}
	return entries, printed, nil
}

// inWords reduces an attempt's output to the agent's words and calls. Output that is not
// an agent CLI's stays as it is.
func inWords(text string) string {
	var w agent.Words
	var out []string
	for line := range strings.Lines(text) {
		out = append(out, w.Line(strings.TrimRight(line, "\r\n")))
	}
	if !w.Heard() {
		return text
	}
	return strings.Join(append(out, w.Rest()), "\n")
}

// log prints a journal, oldest first. Files written for several events are listed with
// the first of them.
func (p *page) log(name string, doc report.Log) {
	if len(doc.Entries) == 0 && doc.Damage == "" {
		p.line("reprise has no record of %s.", plain(name))
		p.line("`reprise check %s` shows what its own files say.", plain(name))
		return
	}
	p.line("%s, %s", plain(name), count(len(doc.Entries), "event"))
	var files []string
	for _, e := range doc.Entries {
		same := slices.Equal(e.Files, files)
		if len(e.Files) > 0 {
			files = e.Files
		}
		if same {
			e.Files = nil // usually those of the previous entry
		}
		p.entry(e)
	}
	if doc.Cost != nil {
		p.used("", "Used in total: ", &doc.Cost.Total)
	}
	if doc.Damage != "" {
		p.line("✗ %s", fit(plain(doc.Damage), p.columns-2))
		p.line("  `reprise repair` shows what can be saved")
	}
}

// entry prints one entry of a journal.
func (p *page) entry(e report.LogEntry) {
	text := e.At.UTC().Format(time.RFC3339) + "  " + strings.ReplaceAll(string(e.Kind), "_", " ")
	if id := plain(cmp.Or(e.Question, e.Step)); id != "" {
		text += " " + id
	}
	if e.Session != "" && (e.Kind == reprise.SessionKnown || e.Kind == reprise.SessionCheckpoint) {
		text += " " + clip(e.Session, 40)
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
	if e.Changes != nil {
		p.changes(e.Changes)
	}
	if !p.full {
		p.output(e.Log, e.Output)
		return
	}
	for _, line := range e.Output {
		p.para("      | ", line, linesAll)
	}
}

// changes prints what an attempt changed.
func (p *page) changes(c *report.Changes) {
	if len(c.Commits)+len(c.Left) == 0 {
		p.line("      No commit or leftover file is on record for attempt %d.", c.Attempt)
	}
	for _, commit := range c.Commits {
		p.line("      commit %s", plain(commit))
	}
	p.diff(c.Diff)
	if c.Cut {
		p.line("      It changed more than is shown: git show %s", plain(c.Commits[len(c.Commits)-1]))
	}
	for _, f := range c.Left {
		p.line("      left uncommitted: %s", fit(plain(f), p.columns-24))
	}
	p.diff(c.Now)
}
