package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"reprise"
	"reprise/internal/durable"
	"reprise/project"
	"reprise/upkeep"
)

// upkeepFlags are what every command that changes state takes.
type upkeepFlags struct {
	dir      string
	dry, yes bool
	network  bool
	adopt    bool
}

func (f *upkeepFlags) add(a *app, cmd *cobra.Command, schema string) {
	cmd.Flags().BoolVar(&a.json, "json", false, "print JSON ("+schema+")")
	cmd.Flags().StringVarP(&f.dir, "dir", "C", ".", "the project folder")
	cmd.Flags().BoolVarP(&f.dry, "dry-run", "n", false, "show what would be done and change nothing")
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "do it without asking")
	cmd.Flags().BoolVar(&f.network, "allow-network-fs", false, "trust the locks of a network file system")
	cmd.Flags().BoolVar(&f.adopt, "adopt", false, "go on with a state folder that was copied with its project")
}

// tender makes the one who does it.
func (a *app) tender(f upkeepFlags) (upkeep.Tender, error) {
	now, err := a.now()
	root, _ := projectFolder(f.dir)
	tell := func(f reprise.Finding) {
		fmt.Fprintf(a.err, "reprise: %s: %s\n  %s\n", plain(f.Subject), plain(f.Message), plain(f.Hint))
	}
	return upkeep.Tender{Dir: root, Now: now, AllowNetwork: f.network, Adopt: f.adopt, Tell: tell}, err
}

// chosen judges the project and picks the run an argument means; without one,
// the first that is open. nil if there is none.
func (a *app) chosen(ctx context.Context, f upkeepFlags, arg string) (*project.Judgement, *reprise.Run, error) {
	root, _ := projectFolder(f.dir)
	j, err := a.judge(ctx, root, project.JudgeOptions{Full: true, Adopt: f.adopt})
	if err != nil {
		return nil, nil, err
	}
	run, err := pick(j.Runs, arg)
	return j, run, err
}

// errUnanswered is returned where a person must agree and none can be asked.
var errUnanswered = errors.New("it needs a yes, and nobody can be asked here")

// unanswered carries the hint for it.
type unanswered struct{ error }

// Hint says what to do.
func (unanswered) Hint() string { return "say --yes, or --dry-run to look only" }

// Unwrap gives the cause.
func (e unanswered) Unwrap() error { return e.error }

// confirm asks a person. Only a terminal is asked; anything but yes is a no.
func (a *app) confirm(ctx context.Context, f upkeepFlags, question string) (bool, error) {
	if err := a.isPerson(f); err != nil {
		return false, err
	}
	if f.yes {
		return true, nil
	}
	if !a.asks() {
		return false, unanswered{errUnanswered}
	}
	fmt.Fprintf(a.err, "%s [y/N] ", question)
	line, _, err := a.readLine(ctx)
	if err != nil {
		return false, err
	}
	word := strings.ToLower(strings.TrimSpace(line))
	return word == "y" || word == "yes", nil
}

// diff prints a unified diff from users' files, harmless and a line at a time.
func (v *view) diff(text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		colour := ""
		switch {
		case strings.HasPrefix(line, "+"):
			colour = "32"
		case strings.HasPrefix(line, "-"):
			colour = "31"
		}
		// Leading blanks matter in a diff, and plain folds them.
		body := strings.TrimLeft(strings.TrimLeft(line, "+-"), " ")
		v.line("  %s", v.paint(colour, line[:len(line)-len(body)]+plain(body)))
	}
}

// newView is a view on standard output.
func (a *app) newView() (view, error) {
	now, err := a.now()
	columns, colour := a.terminal(a.out)
	return view{w: a.out, columns: columns, colour: colour && a.colours(), now: now, all: true}, err
}

// upkeepCode maps the errors of the store to exit codes; 0 for others.
func upkeepCode(err error) int {
	var held *durable.HeldError
	var damage *durable.DamageError
	var elsewhere *upkeep.ElsewhereError
	var agent *byAgentError
	var copied *durable.CopiedError
	switch {
	case errors.As(err, &agent), errors.As(err, &copied):
		return exitBlocked
	case errors.As(err, &elsewhere) && !elsewhere.Live():
		return exitBlocked
	case errors.As(err, &elsewhere):
		return exitHeld
	case errors.As(err, &held):
		return exitHeld
	case errors.Is(err, reprise.ErrChanged):
		return exitChanged
	case errors.As(err, &damage):
		return exitUnreadable
	case errors.Is(err, errUnanswered):
		return exitNeedsAnswer
	}
	return 0
}
