package fleetcli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	sdk "go.temporal.io/sdk/temporal"
	"golang.org/x/term"

	"reprise"
	"reprise/engine"
	"reprise/engine/temporal"
	"reprise/internal/cli"
	"reprise/report"
)

// follows are the flags of commands that start a workflow and follow it.
type follows struct {
	temporal.Run
	detach  bool
	wait    bool
	ignored []string
}

func (f *follows) add(a *app, cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&a.json, "json", false, "print JSON (schema/summary.v1.json)")
	flags.BoolVar(&f.detach, "detach", false, "return as soon as the run is on the server")
	flags.BoolVar(&f.wait, "wait", false, "follow it through usage limits and outages instead of ending with code 75")
	flags.StringVar(&f.Choice.Until, "until", "", "stop once this step is closed")
	within(cmd, "parallel", "run up to `N` steps at once, 1 to 64 (default: what the settings say)", &f.Parallel, strconv.Atoi, 1, 64)
	within(cmd, "landings", fmt.Sprintf("after how many landed attempts, `N`, the history on the server begins anew (default %d, or as before)", temporal.DefaultLandings), &f.Landings, strconv.Atoi, 1, 10_000)
	within(cmd, "heartbeat", fmt.Sprintf("how long a worker may be silent before it counts as lost, as `TIME` (default %s, or as before)", temporal.DefaultHeartbeat), &f.Heartbeat, time.ParseDuration, time.Second, 24*time.Hour)
}

// within adds a flag whose value lies between two others.
func within[T int | time.Duration](cmd *cobra.Command, name, usage string, to *T, parse func(string) (T, error), least, most T) {
	cmd.Flags().Func(name, usage, func(text string) error {
		v, err := parse(text)
		if err != nil || v < least || v > most {
			return fmt.Errorf("it can be %v to %v", least, most)
		}
		*to = v
		return nil
	})
}

func (a *app) run() *cobra.Command {
	var f follows
	var id, path string
	cmd := &cobra.Command{
		Use: "run KIND|FILE [GOAL…]", Short: "Start a workflow on the fleet and follow it", Args: cobra.MinimumNArgs(1),
		Long: "Start a workflow on the fleet, from what is committed in the clone, and follow it until it\n" +
			"is finished or left. It works on the branch reprise/ID of the remote. KIND and FILE are\n" +
			"those of `reprise run`. Where the same was begun and is not over, that continues, unless --id\n" +
			"names another one.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if id != "" {
				if err := cli.CheckID(args[0], id); err != nil {
					return err
				}
			}
			fleet, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			defer fleet.Client.Close()
			if err := fleet.Reach(cmd.Context()); err != nil {
				return err
			}
			goal := reprise.Goal{Text: strings.Join(args[1:], " "), ID: id, Path: path}
			if f.Choice.Until != "" {
				if err := fleet.CheckUntil(cmd.Context(), args[0], goal, f.Choice.Until); err != nil {
					return err
				}
			}
			begun, err := fleet.Begin(cmd.Context(), args[0], goal)
			if f.Ref, f.ignored = begun.Ref, begun.Ignored; err != nil {
				return a.over(fleet, f.Ref, err)
			}
			return a.takeUp(cmd.Context(), fleet, f, engine.Choice{})
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
			"clone is handed over first, as it is committed here.",
		RunE: func(cmd *cobra.Command, args []string) error {
			fleet, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			defer fleet.Client.Close()
			name, err := fleet.Name(cmd.Context(), args[0], true)
			if err != nil {
				return err
			}
			if f.Ref, err = fleet.Find(cmd.Context(), name); err != nil {
				return err
			}
			if err := a.unchanged(cmd, fleet, &f); err != nil {
				return err
			}
			return a.takeUp(cmd.Context(), fleet, f, f.Choice)
		},
	}
	f.add(a, cmd)
	cmd.Flags().StringVar(&f.Choice.Option, "option", "", "how to continue: an `OPTION` of plain resume")
	cmd.Flags().StringVar(&f.Choice.From, "from", "", "begin again at this step or stage")
	cmd.Flags().StringArrayVar(&f.Choice.Skip, "skip", nil, "pass over this step (can be repeated)")
	return cmd
}

