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
		Short: "Show what works on this machine and in this project, and what does not",
		Long: "Check the agent CLIs and their versions, git, the file system of the state folder,\n" +
			"processes and settings, and say what does not work here, why, and what to do.\n" +
			"Changes nothing. Starts only git, and other programs with `--version`.\n\n" +
			"Exit code: 0 all is fine, 10 something is limited, 11 something essential is\n" +
			"missing.",
		Example: "  reprise doctor\n  reprise doctor --json",
		Args:    args(cobra.NoArgs),
		RunE:    a.guarded(func(cmd *cobra.Command, _ []string) error { return a.doctor(cmd.Context(), dir) }),
	}
	a.folderFlags(cmd, &dir, "schema/doctor.v1.json")
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
	checks := append(doctor.Look(ctx, doctor.Options{Dir: root, Environ: os.Environ(), Getenv: a.env}), a.ownTerminal())
	worst := doctor.Worst(checks)
	a.came(worst.Outcome())
	doc := report.Doctor{Schema: report.DoctorSchema, Root: root, System: runtime.GOOS + " on " + runtime.GOARCH, Exit: a.code}
	doc.Checks = report.Each(checks, func(c doctor.Check) report.DoctorCheck {
		return report.DoctorCheck{Group: c.Group, Name: c.Name, Level: string(c.Level), Says: c.Says, Means: c.Means, Do: c.Do}
	})
	return a.print(doc, func(p *page) {
		p.banner("reprise on this machine: " + doc.System)
		p.checkups(checks)
		p.gap()
		p.say(levelWords[worst])
	})
}

// ownTerminal reports how work would be displayed.
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
	levelColours = map[doctor.Level]string{doctor.Fine: green, doctor.Absent: faint, doctor.Limited: yellow, doctor.Missing: red}
)

// levelWords summarize the result.
var levelWords = map[doctor.Level]string{
	doctor.Fine: "Everything works here.", doctor.Absent: "Everything works here.",
	doctor.Limited: "It works here, with the limits above.", doctor.Missing: "Something essential is missing; see above.",
}

// checkups prints what was examined, by group.
func (p *page) checkups(checks []doctor.Check) {
	group, wide := "", min(p.columns/3, widest(checks, func(c doctor.Check) string { return plain(c.Name) }))
	below := strings.Repeat(" ", wide+6)
	for _, c := range checks {
		if c.Group != group {
			group = c.Group
			p.gap()
		}
		p.marked("  ", levelMarks[c.Level]+" "+pad(clip(c.Name, wide), wide)+" ", levelColours[c.Level], c.Says, linesMessage)
		if c.Means != "" {
			p.para(below, c.Means, linesMessage)
		}
		if c.Do != "" {
			p.para(below+"to do: ", c.Do, linesMessage)
		}
	}
}
