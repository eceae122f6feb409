package specloop

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

func (rec *recorder) question() *reprise.Question { return rec.run.Question(rec.ev.Question) }

// ask finds the ledger that takes a question: index.md, or the context file of
// the workflow that is open.
func (rec *recorder) ask() {
	if rec.question() != nil {
		return
	}
	if id := rec.ev.Question; cell(id, 60) != id || undress(id) != id || !filled(id) {
		rec.wrong("%q cannot be the id of a question", doc.Clip(id, 60))
		return
	}
	switch s := rec.deciding(); {
	case s == nil || formOf(s) == graphForm:
		rec.cannot("a graph asks by its own nodes")
	case strings.Contains(s.ID, "."):
		rec.askContext(s)
	default:
		rec.askIndex()
	}
}

// askIndex adds a row to the questions, in the columns the table has. The gaps
// that the event names by their ids are being clarified from now on.
func (rec *recorder) askIndex() {
	s := rec.index()
	if s == nil {
		return
	}
	ev := &rec.ev
	t, _ := questionTable.find(s.f.Doc())
	gapColumns := []string{"Gaps", "Gap IDs", "Gap ID", "Gap"}
	hasGaps := len(t.Header) == 0 || t.Column(gapColumns...) >= 0 // else the gaps name their questions
	var gaps []string
	priority := ""
	for _, g := range s.ix.gaps {
		if !g.open() || !names(ev.Step+" "+ev.Text, g.id) {
			continue
		}
		gaps = append(gaps, g.id)
		if priority == "" || doc.Fold(g.priority) == "critical" {
			priority = g.priority
		}
		switch {
		case g.status != gapClarifying:
			s.setGap(g.id, "clarifying", "Pending "+ev.Question)
		case !hasGaps && !names(g.note, ev.Question):
			s.setGap(g.id, "clarifying", strings.TrimLeft(strings.TrimSpace(g.note)+", "+ev.Question, ", "))
		}
	}
	status := "pending"
	if t.Column("Question Summary", "Gaps") >= 0 || len(t.Header) == 0 {
		status = "awaiting_answer"
	}
	workflow := "specify"
	if slices.Contains(workflowOrder, ev.Phase) {
		workflow = ev.Phase
	}
	s.addRow(questionTable, map[string]string{
		"ID/Question ID": ev.Question, "Question/Question Summary/Summary": cell(ev.Text, 500),
		strings.Join(gapColumns, "/"): strings.Join(gaps, ", "), "Options": optionText(ev.Options), "Status": status,
		"Priority": priority, "Workflow/Source": workflow,
	})
	if workflowOf(ev.Question, workflow) == "specify" && loopWord(s.ix.status.text) != "completed" {
		s.pending(ev.Question, true)
		s.touch("clarifying", mark{phase: "B1", word: markStarted})
	}
	s.f.Because("ask %s", ev.Question)
}

// optionText joins options so that they are read apart again.
func optionText(all []string) string {
	sep := "; "
	texts := make([]string, 0, len(all))
	for _, text := range all[:min(len(all), 20)] {
		if text = undress(cell(text, 200)); filled(text) {
			texts = append(texts, text)
		}
		if strings.Contains(text, ";") {
			sep = "<br>"
		}
	}
	return strings.Join(texts, sep)
}

// setGap sets the status of a gap and, where the table has a place for it, what
// became of it.
func (s *indexEdit) setGap(id, word, note string) {
	s.setRow(gapTable, id, word, "Status")
	s.setRow(gapTable, id, note, "Resolution", "Clarification", "Clarifications")
}

// pending keeps the note of pending clarifications, where there is one.
func (s *indexEdit) pending(id string, open bool) {
	if s.ix.pendingNote.line == 0 {
		return
	}
	var all []string
	for _, q := range s.ix.questions {
		if q.workflow == "specify" && q.status == asked && q.id != id {
			all = append(all, q.id)
		}
	}
	if open {
		all = append(all, id)
	}
	text := strconv.Itoa(len(all))
	if len(all) > 0 {
		text += " (" + strings.Join(all, ", ") + ")"
	}
	s.put("Pending Clarifications", text)
}

// answer records in the ledger of a question its answer, that the answer was used, or
// that it is no longer needed.
func (rec *recorder) answer() {
	q := rec.question()
	applied := rec.ev.Kind == reprise.AnswerApplied
	switch {
	case q == nil && rec.decidedNode():
		return
	case q == nil:
		rec.cannot("no question %q is on record", doc.Clip(rec.ev.Question, 60))
		return
	case q.Applied, q.Answered && !applied && !rec.replaces(q):
		return
	case applied && !q.Answered:
		rec.cannot("question %q has no answer on record", doc.Clip(q.ID, 60))
		return
	}
	switch base := path.Base(q.Source.File); {
	case strings.HasSuffix(base, ".json"):
		rec.decide(q)
	case base != indexName:
		rec.answerContext(q)
	default:
		rec.answerIndex(q)
	}
}

