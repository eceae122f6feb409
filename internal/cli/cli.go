// Package cli is the command line: it reads flags, calls the packages below, and prints.
// It has no logic of its own. It is the only package that prints, and the only one that
// reads the clock for a command.
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
	"reflect"
	"runtime/debug"
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
	"reprise/report"
)

// app is what commands share: where to write, and what time it is.
type app struct {
	in       io.Reader
	out, err io.Writer
	env      func(string) string
	args     []string // the arguments of the program
	site     site
	json     bool
	code     int
	around   string                    // the project used instead of a folder inside it; "" if none was
	adopts   bool                      // the command can accept a copied project
	starts   bool                      // something new is started, in exactly the named folder
	input    *bufio.Reader             // wraps in, once a line has been requested
	typed    chan typed                // the line being read
	escaped  bool                      // the last line was abandoned with the Escape key
	unread   chan struct{}             // closed when no one reads our output; see outlive
	signal   atomic.Pointer[os.Signal] // the first that asked us to stop, SIGPIPE for closed output; nil if none
	silent   bool                      // a hook: prints no errors and always exits 0
	setup    report.Setup              // what was done, for commands that set something up
	began    time.Time                 // when the command began
	pinned   time.Time                 // the pretended time, zero for the real one
}

// interruptCode is the exit code of a command that was interrupted.
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

// Frugal says how much memory this process may take for the sake of speed. What the
// environment says of that counts.
func Frugal(env func(string) string) {
	if env("GOGC") == "" {
		// A command reads much at its beginning and keeps most of it: looking for
		// what can be freed takes a third of that time.
		debug.SetGCPercent(400)
	}
	if env("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(128 << 20) // from there on it is looked for
	}
}

// closely is Frugal for a command that looks closely, and so keeps more of each run: a project
// of thousands of runs is still checked in 200 MB.
func (a *app) closely() {
	if a.env("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(148 << 20)
	}
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
	case a.silent:
		a.code = exitOK
	case a.isUnread() && (err == nil || errors.Is(err, syscall.EPIPE)):
		if a.code == exitOK {
			a.code = exitUnread
		}
	case err != nil:
		a.code = a.printError(err)
	case lost.Load() != nil:
		// Output that was not written was not said, whatever the result.
		a.code = max(a.code, a.printError(&lostError{*lost.Load()}))
	}
	return a.code
}

// Command returns the whole command line, for pages generated from it.
func Command() *cobra.Command {
	return (&app{in: os.Stdin, out: io.Discard, err: io.Discard, env: func(string) string { return "" }}).newRoot()
}

func (a *app) newRoot() *cobra.Command {
	var dir string
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
		RunE:              func(cmd *cobra.Command, _ []string) error { return a.alone(cmd.Context(), dir) },
	}
	a.folderFlags(root, &dir, "schema/status.v1.json")
	root.Version = versionLine()
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return misuse("%w", err) })
	root.AddCommand(
		a.newStatus(), a.newDetect(), a.newCheck(), a.newChecks(), a.newBrief(), a.newRun(), a.newResume(),
		a.newWatch(), a.newAnswer(), a.newLog(), a.newRepair(), a.newClean(), a.newUndo(), a.newDoctor(), a.newInit(), a.newTrust(), a.newHook(), a.newMCP(), a.newRecord(), a.newServe(), a.newReport(), a.newDemo(), a.newVersion(),
	)
	return root
}

// guarded lets a signal end a command in an orderly way, and keeps closed output from
// ending it. Commands that only read do without: a signal may end them anywhere, and the
// preparation would take a tenth of their time.
func (a *app) guarded(run runs) runs {
	return a.guardedIf(run, func() bool { return true })
}

type runs = func(cmd *cobra.Command, args []string) error

