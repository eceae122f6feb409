package examine

import (
	"fmt"
	"time"

	"reprise"
)

// advice is what the seed of the orchestrate layout recommends for each band.
var advice = map[string]string{
	reprise.BandFresh:    "resume safely",
	reprise.BandRecent:   "resume with quick validation",
	reprise.BandModerate: "resume with careful validation",
	reprise.BandStale:    "consider restarting: the project may have changed significantly",
}

func futureTime(r *reprise.Run, o *World) []reprise.Finding {
	if o.Now.IsZero() || !r.LastActivity.After(o.Now.Add(reprise.ClockSlack)) {
		return nil
	}
	return []reprise.Finding{{
		Message: fmt.Sprintf("last activity is dated %s, which is in the future", r.LastActivity.Format(time.DateOnly)),
		Source:  r.LastActivitySource,
		Hint:    "check this machine's clock; the time in the file may be invented",
	}}
}

// staleRun warns about open runs only: age alone never blocks, and a finished run may be
// of any age. An unknown age counts as stale.
func staleRun(r *reprise.Run, o *World) []reprise.Finding {
	switch {
	case r.LastActivity.IsZero() && r.LastActivitySource.File != "":
		return []reprise.Finding{{
			Message: "the last activity is unknown: the history of this clone does not reach back that far",
			Source:  r.LastActivitySource,
			Hint:    "get the full history with `git fetch --unshallow`, or look at what changed before you resume",
		}}
	case o.Now.IsZero() || r.LastActivity.IsZero():
		return nil
	}
	old := o.Now.Sub(r.LastActivity)
	if reprise.BandOf(old) != reprise.BandStale {
		return nil
	}
	message := fmt.Sprintf("nothing has happened for %d days; the project may have moved on", int(old/(24*time.Hour)))
	if s := lastSession(r, o); s != nil {
		message = fmt.Sprintf("its files record nothing for %d days, but a session of %s worked in this folder %s ago",
			int(old/(24*time.Hour)), s.CLI, span(max(0, o.Now.Sub(s.Last))))
	}
	return []reprise.Finding{{
		Message: message,
		Source:  r.LastActivitySource,
		Hint:    "review what changed since, before you resume",
	}}
}

// lastSession returns the latest session that worked where a run does after the run's
// files were last written, or nil if there is none or it is just as old.
func lastSession(r *reprise.Run, o *World) (latest *reprise.Session) {
	for _, s := range o.SessionsOn(r) {
		if reprise.BandOf(o.Now.Sub(s.Last)) != reprise.BandStale && s.Last.After(r.LastActivity) && (latest == nil || s.Last.After(latest.Last)) {
			latest = &s
		}
	}
	return latest
}

// age reports the two bands in the middle. Fresh needs no mention, and stale has its own
// check.
func age(r *reprise.Run, o *World) []reprise.Finding {
	if o.Now.IsZero() || r.LastActivity.IsZero() {
		return nil
	}
	old := o.Now.Sub(r.LastActivity)
	band := reprise.BandOf(old)
	if band == reprise.BandFresh || band == reprise.BandStale {
		return nil
	}
	return []reprise.Finding{{
		Message: fmt.Sprintf("last active %s ago, which is %s", span(old), band),
		Source:  r.LastActivitySource,
		Hint:    advice[band],
	}}
}
