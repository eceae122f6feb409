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
	"reprise/internal/notify"
	"reprise/internal/otlp"
	"reprise/internal/proc"
	"reprise/internal/tui"
	"reprise/project"
	"reprise/report"
	"reprise/settings"
	"reprise/upkeep"
)

// workFlags are the flags of the commands that start agents.
type workFlags struct {
	upkeepFlags
	mode     string
	until    string
	parallel int // 0 means as configured
	orphans  bool
	trust    bool
	consent  string // the flag that grants trust, "" for --trust
	wait     bool
}

var modes = []string{string(engine.Autopilot), string(engine.Interactive), string(engine.Preflight)}

func (f *workFlags) add(a *app, cmd *cobra.Command) {
	f.upkeepFlags.add(a, cmd, "one object per line: schema/progress.v1.json, last schema/summary.v1.json")
	flags := cmd.Flags()
	flags.StringVar(&f.mode, "mode", "", strings.Join(modes, ", ")+" (default: the one the run was started in, else interactive)")
	flags.StringVar(&f.until, "until", "", "stop once this step is closed")
	flags.Func("parallel", "run up to `N` steps at once, 1 to 64 (default: what the settings say)", func(text string) (err error) {
		if f.parallel, err = strconv.Atoi(text); err != nil || f.parallel < 1 || f.parallel > 64 {
			err = errors.New("it can be 1 to 64") // the limits of the settings
		}
		return err
	})
	flags.BoolVar(&f.orphans, "stop-orphans", false, "stop agents that a dead engine left running instead of waiting for them")
	flags.BoolVar(&f.trust, "trust", false, "trust the project's reprise.yaml and the workflow file as they are now: their commands are started")
	flags.BoolVar(&f.wait, "wait", false, "sleep through usage limits and outages instead of ending with code 75")
	completes(cmd, "mode", modes...)
}

func (f *workFlags) check() error {
	if f.mode != "" && !slices.Contains(modes, f.mode) {
		return misuse("--mode is %q; it can be %s", f.mode, strings.Join(modes, ", "))
	}
	return nil
}

// modeOf returns the mode for a run: the requested one, else the one it was started in,
// else interactive.
func (f *workFlags) modeOf(started string) engine.Mode {
	for _, mode := range []string{f.mode, started} {
		if slices.Contains(modes, mode) {
			return engine.Mode(mode)
		}
	}
	return engine.Interactive
}

// job is one piece of work on a project, from its first signal handler to its summary.
type job struct {
	*app
	flags workFlags
	root  string // absolute
	below string // the part of its state that the command was called in
	ctx   context.Context
	hard  chan struct{} // closed to end everything at once
	// trusts returns what the user trusts, read once: what they trust for a dry run
	// counts for this job alone.
	trusts func() (*settings.Trust, error)

	mu     sync.Mutex
	board  *board
	screen *tui.Screen
	lines  *lineLog
	run    string
	// opening is shown first, once the engine starts something; until then it may still
	// refuse.
	opening func()
	done    map[string]reprise.Progress // by run
	// foretold is the forecast last shown to the person; see ahead.
	foretold string
	// notices notifies a person who is elsewhere, nil for no one; told are the notices
	// already sent.
	notices *notify.Notifier
	told    map[string]bool
	// traces are sent if the environment names a collector; nil if not.
	traces *otlp.Exporter
}

