package cli

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"reprise"
	"reprise/project"
)

// How many sessions are shown, and how many calls of each, unless all of them are asked for.
const (
	shownSessions = 3
	shownCalls    = 2
)

// worstSession is the worst outcome of continuing a session of the folder.
func worstSession(found *project.Judgement) reprise.Outcome {
	worst := reprise.OutcomeNothing
	for _, s := range found.Sessions(false) {
		worst = worst.Worse(s.Outcome(found.Observed.Now))
	}
	return worst
}

// sessionsHere prints the sessions of agent CLIs in a folder that a person could want back, and
// what of them was not looked at. It reports whether there was something to print.
func (p *page) sessionsHere(found *project.Judgement) bool {
	list, unread := found.Sessions(true), found.Unread()
	if len(list)+len(unread) == 0 || len(list) == 0 && len(found.Runs) > 0 {
		return false
	}
	counts := map[reprise.State]int{}
	for _, s := range list {
		counts[s.State(p.now)]++
	}
	if len(found.Runs) > 0 {
		p.gap()
	}
	if len(list) > 0 {
		p.line("%s", fit(fmt.Sprintf("%s in %s: %s", count(len(list), "agent session"), clip(filepath.Base(found.Root), 40), tally(counts)), p.columns))
	}
	for i, s := range list {
		if i == shownSessions && !p.all && !p.full {
			p.gap()
			p.say(fmt.Sprintf("… and %s: `%s` shows them.", count(len(list)-i, "more session"), cmp.Or(p.every, "reprise status --all")))
			break
		}
		p.gap()
		p.sessionHere(s, list)
	}
	if len(list) == 0 {
		p.line("%s", fit("No agent session is known to have been interrupted in "+clip(filepath.Base(found.Root), 40)+".", p.columns))
	}
	for _, u := range unread {
		p.para("  not looked at: ", u.String(), linesSource)
	}
	return true
}

// sessionHere prints what a person has to know to continue a session.
func (p *page) sessionHere(s reprise.Session, among []reprise.Session) {
	state, at := s.State(p.now), s.End.At
	if at.IsZero() {
		at = s.Last
	}
	head := s.Name(among) + " " + s.Says(p.now)
	if s.Owner.Life != reprise.Alive && !at.IsZero() {
		head += ", " + reprise.Ago(p.now, at)
	}
	if s.Dir != "." && s.Dir != "" {
		head += ", in " + s.Dir
	}
	p.marked("", symbols[state], colours[state], head, linesTitle)
	if p.verdicts {
		if mark, text := p.sessionVerdict(s, state); text != "" {
			p.marked("", mark, map[string]string{"✓": green, "!": yellow, "✗": red}[mark], text, linesTitle)
		}
	}
	title := func(name, text string) {
		if text = plain(text); text != "" {
			p.field(name, fit(text, p.twoLines()))
		}
	}
	if s.Title != s.FirstPrompt {
		title("title", s.Title)
	}
	title("asked", s.FirstPrompt)
	title("said", cmp.Or(s.LastWords, s.LastPrompt))
	title("permit?", s.Asks)
	calls, name := s.Open(), "in air"
	if len(calls) == 0 {
		calls = settled(s)
	}
	for i, c := range calls {
		if i == shownCalls && !p.all && !p.full {
			p.field("", count(len(calls)-i, "more call"))
			break
		}
		if state == reprise.Running {
			title("doing", c.Name())
			break
		}
		title(name, c.Name()+" -- "+c.Words())
		name = " "
	}
	if len(calls) > 0 && calls[0].Open() && state != reprise.Running {
		title("look", calls[0].Look())
	}
	title("note", s.Broken)
	if next := s.Next(); next != "" {
		p.line("  continue  %s", next) // a command on two lines cannot be pasted
	}
}

// settled lists the calls that were in the air and are known to have taken effect.
func settled(s reprise.Session) []reprise.Call {
	return slices.DeleteFunc(slices.Clone(s.Calls), func(c reprise.Call) bool { return c.Open() || c.Landing == reprise.NotLanded })
}

// sessionVerdict says in a sentence whether it is safe to continue a session.
func (p *page) sessionVerdict(s reprise.Session, state reprise.State) (mark, text string) {
	switch open := s.Open(); {
	case state == reprise.Running:
		return "●", "RUNNING: a second one would work against it"
	case state == reprise.Waiting && s.Asks != "":
		return "?", "NEEDS AN ANSWER: it waits in its terminal for your permission"
	case state == reprise.Waiting && s.Owner.Life != reprise.Alive:
		return "·", "WAITS: it can be continued after that"
	case state == reprise.Unreadable:
		return "✗", "BLOCKED: its transcript cannot be read"
	case len(open) > 0:
		return "!", "CAUTION: first find out what became of " + count(len(open), "call") + " in the air"
	case s.End.By == reprise.EndedContext:
		return "!", "CAUTION: continued, it is full again; begin a new one with a briefing"
	case s.End.By == reprise.EndedLogin:
		return "!", "CAUTION: log in again first"
	case s.End.By == reprise.EndedBilling:
		return "!", "CAUTION: see to the payment first"
	case s.Lost > 0:
		return "!", "CAUTION: " + count(s.Lost, "record") + " of its transcript cannot be read"
	case state == reprise.Interrupted && s.Verdict(p.now) == reprise.Caution:
		return "!", "CAUTION: whether it is still at work is unknown"
	case state == reprise.Interrupted && len(settled(s)) > 0:
		return "✓", "SAFE to continue: what was in the air is settled"
	case state == reprise.Interrupted:
		return "✓", "SAFE to continue: nothing was in the air"
	}
	return "", ""
}

// interrupted lists the runs that were interrupted: begun, open, and neither at work nor at rest.
// certain leaves out lists of tasks of which only git can tell.
func interrupted(found *project.Judgement, certain bool) []judged {
	return thatAre(found, func(r *reprise.Run) bool {
		d := found.Decisions[r]
		cut := d.State.Begun() && d.State != reprise.Running && d.Holder == nil && !d.Rests
		return cut && !(certain && gitTells(found, r))
	})
}

// gitTells reports whether only git can tell a run that was cut off from one that waits for whoever
// goes on with it.
func gitTells(found *project.Judgement, r *reprise.Run) bool {
	return r.Kind == reprise.KindTasks && !r.CutShort(found.Observed)
}

// working counts the runs and sessions that are at work in a folder right now.
func working(found *project.Judgement) (n int) {
	for _, r := range found.Runs {
		if found.Decisions[r].State == reprise.Running {
			n++
		}
	}
	for _, s := range found.Sessions(false) {
		if s.State(found.Observed.Now) == reprise.Running {
			n++
		}
	}
	return n
}
