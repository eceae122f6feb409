package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"reprise/doctor"
	"reprise/report"
)

func (a *app) newDoctor() *cobra.Command {
	dir := "."
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Tell what works on this machine and in this project, and what would not",
		Long: "Look for the agent CLIs and their versions, git, the file system of the state folder,\n" +
			"processes and settings, and say what would not work here, why, and what to do.\n" +
			"Changes nothing, and starts nothing but `--version` of programs and git, to ask it\n" +
			"whether it takes the project for a repository.\n\n" +
			"Exit code: 0 all is fine, 10 something is limited, 11 something essential is missing.",
		Example: "  reprise doctor\n  reprise doctor --json",
		Args:    args(cobra.NoArgs),
		RunE: a.guarded(func(cmd *cobra.Command, _ []string) error {
			return a.doctor(cmd.Context(), dir)
		}),
	}
	cmd.Flags().BoolVar(&a.json, "json", false, "print JSON (schema/doctor.v1.json)")
	cmd.Flags().StringVarP(&dir, "dir", "C", ".", "the project folder")
	return cmd
}

func (a *app) doctor(ctx context.Context, dir string) error {
	root, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if _, err := os.Stat(root); err != nil {
		return err
	}
	checks := doctor.Look(ctx, doctor.Options{Dir: root, Environ: os.Environ(), Getenv: a.env})
	checks = append(checks, a.ownTerminal())
	switch doctor.Worst(checks) {
	case doctor.Limited:
		a.code = exitCaution
	case doctor.Missing:
		a.code = exitBlocked
	}
	system := runtime.GOOS + " on " + runtime.GOARCH
	if a.json {
		doc := report.Doctor{Schema: report.DoctorSchema, Root: root, System: system, Checks: []report.DoctorCheck{}, Exit: a.code}
		for _, c := range checks {
			doc.Checks = append(doc.Checks, report.DoctorCheck{Group: c.Group, Name: c.Name, Level: string(c.Level), Says: c.Says, Means: c.Means, Do: c.Do})
		}
		return a.writeJSON(a.out, doc)
	}
	columns, colour := a.terminal(a.out)
	f := face{view: view{w: a.out, columns: columns, colour: colour && a.colours()}}
	f.banner("reprise on this machine: " + system)
	f.checkups(checks)
	f.gap()
	f.say(doctorWords[a.code])
	return nil
}

// doctorWords sum up what was found, by exit code.
var doctorWords = map[int]string{
	exitOK:      "Everything works here.",
	exitCaution: "It works here, with the limits above.",
	exitBlocked: "Something essential is missing; see above.",
}

// ownTerminal tells how the work would be shown.
func (a *app) ownTerminal() doctor.Check {
	c := doctor.Check{Group: "terminal", Name: "terminal", Level: doctor.Fine}
	columns, is := a.terminal(a.out)
	switch {
	case !is:
		c.Says = "none: plain lines, and questions wait for `reprise answer`"
	case a.env("TERM") == "dumb" || a.env("CI") != "":
		c.Says = "plain lines, as TERM or CI asks for"
	default:
		c.Says = fmt.Sprintf("%d columns, live view", columns)
	}
	return c
}

// The marks of the levels, and their colours.
var (
	levelMarks   = map[doctor.Level]string{doctor.Fine: "✓", doctor.Absent: "·", doctor.Limited: "!", doctor.Missing: "✗"}
	levelColours = map[doctor.Level]string{doctor.Fine: "32", doctor.Absent: "2", doctor.Limited: "33", doctor.Missing: "31"}
)

// checkups prints what was looked at, group by group.
func (f *face) checkups(checks []doctor.Check) {
	group, wide := "", 0
	for _, c := range checks {
		wide = min(max(wide, width(plain(c.Name))), f.columns/3)
	}
	for _, c := range checks {
		if c.Group != group {
			group = c.Group
			f.gap()
		}
		f.marked("  ", levelMarks[c.Level]+" "+pad(clip(c.Name, wide), wide)+" ", levelColours[c.Level], c.Says, linesMessage)
		below := strings.Repeat(" ", wide+6)
		if c.Means != "" {
			f.para(below, c.Means, linesMessage)
		}
		if c.Do != "" {
			f.para(below+"to do: ", c.Do, linesMessage)
		}
	}
}
