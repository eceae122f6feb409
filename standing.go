package reprise

import (
	"fmt"
	"strings"
	"time"
)

// Standing is a decision in one word, for people: every table, page and mark takes it from
// here. The verdict says whether a run may be started; someone at work forbids it, and is
// nothing wrong.
type Standing string

// The standings; another one is the word of the verdict.
const (
	StandsRunning Standing = "running" // someone is at work on it
	StandsWaiting Standing = "waits"   // someone is at work beside it
	StandsAsking  Standing = "asks"    // a person is needed first, whatever else there is to look at
	StandsNone    Standing = "none"    // nothing is to be resumed, or it was not judged
)

// Standing gives the word.
func (d Decision) Standing() Standing {
	switch {
	case d.held() && d.State == Running:
		return StandsRunning
	case d.held():
		return StandsWaiting
	case d.Verdict == 0 || d.Verdict == VerdictNone:
		return StandsNone
	case d.Action == Ask && d.Verdict != BlockedVerdict:
		return StandsAsking
	}
	return Standing(d.Verdict.String())
}

// shownAtWork is how many of the steps under way are named.
const shownAtWork = 3

// working tells what of a run is worked on by its owner, who that is, and since when.
func (r *Run) working() string {
	var steps []string
	for i := range r.Steps {
		if r.Steps[i].Status == InProgress {
			steps = append(steps, r.Steps[i].ID)
		}
	}
	what, is := strings.Join(steps[:min(shownAtWork, len(steps))], ", "), "is"
	if n := len(steps) - shownAtWork; n > 0 {
		what += fmt.Sprintf(" and %d more", n)
	}
	switch len(steps) {
	case 0:
		what = "it"
	case 1:
	default:
		is = "are"
	}
	o := r.Owner
	text := fmt.Sprintf("%s %s being worked on", what, is)
	if o.Dir != "" {
		text += " in " + o.Dir
	}
	switch {
	case o.Agent != "" && o.PID > 0:
		text += fmt.Sprintf(" by %s (process %d)", o.Agent, o.PID)
	case o.Agent != "":
		text += " by " + o.Agent
	case o.PID > 0:
		text += fmt.Sprintf(" by process %d", o.PID)
	}
	return text + since(o.StartedAt)
}

// since is the time from which on something lasts, behind a sentence; "" if it is unknown.
func since(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return " since " + at.UTC().Format("2006-01-02 15:04 MST")
}
