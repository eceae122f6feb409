// Package fleetcli is the command line of the fleet: the same words, exit codes and
// documents as that of reprise.
package fleetcli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/temporal"
	"golang.org/x/term"

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
	if err := root.ExecuteContext(ctx); err != nil {
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
	var several *temporal.SeveralError
	var untold *temporal.UntoldError
	var none *serviceerror.NotFound
	switch {
	case !a.began:
		code = misused
	case temporal.Unreachable(err):
		code, hint = 40, "is it running? TEMPORAL_ADDRESS says where; the run's branch tells the rest without it"
	case errors.As(err, &untold):
		code = 40
	case errors.As(err, &unknown), errors.As(err, &nothing), errors.As(err, &several), errors.As(err, &none):
		code = 2
	case errors.As(err, &app):
		fmt.Sscanf(app.Type(), "exit-%d", &code)
		err = errors.New(app.Message())
	}
	var h interface{ Hint() string }
	if hint == "" && errors.As(err, &h) {
		hint = h.Hint()
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
	flags.IntVar(&o.Slots, "parallel", 1, "steps at the same time")
	flags.StringSliceVar(&o.Roles, "role", nil, "roles it offers (default: all that this machine has agents for)")
	flags.BoolVar(&o.Trust, "trust", false, "start whatever commands the remote's branches name")
	return cmd
}

// follows are the flags of commands that start a workflow and follow it.
type follows struct {
	temporal.Run
	detach  bool
	ignored []string
}

func (f *follows) add(a *app, cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&a.json, "json", false, "print JSON (schema/summary.v1.json)")
	flags.BoolVar(&f.detach, "detach", false, "return as soon as the run is on the server")
	flags.StringVar(&f.Choice.Until, "until", "", "stop once this step is closed")
	flags.IntVar(&f.Parallel, "parallel", 0, "steps at the same time (default: what the settings say)")
	flags.IntVar(&f.Landings, "landings", temporal.DefaultLandings, "after how many landed attempts the history on the server begins anew")
	flags.DurationVar(&f.Heartbeat, "heartbeat", temporal.DefaultHeartbeat, "how long a worker may be silent before it counts as lost")
}

func (a *app) run() *cobra.Command {
	var f follows
	var id, path string
	cmd := &cobra.Command{
		Use: "run KIND|FILE [GOAL…]", Short: "Start a workflow on the fleet and follow it", Args: cobra.MinimumNArgs(1),
		Long: "Start a workflow on the fleet, from what is committed in the clone, and follow it until it\n" +
			"is finished or left. It works on the branch reprise/ID of the remote. KIND and FILE are\n" +
			"those of `reprise run`. Where the same was begun without a name and is not over, that continues.",
		RunE: func(cmd *cobra.Command, args []string) error {
			fleet, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			defer fleet.Client.Close()
			begun, err := fleet.Begin(cmd.Context(), args[0], reprise.Goal{Text: strings.Join(args[1:], " "), ID: id, Path: path})
			if err != nil {
				return err
			}
			if _, err := fleet.HandOver(cmd.Context(), begun.Ref); err != nil {
				return err
			}
			f.Ref, f.ignored = begun.Ref, begun.Ignored
			return a.follow(cmd.Context(), fleet, f)
		},
	}
	f.add(a, cmd)
	cmd.Flags().StringVar(&id, "id", "", "the name of the run (default: one is made)")
	for _, name := range []string{"story", "epic", "spec", "path"} {
		cmd.Flags().StringVar(&path, name, "", "the file it is about")
	}
	cmd.MarkFlagsMutuallyExclusive("story", "epic", "spec", "path")
	return cmd
}

func (a *app) resume() *cobra.Command {
	var f follows
	cmd := &cobra.Command{
		Use: "resume RUN", Short: "Resume a run on the fleet and follow it", Args: cobra.ExactArgs(1),
		Long: "Resume a run on the fleet, where it stands on its branch. A run that was begun in this\n" +
			"clone is handed over first, with everything that is not committed here.",
		RunE: func(cmd *cobra.Command, args []string) error {
			fleet, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			defer fleet.Client.Close()
			if f.Ref, err = fleet.Find(cmd.Context(), args[0]); err != nil {
				return err
			}
			begun, err := fleet.HandOver(cmd.Context(), f.Ref)
			if err != nil {
				return err
			}
			f.ignored = begun.Ignored
			return a.follow(cmd.Context(), fleet, f)
		},
	}
	f.add(a, cmd)
	cmd.Flags().StringVar(&f.Choice.Option, "option", "", "how to continue, as with `reprise resume`")
	cmd.Flags().StringVar(&f.Choice.From, "from", "", "begin again at this step or stage")
	cmd.Flags().StringArrayVar(&f.Choice.Skip, "skip", nil, "pass over this step (can be repeated)")
	return cmd
}

