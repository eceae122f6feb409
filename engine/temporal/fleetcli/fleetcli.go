// Package fleetcli is the command line of the fleet: the same words, exit codes and
// documents as that of reprise.
package fleetcli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"sync/atomic"
	"syscall"

	"github.com/spf13/cobra"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/temporal"

	"reprise"
	"reprise/engine/temporal"
	"reprise/internal/cli"
	"reprise/report"
	"reprise/settings"
)

// app is what the commands share.
type app struct {
	out, err io.Writer
	dir      string
	json     bool
	began    bool // a command was understood
	code     int
}

// Main runs the program and returns its exit code.
func Main(args []string, out, errOut io.Writer) int {
	a := &app{}
	root := a.root(out, errOut)
	root.SetArgs(args)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	var ended atomic.Bool // by SIGTERM
	go func() {
		ended.Store(<-signals == syscall.SIGTERM)
		cancel()
	}()
	var code int
	if err := root.ExecuteContext(ctx); err != nil && ctx.Err() != nil {
		code = a.failed(&interruptedError{err})
	} else if err != nil {
		code = a.failed(err)
	} else {
		code = a.code
	}
	if code == interrupted && ended.Load() {
		return terminated
	}
	return code
}

// Exit codes of reprise that the program needs by itself.
const (
	misused     = 2
	needsAnswer = 12
	interrupted = 130
	terminated  = 143
)

// interruptedError says that a person ended a command before it was done. What failed by that is
// of no use to anyone.
type interruptedError struct{ error }

func (e *interruptedError) Error() string { return "interrupted before it was done" }

// Hint says what a person can do.
func (e *interruptedError) Hint() string {
	return "type the same command again, which does nothing twice"
}

// root is the command that has all others.
func (a *app) root(out, errOut io.Writer) *cobra.Command {
	a.out, a.err = out, errOut
	root := &cobra.Command{
		Use: "reprise-fleet", Short: "Carry runs of reprise on many machines", SilenceErrors: true, SilenceUsage: true,
		Long: "reprise-fleet carries runs of reprise on many machines. A Temporal server says who does\n" +
			"what; git holds everything else (docs/how-to/fleet.md). TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE\n" +
			"and Temporal's other variables, or its profile file, name the server.\n\n" +
			"Exit codes are those of `reprise`.",
	}
	root.PersistentPreRun = func(*cobra.Command, []string) { a.began = true }
	root.PersistentFlags().StringVarP(&a.dir, "dir", "C", ".", "the clone of the project")
	root.AddCommand(a.worker(), a.run(), a.resume(), a.status(), a.answer(), a.stop())
	root.SetOut(out)
	root.SetErr(errOut)
	return root
}

// failed says what went wrong and returns the exit code.
func (a *app) failed(err error) int {
	code, hint := cli.ExitCode(err), ""
	var app *sdk.ApplicationError
	var unknown *temporal.UnknownRunError
	var nothing *temporal.UnknownFlowError
	var other *temporal.OtherRunError
	var several *temporal.SeveralError
	var clone *temporal.NoCloneError
	var remote *temporal.RemoteError
	var untold *temporal.UntoldError
	var workers *temporal.NoWorkerError
	var none *serviceerror.NotFound
	var namespace *serviceerror.NamespaceNotFound
	var cut *interruptedError
	switch {
	case errors.As(err, &cut):
		code = interrupted
	case !a.began:
		code = misused
	case temporal.Unreachable(err):
		code = 40
		if gone, is := errors.AsType[*temporal.GoneError](err); is {
			hint = gone.Hint()
		} else if _, started := errors.AsType[*temporal.StartError](err); !started {
			hint = "is it running? TEMPORAL_ADDRESS says where; the run's branch tells the rest without it"
		}
		err = asked(err)
	case errors.As(err, &namespace):
		code, hint = misused, "TEMPORAL_NAMESPACE names it; `temporal operator namespace create --namespace NAME` makes one"
		err = fmt.Errorf("ask the server at %s: %w", temporal.Address(), err)
	case errors.As(err, &untold), errors.As(err, &workers):
		code = 40
	case errors.As(temporal.Told(err), &remote):
		code, err = 40, remote
	case errors.As(err, &unknown), errors.As(err, &nothing), errors.As(err, &other), errors.As(err, &several), errors.As(err, &clone), errors.As(err, &none):
		code = 2
	case errors.As(err, &app):
		fmt.Sscanf(app.Type(), "exit-%d", &code)
		_ = app.Details(&hint) // an earlier worker gives none
		err = errors.New(app.Message())
	}
	if hint == "" {
		hint = reprise.HintOf(err)
	}
	if a.json {
		_ = json.NewEncoder(a.err).Encode(report.Error{Schema: report.ErrorSchema, Message: err.Error(), Hint: hint, Exit: code})
		return code
	}
	if problems, is := errors.AsType[settings.Problems](err); is {
		// Each shows its line with a mark under it, harmless already.
		for _, p := range problems {
			fmt.Fprintf(a.err, "reprise-fleet: %s\n", p.String())
		}
		return code
	}
	fmt.Fprintf(a.err, "reprise-fleet: %s\n", cli.Plain(err.Error()))
	if hint != "" {
		fmt.Fprintf(a.err, "  %s\n", cli.Plain(hint))
	}
	return code
}

// asked says in our words why the server could not be reached.
func asked(err error) error {
	if start, started := errors.AsType[*temporal.StartError](err); started {
		return &temporal.StartError{Run: start.Run, Err: temporal.Asked(start.Err)}
	}
	return temporal.Asked(err)
}

// open connects to the server and finds the clone.
func (a *app) open(ctx context.Context) (*temporal.Fleet, error) {
	return a.openWith(ctx, temporal.Dial)
}

func (a *app) openWith(ctx context.Context, dial func(name string) (client.Client, error)) (*temporal.Fleet, error) {
	dir, err := filepath.Abs(a.dir)
	if err != nil {
		return nil, err
	}
	c, err := dial(identity())
	if err != nil {
		return nil, err
	}
	return temporal.Open(ctx, c, dir)
}

func identity() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s-%d", host, os.Getpid())
}
