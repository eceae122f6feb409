// Package cli is the command line: it reads flags, calls the rooms below, and
// prints. It holds no logic of its own; it is the only package that prints, and
// the only one that reads the clock for a command.
//
// Text from users' files reaches the terminal only through plain.
package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"reprise/internal/redact"
	"reprise/project"
	"reprise/report"
	"reprise/settings"
)

// Exit codes. They are part of the contract and documented in the README.
const (
	exitOK          = 0
	exitUnexpected  = 1
	exitUsage       = 2
	exitNothing     = 3
	exitCaution     = 10
	exitBlocked     = 11
	exitNeedsAnswer = 12
	exitChanged     = 13
	exitHeld        = 20
	exitUnreadable  = 40
	exitWait        = 75
	exitInterrupt   = 130
	exitUnread      = 141
	exitTerminated  = 143
)

// app is what commands share: where to write, and what time it is.
type app struct {
	in       io.Reader
	out, err io.Writer
	env      func(string) string
	json     bool
	code     int
	input    *bufio.Reader             // over in, once somebody asked for a line
	typed    chan typed                // the line that is being read
	unread   chan struct{}             // closed when nobody reads what we write; see outlive
	signal   atomic.Pointer[os.Signal] // what ended a guarded command; nil if nothing did
}

// interruptCode is the exit code of a command that was ended before it was through.
func (a *app) interruptCode() int {
	if sig := a.signal.Load(); sig != nil {
		return signalCode(*sig)
	}
	return exitInterrupt
}

// Main runs the program and returns its exit code.
func Main(args []string, out, errOut io.Writer, env func(string) string) int {
	a := &app{in: os.Stdin, out: out, err: errOut, env: env}
	root := a.newRoot()
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.ExecuteContext(context.Background())
	switch {
	case a.isUnread() && (err == nil || errors.Is(err, syscall.EPIPE)):
		if a.code == exitOK {
			a.code = exitUnread
		}
	case err != nil:
		a.code = a.printError(err)
	}
	return a.code
}

func (a *app) newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "reprise",
		Short: "What was interrupted here, is it safe to resume, and from where",
		Long: "reprise reads what agent workflows left on disk, tells which of them were\n" +
			"interrupted, in what state they are and what would come next, and carries them to\n" +
			"their end. Alone it is a picker of what was interrupted, in a pipe the same as status.",
		Args:          args(cobra.NoArgs),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return a.alone(cmd) },
	}
	root.Flags().BoolVar(&a.json, "json", false, "print JSON (schema/status.v1.json)")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(a.newStatus(), a.newDetect(), a.newCheck(), a.newChecks(), a.newBrief(), a.newRun(), a.newResume(), a.newAnswer(), a.newLog(), a.newRepair(), a.newClean(), a.newUndo(), a.newDoctor(), a.newDemo())
	return root
}

// guarded lets a signal end what a command is doing in an orderly way, and a closed
// output not at all. Commands that only look do without: a signal ends them where they
// are, and preparing for it would take a tenth of their time.
func (a *app) guarded(run func(cmd *cobra.Command, args []string) error) func(cmd *cobra.Command, args []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.outlive()
		ctx, cancel := context.WithCancel(cmd.Context())
		defer cancel()
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, heeded(os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)...)
		defer signal.Stop(signals)
		go func() {
			select {
			case sig := <-signals:
				a.signal.Store(&sig)
				cancel()
			case <-ctx.Done():
			}
		}()
		cmd.SetContext(ctx)
		return run(cmd, args)
	}
}

// usageError marks a mistake in how the program was called.
type usageError struct{ error }

// Unwrap gives the cause.
func (e usageError) Unwrap() error { return e.error }

// hinted is an error that knows what a person can do.
type hinted interface{ Hint() string }

// exitCode is the one table from errors to exit codes.
func exitCode(err error) int {
	var usage usageError
	var layout *project.UnknownLayoutError
	var which *runError
	if code := upkeepCode(err); code != 0 {
		return code
	}
	if code := workErrorCode(err); code != 0 {
		return code
	}
	switch {
	case errors.Is(err, context.Canceled):
		return exitInterrupt
	case errors.As(err, &usage), errors.As(err, &layout), errors.As(err, &which):
		return exitUsage
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return exitUnreadable
	}
	return exitUnexpected
}

