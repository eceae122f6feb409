package fleetcli

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"reprise/engine/temporal"
	"reprise/internal/cli"
)

func (a *app) worker() *cobra.Command {
	var o temporal.WorkerOptions
	cmd := &cobra.Command{
		Use: "worker", Short: "Take part in the runs of a repository", Args: cobra.NoArgs,
		Long: "Take part in the runs of a repository until a signal comes: decide, land, and carry out\n" +
			"the steps of the roles that this machine has agents for. Commands of the project are\n" +
			"started if they are trusted in the clone (`reprise trust`), or with --trust. It waits for a\n" +
			"server or a remote that cannot be reached.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := a.openWith(cmd.Context(), temporal.DialLater)
			if err != nil {
				return err
			}
			defer f.Client.Close()
			o.Remote, o.Clone, o.Folder = f.Remote, f.Clone, f.Folder
			if o.Name == "" {
				o.Name = identity()
			}
			if o.Dir == "" {
				cache, err := os.UserCacheDir()
				if err != nil {
					return err
				}
				o.Dir = filepath.Join(cache, "reprise-fleet", strings.ReplaceAll(temporal.Identity(f.Remote), "/", "_"))
			}
			o.Tell = func(format string, args ...any) { fmt.Fprintln(a.err, cli.Plain(fmt.Sprintf(format, args...))) }
			return temporal.Work(cmd.Context(), f.Client, o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Dir, "work", "", "the folder that the worker has for itself (default: one in the user's cache)")
	flags.StringVar(&o.Name, "name", "", "how the worker is called (default: host and process)")
	o.Slots = 1
	within(cmd, "parallel", "take up to `N` steps at the same time, of all roles together, 1 to 64 (default 1)", &o.Slots, strconv.Atoi, 1, 64)
	flags.StringSliceVar(&o.Roles, "role", nil, "roles it offers (default: all that this machine has agents for)")
	flags.BoolVar(&o.Trust, "trust", false, "start whatever commands the remote's branches name")
	return cmd
}
