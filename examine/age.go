package examine

import (
	"fmt"
	"time"

	"reprise"
)

// slack is how far a recorded time may lie ahead before it is called future:
// times without a zone are read as UTC and may be up to 14 hours off.
const slack = 15 * time.Hour

// Bands of age, as the seed of the orchestrate layout draws them: up to each
// limit, and stale beyond the last.
const (
	Fresh    = time.Hour
	Recent   = 24 * time.Hour
	Moderate = 7 * 24 * time.Hour
)

// Band is a band of age: its name and what it recommends.
type Band struct{ Name, Advice string }

// BandOf returns the band of an age. Ages below zero are fresh: the clock or
// the record is wrong, and age alone decides nothing.
func BandOf(age time.Duration) Band {
	switch {
	case age < Fresh:
		return Band{"fresh", "resume safely"}
	case age < Recent:
		return Band{"recent", "resume with quick validation"}
	case age <= Moderate:
		return Band{"moderate", "resume with careful validation"}
	}
	return Band{"stale", "consider restarting: the project may have changed significantly"}
}

func futureTime(r *reprise.Run, o reprise.Observed) []reprise.Finding {
	if o.Now.IsZero() || !r.LastActivity.After(o.Now.Add(slack)) {
		return nil
	}
	return []reprise.Finding{{
		Code: reprise.CodeFutureTime, Severity: reprise.Warning, Subject: r.ID,
		Message: fmt.Sprintf("last activity is dated %s, which has not come yet", r.LastActivity.Format(time.DateOnly)),
		Source:  r.LastActivitySource,
		Hint:    "check this machine's clock; the time in the file may be invented",
	}}
}

// staleRun warns of open runs only: age alone never blocks, and a finished run
// may be as old as it likes.
func staleRun(r *reprise.Run, o reprise.Observed) []reprise.Finding {
	if o.Now.IsZero() || r.LastActivity.IsZero() || !begun(r) {
		return nil
	}
	old := o.Now.Sub(r.LastActivity)
	if old <= Moderate {
		return nil
	}
	return []reprise.Finding{{
		Code: reprise.CodeStaleRun, Severity: reprise.Warning, Subject: r.ID,
		Message: fmt.Sprintf("nothing happened for %d days; the project may have moved on", int(old/(24*time.Hour))),
		Source:  r.LastActivitySource,
		Hint:    "look at what changed since before resuming",
	}}
}

// age tells the two bands in the middle. Fresh needs no word, stale has its own.
func age(r *reprise.Run, o reprise.Observed) []reprise.Finding {
	if o.Now.IsZero() || r.LastActivity.IsZero() || !begun(r) {
		return nil
	}
	old := o.Now.Sub(r.LastActivity)
	if old < Fresh || old > Moderate {
		return nil
	}
	band := BandOf(old)
	return []reprise.Finding{{
		Code: reprise.CodeAge, Severity: reprise.Info, Subject: r.ID,
		Message: fmt.Sprintf("last active %s ago, which is %s", span(old), band.Name),
		Source:  r.LastActivitySource,
		Hint:    band.Advice,
	}}
}