func (a *app) printError(err error) int {
	code := exitCode(err)
	if code == exitInterrupt {
		code = a.interruptCode()
	}
	hint := ""
	var h hinted
	if errors.As(err, &h) {
		hint = h.Hint()
	}
	var at *fs.PathError
	if hint == "" && errors.As(err, &at) && errors.Is(at.Err, fs.ErrPermission) {
		hint = "the file system does not let you: see with `ls -ld` whose it is, and call reprise as that user or change its permissions"
	}
	if a.json {
		if a.writeJSON(a.err, report.Error{Schema: report.ErrorSchema, Message: err.Error(), Hint: hint, Exit: code}) == nil {
			return code
		}
	}
	var problems settings.Problems
	if errors.As(err, &problems) {
		// Each shows its line with a mark under it, harmless already.
		for _, p := range problems {
			fmt.Fprintf(a.err, "reprise: %s\n", p.String())
		}
		return code
	}
	text := plain(err.Error())
	if u, ok := err.(*untrustedError); ok {
		text = u.Error() // harmless already, and every blank of a command counts
	}
	fmt.Fprintf(a.err, "reprise: %s\n", text)
	if hint != "" {
		fmt.Fprintf(a.err, "  %s\n", plain(hint))
	}
	return code
}

func (a *app) writeJSON(w io.Writer, v any) error {
	return encode(w, v, "  ")
}

// encode writes JSON that is also fit for a terminal: characters that change how
// text looks are written as escapes, which mean the same to a program.
func encode(w io.Writer, v any, indent string) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return err
	}
	text := b.String()
	if strings.ContainsFunc(text, unseen) {
		b.Reset()
		for _, r := range text {
			switch high, low := utf16.EncodeRune(r); {
			case !unseen(r):
				b.WriteRune(r)
			case high != unicode.ReplacementChar:
				fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
			default:
				fmt.Fprintf(&b, `\u%04x`, r)
			}
		}
		text = b.String()
	}
	_, err := io.WriteString(w, text)
	return err
}

// unseen reports characters that a terminal obeys instead of showing them.
func unseen(r rune) bool {
	return r >= 0x7f && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point))
}

// writeLine writes a document on one line, for a stream of them.
func (a *app) writeLine(v any) error {
	return encode(a.out, v, "")
}

// now is the clock; REPRISE_NOW sets it, for output that can be repeated.
func (a *app) now() (time.Time, error) {
	text := a.env("REPRISE_NOW")
	if text == "" {
		return time.Now(), nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, usageError{fmt.Errorf("read REPRISE_NOW: %w", err)}
	}
	return t, nil
}

// terminal tells whether w is one, and its width; 80 columns where it does not
// say, and COLUMNS where a person sets it.
func (a *app) terminal(w io.Writer) (columns int, is bool) {
	columns = 80
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		is = true
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			columns = n
		}
	}
	if n, err := strconv.Atoi(a.env("COLUMNS")); err == nil && n > 0 && !is {
		columns = n
	}
	return max(columns, 40), is
}

// colours reports whether a terminal may be given colours: the person has not turned
// them off, and it is one that shows them.
func (a *app) colours() bool { return a.env("NO_COLOR") == "" && a.env("TERM") != "dumb" }

// judge reads and judges a project with what all commands share: the clock and, for a
// person who waits longer than a second, a line that says so.
func (a *app) judge(ctx context.Context, dir string, opts project.JudgeOptions) (*project.Judgement, error) {
	now, err := a.now()
	if err != nil {
		return nil, err
	}
	opts.Now, opts.Budget = now, a.budget(dir)
	if opts.Full {
		opts.Hide = a.hide(dir)
	}
	progress := a.newProgress()
	opts.Progress = progress.show
	defer progress.clear()
	return project.Judge(ctx, dir, opts)
}

// hide takes the secrets that are known out of a text: those of the environment and
// of the settings. Settings that cannot be read, or that nobody trusts, name none.
func (a *app) hide(dir string) func(string) string {
	set := settings.Default()
	if trust, err := settings.OpenTrust(settings.TrustFile(a.env)); err == nil {
		root, err := filepath.Abs(dir)
		if err != nil {
			root = ""
		}
		if read, _, err := settings.Load(settings.Options{User: settings.UserFile(a.env), Project: root, Trust: trust}); err == nil {
			set = read
		}
	}
	return redact.New(set.Known(os.Environ())).String
}

// progressLine is one line on standard error, shown only on a terminal and only
// after a second.
type progressLine struct {
	w     io.Writer
	since time.Time
	shown bool
	last  time.Time
}

func (a *app) newProgress() *progressLine {
	p := &progressLine{since: time.Now()}
	if _, is := a.terminal(a.err); is {
		p.w = a.err
	}
	return p
}

// show is called under the project's lock.
func (p *progressLine) show(loaded, total int) {
	if p.w == nil {
		return
	}
	now := time.Now()
	if now.Sub(p.since) < time.Second || now.Sub(p.last) < 100*time.Millisecond {
		return
	}
	p.last, p.shown = now, true
	fmt.Fprintf(p.w, "\rreading %d of %d runs …", loaded, total)
}

func (p *progressLine) clear() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
