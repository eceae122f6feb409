package fleetcli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"reprise"
	"reprise/engine/temporal"
	"reprise/internal/cli"
	"reprise/report"
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
			waits := time.AfterFunc(stopQuietly, func() { a.waits(cmd.Context(), fleet, args[0]) })
			err = fleet.Stop(cmd.Context(), args[0])
			waits.Stop()
			over, is := errors.AsType[*temporal.OverError](err)
			if err != nil && !is || is && over.State == reprise.Complete.String() {
				return err
			}
			here, _ := os.Getwd() // else the commands name the clone
			way, wayErr := fleet.WayBack(cmd.Context(), args[0], here)
			if is {
				over.Back = way
				return err
			}
			fmt.Fprintf(a.out, "Stopped. `reprise-fleet resume %s` continues it.\n", reprise.Pasted(args[0], "RUN"))
			if wayErr == nil {
				fmt.Fprintf(a.out, "Or on one machine, in a checkout: `%s`.\n", way)
			}
			return wayErr
		},
	}
}

// stopQuietly is for how long a stop says nothing.
const stopQuietly = 3 * time.Second

// waits says what a stop waits for.
func (a *app) waits(ctx context.Context, fleet *temporal.Fleet, run string) {
	r := fleet.Run(ctx, run)
	fmt.Fprintln(a.err, "Waiting until its agents have ended and a worker has put on the branch what they left:")
	for _, line := range cli.FleetLines(&report.Fleet{Runs: []report.FleetRun{r}}, time.Now()) {
		fmt.Fprintln(a.err, "  "+line)
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