// follow starts the workflow of a run, says what happens, and at last what came of it.
func (a *app) follow(ctx context.Context, fleet *temporal.Fleet, f follows) error {
	run, err := fleet.Start(ctx, f.Run)
	if err != nil {
		return err
	}
	if !a.json {
		fmt.Fprintf(a.out, "%s is on the fleet, branch %s\n", cli.Plain(f.Ref.ID), temporal.Branch(f.Ref.ID))
	}
	if len(f.ignored) > 0 {
		fmt.Fprintf(a.err, "Git ignores %d of its files, by the project's .gitignore. They are on the branch all the same:\n"+
			"git is all that workers share. To keep them out of other branches, take them out before you merge it:\n"+
			"  git rm -r --cached -- %s\n", len(f.ignored), cli.Quoted(filepath.Join(fleet.Folder, f.Ref.Path)))
	}
	sum := a.summary(fleet, f.Ref)
	if f.detach {
		if a.json {
			return json.NewEncoder(a.out).Encode(sum)
		}
		return nil
	}
	over, asks, ended := make(chan struct{}), make(chan temporal.State, 1), make(chan error, 1)
	defer close(over)
	go a.tell(ctx, fleet, f.Ref.ID, over, asks)
	go func() { ended <- run.Get(ctx, &sum) }()
	select {
	case s := <-asks:
		return a.asked(fleet, f.Ref, s)
	case err = <-ended:
	}
	switch {
	case ctx.Err() != nil:
		a.code = interrupted
		fmt.Fprintf(a.err, "It goes on without you: `reprise-fleet resume %[1]s` follows it, `reprise-fleet stop %[1]s` stops it.\n", reprise.Pasted(f.Ref.ID, "RUN"))
		return nil
	case sdk.IsCanceledError(err):
		a.code = interrupted
		return nil
	case err != nil:
		return err
	}
	a.code, sum.Root = sum.Exit, filepath.Join(fleet.Clone, fleet.Folder)
	if a.json {
		return json.NewEncoder(a.out).Encode(sum)
	}
	for _, s := range sum.Finished {
		fmt.Fprintf(a.out, "  ✓ %s\n", cli.Plain(s.ID))
	}
	for _, s := range sum.Parked {
		fmt.Fprintf(a.out, "  ✗ %s\n", cli.Plain(s))
	}
	fmt.Fprintf(a.out, "%s: %s\n", cli.Plain(sum.ID), sum.State)
	for _, why := range sum.Reasons {
		fmt.Fprintf(a.out, "  - %s\n", cli.Plain(why))
	}
	return nil
}

// summary is the document about a run of which nothing more is known yet.
func (a *app) summary(fleet *temporal.Fleet, ref reprise.Ref) report.Summary {
	return report.Summary{
		Schema: report.SummarySchema, Root: filepath.Join(fleet.Clone, fleet.Folder), Layout: ref.Layout, ID: ref.ID, Path: ref.Path, State: reprise.Running, Action: reprise.Wait,
		Reasons: []string{}, Finished: []report.WorkStep{}, Failed: []report.WorkStep{}, Skipped: []string{}, Parked: []string{}, Left: []string{},
		Questions: []report.Question{}, Findings: []report.Finding{}, Next: "reprise-fleet resume " + reprise.Pasted(ref.ID, "RUN"),
	}
}

// asked leaves a run that waits for a person, where no one is at the terminal: it stays on
// the server, and goes on once it is answered.
func (a *app) asked(fleet *temporal.Fleet, ref reprise.Ref, s temporal.State) error {
	a.code = needsAnswer
	if !a.json {
		fmt.Fprintf(a.out, "%s waits for your answer: `reprise-fleet answer %s`\n", cli.Plain(ref.ID), reprise.Pasted(ref.ID, "RUN"))
		return nil
	}
	sum := a.summary(fleet, ref)
	sum.State, sum.Action, sum.Exit, sum.Next = reprise.Waiting, reprise.Ask, needsAnswer, "reprise-fleet answer "+reprise.Pasted(ref.ID, "RUN")
	for _, q := range s.Questions {
		sum.Questions = append(sum.Questions, q.Question)
	}
	return json.NewEncoder(a.out).Encode(sum)
}

