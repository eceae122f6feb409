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
	{OutOfContext, "", []string{
		"context window", "context_length_exceeded", "prompt is too long", "maximum context length", "contextoverflow",
		"exceeds the maximum number of tokens", "ran out of room", "context limit reached", "input is too long", "prompt as too long",
	}},
	{SessionNotFound, "", []string{
		"no conversation found", "no rollout found", "session not found", "no saved session found", "no session, task, or name matched",
		"invalid session identifier", "no previous sessions found", "requires a valid session id",
	}},
	{NeedsSetup, "", []string{
		"invalid api key", "invalid x-api-key", "incorrect api key", "api key is not valid", "api key not valid", "authentication_failed", "authentication_error",
		"401 unauthorized", "unauthenticated", "not logged in", "please run /login", "codex login", "please sign in", "set an auth method",
		"cannot be used with root", "trusted folder", "untrusted", "error_max_budget_usd",
	}},
	{Limited, reprise.AwaitsLimit, []string{
		"usage limit", "rate limit", "rate_limit", "ratelimit", "quota", "too many requests", "hit your limit", "hit your session limit", "hit your weekly limit",
		"credit balance is too low", "resource_exhausted", "resource has been exhausted", "(429)", "billing_error", "insufficient_quota",
	}},
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
	c.until = resetTime(message, now)
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

// Postpone makes a limit of a failure that a plain command blames on one, by its exit code
// alone: what it prints may be the output of the very work that failed. A result that it
// left counts more.
func (r *Result) Postpone(now time.Time) {
	if r.Outcome == Failed && r.Exit == tryLater && r.Reply == nil && r.ReplyProblem == "" {
		r.Outcome, r.Until = Limited, resetTime(r.LastText, now)
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

// The ways a reset time is written.
var (
	byEpoch  = lazily(`\|(\d{10})(?:\d{3})?\b`)
	byStamp  = lazily(`\b(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))`)
	bySpan   = lazily(`(?i)(?:again|retry|resets?|available)\s+(?:in|after)\s+((?:\d+(?:\.\d+)?\s*(?:days?|hours?|hrs?|minutes?|mins?|seconds?|secs?|ms|[dhms])[\s,]*(?:and\s+)?)+)`)
	spanPart = lazily(`(?i)(\d+(?:\.\d+)?)\s*(days?|hours?|hrs?|minutes?|mins?|seconds?|secs?|ms|[dhms])`)
	byClock  = lazily(`(?i)(?:again at|resets?(?: at)?|available at)\s+(?:(?:([A-Z][a-z]{2})[a-z]*\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s*(?:(\d{4}),?\s*)?(?:at\s+)?)?)(\d{1,2})(?::(\d\d))?\s*([ap]m)(?:\s*\(([A-Za-z0-9_+/-]+)\))?`)
)

// farthest is the latest reset that is believed.
const farthest = 35 * 24 * time.Hour

// resetTime finds the time in the prose of a limit. Zero stands for none, or one
// that cannot be.
func resetTime(text string, now time.Time) time.Time {
	var at time.Time
	if m := byEpoch().FindStringSubmatch(text); m != nil {
		if sec, err := strconv.ParseInt(m[1], 10, 64); err == nil {
			at = time.Unix(sec, 0)
		}
	} else if m := byStamp().FindStringSubmatch(text); m != nil {
		if t, err := time.Parse(time.RFC3339, m[1]); err == nil {
			at = t
		}
	} else if m := bySpan().FindStringSubmatch(text); m != nil {
		at = now.Add(span(m[1]))
	} else if m := byClock().FindStringSubmatch(text); m != nil {
		at = clock(m, now)
	}
	if !at.After(now) || at.After(now.Add(farthest)) {
		return time.Time{}
	}
	return at.UTC()
}

func span(text string) time.Duration {
	var total time.Duration
	for _, m := range spanPart().FindAllStringSubmatch(text, -1) {
		n, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return 0
		}
		unit := time.Second
		switch u := strings.ToLower(m[2]); {
		case u == "ms":
			unit = time.Millisecond
		case u[0] == 'd':
			unit = 24 * time.Hour
		case u[0] == 'h':
			unit = time.Hour
		case u[0] == 'm':
			unit = time.Minute
		}
		total += time.Duration(n * float64(unit))
	}
	return total
}

// clock reads "Nov 20, 2026 7:30pm (Europe/Berlin)", most of which may be
// missing; a time without a day is the next such time.
func clock(m []string, now time.Time) time.Time {
	zone := time.Local
	if m[7] != "" {
		z, err := time.LoadLocation(m[7])
		if err != nil {
			return time.Time{}
		}
		zone = z
	}
	now = now.In(zone)
	hour, _ := strconv.Atoi(m[4])   // the expression admits digits only
	minute, _ := strconv.Atoi(m[5]) // "" stands for zero
	if hour < 1 || hour > 12 || minute > 59 {
		return time.Time{}
	}
	hour %= 12
	if strings.EqualFold(m[6], "pm") {
		hour += 12
	}
	if m[1] == "" {
		at := time.Date(now.Year(), now.Month(), now.Day(), hour, minute, 0, 0, zone)
		if !at.After(now) {
			at = at.AddDate(0, 0, 1)
		}
		return at
	}
	month, err := time.Parse("Jan", strings.ToUpper(m[1][:1])+strings.ToLower(m[1][1:]))
	if err != nil {
		return time.Time{}
	}
	day, _ := strconv.Atoi(m[2])
	year := now.Year()
	if m[3] != "" {
		year, _ = strconv.Atoi(m[3])
	}
	at := time.Date(year, month.Month(), day, hour, minute, 0, 0, zone)
	if m[3] == "" && !at.After(now) {
		at = at.AddDate(1, 0, 0)
	}
	return at
}
