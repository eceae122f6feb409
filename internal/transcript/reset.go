package transcript

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

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

// Farthest is the latest reset that is believed.
const Farthest = 35 * 24 * time.Hour

// ResetTime finds the time in the prose of a limit. Zero stands for none, or one
// that cannot be.
func ResetTime(text string, now time.Time) time.Time {
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
	if !at.After(now) || at.After(now.Add(Farthest)) {
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
