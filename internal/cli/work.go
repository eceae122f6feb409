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

// workFlags are what the commands that start agents take.
type workFlags struct {
	upkeepFlags
	mode     string
	until    string
	parallel int // 0 leaves it to the settings
	orphans  bool
	trust    bool
	consent  string // the flag that trusts, "" for --trust
	wait     bool
	starts   bool // something new, in the very folder that is named
}

var modes = []string{string(engine.Autopilot), string(engine.Interactive), string(engine.Preflight)}

func (f *workFlags) add(a *app, cmd *cobra.Command) {
	f.upkeepFlags.add(a, cmd, "one object per line: schema/progress.v1.json, last schema/summary.v1.json")
	flags := cmd.Flags()
	flags.StringVar(&f.mode, "mode", "", strings.Join(modes, ", ")+" (default: the one the run was started in, else interactive)")
	flags.StringVar(&f.until, "until", "", "stop once this step is closed")
	flags.Func("parallel", "steps at the same time, `int` from 1 to 64 (default: what the settings say)", func(text string) (err error) {
		if f.parallel, err = strconv.Atoi(text); err != nil || f.parallel < 1 || f.parallel > 64 {
			err = errors.New("it can be 1 to 64") // the bounds of the settings
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

// modeOf is the mode for a run: the one asked for, else the one it was started
// in, else interactive.
func (f *workFlags) modeOf(started string) engine.Mode {
	for _, mode := range []string{f.mode, started} {
		if slices.Contains(modes, mode) {
			return engine.Mode(mode)
		}
	}
	return engine.Interactive
}

// job is one piece of work on a project, from its first signal handler to its
// summary.
type job struct {
	*app
	flags workFlags
	root  string // absolute
	below string // the part of its state that the command was called in
	ctx   context.Context
	hard  chan struct{} // closed to end everything at once
	// trusts gives what the person trusts, read once: what they trust for a dry run
	// counts for this job alone.
	trusts func() (*settings.Trust, error)

	mu     sync.Mutex
	board  *board
	screen *tui.Screen
	lines  *lineLog
	run    string
	// opening is what a person is shown first, once the engine starts something: before
	// that it may still refuse.
	opening func()
	done    map[string]reprise.Progress // by run
	// notices tells a person who is elsewhere, nil for no one; told are those that were sent.
	notices *notify.Notifier
	told    map[string]bool
	// traces are sent where the environment names a collector, nil where it does not.
	traces *otlp.Exporter
}

// work lets f work with signals in order: the first asks to stop, the second
// ends everything at once. An output whose reader is gone asks to stop, too.
func (a *app) work(ctx context.Context, flags workFlags, f func(s *job) error) error {
	a.outlive()
	a.starts = flags.starts
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
	s := &job{app: a, flags: flags, root: root, below: below, ctx: ctx, hard: make(chan struct{}), done: map[string]reprise.Progress{}}
	s.trusts = sync.OnceValues(func() (*settings.Trust, error) { return settings.OpenTrust(settings.TrustFile(a.env)) })
	signals := make(chan os.Signal, 4)
	// SIGQUIT is a second Ctrl-C on the keyboard; a dump of our stack helps no one.
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

// obey does what signals ask for until the job is over.
func (s *job) obey(signals <-chan os.Signal, over <-chan struct{}, stop func()) {
	unread, asked := s.unread, false
	for {
		select {
		case <-unread:
			// No signal of a person's: one that comes now is the first.
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
			case sig != syscall.SIGHUP: // of one hang-up the shell and the terminal both tell
				s.say("Stopping at once.")
				close(s.hard)
				return
			}
		case <-over:
			return
		}
	}
}

// heeded are those of the signals that our parent did not have ignored: nohup
// does that with one, a shell with those of the keyboard where it starts a job in the
// background of a script. SIGTERM is always one.
func heeded(signals ...os.Signal) []os.Signal {
	return slices.DeleteFunc(signals, func(sig os.Signal) bool { return sig != syscall.SIGTERM && signal.Ignored(sig) })
}

func (s *job) stopping(sig os.Signal) {
	s.signal.Store(&sig)
	s.mu.Lock()
	board := s.board
	s.mu.Unlock()
	why, then, more := "Stopping", "nothing is at work", " Once more stops at once."
	if sig == syscall.SIGPIPE {
		why, more = "Stopping, the output was closed", ""
	}
	if board != nil && board.active() {
		then = "the step is ended cleanly and stays open"
	}
	s.say(why + ": " + then + "." + more)
}

// say tells a person something of ours while the work continues.
func (s *job) say(text string) {
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

// elsewhere refuses to change a run that another folder has the journal of, or whose files
// are in another checkout: nothing of it is written here.
func (s *job) elsewhere(verb string, j judged) error {
	f, is := project.Elsewhere(s.root, []*reprise.Run{j.run}, s.clock())[j.run]
	for _, told := range j.run.Findings { // of copies in other checkouts, too
		if !is && told.Code == reprise.CodeElsewhere && told.Severity == reprise.Blocking {
			f, is = told, true
		}
	}
	if !is {
		return nil
	}
	err, hint := &upkeep.ElsewhereError{Op: verb, Finding: f}, f.Hint
	if f.Code == reprise.CodeElsewhere {
		hint = fmt.Sprintf("do it there: `reprise %s %s -C %s`", verb, reprise.Pasted(j.name, "RUN"), reprise.Pasted(f.Source.File, "DIR"))
	}
	return &failure{code: exitCode(err), err: err, hint: hint}
}

// answerCommand is what a person would type to answer what a run asks.
func (s *job) answerCommand(kind reprise.Kind, name string) string {
	if kind.Facts().Stories { // each asks for itself
		name = "--list"
	}
	return s.command("answer", name)
}

// show begins to show a run: a live view on a terminal, lines elsewhere,
// objects for programs.
func (s *job) show(e *engine.Engine, j judged) {
	board := newBoard(j.run, e.Now)
	if signal.Ignored(os.Interrupt) {
		board.hint = ""
	}
	board.reply = "`" + s.answerCommand(j.run.Kind, j.name) + "`"
	s.mu.Lock()
	s.board = board
	s.mu.Unlock()
	s.run, s.lines = j.run.ID, &lineLog{said: map[string]time.Time{}}
	if s.opening == nil {
		s.raise()
	}
	e.Tell = s.tell
}

// raise puts the live view up where there is a terminal for it.
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

// screenFiles gives the terminal for a live view, with its keys where there are any. ok is
// false where plain lines or objects are wanted.
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

// hide takes the live view down; what stays is printed by the caller.
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

// ask is the engine's way to a person. The live view makes room meanwhile.
func (s *job) ask(ctx context.Context, q reprise.Question) (string, bool) {
	s.mu.Lock()
	live := s.screen != nil
	s.mu.Unlock()
	s.hide()
	s.noteQuestion(s.run, q.Subject, q.Text)
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
	if p.Done < 0 { // not known where it was said
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

// tellProgram writes what happens as an object on a line of its own.
func (s *job) tellProgram(p engine.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.writeLine(report.WorkProgress{
		Schema: report.ProgressSchema, Kind: string(p.Kind), At: p.At.UTC(), Run: p.Run, Step: p.Step, Title: p.Title, Role: p.Role, Attempt: p.Attempt,
		Outcome: p.Outcome, Text: p.Text, Until: report.When(p.Until), Seconds: p.Took.Seconds(), Done: p.Done - p.Skipped, Total: p.Total, Skipped: p.Skipped, Log: p.Log,
	})
}

// tellBefore tells what is waited for, or was chosen, before anything is worked on.
func (s *job) tellBefore(p engine.Progress) {
	if s.json {
		p.Done = 0
		s.tellProgram(p)
		return
	}
	s.say("! " + noticeWords(p))
}
