package longrun

import (
	"slices"
	"strings"

	"reprise/internal/doc"
)

// gsdWord is what a status of STATE.md means.
type gsdWord uint8

const (
	gsdNone gsdWord = iota
	gsdReady
	gsdPlanning
	gsdExecuting
	gsdDone
	gsdMilestone
	gsdPaused
	gsdWaiting
	gsdVerifying
	gsdOther
)

// readGSDWord reads a status written by a tool or in prose. Order matters: what
// asks for a person comes before what merely moves on, and a word for done
// counts only if nothing else is said.
func readGSDWord(text string) gsdWord {
	raw := withoutCode(text)
	s := doc.Fold(raw)
	switch s {
	case "", "unknown", "none", "n/a":
		if holdsDone(raw) {
			return gsdDone
		}
		return gsdNone
	}
	switch {
	case aboutMilestone(s):
		return gsdMilestone
	case anyWord(s, "paused", "stopped", "on hold"):
		return gsdPaused
	case anyWord(s, "blocked", "awaiting", "waiting for", "waiting on"):
		if strings.Contains(s, "verif") || anyWord(s, "uat") {
			return gsdVerifying
		}
		return gsdWaiting
	case asksVerification(s):
		return gsdVerifying
	case anyWord(s, "ready to execute", "ready for execution", "ready for execute", "execution ready", "plans created", "plan created", "plans ready", "plan ready"),
		strings.HasPrefix(s, "planned"), strings.Contains(s, "계획 완료"), strings.Contains(s, "실행 준비"):
		return gsdReady
	case !holdsDone(raw) && (anyWord(s, "ready to plan", "ready for planning", "ready to be planned", "ready to discuss", "planning", "defining", "context gathered", "roadmap created", "not started", "research", "researching", "discuss", "discussing", "discussion") || strings.Contains(s, "준비됨")):
		return gsdPlanning
	case beginsWithPlan(s):
		return gsdExecuting
	case anyWord(s, "in progress", "active", "executing", "execute", "execution") || strings.Contains(s, "진행"):
		return gsdExecuting
	case holdsDone(raw):
		return gsdDone
	}
	return gsdOther
}

// anyWord reports whether a folded text holds one of the phrases as whole words.
func anyWord(folded string, phrases ...string) bool {
	padded := " " + folded + " "
	return slices.ContainsFunc(phrases, func(p string) bool { return strings.Contains(padded, " "+p+" ") })
}

// doneWords are whole words; doneMarks may stand anywhere.
var (
	doneWords = []string{"complete", "completed", "done", "shipped", "finished", "abgeschlossen", "termine", "concluido", "concluida"}
	doneMarks = []string{"✅", "✓", "✔", "완료", "已完成", "完成", "完了"}
)

// holdsDone reports whether a text holds a word for done that is not negated.
func holdsDone(text string) bool {
	for _, mark := range doneMarks {
		if strings.Contains(text, mark) {
			return true
		}
	}
	ws := strings.Fields(doc.Fold(text))
	for i, w := range ws {
		if slices.Contains(doneWords, w) && (i == 0 || ws[i-1] != "not" && ws[i-1] != "yet" && ws[i-1] != "to") {
			return true
		}
	}
	return false
}

func aboutMilestone(s string) bool {
	if anyWord(s, "between milestones", "project complete", "all phases complete", "all phases completed") {
		return true
	}
	closed := []string{"complete", "completed", "shipped", "archived", "done"}
	version := func(w string) bool { return len(w) > 1 && w[0] == 'v' && w[1] >= '0' && w[1] <= '9' }
	ws := strings.Fields(s)
	for i, w := range ws {
		rest := ws[i+1:]
		switch {
		case w == "milestone":
			for len(rest) > 0 && (version(rest[0]) || rest[0] == "is") {
				rest = rest[1:]
			}
		case version(w):
			for len(rest) > 0 && rest[0] == "milestone" {
				rest = rest[1:]
			}
		default:
			continue
		}
		if len(rest) > 0 && slices.Contains(closed, rest[0]) {
			return true
		}
	}
	return false
}

func asksVerification(s string) bool {
	if anyWord(s, "verifying", "verification pending", "verification needed") {
		return true
	}
	for _, lead := range []string{"ready for ", "needs ", "need ", "pending "} {
		if _, rest, ok := strings.Cut(" "+s, " "+lead); ok {
			rest = strings.TrimPrefix(rest, "human ")
			if strings.HasPrefix(rest, "verif") || strings.HasPrefix(rest, "uat") {
				return true
			}
		}
	}
	return false
}

// beginsWithPlan recognises "05-01 complete", which speaks of one plan and not
// of the phase. Folding has turned the dash into a blank.
func beginsWithPlan(s string) bool {
	ws := strings.Fields(s)
	if len(ws) < 2 {
		return false
	}
	_, first := parsePhase(ws[0])
	second := allDigits(ws[1])
	return second && (first || ws[0] == "plan")
}
