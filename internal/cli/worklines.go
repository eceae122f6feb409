package cli

import (
	"fmt"
	"time"

	"reprise"
	"reprise/engine"
)

// lineLog turns everything that happens into one line each, for pipes and build machines:
// the time, the step, what happened; no escapes, nothing redrawn.
type lineLog struct {
	said map[string]time.Time // when a step's agent was last quoted
}

// quoteEvery is how often the last line of an agent is shown in a log.
const quoteEvery = 30 * time.Second

// longest is the maximum width of a log line.
const longest = 300

// line returns the line for a report, "" if it is not worth one.
func (l *lineLog) line(run string, p engine.Progress) string {
	step := clip(p.Step, 60)
	if p.Run != run {
		step = clip(p.Run, 40) + " / " + step
	}
	text := ""
	switch p.Kind {
	case engine.Began:
		l.said[p.Run+"\x00"+p.Step] = p.At
		text = "started"
		if p.Role != "" {
			text += " @" + clip(p.Role, 30)
		}
		if p.Attempt > 1 {
			text += fmt.Sprintf(", attempt %d", p.Attempt)
		}
	case engine.Said:
		key := p.Run + "\x00" + p.Step
		if p.At.Sub(l.said[key]) < quoteEvery {
			return ""
		}
		l.said[key] = p.At
		text = "| " + plain(p.Text)
	case engine.Ended, engine.Resolved:
		text = clip(p.Outcome, 40)
		if p.Kind == engine.Resolved {
			text = "was cut off before: " + text
		} else if p.Took > 0 {
			text += " after " + took(p.Took)
		}
		if said := readable(p.Text); said != "" {
			text += ": " + plain(said)
		}
		text += " (" + doneWords(reprise.Progress{Done: p.Done, Total: p.Total, Skipped: p.Skipped}) + ")"
	case engine.Waits:
		if brief(p) {
			return ""
		}
		text = waitWords(plain(p.Text), p.Until, p.At)
	case engine.Questions:
		text = "asks: " + plain(p.Text)
	case engine.Noticed:
		return fit(p.At.UTC().Format(time.TimeOnly)+"  ! "+noticeWords(p), longest)
	default:
		return ""
	}
	if step != "" {
		text = step + "  " + text
	}
	return fit(p.At.UTC().Format(time.TimeOnly)+"  "+text, longest)
}

// brief reports whether a wait is over before anyone could read about it.
func brief(p engine.Progress) bool {
	return !p.Until.IsZero() && p.Until.Sub(p.At) < time.Second
}

// noticeWords formats a finding of the engine.
func noticeWords(p engine.Progress) string {
	if p.Step == "" {
		return plain(p.Text)
	}
	return clip(p.Step, 60) + ": " + plain(p.Text)
}
