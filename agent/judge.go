package agent

import (
	"cmp"
	"slices"
	"strings"

	"reprise"
)

// judge corrects how a process ended by what its session said. What it printed
// as events counts more than how it exited, and prose counts least.
func (s *stream) judge(r *Result, account string) {
	r.Session = cmp.Or(s.session, r.Session, s.want)
	if s.wrong {
		r.Session = s.want
		r.Outcome, r.Reason = SessionNotFound, (&otherSession{s.want, s.session}).Error()
		return
	}
	r.LastText = cmp.Or(strings.TrimSpace(s.text), r.LastText)
	r.Open = slices.Clone(s.open)
	if s.permits.rejects != "" && strings.Contains(r.Stderr, s.permits.rejects) {
		s.denied(s.permits.shell, "a command outside of its sandbox")
	}
	r.Asks = slices.Clone(s.asks)
	defer func() {
		if r.Outcome == Limited {
			r.Account = account
		}
	}()
	if s.ended(r) {
		return
	}
	switch r.Outcome {
	case Stopped, NotStarted:
		return
	case TimedOut:
		// It waited for a limit to end, and said so.
		if c := s.waiting(r); c.outcome == Limited {
			c.tell(r)
		} else if n := len(s.open); n > 0 {
			r.Reason += ": " + s.open[n-1].shown()
		}
		return
	}
	s.cutShort(r)
}

// ended takes over the end that the session told of, if it did.
func (s *stream) ended(r *Result) bool {
	e := s.ending
	ours := r.Outcome == Stopped || r.Outcome == TimedOut
	switch {
	case e.outcome == "":
		return false
	case e.outcome == Done && s.soft && (ours || r.Signal != "" || (r.Exit != 0 && !s.mended)):
		return false
	case e.outcome == Done && s.limit.closed:
		cause{Limited, "a usage limit is reached" + inWindow(s.limit), s.limit.until, reprise.AwaitsLimit}.tell(r)
	case e.outcome == Done && len(s.asks) > 0 && (r.Reply == nil || r.Reply.Outcome != "done"):
		r.Outcome, r.Reason, r.Finished, r.Says = NeedsPerson, "it needed a person: "+s.asks[0].Text, true, SaysEvent
	case e.outcome == Done:
		r.Outcome, r.Reason, r.Says = Done, "it says that it is finished", SaysEvent
		r.weigh()
	case ours && (e.outcome == Killed || e.outcome == Failed):
		return false // it says that it was interrupted, by us
	default:
		e.tell(r)
		if e.outcome == Limited && s.limit.closed {
			r.Reason += inWindow(s.limit)
			r.Until = s.limit.until
		}
	}
	return true
}

// tell makes it what came of an attempt.
func (c cause) tell(r *Result) {
	r.Outcome, r.Reason, r.Until, r.Awaits = c.outcome, c.reason, c.until, c.awaits
}

func inWindow(w window) string {
	if w.kind == "" {
		return ""
	}
	return " (" + strings.ReplaceAll(w.kind, "_", " ") + ")"
}

// waiting is what it last tried again after.
func (s *stream) waiting(r *Result) cause {
	if s.waits.outcome != "" {
		return s.waits
	}
	if s.ending.outcome != "" || len(s.open) > 0 {
		return cause{}
	}
	if c := explain(0, lastWords(r.Stderr), s.now()); c.outcome == Limited || !s.mute || !r.silent {
		return c
	}
	return cause{outcome: Limited, reason: "its model did not answer, and it waited without a word, as it does while a limit lasts"}
}

// cutShort says how a session ended that did not say so itself.
func (s *stream) cutShort(r *Result) {
	if r.Signal != "" || r.Exit == 128+9 || r.Exit == 128+15 || r.Exit == 128+2 {
		r.Outcome = Killed
		r.Reason = cmp.Or(r.Reason, "it was killed before it came to an end")
		return
	}
	if len(s.asks) > 0 && r.Exit == 0 {
		r.Outcome, r.Reason = NeedsPerson, "it needed a person: "+s.asks[0].Text
		return
	}
	// Its last error, then its last words on standard error.
	for _, c := range []cause{s.error, s.waits, explain(0, lastWords(r.Stderr), s.now())} {
		if c.outcome != "" && c.outcome != Failed {
			c.tell(r)
			return
		}
	}
	words := cmp.Or(s.error.reason, firstLine(lastWords(r.Stderr)))
	if s.events == 0 && r.Exit != 0 {
		r.Outcome, r.Reason = Failed, "it ended before its session began"
	} else {
		r.Outcome, r.Reason = Lost, "it exited without saying how its session ended"
	}
	if words != "" {
		r.Reason += ": " + words
	}
}

// chatter are beginnings of lines on standard error that say nothing of an end.
var chatter = []string{"at ", "[STARTUP]", "Warning:", "YOLO mode", "Package extraction", "status:", "}"}

// lastWords is the end of a text that is likely to say what went wrong.
func lastWords(text string) string {
	var out []string
	for l := range strings.Lines(text) {
		l = strings.TrimSpace(l)
		if l == "" || slices.ContainsFunc(chatter, func(c string) bool { return strings.HasPrefix(l, c) }) {
			continue
		}
		if _, said, ok := strings.Cut(l, ` error.error="`); ok {
			l, _, _ = strings.Cut(said, `"`) // a line of a log: what the error says, not where
		}
		out = append(out, l)
	}
	return strings.Join(out[max(0, len(out)-20):], "\n")
}
