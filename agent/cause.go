package agent

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"reprise"
	"reprise/internal/transcript"
)

// cause is why something did not work, by the status and the words of an error.
type cause struct {
	outcome Outcome
	reason  string
	until   time.Time
	awaits  string // for what is waited for: reprise.AwaitsLimit, reprise.AwaitsOutage, "" if that is not known
}

// phrases are the words of errors, most telling first. They are looked for in
// errors only, never in what a model says.
var phrases = []struct {
	outcome Outcome
	awaits  string
	words   []string
}{
	{OutOfContext, "", transcript.Words[reprise.EndedContext]},
	{SessionNotFound, "", []string{
		"no conversation found", "no rollout found", "session not found", "no saved session found", "no session, task, or name matched",
		"invalid session identifier", "no previous sessions found", "requires a valid session id",
	}},
	{NeedsSetup, "", append([]string{
		"set an auth method", "cannot be used with root", "trusted folder", "untrusted", "error_max_budget_usd",
	}, transcript.Words[reprise.EndedLogin]...)},
	{Limited, reprise.AwaitsLimit, slices.Concat(transcript.Words[reprise.EndedLimit], transcript.Words[reprise.EndedBilling])},
	// An outage is no failure of the work: it is waited for like a limit. So is any status
	// of 500 and above that an error names.
	{Limited, reprise.AwaitsOutage, []string{
		"connection refused", "connectionrefused", "econnrefused", "unable to connect", "connection failed", "connection reset", "econnreset", "socket hang up", "etimedout", "enetunreach", "network is unreachable",
		"no such host", "enotfound", "eai_again", "getaddrinfo", "name resolution", "dns error", "fetch failed", "connection error", "error sending request",
		"stream disconnected", "overloaded", "at capacity", "high demand", "service unavailable", "service_unavailable", "bad gateway", "gateway timeout", "gateway time-out", "internal server error", "internal_server_error",
	}},
	{Refused, "", []string{"content_filter", "content-filter", "usage policy", "policy_violation", "safety_stop"}},
}

// namedStatus is how an error names the status of a reply, clauseEnd what ends a clause.
var (
	namedStatus = lazily(`(?i)\b(?:status(?: code)?:?|API Error:) (\d{3})\b`)
	clauseEnd   = lazily(`[:;,·|()\[\]{}"\n]+|\.\s`)
)

// explain says what an error means. What is not understood is Failed: it may be
// tried again, and it is never done. Of what is waited for, the reason is only the clause
// that says so, or the status.
func explain(status int, message string, now time.Time) cause {
	c := cause{outcome: Failed, reason: firstLine(message)}
	if m := namedStatus().FindStringSubmatch(message); m != nil && status == 0 {
		status, _ = strconv.Atoi(m[1]) // three digits
	}
	low := strings.ReplaceAll(strings.ToLower(message), "disk quota", "")
	var words []string
	for _, p := range phrases {
		if hasAny(low, p.words) {
			c.outcome, c.awaits, words = p.outcome, p.awaits, p.words
			break
		}
	}
	switch {
	case c.outcome != Failed && c.outcome != Refused:
	case status == 429:
		c.outcome, c.awaits = Limited, reprise.AwaitsLimit
	case status == 408 || status >= 500 && status <= 599:
		c.outcome, c.awaits = Limited, reprise.AwaitsOutage
	case status == 401 || status == 403 || status == 407:
		c.outcome = NeedsSetup
	case status == 413:
		c.outcome = OutOfContext
	}
	if c.outcome != Limited {
		return c
	}
	c.until = transcript.ResetTime(message, now)
	all := clauseEnd().Split(message, -1)
	if i := slices.IndexFunc(all, func(text string) bool { return hasAny(strings.ToLower(text), words) }); i >= 0 {
		c.reason = firstLine(strings.TrimRight(all[i], ". "))
	} else if status > 0 {
		c.reason = fmt.Sprintf("status %d", status)
	}
	return c
}

func hasAny(text string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

// tryLater is the exit code with which a command says that a limit or an outage is in
// its way: EX_TEMPFAIL of sysexits.h, and our own code for it.
const tryLater = 75

// ByExit judges a plain command by its exit code alone: what it prints may be the output of the
// very work that failed. With 0 it says that it is finished, with another code it may blame a
// limit. A result that it left counts more.
func (r *Result) ByExit(now time.Time) {
	if r.Outcome == Done {
		r.Says = SaysExit
	}
	if r.Outcome == Failed && r.Exit == tryLater && r.Reply == nil && r.ReplyProblem == "" {
		r.Outcome, r.Until = Limited, transcript.ResetTime(r.LastText, now)
		if r.LastText != "" {
			r.Reason = r.LastText
		}
	}
}

// lazily compiles a regular expression when it is first needed: most commands
// start no agent.
func lazily(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
