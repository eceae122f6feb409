package examine

import (
	"fmt"
	"strconv"

	"reprise"
)

// sessionLive reports agents that work where the run does: another one beside them would
// repeat or undo their work.
func sessionLive(r *reprise.Run, o *World) []reprise.Finding {
	var out []reprise.Finding
	for _, s := range o.SessionsOn(r) {
		if s.Owner.Life != reprise.Alive {
			continue
		}
		if !s.Busy() {
			out = append(out, reprise.Finding{
				Severity: reprise.Warning, Subject: sessionName(s), Source: reprise.Source{File: s.Path},
				Message: fmt.Sprintf("a %s session is open but idle in %s: %s", quote(s.CLI), quote(s.Dir), s.Owner.Reason),
				Hint:    "end it, or make sure that no one uses it while the run continues",
			})
			continue
		}
		out = append(out, reprise.Finding{
			Subject: sessionName(s), Source: reprise.Source{File: s.Path},
			Message: fmt.Sprintf("a %s session is working in %s: %s", quote(s.CLI), quote(s.Dir), s.Owner.Reason),
			Hint:    "end it or wait for it before you continue here",
		})
	}
	return out
}

// callInAir reports calls without a result, and what became of them.
func callInAir(r *reprise.Run, o *World) []reprise.Finding {
	var out []reprise.Finding
	more := 0
	for _, s := range o.SessionsOn(r) {
		for i, c := range s.Calls {
			if c.Passed || c.Effect == reprise.EffectNone {
				continue
			}
			if len(out) >= reprise.CallsTold {
				if c.Open() {
					more++
				}
				continue
			}
			f := reprise.Finding{
				Subject: fmt.Sprintf("%s call %d", sessionName(s), i+1), Source: reprise.Source{File: s.Path},
				Message: callWords(s, c), Hint: c.Look() + ", before you do the same again",
			}
			switch q := c.Question(s); {
			case !c.Open():
				f.Severity, f.Hint = reprise.Info, ""
			case c.Reaches() && s.Owner.Life != reprise.Alive:
				f.Hint += fmt.Sprintf("; `reprise answer %s --question %s` takes what you found, which settles it: no later work does", reprise.Pasted(r.ID, "RUN"), q.ID)
			}
			out = append(out, f)
		}
	}
	if more > 0 {
		out = append(out, reprise.Finding{
			Subject: "sessions", Message: fmt.Sprintf("%d more calls of agents were begun and left without a result", more),
			Hint: "`reprise check --json` lists their sessions",
		})
	}
	for _, u := range o.UnreadOn(r) {
		out = append(out, reprise.Finding{
			Subject: u.CLI, Source: reprise.Source{File: u.Path}, Message: "calls that sessions left without a result are unknown: " + u.String(),
			Hint: "check what was done there before you do the same again",
		})
	}
	return out
}

func sessionName(s reprise.Session) string {
	if s.ID == "" {
		return s.CLI
	}
	return s.CLI + " " + s.ID
}

var landingWords = map[reprise.Landing]string{
	reprise.Landed: "it took effect", reprise.NotLanded: "it did not take effect", reprise.LandedPartly: "it took effect in part",
}

// callWords says what was begun, and what became of it.
func callWords(s reprise.Session, c reprise.Call) string {
	what := quote(c.Tool)
	if c.Text != "" {
		what += " " + strconv.Quote(c.Text) // shortened so that the destination stays visible
	}
	became := landingWords[c.Landing]
	if became == "" {
		became = "whether it took effect is unknown"
	}
	text := fmt.Sprintf("%s began %s and left no result; %s", quote(s.CLI), what, became)
	if len(c.Signs) > 0 {
		text += ": " + c.Signs[0]
	}
	return text
}
