package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"reprise"
	"reprise/internal/durable"
	"reprise/internal/web"
	"reprise/project"
)

type reportFlags struct {
	dir, file string
	svg       bool
}

func (a *app) newReport() *cobra.Command {
	var flags reportFlags
	cmd := &cobra.Command{
		Use:   "report [RUN]",
		Short: "Write everything known about a run to one HTML file",
		Long: "Write the page that `reprise serve` shows of a run to one file, for an issue, a\n" +
			"pull request or a post-mortem: verdict, steps with evidence, timeline, findings\n" +
			"and journal. The file is self-contained and runs no scripts; known secrets are\n" +
			"left out. Without RUN: the run you would resume first or, where there is none, the\n" +
			"agent sessions that were interrupted here. Changes nothing in the project.",
		Example: "  reprise report 004 -o 004.html\n  reprise report 004 --svg > timeline.svg",
	}
	a.oneRun(cmd, &flags.dir, func(ctx context.Context, name string) error { return a.report(ctx, flags, name) })
	f := cmd.Flags()
	f.StringVarP(&flags.dir, "dir", "C", ".", "the project folder")
	f.StringVarP(&flags.file, "output", "o", "", "the `file` to write, or an older report to replace (default: standard output)")
	f.BoolVar(&flags.svg, "svg", false, "the timeline alone, as SVG")
	return cmd
}

func (a *app) report(ctx context.Context, flags reportFlags, arg string) error {
	found, err := a.judge(ctx, flags.dir, project.JudgeOptions{})
	if err != nil {
		return err
	}
	run, err := pick(found.Runs, arg)
	if err != nil {
		return err
	}
	alone := run == nil && !flags.svg && len(found.Sessions(true)) > 0
	if run == nil && !alone {
		return fail(exitNothing, "`reprise status ..` looks one folder up", "there is no run to report on in %s", found.Root)
	}
	hide := a.knownSecrets(found.Root)
	opts := web.Options{Dirs: []string{flags.dir}, Now: a.now, Run: func(ctx context.Context, dir string, args ...string) (string, string, int) {
		out, told, code := a.within(ctx, dir, args...)
		return hide(out), hide(told), code
	}}
	var text []byte
	switch {
	case alone:
		text, err = web.ReportSessions(ctx, opts)
	case flags.svg:
		text, err = web.Timeline(ctx, opts, run.Layout+":"+run.Path)
	default:
		text, err = web.Report(ctx, opts, run.Layout+":"+run.Path)
	}
	if err != nil {
		return err
	}
	if text == nil {
		return fail(exitNothing, "`reprise check` shows what its own files say", "reprise has recorded nothing of %s that a timeline could show", reprise.Names(found.Runs)[run])
	}
	if flags.file == "" {
		_, err := a.out.Write(text)
		return err
	}
	return a.writeReport(flags.file, text)
}

// writeReport writes a report to the named file. It replaces an older report of the same
// kind; any other existing file, or a missing folder, is treated as a mistake.
func (a *app) writeReport(file string, text []byte) error {
	at, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Dir(at)); err != nil {
		return fail(exitUsage, "create the folder first, or name another file", "write %s: %w", file, err)
	}
	done := "written"
	err = durable.Rewrite(at, 0o644, func(old []byte) ([]byte, error) {
		if old != nil {
			done = "replaced"
		}
		if len(old) > 0 && !web.Replaces(text, old) {
			return nil, fail(exitUsage, "name another file, or remove it first", "the file exists and is not an unedited report of `reprise report`")
		}
		return text, nil
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(a.err, "%s %s, %d kB\n", plain(file), done, (len(text)+999)/1000)
	return nil
}