// guardedIf does so for calls that may work longer.
func (a *app) guardedIf(run runs, needed func() bool) runs {
	return func(cmd *cobra.Command, args []string) error {
		if !needed() {
			return run(cmd, args)
		}
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

// encode writes JSON that is also safe on a terminal: characters that affect the display
// are escaped, which means the same to a program. What looks like a secret is taken out of
// its values: every document passes here, those that pages and tools are made of too.
func encode(w io.Writer, v any, indent string) error {
	lists, err := encodeAround(w, v, indent)
	if lists || err != nil {
		return err
	}
	text, err := encoded(v, "", indent)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, text+"\n")
	return err
}

// manyParts is from how many elements on a list of a document is written one by one: of
// thousands of runs the text alone takes more memory than a look may.
const manyParts = 64

// encodeAround is encode for a document with long lists. It is false, and nothing is written,
// where it has none.
func encodeAround(w io.Writer, v any, indent string) (bool, error) {
	doc := reflect.ValueOf(v)
	if doc.Kind() != reflect.Struct || indent == "" {
		return false, nil
	}
	around := reflect.New(doc.Type()).Elem()
	around.Set(doc)
	lists := map[string]reflect.Value{} // by what stands in their place
	for i := range doc.NumField() {
		name, more, _ := strings.Cut(doc.Type().Field(i).Tag.Get("json"), ",")
		if list := doc.Field(i); list.Kind() == reflect.Slice && list.Len() >= manyParts && name != "" && more == "" {
			lists["\n"+indent+strconv.Quote(name)+": []"] = list
			around.Field(i).Set(reflect.MakeSlice(list.Type(), 0, 0))
		}
	}
	if len(lists) == 0 {
		return false, nil
	}
	text, err := encoded(around.Interface(), "", indent)
	if err != nil {
		return false, err
	}
	out := bufio.NewWriterSize(w, 1<<16)
	for len(lists) > 0 {
		// A text has no line break of its own in JSON, so this is a field of the document.
		at, next := len(text), ""
		for place := range lists {
			if i := strings.Index(text, place); i >= 0 && i < at {
				at, next = i, place
			}
		}
		if next == "" {
			return false, errors.New("a list has no place in its document")
		}
		at += len(next) - 1 // before the bracket that closes it
		out.WriteString(text[:at])
		for i := range lists[next].Len() {
			part, err := encoded(lists[next].Index(i).Interface(), indent+indent, indent)
			if err != nil {
				return false, err
			}
			out.WriteString([]string{",", ""}[max(0, 1-i)] + "\n" + indent + indent + part)
		}
		out.WriteString("\n" + indent)
		text = text[at:]
		delete(lists, next)
	}
	out.WriteString(text + "\n")
	return true, out.Flush()
}

// encoded is JSON as encode writes it, without the end of its last line.
func encoded(v any, prefix, indent string) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent(prefix, indent)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	text := redact.JSON(b.String())
	text = strings.TrimSuffix(text, "\n")
	if !strings.ContainsFunc(text, unseen) {
		return text, nil
	}
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
	return b.String(), nil
}

// unseen reports characters that a terminal obeys instead of showing.
func unseen(r rune) bool {
	return r >= 0x7f && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point))
}

// writeLine writes a document on one line, as part of a stream.
func (a *app) writeLine(v any) error {
	return encode(a.out, v, "")
}

// prepare checks that the flags can be combined, and reads REPRISE_NOW, which sets the
// clock for reproducible output.
func (a *app) prepare(cmd *cobra.Command, _ []string) error {
	if err := cmd.ValidateFlagGroups(); err != nil {
		return misuse("%w", err)
	}
	a.stand(cmd)
	a.adopts = cmd.Flags().Lookup("adopt") != nil
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

// now returns the time for display: a fixed moment if it was set.
func (a *app) now() time.Time {
	if a.pinned.IsZero() {
		return time.Now()
	}
	return a.pinned
}

// clock returns the time for work. If the time was set, it runs on from there, because
// pauses are waited for.
func (a *app) clock() time.Time {
	if a.pinned.IsZero() {
		return time.Now()
	}
	return a.pinned.Add(time.Since(a.began))
}

// terminal reports whether w is a terminal, and its width: COLUMNS if set, 80 if unknown.
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

// colours reports whether to use colours: the user has not disabled them and the terminal
// supports them.
func (a *app) colours() bool { return a.env("NO_COLOR") == "" && a.env("TERM") != "dumb" }
