package reprise

import "time"

// The bands of age, as the seed of the orchestrate layout draws them.
const (
	BandFresh    = "fresh"    // under an hour
	BandRecent   = "recent"   // under a day
	BandModerate = "moderate" // up to seven days
	BandStale    = "stale"    // older
	BandUnknown  = "unknown"  // no time is on record, or it lies in the future
)

// Age tells how long ago the run was last active, and the band that falls in.
// ok is false where no time is on record, now is zero, or the
// time lies further ahead than a missing time zone can explain.
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

// BandOf returns the band of an age. Ages below zero are fresh: the clock or
// the record is wrong, and age alone decides nothing.
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
