package cli

import (
	"cmp"
	"fmt"
	"slices"

	"reprise"
)

const underWay = "What agents had in progress (✓ landed, ○ not, ◐ in part, ? unknown):"

// The outcomes of a call.
var (
	landingMarks = map[reprise.Landing]string{reprise.Landed: "✓", reprise.NotLanded: "○", reprise.LandedPartly: "◐"}
	landingWords = map[reprise.Landing]string{
		reprise.Landed: "took effect", reprise.NotLanded: "did not take effect", reprise.LandedPartly: "took effect in part",
	}
)

// sessions lists the agent sessions that worked where the run does.
func (p *page) sessions(j judged) {
	for i, s := range j.o.SessionsOn(j.run) {
		if i == 0 {
			p.heading(underWay)
		}
		p.session(s)
		for _, c := range s.Calls {
			p.call(c)
		}
	}
	for _, u := range j.o.SessionsUnread {
		p.para("  not looked at: ", u.String(), linesSource)
	}
}

// calls returns, one point each, what live sessions and those that left something without
// a result had in progress: unknown outcomes first, then the latest. A session is shown
// above the first of its calls.
func (p *page) calls(j judged) (points []point) {
	for _, s := range j.o.SessionsOn(j.run) {
		if len(s.Calls) == 0 && s.Owner.Life != reprise.Alive {
			continue
		}
		head := p.drawn(func(p *page) { p.session(s) })
		if len(s.Calls) == 0 {
			points = append(points, point{head, head})
		}
		for _, known := range []bool{false, true} {
			for _, c := range slices.Backward(s.Calls) {
				if (landingMarks[c.Landing] != "") == known {
					text := head + p.drawn(func(p *page) { p.call(c) })
					points = append(points, point{text, text})
					head = ""
				}
			}
		}
	}
	return points
}

func (p *page) session(s reprise.Session) {
	name, most := s.CLI, 1
	if s.Version != "" {
		name += " " + s.Version
	}
	if p.full && s.ID != "" {
		name += ", session " + s.ID
	}
	if p.full {
		most = linesSource
	}
	if s.Dir != "." && s.Dir != "" {
		name += ", in " + s.Dir
	}
	life := cmp.Or(s.Owner.Life.String(), reprise.LifeUnknown.String())
	p.para("  - ", fmt.Sprintf("%s: %s, %s", name, life, s.Owner.Reason), most)
	if s.Lost > 0 {
		p.para("    ", fmt.Sprintf("%s of its transcript cannot be read", count(s.Lost, "record")), linesTitle)
	}
}

// call shows one call. A landing without a word is unknown, never done.
func (p *page) call(c reprise.Call) {
	mark, became := landingMarks[c.Landing], landingWords[c.Landing]
	if mark == "" {
		mark, became = "?", "whether it took effect is unknown"
	}
	text := cmp.Or(c.Tool, c.Text, "a call")
	if c.Tool != "" && c.Text != "" {
		text += ": " + c.Text
	}
	about := "effect " + c.Effect.String()
	if c.Passed {
		about += "; the work continued after it"
	}
	if !p.full { // the title says what the mark means
		p.marked("    ", mark, "", text+" ("+about+")", linesTitle)
		return
	}
	p.marked("    ", mark, "", text, linesSource)
	p.para("        ", became+", "+about, linesTitle)
	p.items("        · ", c.Signs, 0, linesTitle)
}
