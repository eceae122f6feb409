package cli

import (
	"fmt"

	"reprise"
)

var landingMarks = map[reprise.Landing]string{reprise.Landed: "✓", reprise.NotLanded: "○", reprise.LandedPartly: "◐"}

var landingWords = map[reprise.Landing]string{
	reprise.Landed: "took effect", reprise.NotLanded: "did not take effect", reprise.LandedPartly: "took effect in part",
}

// shownCalls is how many calls without a result are shown of one session.
const shownCalls = 5

// air lists the sessions of agents that worked where the run does and are alive
// or left something without a result.
func (f *face) air(j judged) {
	first := true
	for _, s := range j.o.SessionsOn(j.run) {
		if len(s.Calls) == 0 && s.Owner.Life != reprise.Alive && !f.preflight {
			continue
		}
		if first {
			f.heading("What agents had under way (✓ landed, ○ not, ◐ in part, ? cannot be told):")
			first = false
		}
		f.session(s)
	}
	if !f.preflight {
		return
	}
	for _, text := range j.o.SessionsUnread {
		f.para("  not looked at: ", text, linesSource)
	}
}

func (f *face) session(s reprise.Session) {
	name := s.CLI
	if s.Version != "" {
		name += " " + s.Version
	}
	if s.ID != "" {
		name += ", session " + s.ID
	}
	if s.Dir != "." {
		name += ", in " + s.Dir
	}
	life := s.Owner.Life.String()
	if life == "" {
		life = reprise.LifeUnknown.String()
	}
	f.para("  - ", fmt.Sprintf("%s: %s, %s", name, life, s.Owner.Reason), linesSource)
	if s.Lost > 0 {
		f.para("    ", fmt.Sprintf("%s of its transcript cannot be read", count(s.Lost, "record")), linesTitle)
	}
	calls := s.Calls
	if n := len(calls) - shownCalls; n > 0 && !f.preflight {
		f.line("    %s before these left no result either", count(n, "call"))
		calls = calls[n:]
	}
	for _, c := range calls {
		f.call(c)
	}
}

// call shows one call. A landing we have no word for is unknown, never done.
func (f *face) call(c reprise.Call) {
	mark, became := landingMarks[c.Landing], landingWords[c.Landing]
	if mark == "" {
		mark, became = "?", "whether it took effect cannot be told"
	}
	text := c.Tool
	switch {
	case text == "" && c.Text == "":
		text = "a call"
	case text == "":
		text = c.Text
	case c.Text != "":
		text += ": " + c.Text
	}
	f.marked("    ", mark, "", text, linesSource)
	became += ", effect " + c.Effect.String()
	if c.Passed {
		became += "; the work went on after it"
	}
	f.para("        ", became, linesTitle)
	for _, sign := range c.Signs {
		f.para("        · ", sign, linesTitle)
	}
}
