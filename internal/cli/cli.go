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
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"reprise/report"
)

// app is what commands share: where to write, and what time it is.
type app struct {
	in       io.Reader
	out, err io.Writer
	env      func(string) string
	args     []string // what the program was called with
	site     site
	json     bool
	code     int
	around   string                    // the project that was looked at in place of a folder in it; "" if none was
	starts   bool                      // something new is started, in the very folder that is named
	input    *bufio.Reader             // over in, once someone asked for a line
	typed    chan typed                // the line that is being read
	escaped  bool                      // the last one was left with the Escape key
	unread   chan struct{}             // closed when no one reads what we write; see outlive
	signal   atomic.Pointer[os.Signal] // the first that asked us to stop, SIGPIPE for a closed output; nil if none did
	setup    report.Setup              // what was done, for commands that set something up
	began    time.Time                 // when the command did
	pinned   time.Time                 // the time it is said to be, zero for the real one
}

// interruptCode is the exit code of a command that was ended before it was through.
func (a *app) interruptCode() int {
	sig := a.signal.Load()
	switch {
	case sig == nil:
		return exitInterrupt
	case *sig == syscall.SIGTERM, *sig == syscall.SIGHUP:
		return exitTerminated
	case *sig == syscall.SIGPIPE:
		return exitUnread
	}
	return exitInterrupt
}

// Main runs the program and returns its exit code.
func Main(args []string, out, errOut io.Writer, env func(string) string) int {
	a := &app{in: os.Stdin, out: out, err: errOut, env: env, args: args}
	var lost atomic.Pointer[error]
	if _, is := a.terminal(out); !is {
		a.out = &outlet{w: out, lost: func(err error) { lost.CompareAndSwap(nil, &err) }}
	}
	root := a.newRoot()
	root.SetArgs(args)
	root.SetOut(a.out)
	root.SetErr(errOut)
	err := root.ExecuteContext(context.Background())
	switch {
	case a.isUnread() && (err == nil || errors.Is(err, syscall.EPIPE)):
		if a.code == exitOK {
			a.code = exitUnread
		}
	case err != nil:
		a.code = a.printError(err)
	case lost.Load() != nil:
		// What was not written was not said, whatever came of it.
		a.code = max(a.code, a.printError(&lostError{*lost.Load()}))
	}
	return a.code
}

// Command is the whole command line, for pages that are made from it.
func Command() *cobra.Command {
	return (&app{in: os.Stdin, out: io.Discard, err: io.Discard, env: func(string) string { return "" }}).newRoot()
}

func (a *app) newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "reprise",
		Short: "What was interrupted here, is it safe to resume, and from where",
		Long: "reprise reads what agent workflows left on disk, says which of them were\n" +
			"interrupted, how far they got and what comes next, and finishes them. Called alone\n" +
			"it opens a picker; in a pipe it prints what status prints.",
		Args:              args(cobra.NoArgs),
		SilenceErrors:     true,
		PersistentPreRunE: a.prepare,
		SilenceUsage:      true,
		RunE:              func(cmd *cobra.Command, _ []string) error { return a.alone(cmd) },
	}
	root.Flags().BoolVar(&a.json, "json", false, "print JSON (schema/status.v1.json)")
	root.Version = versionLine()
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return misuse("%w", err) })
	root.AddCommand(
		a.newStatus(), a.newDetect(), a.newCheck(), a.newChecks(), a.newBrief(), a.newRun(), a.newResume(),
		a.newWatch(), a.newAnswer(), a.newLog(), a.newRepair(), a.newClean(), a.newUndo(), a.newDoctor(), a.newInit(), a.newTrust(), a.newHook(), a.newMCP(), a.newRecord(), a.newServe(), a.newReport(), a.newDemo(), a.newVersion(),
	)
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

// prepare checks what can be said together, and reads REPRISE_NOW, which sets the clock
// for output that can be repeated.
func (a *app) prepare(cmd *cobra.Command, _ []string) error {
	if err := cmd.ValidateFlagGroups(); err != nil {
		return misuse("%w", err)
	}
	a.stand(cmd)
	a.began = time.Now()
	text := a.env("REPRISE_NOW")
	if text == "" {
		return nil
	}
	var err error
	if a.pinned, err = time.Parse(time.RFC3339, text); err != nil {
		return misuse("read REPRISE_NOW: %w", err)
	}
	return nil
}

// now is the clock for what is shown: one moment where it was set.
func (a *app) now() time.Time {
	if a.pinned.IsZero() {
		return time.Now()
	}
	return a.pinned
}

// clock is the time for work. Where it was set it runs on from there, since pauses are
// waited for.
func (a *app) clock() time.Time {
	if a.pinned.IsZero() {
		return time.Now()
	}
	return a.pinned.Add(time.Since(a.began))
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