// work runs f with signal handling: the first signal asks to stop, the second ends
// everything at once. Output whose reader is gone also asks to stop.
func (a *app) work(ctx context.Context, flags workFlags, f func(s *job) error) error {
	a.outlive()
	root, below := a.locate(flags.dir)
	if a.around != "" && !a.json {
		fmt.Fprintf(a.err, "In %s, the project around this folder:\n", plain(a.around))
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	if err := a.isPerson(flags.upkeepFlags); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := a.newJob(ctx, root, below, flags)
	signals := make(chan os.Signal, 4)
	// SIGQUIT is a second Ctrl-C from the keyboard; a stack dump helps no one.
	signal.Notify(signals, heeded(os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGHUP)...)
	defer signal.Stop(signals)
	over := make(chan struct{})
	defer close(over)
	go s.obey(signals, over, cancel)
	err = f(s)
	s.notices.Close()
	if errors.Is(err, context.Canceled) {
		a.code = a.interruptCode()
		return nil
	}
	return err
}

func (a *app) newJob(ctx context.Context, root, below string, flags workFlags) *job {
	s := &job{app: a, flags: flags, root: root, below: below, ctx: ctx, hard: make(chan struct{}), done: map[string]reprise.Progress{}}
	s.trusts = sync.OnceValues(func() (*settings.Trust, error) {
		trust, err := settings.OpenTrust(settings.TrustFile(a.env))
		if err == nil {
			for _, p := range trust.Problems() {
				fmt.Fprintf(s.err, "! %s\n", plain(p.String()))
			}
		}
		return trust, err
	})
	return s
}

// obey acts on signals until the job is over.
func (s *job) obey(signals <-chan os.Signal, over <-chan struct{}, stop func()) {
	unread, asked := s.unread, false
	for {
		select {
		case <-unread:
			// Not a signal from a person: one that comes now is the first.
			unread = nil
			if !asked {
				s.stopping(syscall.SIGPIPE)
				stop()
			}
		case sig := <-signals:
			switch {
			case !asked:
				asked = true
				s.stopping(sig)
				stop()
			case sig != syscall.SIGHUP: // for one hang-up, both the shell and the terminal send a signal
				s.say("Stopping at once.")
				close(s.hard)
				return
			}
		case <-over:
			return
		}
	}
}

// heeded returns those of the signals that our parent did not ignore: nohup ignores one,
// and a shell those of the keyboard if it starts a background job in a script. SIGTERM is
// always included.
func heeded(signals ...os.Signal) []os.Signal {
	return slices.DeleteFunc(signals, func(sig os.Signal) bool { return sig != syscall.SIGTERM && signal.Ignored(sig) })
}

func (s *job) stopping(sig os.Signal) {
	s.signal.Store(&sig)
	board, _ := s.view()
	why, then, more := "Stopping", "nothing is at work", " Once more stops at once."
	if sig == syscall.SIGPIPE {
		why, more = "Stopping, the output was closed", ""
	}
	if board != nil && board.active() {
		then = "the step is ended cleanly and stays open"
	}
	s.say(why + ": " + then + "." + more)
}

// view returns what shows the work: nil for what there is not, or not now.
func (s *job) view() (*board, *tui.Screen) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.board, s.screen
}

// say shows a message while the work continues.
func (s *job) say(text string) {
	board, screen := s.view()
	switch {
	case screen != nil:
		board.setHint(text)
		screen.Refresh()
	case !s.json:
		fmt.Fprintln(s.err, text)
	}
}

// elsewhere refuses to change a run whose journal is in another folder, or whose files
// are in another checkout: nothing of it is written here.
func (s *job) elsewhere(verb string, j judged) error {
	f, is := project.Elsewhere(s.root, []*reprise.Run{j.run}, s.clock())[j.run]
	for _, told := range j.run.Findings { // including those about copies in other checkouts
		if !is && told.Code == reprise.CodeElsewhere && told.Severity == reprise.Blocking {
			f, is = told, true
		}
	}
	if !is {
		return nil
	}
	err, hint := &upkeep.ElsewhereError{Op: verb, Finding: f}, f.Hint
	if f.Code == reprise.CodeElsewhere {
		hint = fmt.Sprintf("do it there: `reprise %s %s -C %s`", verb, reprise.Pasted(f.There, "RUN"), reprise.Pasted(f.Source.File, "DIR"))
	}
	return &failure{code: ExitCode(err), err: err, hint: hint}
}

// answerCommand returns the command that answers a run's questions.
func (s *job) answerCommand(kind reprise.Kind, name string, open []reprise.Question) string {
	if kind.Facts().Stories { // each asks for itself
		return s.command("answer", "--list")
	}
	return s.replies(name, open)
}

// show begins to show a run: a live view on a terminal, lines elsewhere, objects for
// programs.
func (s *job) show(e *engine.Engine, j judged) {
	board := newBoard(j.run, e.Now)
	if signal.Ignored(os.Interrupt) {
		board.hint = ""
	}
	board.reply = "`" + s.answerCommand(j.run.Kind, j.name, nil) + "`"
	s.mu.Lock()
	s.board = board
	s.mu.Unlock()
	s.run, s.lines = j.run.ID, &lineLog{said: map[string]time.Time{}}
	if s.opening == nil {
		s.raise()
	}
	e.Tell = s.tell
}

