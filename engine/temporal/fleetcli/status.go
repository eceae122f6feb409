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
	"go.temporal.io/sdk/client"

	"reprise"
	"reprise/engine/temporal"
	"reprise/internal/cli"
	"reprise/report"
)

func (a *app) stop() *cobra.Command {
	var within time.Duration
	var gone, lost bool
	cmd := &cobra.Command{
		Use: "stop RUN", Short: "Stop a run of the fleet; it can be resumed, here or there", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			fleet, err := a.open(cmd.Context())
			if gone && temporal.Unreachable(err) {
				return a.giveBack(cmd.Context(), args[0], lost)
			}
			if err != nil {
				return stoppable(args[0], err)
			}
			defer fleet.Client.Close()
			run, err := fleet.Name(cmd.Context(), args[0], false)
			if err != nil {
				return err
			}
			told := make(chan struct{})
			waits := time.AfterFunc(stopQuietly, func() { a.waits(cmd.Context(), fleet, run); close(told) })
			err = fleet.Stop(cmd.Context(), run, within)
			if !waits.Stop() {
				<-told // it asks the server
			}
			over, is := errors.AsType[*temporal.OverError](err)
			if is && over.State == reprise.Complete.String() {
				return errors.Join(err, a.cameBack(cmd.Context(), fleet, run))
			}
			if err != nil && !is {
				return err
			}
			if is {
				over.Back, _ = fleet.WayBack(cmd.Context(), run, cwd())
				return errors.Join(err, a.left(cmd.Context(), fleet, run))
			}
			fmt.Fprintf(a.out, "Stopped. `reprise-fleet resume %s` continues it.\n", reprise.Pasted(run, "RUN"))
			return a.wayBack(cmd.Context(), fleet, run)
		},
	}
	cmd.Flags().BoolVar(&gone, "server-gone", false, "the server will not come back: put on the branch what is pushed, and give the run back without it")
	cmd.Flags().BoolVar(&lost, "lost", false, "with --server-gone: no worker has an attempt any more that has pushed nothing")
	cmd.Flags().DurationVar(&within, "within", time.Minute, "how long to wait until it is stopped; it is told to stop all the same")
	return cmd
}

// cameBack says which copies of a run that is over have what was done, and are no old ones any more.
func (a *app) cameBack(ctx context.Context, fleet *temporal.Fleet, run string) error {
	in, err := fleet.CameBack(ctx, run)
	for _, dir := range in {
		fmt.Fprintf(a.out, "What the fleet did of it is in %s, which is no old copy of it any more.\n", cli.Plain(dir))
	}
	return err
}

// cwd is the current folder, "" if that is not known: commands name the clone then.
func cwd() string {
	here, _ := os.Getwd()
	return here
}

// giveBack gives a run back without the server.
func (a *app) giveBack(ctx context.Context, run string, lost bool) error {
	fleet, err := a.openWith(ctx, func(string) (client.Client, error) { return nil, nil })
	if err != nil {
		return err
	}
	err = fleet.GiveBack(ctx, run, lost)
	switch over, is := errors.AsType[*temporal.OverError](err); {
	case err == nil:
		fmt.Fprintln(a.out, "What was pushed of it is on its branch, and the fleet no longer has it.")
	case !is || over.State == reprise.Complete.String():
		return err
	}
	return errors.Join(err, a.wayBack(ctx, fleet, run))
}

// stoppable is why a run cannot be stopped, with what to do where the server is gone for good.
func stoppable(run string, err error) error {
	if !temporal.Unreachable(err) {
		return err
	}
	return &temporal.GoneError{Run: run, Err: err}
}

// wayBack says how a run is continued on one machine.
func (a *app) wayBack(ctx context.Context, fleet *temporal.Fleet, run string) error {
	way, err := fleet.WayBack(ctx, run, cwd())
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "On one machine, in a checkout: `%s`.\n", way)
	return a.left(ctx, fleet, run)
}

// left says where the work is that attempts left and that is not on the branch.
func (a *app) left(ctx context.Context, fleet *temporal.Fleet, run string) error {
	left, err := fleet.Left(ctx, run)
	for _, l := range left {
		fmt.Fprintf(a.out, "What attempt %d of %s left is not on the branch (files: %d). In the checkout, `git fetch origin %s && git merge --squash FETCH_HEAD` brings it; the fleet does that by itself.\n", l.Number, cli.Plain(l.Step), l.Files, l.Ref)
	}
	return err
}

// stopQuietly is for how long a stop says nothing.
const stopQuietly = 3 * time.Second

// waits says what a stop waits for.
func (a *app) waits(ctx context.Context, fleet *temporal.Fleet, run string) {
	r, _, _ := fleet.Run(ctx, run) // it notes the problem
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
