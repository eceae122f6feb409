package cli

import (
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"reprise"
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
		Args:              args(cobra.MaximumNArgs(1)),
		ValidArgsFunction: a.completeRuns(&flags.dir),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.log(cmd, flags, strings.Join(args, ""))
		},
	}
	cmd.Flags().BoolVar(&a.json, "json", false, "print JSON (schema/log.v1.json)")
	cmd.Flags().StringVarP(&flags.dir, "dir", "C", ".", "the project folder")
	return cmd
}

func (a *app) log(cmd *cobra.Command, flags upkeepFlags, arg string) error {
	t, err := a.tender(flags)
	if err != nil {
		return err
	}
	v, err := a.newView()
	if err != nil {
		return err
	}
	j, run, err := a.chosen(cmd.Context(), flags, arg)
	var unknown *runError
	if errors.As(err, &unknown) && len(unknown.hits) == 0 {
		// It may have been archived; its journal stays.
		if h, lookErr := t.LogOf(arg); lookErr == nil && h != nil {
			return a.showLog(v, flags.dir, arg, h)
		}
	}
	if err != nil {
		return err
	}
	if run == nil {
		a.code = nothingCode(j.Result)
		if a.json {
			return a.writeJSON(a.out, report.Log{Schema: report.LogSchema, Root: j.Root, Entries: []report.LogEntry{}})
		}
		v.nothing(j.Result)
		return nil
	}
	h, err := t.Log(run)
	if err != nil {
		return err
	}
	return a.showLog(v, j.Root, reprise.Names(j.Runs)[run], h)
}

func (a *app) showLog(v view, root, name string, h *upkeep.History) error {
	doc := logDocument(root, h)
	if h.Damage != nil {
		a.code = exitUnreadable
	}
	if a.json {
		return a.writeJSON(a.out, doc)
	}
	v.log(name, doc)
	return nil
}

func logDocument(root string, h *upkeep.History) report.Log {
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
	}
	return doc
}

// log prints a journal, oldest first.
func (v *view) log(name string, doc report.Log) {
	if len(doc.Entries) == 0 && doc.Damage == "" {
		v.line("reprise has recorded nothing of %s.", plain(name))
		v.line("What its own files tell: `reprise check %s`", plain(name))
		return
	}
	v.line("%s, %s", plain(name), count(len(doc.Entries), "event"))
	for _, e := range doc.Entries {
		text := e.At.UTC().Format(time.RFC3339) + "  " + strings.ReplaceAll(string(e.Kind), "_", " ")
		id := e.Question
		if id == "" {
			id = e.Step
		}
		if id = plain(id); id != "" {
			text += " " + id
		}
		if e.Actor != "" {
			text += " (" + plain(e.Actor) + ")"
		}
		if said := readable(e.Text); said != "" {
			text += ": " + plain(said)
		}
		v.line("  %s", fit(text, v.columns-2))
		for _, f := range e.Files {
			v.line("      %s", fit("→ "+plain(f), v.columns-6))
		}
	}
	if doc.Damage != "" {
		v.line("✗ %s", fit(plain(doc.Damage), v.columns-2))
		v.line("  `reprise repair` shows what can be saved")
	}
}
