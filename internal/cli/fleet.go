package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"reprise"
	"reprise/engine"
	"reprise/internal/proc"
	"reprise/report"
)

// SummaryDocument returns the JSON document about the result of a run, for the fleet's
// program, which follows the same rules.
func SummaryDocument(root string, sum *engine.Summary) report.Summary {
	return summaryDocument(root, sum, "", OutcomeCode(sum.Outcome()))
}

// OutcomeCode is the exit code of an outcome.
func OutcomeCode(o reprise.Outcome) int { return outcomeCodes[o] }

// fleetWithin is how long the fleet's server may take to answer.
// Its program gives up earlier by itself, and says why.
const fleetWithin = 10 * time.Second

// fleet returns the runs of the fleet if the environment names a server, or Temporal's profile file
// may, otherwise nil. The fleet's own program does the asking, so that this one does not depend on
// Temporal. Whoever has that file and not this program uses Temporal for something else.
func (a *app) fleet(ctx context.Context, root string) *report.Fleet {
	address := a.env("TEMPORAL_ADDRESS")
	if address == "" && !hasProfile(a.env) {
		return nil
	}
	unknown := report.Fleet{Schema: report.FleetSchema, Runs: []report.FleetRun{}}
	environ := proc.Environ(os.Environ(), root)
	program, err := proc.Find("reprise-fleet", environ, root)
	if err != nil && address == "" {
		return nil
	}
	if err != nil {
		unknown.Problem = "TEMPORAL_ADDRESS names a server, but reprise-fleet, which asks it, is not in your PATH"
		return &unknown
	}
	ctx, cancel := context.WithTimeout(ctx, fleetWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "status", "--json", "-C", root)
	cmd.Env = environ
	out, err := cmd.Output()
	told := unknown
	if err == nil {
		err = json.Unmarshal(out, &told)
	}
	if err == nil {
		return &told
	}
	unknown.Problem = err.Error()
	if ctx.Err() != nil {
		unknown.Problem = fmt.Sprintf("the server at %s did not answer within %s", cmp.Or(address, "the address in Temporal's profile file"), fleetWithin)
	} else if said, ok := errors.AsType[*exec.ExitError](err); ok && len(said.Stderr) > 0 {
		var told report.Error
		if unknown.Problem, _, _ = strings.Cut(string(said.Stderr), "\n"); json.Unmarshal(said.Stderr, &told) == nil {
			unknown.Problem = told.Message
		}
	}
	return &unknown
}

// onServer asks, at once and while other work is done, which runs the fleet's server has open, by
// their branches. What it cannot tell, status says.
func (a *app) onServer(ctx context.Context, root string) func() map[string]string {
	told := make(chan map[string]string, 1)
	go func() {
		ctx, cancel := context.WithTimeout(ctx, fleetWithin/3) // nobody asked for it
		defer cancel()
		open := map[string]string{}
		if f := a.fleet(ctx, root); f != nil {
			for _, r := range f.Runs {
				if r.State == report.FleetOpen {
					open[r.Branch] = r.ID
				}
			}
		}
		told <- open
	}()
	return sync.OnceValue(func() map[string]string { return <-told })
}

// hasProfile reports whether there is a profile file of Temporal, which may name a server.
func hasProfile(env func(string) string) bool {
	file := env("TEMPORAL_CONFIG_FILE")
	if file == "" {
		dir, err := os.UserConfigDir()
		if err != nil {
			return false
		}
		file = filepath.Join(dir, "temporalio", "temporal.toml")
	}
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular()
}

// fleet lists the fleet's runs next to those of the project.
func (p *page) fleet(f *report.Fleet) {
	p.heading("Fleet:")
	if f.Problem != "" {
		p.para("  ", "What the fleet does is not known: "+f.Problem, linesMessage)
		return
	}
	for _, line := range FleetLines(f, p.now) {
		p.line("  %s", line)
	}
}

// FleetLines describes the fleet's runs in text that is safe for a terminal.
func FleetLines(f *report.Fleet, now time.Time) (lines []string) {
	say := func(indent string, columns ...string) {
		for i := range columns {
			columns[i] = plain(columns[i])
		}
		lines = append(lines, strings.TrimRight(indent+strings.Join(columns, "  "), " "))
	}
	if len(f.Runs) == 0 {
		say("", "The fleet has no runs of this repository.")
	}
	for _, r := range f.Runs {
		say("", r.ID, r.State, "branch "+r.Branch)
		if r.Here != "" {
			say("  ", fmt.Sprintf("it was finished in %s; `reprise-fleet resume %s` brings that to its branch", r.Here, reprise.Pasted(r.ID, "RUN")))
		}
		if r.Problem != "" {
			say("  ", "! "+r.Problem)
		}
		if r.Stuck != "" {
			say("  ", "! "+r.Stuck)
		}
		if r.Stopping {
			say("  ", "it was told to stop, and does so once what is at work has ended and is on its branch")
		}
		if r.Until != nil && len(r.AtWork) == 0 && !r.Stopping {
			if waits := engine.WaitWords(*r.Until, now); waits != "" {
				say("  ", waits+closedWords(&r))
			}
		}
		for _, failed := range r.Failed {
			say("  ", fmt.Sprintf("! %s attempt %d failed: %s", failed.Step, failed.Attempt, failed.Reason))
		}
		for _, w := range r.AtWork {
			who := "waits for a worker"
			switch {
			case w.Lost:
				who = "lost its worker and waits to be settled"
			case w.Ended:
				who = "has ended and waits to be landed"
			case w.Worker != "":
				who = "on " + w.Worker
			}
			say("  ", w.Step, fmt.Sprintf("attempt %d", w.Attempt), fmt.Sprintf("%s for %s", who, now.Sub(w.Since).Round(time.Second)), w.Line)
			if w.Waits != "" {
				say("    ", "! "+w.Waits)
			}
		}
		for _, q := range r.Questions {
			say("  ", "? "+q.ID+": "+q.Text+OptionWords(q.Options))
		}
	}
	if f.Remote != "" {
		say("", "! The git remote, which all of this is on, cannot be asked: "+f.Remote)
	}
	return lines
}

// closedWords say which account a limit closed that a run waits for, and who met it.
func closedWords(r *report.FleetRun) string {
	if r.Account == "" {
		return ""
	}
	words := ": it closed the account " + r.Account
	if r.Met == nil {
		return words
	}
	if r.Met.Run != "" {
		words += ", met by " + r.Met.Run + " of " + r.Met.Repository
	}
	return words + " at " + r.Met.At.UTC().Format("2006-01-02 15:04 MST")
}

// OptionWords are the answers that a question offers, "" for none.
func OptionWords(options []string) string {
	if len(options) == 0 {
		return ""
	}
	return " (" + strings.Join(options, ", ") + ")"
}

// Plain makes text from a file safe for a terminal.
func Plain(text string) string { return plain(text) }

// Quoted returns a word as a person would type it in a shell.
func Quoted(word string) string { return quoted(word) }