// unchanged refuses flags that say what a run is to do, where that run is at work already,
// and says which others have no effect on it. To try now is what one that waits for a limit can be told.
func (a *app) unchanged(cmd *cobra.Command, fleet *temporal.Fleet, f *follows) error {
	given := func(names ...string) (out []string) {
		for _, name := range names {
			if cmd.Flags().Changed(name) {
				out = append(out, "--"+name)
			}
		}
		return out
	}
	does, others := given("until", "option", "from", "skip"), given("parallel", "landings", "heartbeat")
	if len(does)+len(others) == 0 {
		return nil
	}
	open, err := fleet.Open(cmd.Context(), f.Ref.ID)
	if err != nil || !open {
		return err
	}
	if f.Choice.Option == reprise.OptionNow && len(does) == 1 {
		f.Choice.Option, does = "", nil
		if err := fleet.TryNow(cmd.Context(), f.Ref); err != nil {
			return err
		}
	}
	if len(does) > 0 {
		return &temporal.AtWorkError{Run: f.Ref.ID, Flags: does}
	}
	if len(others) == 0 {
		return nil
	}
	fmt.Fprintf(a.err, "%s is at work already: %s has no effect on it.\n", cli.Plain(f.Ref.ID), strings.Join(others, ", "))
	return nil
}

// takeUp has the fleet take a run up that is to go on in a way, and follows it.
func (a *app) takeUp(ctx context.Context, fleet *temporal.Fleet, f follows, c engine.Choice) error {
	begun, err := fleet.Resume(ctx, f.Ref, c)
	f.ignored = append(f.ignored, begun.Ignored...)
	if err = a.goesOn(ctx, fleet, f, err); temporal.Unreachable(err) {
		return &temporal.StartError{Run: f.Ref.ID, Err: err}
	} else if err != nil {
		return a.over(fleet, f.Ref, err)
	}
	return a.follow(ctx, fleet, f)
}

// over is why a run cannot be taken up; that nothing is left of it is what came of it, as a document.
func (a *app) over(fleet *temporal.Fleet, ref reprise.Ref, err error) error {
	if _, is := errors.AsType[*temporal.OverError](err); !is || !a.json {
		return err
	}
	sum := a.summary(fleet, ref)
	a.code = cli.ExitCode(err)
	sum.State, sum.Action, sum.Reasons, sum.Next, sum.Exit = reprise.Complete, reprise.Finish, []string{err.Error()}, "", a.code
	return json.NewEncoder(a.out).Encode(sum)
}

// goesOn is why a run cannot be resumed. One that is at work is only followed: whether it is
// over is for its workflow to say.
func (a *app) goesOn(ctx context.Context, fleet *temporal.Fleet, f follows, err error) error {
	var over *temporal.OverError
	if errors.As(err, &over) {
		if open, asked := fleet.Open(ctx, f.Ref.ID); asked != nil || open {
			return asked
		}
	}
	return err
}

