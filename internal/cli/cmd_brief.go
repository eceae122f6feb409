package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"reprise"
	"reprise/briefing"
	"reprise/convention"
	"reprise/internal/durable"
	"reprise/journal"
	"reprise/project"
	"reprise/report"
)

func (a *app) newBrief() *cobra.Command {
	var flags upkeepFlags
	reader := ""
	cmd := &cobra.Command{
		Use:   "brief [RUN]",
		Short: "Print a briefing on a run, for a new session that takes it over",
		Long: "Write a briefing from evidence: the goal, what is verified done and what is only\n" +
			"claimed, what is in progress, unknown or changed since, the next step and what to\n" +
			"leave alone. Every statement has its source; text from state files is quoted as\n" +
			"data. At most 10,000 characters. Changes nothing.\n\n" +
			"Without RUN: what was interrupted here, runs and agent sessions, in at most 1,200\n" +
			"bytes, the most urgent first. Where nothing was interrupted it prints nothing, so a\n" +
			"hook can always call it.\n\n" +
			"Exit code: 0, 3 if the named run is finished, 10 or 11 if something contradicts that\n" +
			"it is, 40 if files cannot be read.",
		Example: "  reprise brief\n  reprise brief 4.2 --for codex\n  reprise brief 004 --for claude | claude -p",
	}
	a.oneRun(cmd, &flags.dir, func(ctx context.Context, name string) error { return a.brief(ctx, flags, name, reader) })
	a.folderFlags(cmd, &flags.dir, "schema/brief.v1.json")
	cmd.Flags().StringVar(&reader, "for", "", "the CLI that will read it: "+strings.Join(briefing.CLIs(), ", "))
	completes(cmd, "for", briefing.CLIs()...)
	return cmd
}

func (a *app) brief(ctx context.Context, flags upkeepFlags, arg, reader string) error {
	if reader != "" && !slices.Contains(briefing.CLIs(), reader) {
		return misuse("--for is %q; it can be %s", reader, strings.Join(briefing.CLIs(), ", "))
	}
	found, err := a.judge(ctx, flags.dir, project.JudgeOptions{Full: true})
	if err != nil {
		return err
	}
	list, err := candidates(found, arg)
	if err != nil {
		return err
	}
	if arg == "" {
		list = interrupted(found, false)
	}
	notice := a.notice(found, false)
	empty := report.Brief{Schema: report.BriefSchema, Root: found.Root, For: reader, Sections: []report.BriefSection{}, Notes: []string{}}
	switch {
	case arg == "" && notice.Text() != "":
		return a.briefed(found, list, notice, empty)
	case len(list) == 0 && found.Nothing() == reprise.OutcomeNothing:
		return a.print(empty, func(*page) {})
	case len(list) == 0:
		return a.noRuns(found, empty)
	case list[0].d.Action == reprise.Finish:
		a.came(list[0].d.Outcome())
		return a.print(empty, func(p *page) { p.headline(list[0]) })
	}
	in, err := a.briefingOf(found, list[0], flags)
	if err != nil {
		return err
	}
	in.For = reader
	b := briefing.Make(in)
	if a.json {
		return a.writeJSON(a.out, report.Brief{
			Schema: report.BriefSchema, Root: found.Root, Layout: b.Run.Layout, ID: b.Run.ID, For: b.For, Sections: report.List(b.Sections), Notes: report.List(b.Notes), Text: b.Text(),
		})
	}
	_, err = fmt.Fprint(a.out, b.Text())
	return err
}

// briefed prints what was interrupted in a folder. As JSON it has the sections of the most urgent
// run as well.
func (a *app) briefed(found *project.Judgement, list []judged, notice briefing.Notice, doc report.Brief) error {
	if doc.Text = notice.Text(); !a.json {
		_, err := fmt.Fprint(a.out, doc.Text)
		return err
	}
	if len(list) > 0 {
		in, err := a.briefingOf(found, list[0], upkeepFlags{dir: found.Root})
		if err != nil {
			return err
		}
		in.For, in.Others = doc.For, notice.Runs[1:]
		b := briefing.Make(in)
		doc.Layout, doc.ID, doc.Sections, doc.Notes = b.Run.Layout, b.Run.ID, report.List(b.Sections), report.List(b.Notes)
	}
	return a.writeJSON(a.out, doc)
}

// briefingOf collects the input for a run's briefing.
func (a *app) briefingOf(found *project.Judgement, j judged, flags upkeepFlags) (briefing.Input, error) {
	in := briefing.Input{Run: j.run, Decision: j.d, Observed: j.o}
	h, err := a.tender(flags).Log(j.run)
	if err != nil {
		return in, err
	}
	in.Journal = report.Each(h.Entries, func(e journal.Entry) briefing.Recorded { return briefing.Recorded{Seq: e.Seq, Event: e.Event} })
	store, err := durable.Open(found.Root, durable.Options{AllowNetwork: true, Adopt: true})
	if err != nil {
		return in, err
	}
	if book, err := convention.Playbook(j.run.Layout, j.run.Kind); err == nil {
		if g, ok := book.(reprise.Goaler); ok {
			in.Goal = g.GoalOf(store, j.run)
		}
	}
	return in, nil
}
