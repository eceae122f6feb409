package cli

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"reprise"
	"reprise/project"
	"reprise/report"
	"reprise/upkeep"
)

func (a *app) newLog() *cobra.Command {
	var flags upkeepFlags
	cmd := &cobra.Command{
		Use:   "log [RUN]",
		Short: "Show what reprise has recorded of a run",
		Long: "Show the journal of a run: every event that reprise recorded, with the files that\n" +
			"followed it. Changes nothing.",
	}
	a.oneRun(cmd, &flags.dir, func(ctx context.Context, name string) error { return a.log(ctx, flags, name) })
	a.folderFlags(cmd, &flags.dir, "schema/log.v1.json")
	return cmd
}

func (a *app) log(ctx context.Context, flags upkeepFlags, arg string) error {
	t := a.tender(flags)
	found, err := a.judge(ctx, flags.dir, project.JudgeOptions{Full: true})
	if err != nil {
		return err
	}
	if arg != "" && len(reprise.Select(found.Runs, arg)) == 0 {
		// It may have been archived; its journal stays.
		if h, err := t.LogOf(arg); err == nil && h != nil {
			return a.showLog(flags.dir, arg, h)
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
	return a.showLog(found.Root, reprise.Names(found.Runs)[run], h)
}

func (a *app) showLog(root, name string, h *upkeep.History) error {
	doc := report.Log{Schema: report.LogSchema, Root: root, Layout: h.Run.Layout, ID: h.Run.ID, Path: h.Run.Path, Entries: []report.LogEntry{}}
	for _, e := range h.Entries {
		entry := report.LogEntry{
			Seq: e.Seq, Generation: e.Generation, At: e.Event.At, Kind: e.Event.Kind,
			Step: e.Event.Step, Question: e.Event.Question, Actor: e.Event.Actor, Text: e.Event.Text, Files: []string{},
		}
		for _, f := range e.Files {
			entry.Files = append(entry.Files, f.Path)
		}
		doc.Entries = append(doc.Entries, entry)
	}
	if h.Damage != nil {
		doc.Damage = h.Damage.Error()
		a.came(reprise.OutcomeUnreadable)
	}
	return a.print(doc, func(p *page) { p.log(name, doc) })
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
	}
	if doc.Damage != "" {
		p.line("✗ %s", fit(plain(doc.Damage), p.columns-2))
		p.line("  `reprise repair` shows what can be saved")
	}
}
