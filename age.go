package reprise

import (
	"fmt"
	"time"
)

// The age bands, as the seed of the orchestrate layout defines them.
const (
	BandFresh    = "fresh"    // under an hour
	BandRecent   = "recent"   // under a day
	BandModerate = "moderate" // up to seven days
	BandStale    = "stale"    // older
	BandUnknown  = "unknown"  // no time on record, or it lies in the future
)

// Age returns how long ago the run was last active and the band of that age. ok is false
// if no time is on record, if now is zero, or if the time lies further ahead than a
// missing time zone can explain.
func (r *Run) Age(now time.Time) (age time.Duration, band string, ok bool) {
	if now.IsZero() || r.LastActivity.IsZero() {
		return 0, BandUnknown, false
	}
	age = now.Sub(r.LastActivity)
	if age < -ClockSlack {
		return 0, BandUnknown, false
	}
	return max(age, 0), BandOf(age), true
}

// BandOf returns the band of an age. A negative age is fresh: the clock or the record is
// wrong, and age alone decides nothing.
func BandOf(age time.Duration) string {
	switch {
	case age < time.Hour:
		return BandFresh
	case age < 24*time.Hour:
		return BandRecent
	case age <= 7*24*time.Hour:
		return BandModerate
	}
	return BandStale
}

// Age says how long before now something happened, as coarsely as people do: "9 months".
// It is "unknown" for the zero time and "in the future" for a time still to come.
func Age(now, at time.Time) string {
	if at.IsZero() {
		return "unknown"
	}
	const day = 24 * time.Hour
	d := now.Sub(at)
	switch {
	case d < -ClockSlack:
		return "in the future"
	case d < time.Minute:
		return "just now"
	}
	unit, noun := time.Minute, "minute"
	switch {
	case d >= 2*365*day:
		unit, noun = 365*day, "year"
	case d >= 60*day:
		unit, noun = 30*day, "month"
	case d >= 21*day:
		unit, noun = 7*day, "week"
	case d >= 2*day:
		unit, noun = day, "day"
	case d >= time.Hour:
		unit, noun = time.Hour, "hour"
	}
	if n := int(d / unit); n > 1 {
		return fmt.Sprintf("%d %ss", n, noun)
	}
	return "1 " + noun
}

// Ago is Age as the end of a sentence: "9 months ago".
func Ago(now, at time.Time) string {
	text := Age(now, at)
	if text[0] >= '0' && text[0] <= '9' {
		text += " ago"
	}
	return text
}
