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
	case anyWord(s, "blocked", "awaiting", "waiting for", "waiting on", "aguardando", "esperando", "bloqueado", "blockiert", "wartet auf", "en attente", "bloque") || strings.Contains(s, "等待"):
		if strings.Contains(s, "verif") || anyWord(s, "uat") {
			return gsdVerifying
		}
		return gsdWaiting
	case anyWord(s, "paused", "stopped", "on hold", "pausado", "pausada", "pausiert", "en pause") || strings.Contains(s, "暂停"):
		return gsdPaused
	case asksVerification(s):
		return gsdVerifying
	case anyWord(s, "ready to execute", "ready for execution", "ready for execute", "execution ready", "plans created", "plan created", "plans ready", "plan ready"),
		strings.HasPrefix(s, "planned"), strings.Contains(s, "계획 완료"), strings.Contains(s, "실행 준비"):
		return gsdReady
	case !holdsDone(raw) && (anyWord(s, "ready to plan", "ready for planning", "ready to be planned", "ready to discuss", "planning", "defining", "context gathered", "roadmap created", "not started", "research", "researching", "discuss", "discussing", "discussion") || strings.Contains(s, "준비됨")):
		return gsdPlanning
	case beginsWithPlan(s):
		return gsdExecuting
	case anyWord(s, "in progress", "active", "executing", "execute", "execution", "em andamento", "en curso", "en progreso", "en cours", "in arbeit", "в работе", "выполняется") ||
		strings.Contains(s, "진행") || strings.Contains(s, "进行中") || strings.Contains(s, "進行中"):
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
	doneWords = []string{
		"complete", "completed", "done", "shipped", "finished", "abgeschlossen", "fertig", "erledigt", "termine", "terminee", "concluido", "concluida", "completo", "completa",
		"completado", "completada", "terminado", "terminada", "finalizado", "finalizada", "completato", "completata", "завершено", "завершена", "завершен", "готово", "tamamlandi", "tamamlandı", "zakonczone", "ukonczone",
	}
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

// aboutMilestone reports whether a folded text says that the milestone or all of
// its phases are done, or that the next one has not begun.
func aboutMilestone(s string) bool {
	if anyWord(s, "between milestones", "project complete", "project completed", "project is complete", "no active milestone", "next milestone") {
		return true
	}
	for _, word := range []string{"里程碑", "마일스톤", "マイルストーン"} {
		if strings.Contains(s, word) && holdsDone(s) {
			return true
		}
	}
	version := func(w string) bool { return len(w) > 1 && w[0] == 'v' && w[1] >= '0' && w[1] <= '9' }
	ws := strings.Fields(s)
	for i, w := range ws {
		rest := ws[i+1:]
		switch {
		case w == "milestone" || w == "milestones" || w == "phases" && i > 0 && (ws[i-1] == "all" || i > 1 && ws[i-2] == "all" && doc.Digits(ws[i-1])):
			for len(rest) > 0 && (version(rest[0]) || rest[0] == "is" || rest[0] == "are") {
				rest = rest[1:]
			}
		case version(w):
			for len(rest) > 0 && rest[0] == "milestone" {
				rest = rest[1:]
			}
		default:
			continue
		}
		if len(rest) > 0 && (slices.Contains(doneWords, rest[0]) || rest[0] == "archived") {
			return true
		}
		// A name may stand between: "Milestone v1.0 Account Pages shipped".
		named := rest[:min(len(rest), 6)]
		if w != "phases" && (slices.Contains(named, "shipped") || slices.Contains(named, "archived")) {
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

// beginsWithPlan recognizes "05-01 complete", which is about one plan and not the phase.
// Folding has turned the dash into a space.
func beginsWithPlan(s string) bool {
	ws := strings.Fields(s)
	if len(ws) < 2 {
		return false
	}
	_, first := parsePhase(ws[0])
	second := doc.Digits(ws[1])
	return second && (first || ws[0] == "plan")
}
