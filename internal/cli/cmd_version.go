package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"reprise/report"
)

func (a *app) newVersion() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version and what it was built from",
		Example: "  reprise version\n  reprise version --json",
		Args:    args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			if v := ownVersion(); a.json {
				return a.writeJSON(a.out, v)
			}
			fmt.Fprintln(a.out, versionLine())
			return nil
		},
	}
	cmd.Flags().BoolVar(&a.json, "json", false, "print JSON (schema/version.v1.json)")
	return cmd
}

// ownVersion returns this program's version from its build info. Nothing is set at link
// time, so builds made elsewhere report correctly too.
func ownVersion() report.Version {
	v := report.Version{Schema: report.VersionSchema, Version: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.time":
			v.Time = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

// versionLine returns the version on one line.
func versionLine() string {
	v := ownVersion()
	line := "reprise " + v.Version
	if v.Revision != "" {
		line += ", commit " + v.Revision[:min(12, len(v.Revision))]
	}
	if v.Modified {
		line += " with changes"
	}
	return line + ", " + v.Go + ", " + v.Platform
}
