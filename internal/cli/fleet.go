package cli

import (
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