// replaces reports whether an event gives another answer than the one on record.
func (rec *recorder) replaces(q *reprise.Question) bool {
	text := undress(cell(rec.ev.Text, 1000))
	return rec.ev.Kind == reprise.QuestionAnswered && filled(text) && text != q.Answer
}

// decidedNode reports whether a question that is no longer asked was a decision
// of a graph.
func (rec *recorder) decidedNode() bool {
	s := rec.run.Step(rec.ev.Question)
	return s != nil && s.Role == "user" && s.Status.Closed() && formOf(s) == graphForm
}

// answerIndex writes an answer into its row, or, where the table has no column
// for it, into a section of its own. One that was applied resolves its gaps.
func (rec *recorder) answerIndex(q *reprise.Question) {
	s := rec.index()
	if s == nil {
		return
	}
	switch rec.ev.Kind {
	case reprise.QuestionSkipped:
		s.setRow(questionTable, q.ID, "skipped", "Status")
		s.keep(q.ID, "B1")
		s.f.Because("close %s", q.ID)
		return
	case reprise.AnswerApplied:
		at := s.ix.questionAt(q.ID)
		if at < 0 {
			rec.cannot("question %q is not in %s", doc.Clip(q.ID, 60), s.ix.file.Path)
			return
		}
		s.apply(&s.ix.questions[at])
		s.keep(q.ID, "B2")
		s.f.Because("apply the answer to %s", q.ID)
		return
	}
	text := undress(cell(rec.ev.Text, 1000))
	t, _ := questionTable.find(s.f.Doc())
	s.setRow(questionTable, q.ID, "answered", "Status")
	if t.Column(answerColumns...) >= 0 {
		s.setRow(questionTable, q.ID, text, answerColumns...)
	} else if q.Answered && q.Answer != "" {
		s.setRow(answerTable, q.ID, text, answerColumns...)
	} else if filled(text) {
		s.addRow(answerTable, map[string]string{"ID/Question ID/Gap ID": q.ID, strings.Join(answerColumns, "/"): text})
	}
	s.keep(q.ID, "B1")
	s.f.Because("keep the answer to %s", q.ID)
}

// keep moves the last activity on, and with it the mark that we left, if we
// did. The last answer ends the asking, the last one that is applied ends the
// applying, unless someone is at work on that.
func (s *indexEdit) keep(id, phase string) {
	s.pending(id, false)
	mk := s.ix.mark
	if !mk.ok {
		if s.ix.specSection {
			s.put("Last Activity", s.stamp)
		}
		return
	}
	left := 0
	for i := range s.ix.questions {
		q := &s.ix.questions[i]
		if q.id == id {
			q.status, q.applied = answered, phase == "B2"
		}
		if q.workflow == "specify" && (q.status == asked || phase == "B2" && q.status == answered && !q.applied) {
			left++
		}
	}
	if stands, here := mk.stands(s.ix); left == 0 && stands == phase && (phase == "B1" || here == reprise.Pending) {
		mk = mark{phase: phase, word: markDone}
		for i := range s.ix.gaps {
			if phase == "B2" && s.ix.gaps[i].status == gapClarifying {
				s.ix.gaps[i].status = gapResolved
			}
		}
	}
	switch loopWord(s.ix.status.text) {
	case "terminated", "completed":
		s.put(titleMark, mk.text(s.stamp))
		s.put("Last Activity", s.stamp)
	default:
		stands, _ := mk.stands(s.ix)
		s.touch(statusWord(stands), mk)
	}
}

// apply resolves the gaps of one answer, in the file and as it was read, each
// with a row in the history. An answer without gaps is used when its own row says
// so.
func (s *indexEdit) apply(q *question) {
	iteration := max(s.ix.iteration.n, 1)
	closed := 0
	for _, id := range q.gaps {
		g := s.ix.gap(id)
		if g == nil {
			continue
		}
		closed++
		if !g.open() {
			continue
		}
		s.setGap(g.id, "resolved", fmt.Sprintf("Applied in iteration %d", iteration))
		s.addRow(historyTable, map[string]string{
			"Gap ID/ID/Gap": g.id, "Iteration": strconv.Itoa(iteration), "Action": "resolved", "Timestamp": s.stamp,
			"Details/Resolution": strings.TrimSpace(fmt.Sprintf("Answer to %s: %s", q.id, doc.Clip(q.answer, 200))),
			"Resolved Via":       q.id, "Priority": g.priority,
		})
		g.status = gapResolved
	}
	q.applied = true
	if closed == 0 {
		s.setRow(questionTable, q.id, "applied", "Status")
	}
}

func (ix *index) questionAt(id string) int {
	return slices.IndexFunc(ix.questions, func(q question) bool { return q.id == id })
}
