package fleetcli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"reprise"
	"reprise/engine/temporal"
	"reprise/internal/cli"
	"reprise/report"
)

func (a *app) stop() *cobra.Command {
	var within time.Duration
	cmd := &cobra.Command{
		Use: "stop RUN", Short: "Stop a run of the fleet; it can be resumed, here or there", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			fleet, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			defer fleet.Client.Close()
			run, err := fleet.Name(cmd.Context(), args[0], false)
			if err != nil {
				return err
			}
			waits := time.AfterFunc(stopQuietly, func() { a.waits(cmd.Context(), fleet, run) })
			err = fleet.Stop(cmd.Context(), run, within)
			waits.Stop()
			over, is := errors.AsType[*temporal.OverError](err)
			if err != nil && !is || is && over.State == reprise.Complete.String() {
				return err
			}
			here, _ := os.Getwd() // else the commands name the clone
			way, wayErr := fleet.WayBack(cmd.Context(), run, here)
			if is {
				over.Back = way
				return err
			}
			fmt.Fprintf(a.out, "Stopped. `reprise-fleet resume %s` continues it.\n", reprise.Pasted(run, "RUN"))
			if wayErr == nil {
				fmt.Fprintf(a.out, "Or on one machine, in a checkout: `%s`.\n", way)
			}
			return wayErr
		},
	}
	cmd.Flags().DurationVar(&within, "within", time.Minute, "how long to wait until it is stopped; it is told to stop all the same")
	return cmd
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
		Use: "status [RUN]", Short: "List the runs of the fleet: which worker has what since when", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			fleet, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			defer fleet.Client.Close()
			begin := strings.Join(args, "")
			runs, err := fleet.List(cmd.Context(), begin)
			if err == nil && begin != "" && len(runs.Runs) == 0 {
				err = fleet.Unknown(cmd.Context(), begin)
			}
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
