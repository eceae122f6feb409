package fleetcli

import (
	"encoding/json"
	"fmt"
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
			fmt.Fprintf(a.out, "Stopped. `reprise-fleet resume %[1]s` continues it, or here: `git fetch origin && git checkout %[2]s && reprise resume %[1]s --adopt`.\n", reprise.Pasted(args[0], "RUN"), temporal.Branch(args[0]))
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