// raise starts the live view if there is a terminal for it.
func (s *job) raise() {
	keys, out, ok := s.screenFiles()
	if !ok {
		return
	}
	p, board := s.page(s.out), s.board
	screen := tui.Open(keys, out, os.Environ(), func(columns, rows int) []string { return board.frame(columns, rows, p.paint) })
	s.mu.Lock()
	s.screen = screen
	s.mu.Unlock()
}

// screenFiles returns the terminal for a live view, with its keyboard if there is one. ok
// is false if plain lines or objects are wanted.
func (a *app) screenFiles() (keys, out *os.File, ok bool) {
	out, ok = a.out.(*os.File)
	if _, is := a.terminal(a.out); !ok || !is || a.json || !proc.Foreground(out) || a.env("CI") != "" || a.env("TERM") == "dumb" {
		return nil, nil, false
	}
	if a.asks() {
		keys = a.in.(*os.File)
	}
	return keys, out, true
}

// hide removes the live view; the caller prints what stays.
func (s *job) hide() {
	s.mu.Lock()
	screen := s.screen
	s.screen = nil
	s.mu.Unlock()
	if screen == nil {
		return
	}
	if err := screen.Close(); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintf(s.err, "reprise: the live view ended: %s\n", plain(err.Error()))
	}
}

// ask lets the engine ask a person. The live view makes room meanwhile.
func (s *job) ask(ctx context.Context, q reprise.Question) (string, bool) {
	_, screen := s.view()
	s.hide()
	s.noteQuestion(s.run, q.Subject, q.Text)
	answer, ok, err := s.answerTo(ctx, q)
	if err != nil && ctx.Err() == nil {
		fmt.Fprintf(s.err, "reprise: read the answer: %s\n", plain(err.Error()))
	}
	if screen != nil {
		s.raise()
	}
	return answer, ok
}

// tell receives the engine's reports, from several goroutines.
func (s *job) tell(p engine.Progress) {
	if open := s.opening; open != nil && (p.Kind == engine.Working || p.Kind == engine.Resolved) {
		s.opening = nil
		if !s.json {
			open()
		}
		s.raise()
	}
	s.mu.Lock()
	board, screen := s.board, s.screen
	if p.Done < 0 { // unknown where it was reported
		last := s.done[p.Run]
		p.Done, p.Total, p.Skipped = last.Done, last.Total, last.Skipped
	}
	s.done[p.Run] = reprise.Progress{Done: p.Done, Total: p.Total, Skipped: p.Skipped}
	s.mu.Unlock()
	s.note(p)
	if p.Kind == engine.Ended || p.Kind == engine.Resolved {
		s.traces.Flush()
	}
	if s.json {
		s.tellProgram(p)
		return
	}
	board.tell(s.run, p)
	if screen != nil {
		if p.Kind == engine.Noticed && p.Text != "" {
			page := s.page(s.out)
			screen.Print(page.paint(yellow, "!") + " " + fit(noticeWords(p), page.columns-2))
		}
		screen.Refresh()
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if line := s.lines.line(s.run, p); line != "" {
		fmt.Fprintln(s.out, line)
	}
}

// tellProgram writes a report as an object on one line.
func (s *job) tellProgram(p engine.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.writeLine(report.WorkProgress{
		Schema: report.ProgressSchema, Kind: string(p.Kind), At: p.At.UTC(), Run: p.Run, Step: p.Step, Title: p.Title, Role: p.Role, Attempt: p.Attempt,
		Outcome: p.Outcome, Text: p.Text, Until: report.When(p.Until), Seconds: p.Took.Seconds(), Done: p.Done - p.Skipped, Total: p.Total, Skipped: p.Skipped, Log: p.Log,
	})
}

// tellBefore reports what is waited for, or was chosen, before the work begins.
func (s *job) tellBefore(p engine.Progress) {
	if s.json {
		p.Done = 0
		s.tellProgram(p)
		return
	}
	s.say("! " + noticeWords(p))
}
