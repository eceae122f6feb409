package fleetcli

import (
	"encoding/json"
	"fmt"
	"path"
	"time"

	"github.com/spf13/cobra"

	"reprise"
	"reprise/engine/temporal"
	"reprise/internal/cli"
)

func (a *app) stop() *cobra.Command {
	return &cobra.Command{
		Use: "stop RUN", Short: "Stop a run of the fleet; it can be resumed, here or there", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			fleet, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			defer fleet.Client.Close()
			if err := fleet.Stop(cmd.Context(), args[0]); err != nil {
				return err
			}
			name, dir := reprise.Pasted(args[0], "RUN"), reprise.Pasted("../"+path.Base(temporal.Branch(args[0])), "DIR")
			fmt.Fprintf(a.out, "Stopped. `reprise-fleet resume %[1]s` continues it, or in a checkout beside this one: `git fetch origin %[2]s && git worktree add --detach %[3]s FETCH_HEAD && reprise resume %[1]s --adopt -C %[4]s`.\n",
				name, temporal.Branch(args[0]), dir, path.Join(dir, fleet.Folder))
			return nil
		},
	}
}

func (a *app) status() *cobra.Command {
	cmd := &cobra.Command{
		Use: "status", Short: "List the runs of the fleet: which worker has what since when", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			fleet, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			defer fleet.Client.Close()
			runs, err := fleet.List(cmd.Context())
			if err != nil {
				return err
			}
			if a.json {
				e := json.NewEncoder(a.out)
				e.SetIndent("", "  ")
				return e.Encode(runs)
			}
			for _, line := range cli.FleetLines(runs, time.Now()) {
				fmt.Fprintln(a.out, line)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&a.json, "json", false, "print JSON (schema/fleet.v1.json)")
	return cmd
}
