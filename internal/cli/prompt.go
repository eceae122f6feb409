package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/term"

	"reprise"
	"reprise/internal/proc"
	"reprise/internal/tui"
)

// asks reports whether there is a person to ask: a terminal to read from and one to write
// to. JSON output is for a program, and a background job would be stopped by the terminal
// if it read.
func (a *app) asks() bool {
	in, ok := a.in.(*os.File)
	_, out := a.terminal(a.err)
	return ok && out && !a.json && term.IsTerminal(int(in.Fd())) && proc.Foreground(in)
}

// readLine prompts and reads a line. ok is false at the end of the input. The Escape key
// discards what was typed and returns an empty line, which every question takes as no. A
// read that is abandoned keeps its input for the next one. Nothing is read between
// questions, so that a live view can have the keys.
func (a *app) readLine(ctx context.Context, prompt string) (line string, ok bool, err error) {
	tty, _ := a.in.(*os.File)
	if tty != nil && !term.IsTerminal(int(tty.Fd())) {
		tty = nil
	}
	if tty != nil {
		defer tui.EndAtEscape(tty)()
	}
	fmt.Fprint(a.err, prompt)
	if a.input == nil {
		a.input = bufio.NewReader(a.in)
	}
	if a.typed == nil {
		got := make(chan typed, 1)
		go func() { got <- typeLine(a.input, tty) }()
		a.typed = got
	}
	select {
	case <-ctx.Done():
		fmt.Fprintln(a.err)
		return "", false, ctx.Err()
	case t := <-a.typed:
		a.typed = nil
		if a.escaped = t.escaped; t.escaped {
			fmt.Fprintln(a.err)
		}
		switch {
		case errors.Is(t.err, io.EOF):
			return t.text, t.text != "", nil
		case t.err != nil:
			return "", false, t.err
		}
		return t.text, true, nil
	}
}

type typed struct {
	text    string
	escaped bool
	err     error
}

// typeLine reads a line. On a terminal the Escape key ends it, empty; escape sequences of
// other keys are ignored.
func typeLine(in *bufio.Reader, tty *os.File) typed {
	var line []byte
	for {
		b, err := in.ReadByte()
		if tty != nil && b == tui.Escape {
			alone, more := tui.AfterEscape(tty)
			if alone {
				return typed{escaped: true}
			}
			text, ended := strings.CutSuffix(string(more), "\n")
			if line = append(line, text...); !ended {
				continue
			}
			b = '\n'
		}
		if err != nil || b == '\n' {
			return typed{text: strings.TrimSuffix(string(line), "\r"), err: err}
		}
		line = append(line, b)
	}
}

// choose asks which option to take. It accepts the words of the seeds' prompts as well as
// numbers and keys; an empty line chooses nothing.
func (a *app) choose(ctx context.Context, options []reprise.Option) (key string, err error) {
	n, err := a.chooseOf(ctx, len(options), func(word string) int {
		if word == "yes" || word == "y" {
			return 1
		}
		key := spoken(options, word)
		return slices.IndexFunc(options, func(o reprise.Option) bool { return key != "" && o.Key == key }) + 1
	})
	if err != nil || n == 0 {
		return "", err
	}
	return options[n-1].Key, nil
}

// chooseNumber asks for one of n things; 0 means none.
func (a *app) chooseNumber(ctx context.Context, n int) (int, error) {
	return a.chooseOf(ctx, n, func(string) int { return 0 })
}

// chooseOf asks for one of n things, by number or by a word; means returns the number of
// a word, or 0. An empty line or a word for no chooses nothing and returns 0.
func (a *app) chooseOf(ctx context.Context, n int, means func(word string) int) (int, error) {
	for {
		line, ok, err := a.readLine(ctx, fmt.Sprintf("Your choice (1-%d, Enter to leave): ", n))
		if err != nil || !ok {
			return 0, err
		}
		word := strings.ToLower(strings.TrimSpace(line))
		if slices.Contains([]string{"", "cancel", "no", "n", "none", "q", "quit"}, word) {
			return 0, nil
		}
		if i, err := strconv.Atoi(word); err == nil && i >= 1 && i <= n {
			return i, nil
		}
		if i := means(word); i > 0 {
			return i, nil
		}
		fmt.Fprintf(a.err, "  please enter 1-%d\n", n)
	}
}

// spoken returns the option that a word selects: its key, or "restart", which the seed's
// prompt uses where the key is fresh.
func spoken(options []reprise.Option, word string) string {
	switch {
	case reprise.Offered(options, word):
		return word
	case strings.HasPrefix(word, reprise.OptionRestart) && reprise.Offered(options, reprise.OptionFresh):
		return reprise.OptionFresh
	case (word == reprise.OptionResume || word == "go on") && reprise.Offered(options, reprise.OptionContinue):
		return reprise.OptionContinue
	}
	return ""
}

// answerTo asks a person one question. ok is false if they leave it open. If there are
// options, a number selects one; any other text is the person's own answer if the
// question accepts one, otherwise it asks again.
func (a *app) answerTo(ctx context.Context, q reprise.Question) (answer string, ok bool, err error) {
	p := a.page(a.err)
	p.gap()
	lead := clip(q.ID, 40)
	if q.Subject != "" && q.Subject != q.ID {
		lead += " (" + clip(q.Subject, 40) + ")"
	}
	p.marked("", "?", cyan, strings.TrimSpace(lead)+": "+q.Text, 40)
	p.facts("  ", q)
	p.numbered("  ", q.Options, linesMessage)
	for {
		line, typed, err := a.readLine(ctx, "Answer (Enter to leave it open): ")
		if err != nil || !typed || strings.TrimSpace(line) == "" {
			return "", false, err
		}
		if !q.Closed {
			if n, err := strconv.Atoi(strings.TrimSpace(line)); err == nil && n >= 1 && n <= len(q.Options) && !slices.Contains(q.Options, strings.TrimSpace(line)) {
				return q.Options[n-1], true, nil
			}
		}
		said, err := q.Choose(line)
		if err == nil {
			if err = reprise.CheckText(said); err != nil {
				err = fmt.Errorf("the answer %w", err)
			}
		}
		var none *reprise.NotOfferedError
		switch {
		case errors.As(err, &none):
			fmt.Fprintf(a.err, "  please enter 1-%d\n", len(q.Options))
		case err != nil:
			fmt.Fprintf(a.err, "  %s\n", plain(err.Error()))
		default:
			return said, true, nil
		}
	}
}
