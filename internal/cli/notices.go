package cli

import (
	"fmt"
	"os"
	"strings"
	"time"

	"reprise"
	"reprise/engine"
	"reprise/internal/notify"
	"reprise/internal/otlp"
	"reprise/journal"
	"reprise/report"
	"reprise/settings"
)

// worthTelling is how long a wait must be to notify a person who is elsewhere.
const worthTelling = time.Minute

// notifies starts sending notifications, as configured.
func (s *job) notifies(set *settings.Settings) {
	if set.Notify == nil || s.flags.dry || s.notices != nil {
		return
	}
	ways := notify.Ways{Desktop: set.Notify.Desktop, Command: set.Notify.Command, Dir: s.root, Environ: os.Environ()}
	ways.CommandEnviron, _ = set.Environ(os.Environ(), settings.Agent{})
	if _, is := s.terminal(s.err); is && set.Notify.Bell {
		ways.Bell = s.err
	}
	ways.Failed = func(err error) {
		s.say("! " + plain(err.Error()) + "; this is reported once")
	}
	s.notices, s.told = notify.Open(ways), map[string]bool{}
}

// traced sends the spans of a run if the environment names a collector.
func (s *job) traced(ref reprise.Ref) {
	tender := s.tender(s.flags.upkeepFlags)
	tender.Dir = s.root
	read := func() (otlp.Run, error) {
		h, err := tender.Log(&reprise.Run{Ref: ref})
		if err != nil {
			return otlp.Run{}, err
		}
		return otlp.Run{Ref: ref, Timeline: logged{root: s.root, History: h, working: true}.when(s.clock())}, nil
	}
	since := s.clock()
	if h, err := tender.Log(&reprise.Run{Ref: ref}); err == nil {
		since = unsent(h.Entries, since)
	}
	s.traces = otlp.Open(s.env, ownVersion().Version, since, read, func(err error) { s.say("! " + plain(err.Error()) + "; this is reported once") })
}

// unsent returns the time from which on recorded events have not been sent: after the
// last event of a process that worked on the run. A process that records an answer sends
// nothing.
func unsent(entries []journal.Entry, now time.Time) time.Time {
	var worked uint64
	for _, e := range entries {
		if e.Event.Kind == reprise.RunStarted || e.Event.Kind == reprise.RunResumed {
			worked = e.Generation
		}
	}
	for i := len(entries) - 1; i >= 0; i-- {
		if entries[i].Generation == worked {
			return entries[i].Event.At.Add(1)
		}
	}
	return now
}

// note notifies a person of engine reports that need them.
func (s *job) note(p engine.Progress) {
	switch {
	case p.Kind == engine.Questions:
		s.noteQuestion(p.Run, p.Step, p.Text)
	case p.Kind == engine.Waits && p.Until.Sub(p.At) >= worthTelling:
		until := p.Until.UTC()
		s.send(report.Notice{
			Kind: "limit", Run: p.Run, Step: p.Step, Until: &until,
			Title: p.Run + " waits", Text: strings.TrimSuffix("until "+clock(p.Until, s.clock())+": "+p.Text, ": "),
		})
	}
}

// noteQuestion notifies a person of a question, once.
func (s *job) noteQuestion(run, step, text string) {
	s.send(report.Notice{Kind: "asks", Run: run, Step: step, Title: run + " asks", Text: text})
}

// noteEnd notifies a person that the run is no longer worked on, unless they stopped it
// themselves or have been told of its questions.
func (s *job) noteEnd(sum *engine.Summary, next string) {
	if s.signal.Load() != nil {
		return
	}
	code, text := s.code, strings.Join(sum.Reasons, "; ")
	n := report.Notice{Kind: "ended", Run: sum.Run.ID, Title: fmt.Sprintf("%s: %s", sum.Run.ID, strings.ToLower(outcomeTitles[code])), Text: text, Exit: &code, Next: next}
	switch code {
	case exitNeedsAnswer:
		if len(sum.Questions) > 0 {
			s.noteQuestion(sum.Run.ID, sum.Questions[0].Subject, sum.Questions[0].Text)
			return
		}
		n.Kind = "asks"
	case exitWait:
		n.Kind, n.Until = "limit", report.When(sum.Until)
	}
	s.send(n)
}

// send sends a notice, but the same one only once.
func (s *job) send(n report.Notice) {
	s.mu.Lock()
	key := n.Kind + "\x00" + n.Run + "\x00" + n.Text
	known := s.notices == nil || s.told[key]
	if !known {
		s.told[key] = true
	}
	s.mu.Unlock()
	if known {
		return
	}
	hide := s.app.hide(s.root)
	n.Schema, n.At, n.Root, n.Title, n.Text = report.NoticeSchema, s.clock().UTC(), s.root, hide(n.Title), hide(n.Text)
	s.notices.Send(n)
}
