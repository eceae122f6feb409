package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"reprise"
	"reprise/engine"
	"reprise/internal/proc"
	"reprise/internal/tui"
	"reprise/report"
	"reprise/settings"
)

// workFlags are what the commands that start agents take.
type workFlags struct {
	upkeepFlags
	mode     string
	until    string
	parallel atOnce
	orphans  bool
	trust    bool
	wait     bool
}

var modes = []string{string(engine.Autopilot), string(engine.Interactive), string(engine.Preflight)}

func (f *workFlags) add(a *app, cmd *cobra.Command) {
	f.upkeepFlags.add(a, cmd, "one object on each line: schema/progress.v1.json, at last schema/summary.v1.json")
	flags := cmd.Flags()
	flags.StringVar(&f.mode, "mode", "", strings.Join(modes, ", ")+" (default: the one the run was started in, else interactive)")
	flags.StringVar(&f.until, "until", "", "stop once this step is closed")
	flags.Var(&f.parallel, "parallel", "steps at the same time, 1 to 64 (default: what the settings say)")
	flags.BoolVar(&f.orphans, "stop-orphans", false, "stop agents that a dead engine left running instead of waiting for them")
	flags.BoolVar(&f.trust, "trust", false, "trust the project's reprise.yaml and the workflow file as they are now: their commands are started")
	flags.BoolVar(&f.wait, "wait", false, "sleep through usage limits instead of ending with code 75")
	_ = cmd.RegisterFlagCompletionFunc("mode", cobra.FixedCompletions(modes, cobra.ShellCompDirectiveNoFileComp))
}

// atOnce is how many steps may be at work at the same time, 0 where nobody said: the
// bounds are those of the settings.
type atOnce int

// Set implements pflag.Value.
func (n *atOnce) Set(text string) error {
	i, err := strconv.Atoi(text)
	if err != nil || i < 1 || i > 64 {
		return errors.New("it can be 1 to 64")
	}
	*n = atOnce(i)
	return nil
}

// String implements pflag.Value.
func (n *atOnce) String() string { return strconv.Itoa(int(*n)) }

// Type implements pflag.Value.
func (n *atOnce) Type() string { return "int" }

func (f *workFlags) check() error {
	if f.mode != "" && !slices.Contains(modes, f.mode) {
		return usageError{fmt.Errorf("--mode is %q; it can be %s", f.mode, strings.Join(modes, ", "))}
	}
	return nil
}

// shift is one piece of work on a project, from its first signal handler to its
// summary.
type shift struct {
	*app
	flags workFlags
	root  string // absolute
	below string // the part of its state that somebody stands in
	ctx   context.Context
	hard  chan struct{}
	// trusts gives what the person trusts, read once: what they trust for a dry run
	// counts for this shift alone.
	trusts func() (*settings.Trust, error)

	mu     sync.Mutex
	signal os.Signal // the first that came; SIGPIPE if the output was closed before
	board  *board
	screen *tui.Screen
	plain  *lineLog
	run    string
	// opening is what a person is shown first, once the engine goes on: before
	// that it may still refuse.
	opening func()
	done    map[string][2]int // steps done and in all, by run
}

// work lets f work with signals in order: the first asks to stop, the second
// ends everything at once. An output that nobody reads any more asks to stop, too.
func (a *app) work(ctx context.Context, flags workFlags, f func(s *shift) error) error {
	a.outlive()
	root, below := projectFolder(flags.dir)
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	if err := a.isPerson(flags.upkeepFlags); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &shift{app: a, flags: flags, root: root, below: below, ctx: ctx, hard: make(chan struct{}), done: map[string][2]int{}}
	s.trusts = sync.OnceValues(func() (*settings.Trust, error) { return settings.OpenTrust(settings.TrustFile(a.env)) })
	signals := make(chan os.Signal, 4)
	// SIGQUIT is a second Ctrl-C on the keyboard; a dump of our stack helps nobody.
	signal.Notify(signals, heeded(os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGHUP)...)
	defer signal.Stop(signals)
	over := make(chan struct{})
	defer close(over)
	go func() {
		unread, asked := a.unread, false
		for {
			select {
			case <-unread:
				// No signal of a person's: one that comes now is the first.
				unread = nil
				if !asked {
					s.stopping(syscall.SIGPIPE)
					cancel()
				}
			case sig := <-signals:
				switch {
				case !asked:
					asked = true
					s.stopping(sig)
					cancel()
				case sig != syscall.SIGHUP: // of one hang-up the shell and the terminal both tell
					s.say("Stopping at once.")
					close(s.hard)
					return
				}
			case <-over:
				return
			}
		}
	}()
	err = f(s)
	if errors.Is(err, context.Canceled) {
		a.code = s.signalCode()
		return nil
	}
	return err
}

// heeded are the signals of these that whoever started us did not have ignored: nohup
// does that with one, a shell with those of the keyboard where it starts a job in the
// background of a script. SIGTERM is always one.
func heeded(signals ...os.Signal) []os.Signal {
	return slices.DeleteFunc(signals, func(sig os.Signal) bool { return sig != syscall.SIGTERM && signal.Ignored(sig) })
}

func (s *shift) stopping(sig os.Signal) {
	s.mu.Lock()
	s.signal = sig
	board := s.board
	s.mu.Unlock()
	why, then := "Stopping", "nothing is at work"
	if sig == syscall.SIGPIPE {
		why = "Stopping, since nobody reads the output any more"
	}
	if board != nil && board.active() {
		then = "the step is ended cleanly and stays open"
	}
	text := why + ": " + then + "."
	if sig != syscall.SIGPIPE {
		text += " Once more stops at once."
	}
	s.say(text)
}

