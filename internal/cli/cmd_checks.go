package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"reprise/examine"
	"reprise/report"
)

func (a *app) newChecks() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "checks",
		Short: "List what check looks at, with the code of each finding and what it means",
		Long: "List every check that `reprise check` makes: the stable code of its findings,\n" +
			"their usual severity, and what they mean. A blocking finding must be resolved\n" +
			"before a run goes on; a warning is to be looked at; info is worth knowing.",
		Example: "  reprise checks\n  reprise checks --json",
		Args:    args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			if a.json {
				return a.writeJSON(a.out, checksDocument())
			}
			columns, colour := a.terminal(a.out)
			f := face{view: view{w: a.out, columns: columns, colour: colour && a.colours()}}
			f.checks(examine.Checks())
			return nil
		},
	}
	cmd.Flags().BoolVar(&a.json, "json", false, "print JSON (schema/checks.v1.json)")
	return cmd
}

func checksDocument() report.Checks {
	doc := report.Checks{Schema: report.ChecksSchema, Checks: []report.CheckDoc{}}
	for _, c := range examine.Checks() {
		doc.Checks = append(doc.Checks, report.CheckDoc{Code: c.Code, Severity: c.Severity, Doc: c.Doc})
	}
	return doc
}

// checks prints the table of all checks; on a narrow terminal the sentence
// stands below its code.
func (f *face) checks(list []examine.Check) {
	code := len("CODE")
	for _, c := range list {
		code = max(code, len(c.Code))
	}
	if f.columns < code+60 {
		for _, c := range list {
			f.marked("", marks[c.Severity], severityColours[c.Severity], fmt.Sprintf("%s (%s)", c.Code, c.Severity), linesTitle)
			f.para("    ", c.Doc, 100)
		}
		return
	}
	f.line("%s", f.paint("1", fmt.Sprintf("  %s  %s  %s", pad("CODE", code), "SEVERITY", "WHAT IT MEANS")))
	for _, c := range list {
		lead := fmt.Sprintf("%s  %s  ", pad(c.Code, code), pad(c.Severity.String(), 8))
		for i, l := range wrap(c.Doc, f.columns-2-width(lead)) {
			if i == 0 {
				f.line("%s %s%s", f.paint(severityColours[c.Severity], marks[c.Severity]), lead, l)
				continue
			}
			f.line("  %s%s", strings.Repeat(" ", width(lead)), l)
		}
	}
}
