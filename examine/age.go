package examine

import (
	"fmt"
	"time"

	"reprise"
)

// slack is how far a recorded time may lie ahead before it is called future:
// times without a zone are read as UTC and may be up to 14 hours off.
const slack = 15 * time.Hour

// Bands of age, as the seed of the orchestrate layout draws them.
const (
	Fresh    = time.Hour
	Recent   = 24 * time.Hour
	Moderate = 7 * 24 * time.Hour
)

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
	if o.Now.IsZero() || r.LastActivity.IsZero() || !r.State.Open() || r.State == reprise.NotStarted {
		return nil
	}
	age := o.Now.Sub(r.LastActivity)
	if age <= Moderate {
		return nil
	}
	return []reprise.Finding{{
		Code: reprise.CodeStaleRun, Severity: reprise.Warning, Subject: r.ID,
		Message: fmt.Sprintf("nothing happened for %d days; the project may have moved on", int(age/(24*time.Hour))),
		Source:  r.LastActivitySource,
		Hint:    "look at what changed since before resuming",
	}}
}