// signalCode is the exit code for the signal that stopped us.
func (s *shift) signalCode() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return signalCode(s.signal)
}

func signalCode(sig os.Signal) int {
	switch sig {
	case syscall.SIGTERM, syscall.SIGHUP:
		return exitTerminated
	case syscall.SIGPIPE:
		return exitUnread
	}
	return exitInterrupt
}

func (s *shift) stopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.signal != nil
}

// say tells a person something of ours while the work goes on.
func (s *shift) say(text string) {
	s.mu.Lock()
	board, screen := s.board, s.screen
	s.mu.Unlock()
	switch {
	case screen != nil:
		board.setHint(text)
		screen.Refresh()
	case !s.json:
		fmt.Fprintln(s.err, text)
	}
}

// clock gives the time for work. REPRISE_NOW sets where it begins; it goes on
// from there, since pauses are waited for.
func (a *app) clock() (func() time.Time, error) {
	begin, err := a.now()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	if a.env("REPRISE_NOW") == "" {
		return time.Now, nil
	}
	return func() time.Time { return begin.Add(time.Since(start)) }, nil
}

// carry resumes a run and shows it while it is worked on.
func (s *shift) carry(e *engine.Engine, j judged, c engine.Choice) (*engine.Summary, error) {
	s.run = j.run.ID
	s.show(e, j)
	defer s.hide()
	return e.Resume(s.ctx, j.run.Ref, c)
}

// show begins to show a run: a live view on a terminal, lines elsewhere,
// objects for programs.
func (s *shift) show(e *engine.Engine, j judged) {
	board := newBoard(j.run, e.Now)
	if signal.Ignored(os.Interrupt) {
		board.hint = ""
	}
	board.reply = "`" + s.answerCommand(j.run.Kind, j.name) + "`"
	s.mu.Lock()
	s.board = board
	s.mu.Unlock()
	s.plain = &lineLog{said: map[string]time.Time{}}
	if s.opening == nil {
		s.raise()
	}
	e.Tell = s.tell
	if s.asks() {
		e.Ask = s.ask
	}
}

// raise puts the live view up where there is a terminal for it.
func (s *shift) raise() {
	out, ok := s.out.(*os.File)
	if _, is := s.terminal(s.out); !ok || !is || s.json || !proc.Foreground(out) || s.env("CI") != "" || s.env("TERM") == "dumb" {
		return
	}
	var keys *os.File
	if s.asks() {
		keys = s.in.(*os.File)
	}
	v := view{colour: s.colours()}
	board := s.board
	screen := tui.Open(keys, out, os.Environ(), func(columns, rows int) []string { return board.frame(columns, rows, v.paint) })
	s.mu.Lock()
	s.screen = screen
	s.mu.Unlock()
}

// hide takes the live view down; what stays is printed by the caller.
func (s *shift) hide() {
	s.mu.Lock()
	screen := s.screen
	s.screen = nil
	s.mu.Unlock()
	if screen != nil {
		if err := screen.Close(); err != nil && !errors.Is(err, context.Canceled) {
			fmt.Fprintf(s.err, "reprise: the live view ended: %s\n", plain(err.Error()))
		}
	}
}

// ask is the engine's way to a person. The live view makes room meanwhile.
func (s *shift) ask(ctx context.Context, q reprise.Question) (string, bool) {
	s.mu.Lock()
	live := s.screen != nil
	s.mu.Unlock()
	s.hide()
	answer, ok, err := s.answerTo(ctx, q)
	if err != nil && ctx.Err() == nil {
		fmt.Fprintf(s.err, "reprise: read the answer: %s\n", plain(err.Error()))
	}
	if live {
		s.raise()
	}
	return answer, ok
}

// tell takes in what the engine tells, from several goroutines.
func (s *shift) tell(p engine.Progress) {
	if open := s.opening; open != nil && (p.Kind == engine.Working || p.Kind == engine.Resolved) {
		s.opening = nil
		if !s.json {
			open()
		}
		s.raise()
	}
	s.mu.Lock()
	board, screen := s.board, s.screen
	if p.Done < 0 { // not known where it was said
		p.Done, p.Total = s.done[p.Run][0], s.done[p.Run][1]
	}
	s.done[p.Run] = [2]int{p.Done, p.Total}
	s.mu.Unlock()
	switch {
	case s.json:
		s.mu.Lock()
		defer s.mu.Unlock()
		_ = s.writeLine(progressDocument(p))
	case screen != nil:
		board.tell(s.run, p)
		if p.Kind == engine.Noticed && p.Text != "" {
			v := view{colour: s.colours()}
			columns, _ := s.terminal(s.out)
			screen.Print(v.paint("33", "!") + " " + fit(noticeWords(p), columns-2))
		}
		screen.Refresh()
	default:
		board.tell(s.run, p)
		s.mu.Lock()
		defer s.mu.Unlock()
		if line := s.plain.line(s.run, p); line != "" {
			fmt.Fprintln(s.out, line)
		}
	}
}

func progressDocument(p engine.Progress) report.WorkProgress {
	return report.WorkProgress{
		Schema: report.ProgressSchema, Kind: string(p.Kind), At: p.At.UTC(), Run: p.Run, Step: p.Step, Title: p.Title, Role: p.Role, Attempt: p.Attempt,
		Outcome: p.Outcome, Text: p.Text, Until: report.When(p.Until), Seconds: p.Took.Seconds(), Done: p.Done, Total: p.Total, Log: p.Log,
	}
}