// follow starts the workflow of a run, says what happens, and at last what came of it.
func (a *app) follow(ctx context.Context, fleet *temporal.Fleet, f follows) error {
	run, err := fleet.Start(ctx, f.Run)
	if err != nil {
		return &temporal.StartError{Run: f.Ref.ID, Err: err}
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
	go a.tell(ctx, fleet, f, over, asks)
	go func() { ended <- run.Get(ctx, &sum) }()
	select {
	case s := <-asks:
		if len(s.Questions) == 0 {
			return a.limited(fleet, f.Ref, s)
		}
		return a.asked(fleet, f.Ref, s)
	case err = <-ended:
	}
	fleet.Track(ctx, f.Ref.ID)
	switch {
	case ctx.Err() != nil:
		a.code = interrupted
		fmt.Fprintf(a.err, "It goes on without you: `reprise-fleet resume %[1]s` follows it, `reprise-fleet stop %[1]s` stops it.\n", reprise.Pasted(f.Ref.ID, "RUN"))
		if sum = a.summary(fleet, f.Ref); a.json {
			sum.Exit = interrupted
			return json.NewEncoder(a.out).Encode(sum)
		}
		return nil
	case sdk.IsCanceledError(err):
		a.code = interrupted
		sum.State, sum.Action, sum.Reasons, sum.Ended, sum.Exit = reprise.Interrupted, reprise.Start, []string{"it was stopped"}, time.Now().UTC(), interrupted
		if a.json {
			return json.NewEncoder(a.out).Encode(sum)
		}
		fmt.Fprintf(a.out, "%s was stopped. Next: %s\n", cli.Plain(sum.ID), sum.Next)
		return nil
	case temporal.Unreachable(err):
		return &temporal.StartError{Run: f.Ref.ID, Err: err}
	case err != nil:
		return err
	}
	a.code, sum.Root = sum.Exit, filepath.Join(fleet.Clone, fleet.Folder)
	// The server has null for a list without anything.
	sum.Finished, sum.Failed = append([]report.WorkStep{}, sum.Finished...), append([]report.WorkStep{}, sum.Failed...)
	if words := strings.Fields(sum.Next); len(words) > 1 && words[0] == "reprise" { // the clone does not have the run
		here, _ := os.Getwd()
		if sum.Next, err = fleet.Look(ctx, words[1], f.Ref.ID, here); err != nil {
			return err
		}
	}
	if a.json {
		return json.NewEncoder(a.out).Encode(sum)
	}
	for _, s := range sum.Finished {
		fmt.Fprintf(a.out, "  ✓ %s\n", cli.Plain(s.ID))
	}
	for _, s := range sum.Failed {
		fmt.Fprintf(a.out, "  ✗ %s\n", cli.Plain(fmt.Sprintf("%s  attempt %d: %s", s.ID, s.Attempt, s.Text)))
	}
	fmt.Fprintf(a.out, "%s: %s\n", cli.Plain(sum.ID), temporal.StateOf(&sum))
	for _, why := range sum.Reasons {
		fmt.Fprintf(a.out, "  - %s\n", cli.Plain(why))
	}
	for _, f := range sum.Findings {
		fmt.Fprintf(a.out, "  ! %s\n", cli.Plain(fmt.Sprintf("%s [%s]", f.Message, f.Code)))
	}
	if sum.Next != "" {
		fmt.Fprintf(a.out, "Next: %s\n", cli.Plain(sum.Next))
	}
	return nil
}

// summary is the document about a run of which nothing more is known yet.
func (a *app) summary(fleet *temporal.Fleet, ref reprise.Ref) report.Summary {
	now := time.Now().UTC()
	return report.Summary{
		Schema: report.SummarySchema, Started: now, Ended: now, Root: filepath.Join(fleet.Clone, fleet.Folder), Layout: ref.Layout, ID: ref.ID, Path: ref.Path, Kind: string(ref.Kind), State: reprise.Running, Action: reprise.Wait,
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

// limited leaves a run that waits for a limit: it stays on the server, and goes on by itself
// once that ends.
func (a *app) limited(fleet *temporal.Fleet, ref reprise.Ref, s temporal.State) error {
	a.code = cli.OutcomeCode(reprise.OutcomeWait)
	sum, until := a.summary(fleet, ref), s.Until
	sum.Next += " --wait"
	if !a.json {
		words := engine.UntilWords(until)
		if s.Account != "" {
			words += ", which closed the account " + s.Account
		}
		fmt.Fprintf(a.out, "%s %s; it goes on by itself after that, and `reprise-fleet resume %s --option %s` tries before. Next: %s\n", cli.Plain(ref.ID), cli.Plain(words), reprise.Pasted(ref.ID, "RUN"), reprise.OptionNow, sum.Next)
		return nil
	}
	sum.State, sum.Reasons, sum.Until, sum.Exit = reprise.Waiting, []string{engine.UntilWords(until)}, &until, a.code
	return json.NewEncoder(a.out).Encode(sum)
}

// attended reports whether a person sees the output and can answer meanwhile.
func (a *app) attended() bool {
	out, is := a.out.(*os.File)
	return is && !a.json && term.IsTerminal(int(out.Fd()))
}

// worthWords is from when on a wait is told, worthSilence how often in a row no worker answers before
// that is.
const (
	worthWords   = 5 * time.Second
	worthSilence = 3
)

// tell says what is at work, whenever that changes, and hands it to asks if nothing goes on
// before an answer and no one is there to see that, or before a limit ends that is not waited
// for.
func (a *app) tell(ctx context.Context, fleet *temporal.Fleet, f follows, over <-chan struct{}, asks chan<- temporal.State) {
	id, said, silent := f.Ref.ID, map[string]bool{}, 0
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
		r, s, err := fleet.Run(ctx, id)
		if _, none := errors.AsType[*temporal.NoWorkerError](err); none {
			if silent++; silent == worthSilence {
				say("silent", "%s: %s", id, r.Problem)
			}
		}
		if err != nil {
			continue
		}
		now := time.Now()
		silent = 0
		for _, w := range r.AtWork {
			attempt := fmt.Sprintf("%s  attempt %d", w.Step, w.Attempt)
			switch {
			case w.Lost:
				say("lost "+attempt, "%s lost its worker", attempt)
			case w.Ended:
			case w.Worker != "":
				say("work "+attempt, "%s is at work on %s", attempt, w.Worker)
			case now.Sub(w.Since) > worthWords && w.Waits != "":
				say("none "+attempt+w.Waits, "%s waits for a worker: %s", attempt, w.Waits)
			case now.Sub(w.Since) > worthWords:
				say("none "+attempt, "%s waits for a worker", attempt)
			}
		}
		for _, q := range s.Questions {
			say(fmt.Sprint("asks ", q.ID, q.AskedAt), "%s asks: %s%s (reprise-fleet answer %s --question %s --text '…')", q.ID, q.Text, cli.OptionWords(q.Options), id, q.ID)
		}
		limited := s.Limited(now)
		if len(s.AtWork)+s.Answering == 0 && s.Until.Sub(now) > worthWords {
			say(fmt.Sprint("waits ", s.Until), "%s %s", id, engine.WaitWords(s.Until, now))
		}
		if s.Asks() && !a.attended() || limited && !f.wait && len(s.Questions) == 0 {
			asks <- s
			return
		}
	}
}
