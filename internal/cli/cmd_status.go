package cli

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"reprise"
	"reprise/convention"
	"reprise/project"
	"reprise/report"
)

type statusFlags struct {
	layouts []string
	all     bool
	ignored bool
}

func (a *app) newStatus() *cobra.Command {
	var flags statusFlags
	cmd := &cobra.Command{
		Use:   "status [PATH]",
		Short: "List every run in a project: state, progress, age, next step",
		Long: "List every workflow that ever ran in a folder, in the order in which one would\n" +
			"resume them. Reads the files of five layouts and changes nothing.",
		Example: "  reprise status\n  reprise status ../shop --json\n  reprise status --layout autoclaude --all",
		Args:    args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			return a.status(cmd, dir, flags)
		},
	}
	cmd.Flags().BoolVar(&a.json, "json", false, "print JSON (schema/status.v1.json)")
	cmd.Flags().StringSliceVar(&flags.layouts, "layout", nil, "look for runs of these layouts only: "+strings.Join(convention.Names(), ", "))
	cmd.Flags().BoolVar(&flags.all, "all", false, "show finished, stopped and not yet started runs and every finding")
	cmd.Flags().BoolVar(&flags.ignored, "ignored", false, "look into vendored folders and those git ignores, too")
	_ = cmd.RegisterFlagCompletionFunc("layout", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return convention.Names(), cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}

// args turns a mistake in the arguments into a usage error.
func args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, list []string) error {
		if err := check(cmd, list); err != nil {
			return usageError{err}
		}
		return nil
	}
}

func (a *app) status(cmd *cobra.Command, dir string, flags statusFlags) error {
	root, below := projectFolder(dir)
	res, err := a.judge(cmd.Context(), root, project.JudgeOptions{Options: project.Options{Layouts: flags.layouts, Ignored: flags.ignored}})
	if err != nil {
		return err
	}
	if below != "" {
		res.Runs = under(res.Runs, below)
	}
	return a.showStatus(res, flags)
}

func (a *app) showStatus(res *project.Judgement, flags statusFlags) error {
	if nothingCode(res.Result) == exitUnreadable {
		a.code = exitUnreadable
	}
	if a.json {
		return a.writeJSON(a.out, report.NewStatus(res.Root, res.Runs, res.Decisions, res.Findings))
	}
	now, err := a.now()
	if err != nil {
		return err
	}
	columns, colour := a.terminal(a.out)
	v := view{w: a.out, columns: columns, colour: colour && a.colours(), now: now, all: flags.all}
	if len(res.Runs) == 0 {
		v.nothing(res.Result)
		return nil
	}
	v.status(res)
	return nil
}

// projectFolder finds the folder to read when somebody points into a state
// folder: the one that holds it. below is the part of it that was meant.
func projectFolder(dir string) (root, below string) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return dir, ""
	}
	rest := filepath.ToSlash(abs)
	parts := strings.Split(rest, "/")
	for i, part := range parts {
		if !strings.HasPrefix(part, ".") {
			continue
		}
		for _, mark := range convention.Marks() {
			if part == mark {
				top := strings.Join(parts[:i], "/")
				if top == "" {
					top = "/"
				}
				return filepath.FromSlash(top), strings.Join(parts[i:], "/")
			}
		}
	}
	return dir, ""
}

func under(runs []*reprise.Run, below string) []*reprise.Run {
	var out []*reprise.Run
	for _, r := range runs {
		if r.Path == below || strings.HasPrefix(r.Path, below+"/") || strings.HasPrefix(below, r.Path+"/") {
			out = append(out, r)
		}
	}
	return out
}

// runError is returned for an argument that names no run, or several.
type runError struct {
	arg  string
	hits []string
	all  []string
}

// Error implements error.
func (e *runError) Error() string {
	if len(e.hits) == 0 {
		return fmt.Sprintf("no run is called %q", e.arg)
	}
	return fmt.Sprintf("%q means %d runs", e.arg, len(e.hits))
}

// Hint lists the names that would do.
func (e *runError) Hint() string {
	names := e.hits
	if len(names) == 0 {
		names = e.all
	}
	if len(names) == 0 {
		return "there are no runs here; `reprise status` looks for them"
	}
	more := ""
	if len(names) > 8 {
		names, more = names[:8], ", …"
	}
	return "say one of: " + strings.Join(names, ", ") + more
}
