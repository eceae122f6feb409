package specloop

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/internal/doc"
)

// titleMark names the row that we add to the loop's table. The seven loop
// statuses stand for eleven phases, and gaps, questions and files do not always
// tell which: the row does, "A4 started (2026-03-01T10:05:00Z)".
const titleMark = "Loop Phase"

// mark is what the row says. It counts only as long as its time is the loop's
// Last Activity: a writer that does not know the row changes that time, and the
// row is then out of date.
type mark struct {
	phase, word string
	at          time.Time
	ok          bool
}

// The words of a mark.
const (
	markStarted = "started"
	markDone    = "done"
	markReset   = "reset"
)

func (m mark) text(stamp string) string { return fmt.Sprintf("%s %s (%s)", m.phase, m.word, stamp) }

func readMark(row, last value) mark {
	head, stamp, ok := strings.Cut(row.text, " (")
	stamp = strings.TrimSuffix(stamp, ")")
	if !row.given() || !ok || stamp != last.text {
		return mark{}
	}
	phase, word, _ := strings.Cut(head, " ")
	at, ok := doc.FindTime(stamp)
	if !ok || placeOf(phase) < 0 || (word != markStarted && word != markDone && word != markReset) {
		return mark{}
	}
	return mark{phase, word, at, true}
}

// statusWord is the loop status while a phase is at work, as the format has it.
func statusWord(phase string) string {
	switch phase {
	case "A1":
		return "scaffolding"
	case "A2":
		return "spec_writing"
	case "B1", "B2":
		return "clarifying"
	}
	return "validating"
}

// stands gives the phase a mark leads to: the one it names, or the one that
// follows it. What is left of gaps and questions tells where the loop goes
// round.
func (m mark) stands(ix *index) (phase string, here reprise.Status) {
	switch m.word {
	case markStarted:
		return m.phase, reprise.InProgress
	case markReset:
		return m.phase, reprise.Pending
	}
	pending, _ := ix.openQuestions()
	open := ix.countGaps(func(g gap) bool { return g.open() && g.serious() }) > 0 // minor ones are put off
	switch {
	case m.phase == "A5" && !open && pending == 0:
		return "B4", reprise.Pending // nothing to ask
	case m.phase == "B5" && pending > 0:
		return "B1", reprise.Pending
	case m.phase == "B5" && open:
		return "A5", reprise.Pending // the gaps of the next round need questions
	}
	return loopPhases[min(placeOf(m.phase)+1, len(loopPhases)-1)].id, reprise.Pending
}

// placeOf finds a phase of the loop; -1 for anything else.
func placeOf(id string) int {
	return slices.IndexFunc(loopPhases, func(p phase) bool { return p.id == id })
}

// byMark gives the point the mark names, where it agrees with the loop status
// and with what is on disk. word "" asks for no agreement with the status.
func (l *loader) byMark(ix *index, word string) (point, bool) {
	if !ix.mark.ok {
		return point{}, false
	}
	phase, here := ix.mark.stands(ix)
	if word != "" && statusWord(phase) != word {
		return point{}, false
	}
	pending, unused := ix.openQuestions()
	early := phase == "A1" || phase == "A2"
	switch {
	case !early && (!l.spec.exists || l.spec.unwritten),
		phase == "B1" && pending+unused > 0, // for whom it waits, and what is there, is told beside it
		phase != "B1" && pending > 0,
		phase != "B2" && unused > 0:
		return point{}, false
	}
	at := newPoint(phase, reprise.Interrupted, fmt.Sprintf("%s (%s) was %s", phase, phaseTitle(phase), ix.mark.word))
	if ix.mark.word == markDone {
		at.reason = fmt.Sprintf("%s is done, %s (%s) comes next", ix.mark.phase, phase, phaseTitle(phase))
	}
	at.here = here
	return at, true
}
