// Package examine holds the checks: a Run and what is observed beside it in,
// findings out. A check is one file and one line in the table; it reads no
// files, no clock and changes nothing, so that the same Run and the same
// Observed always give the same findings.
package examine

import "reprise"

// Check is one question asked of every run.
type Check struct {
	Code     string           // stable; the code of the findings it gives
	Severity reprise.Severity // the usual one
	Doc      string           // what it means, in one sentence
	Run      func(r *reprise.Run, o reprise.Observed) []reprise.Finding
}

// Checks returns the table of all checks, in the order their findings stand in.
func Checks() []Check {
	return []Check{
		{reprise.CodeFutureTime, reprise.Warning, "A time on record lies in the future: a clock was wrong, or the time was invented; ages are not to be trusted.", futureTime},
		{reprise.CodeStaleRun, reprise.Warning, "Nothing happened for more than seven days: the project may have moved on since.", staleRun},
	}
}

// All runs every check and returns what they found.
func All(r *reprise.Run, o reprise.Observed) []reprise.Finding {
	var out []reprise.Finding
	for _, c := range Checks() {
		out = append(out, c.Run(r, o)...)
	}
	return out
}