// attended reports whether a person sees the output and can answer meanwhile.
func (a *app) attended() bool {
	out, is := a.out.(*os.File)
	return is && !a.json && term.IsTerminal(int(out.Fd()))
}

// tell says what is at work, whenever that changes, and hands it to asks if nothing goes on
// before an answer and no one is there to see that.
func (a *app) tell(ctx context.Context, fleet *temporal.Fleet, id string, over <-chan struct{}, asks chan<- temporal.State) {
	said := map[string]bool{}
	say := func(key, format string, args ...any) {
		if !said[key] && !a.json {
			said[key] = true
			fmt.Fprintln(a.out, cli.Plain(fmt.Sprintf(format, args...)))
		}
	}
	for {
		select {
		case <-over:
			return
		case <-time.After(time.Second):
		}
		s, err := fleet.State(ctx, id)
		if err != nil {
			continue
		}
		for _, w := range s.AtWork {
			say(fmt.Sprint("work ", w.Name(), w.Number), "%s  attempt %d is at work", w.Name(), w.Number)
		}
		for _, q := range s.Questions {
			say(fmt.Sprint("asks ", q.ID, q.AskedAt), "%s asks: %s (reprise-fleet answer %s --question %s --text '…')", q.ID, q.Text, id, q.ID)
		}
		if s.Asks() && !a.attended() {
			asks <- s
			return
		}
	}
}

func (a *app) answer() *cobra.Command {
	var said cli.Said
	cmd := &cobra.Command{
		Use: "answer [RUN]", Short: "Answer what a run of the fleet asks", Args: cobra.MaximumNArgs(1),
		Long: "Answer what a run of the fleet asks, with the flags of `reprise answer`. The answer is on the\n" +
			"run's branch before this returns. Without an answer it lists what is asked; without RUN it\n" +
			"is about the only run that asks something.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := said.Check(cmd); err != nil {
				return err
			}
			fleet, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			defer fleet.Client.Close()
			run := strings.Join(args, "")
			if run == "" {
				if run, err = fleet.Asking(cmd.Context()); err != nil {
					return err
				}
			}
			return a.give(cmd, fleet, run, said)
		},
	}
	said.Add(cmd)
	cmd.Flags().BoolVar(&a.json, "json", false, "print JSON (schema/answer.v1.json)")
	return cmd
}

// give answers questions, or lists what is asked. run is "" if no run asks anything.
func (a *app) give(cmd *cobra.Command, fleet *temporal.Fleet, run string, said cli.Said) (err error) {
	ctx, s := cmd.Context(), temporal.State{}
	if run != "" {
		if s, err = fleet.State(ctx, run); err != nil {
			return err
		}
	}
	doc := report.Answers{Schema: report.AnswerSchema, Root: fleet.Clone, ID: run, Answered: []string{}, Open: []report.Question{}}
	if len(s.Questions) > 0 {
		var open []reprise.Question
		for i := range s.Questions {
			open = append(open, s.Questions[i].Asked())
		}
		answers, err := said.Answers(open, cmd.InOrStdin())
		if err != nil {
			return err
		}
		for _, question := range slices.Sorted(maps.Keys(answers)) {
			if err := fleet.Answer(ctx, run, question, answers[question]); err != nil {
				return err
			}
			doc.Answered = append(doc.Answered, question)
		}
	}
	for _, q := range s.Questions {
		if !slices.Contains(doc.Answered, q.ID) {
			doc.Open = append(doc.Open, q.Question)
		}
	}
	switch {
	case len(s.Questions) == 0:
		a.code = 3
	case len(doc.Open) > 0:
		a.code = 12
	}
	if a.json {
		return json.NewEncoder(a.out).Encode(doc)
	}
	if len(s.Questions) == 0 {
		fmt.Fprintln(a.out, "Nothing is asked.")
	}
	if len(doc.Answered) > 0 {
		fmt.Fprintln(a.out, cli.Plain("Kept: "+strings.Join(doc.Answered, ", ")+"."))
	}
	for _, q := range doc.Open {
		fmt.Fprintln(a.out, cli.Plain(fmt.Sprintf("%s: %s %q", q.ID, q.Text, q.Options)))
	}
	return nil
}

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
