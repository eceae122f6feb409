package cli

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"time"

	"reprise"
	"reprise/engine"
	"reprise/report"
)

// SummaryDocument is the JSON document of what came of a run, for a program beside this
// one that carries the same rules.
func SummaryDocument(root string, sum *engine.Summary) report.Summary {
	return summaryDocument(root, sum, "", OutcomeCode(sum.Outcome()))
}

// OutcomeCode is the exit code of an outcome.
func OutcomeCode(o reprise.Outcome) int { return outcomeCodes[o] }

// ExitCode is the exit code of an error.
func ExitCode(err error) int { return exitCode(err) }

// fleetWithin is how long the fleet's server may take to answer.
const fleetWithin = 5 * time.Second

// showFleet lists the runs of the fleet beside those of the project, where the person's
// environment names a server. The fleet's own program asks it, so that this one has
// nothing of Temporal in it.
func (a *app) showFleet(ctx context.Context, root string) {
	if a.env("TEMPORAL_ADDRESS") == "" {
		return
	}
	p := a.page(a.out)
	p.heading("Fleet:")
	program, err := exec.LookPath("reprise-fleet")
	if err != nil {
		p.say("  TEMPORAL_ADDRESS names a server, and reprise-fleet, which asks it, is not on PATH.")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, fleetWithin)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, "status", "-C", root).Output()
	if err != nil {
		why := err.Error()
		if said, ok := errors.AsType[*exec.ExitError](err); ok && len(said.Stderr) > 0 {
			why, _, _ = strings.Cut(string(said.Stderr), "\n")
		}
		p.para("  ", "what the fleet does is not known: "+why, linesMessage)
		return
	}
	for line := range strings.Lines(string(out)) {
		p.line("  %s", plain(strings.TrimRight(line, "\n")))
	}
}

// Plain makes text from a file fit for a terminal.
func Plain(text string) string { return plain(text) }
