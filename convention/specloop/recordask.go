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

var (
	questionTitles  = []string{"Pending Questions", "Unified Pending Questions"}
	questionKeys    = []string{"ID", "Question ID"}
	questionColumns = []string{"ID", "Question Summary", "Gaps", "Options", "Status", "Answer"}
)

func (rec *recorder) question() *reprise.Question {
	for i := range rec.run.Questions {
		if rec.run.Questions[i].ID == rec.ev.Question {
			return &rec.run.Questions[i]
		}
	}
	return nil
}

// ask finds the ledger that takes a question: index.md, or the context file of
// the workflow that is open.
func (rec *recorder) ask() ([]reprise.Edit, error) {
	if rec.question() != nil {
		return nil, nil
	}
	if id := rec.ev.Question; cell(id, 60) != id || undress(id) != id || !filled(id) {
		return nil, rec.wrong("%q cannot be the id of a question", doc.Clip(id, 60))
	}
	s := rec.deciding()
	switch {
	case s == nil || strings.HasSuffix(s.Source.File, ".json"):
		return nil, rec.cannot("a graph asks by its own nodes")
	case strings.Contains(s.ID, "."):
		return rec.askContext(s)
	}
	return rec.askIndex()
}

// askIndex adds a row to the questions, in the columns the table has. The gaps
// that the event names by their ids are being clarified from now on.
func (rec *recorder) askIndex() ([]reprise.Edit, error) {
	s, err := rec.sheet()
	if err != nil {
		return nil, err
	}
	ev := &rec.ev
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
		if g.status != gapClarifying {
			if err := s.setGap(g.id, "clarifying", "Pending "+ev.Question); err != nil {
				return nil, err
			}
		}
	}
	t, _ := s.table(questionKeys, questionTitles...)
	status := "pending"
	if t.Column("Question Summary", "Gaps") >= 0 || len(t.Header) == 0 {
		status = "awaiting_answer"
	}
	workflow := "specify"
	if slices.Contains(workflowOrder, ev.Phase) {
		workflow = ev.Phase
	}
	err = s.addRow(questionKeys, questionColumns, map[string]string{
		"ID/Question ID": ev.Question, "Question/Question Summary/Summary": cell(ev.Text, 500),
		"Gaps/Gap IDs/Gap ID/Gap": strings.Join(gaps, ", "), "Options": optionText(ev.Options), "Status": status,
		"Priority": priority, "Workflow/Source": workflow,
	}, questionTitles...)
	if err != nil {
		return nil, err
	}
	if workflowOf(ev.Question, workflow) == "specify" && loopWord(s.ix.status.text) != "completed" {
		if err := s.pending(ev.Question, true); err != nil {
			return nil, err
		}
		if err := s.touch("clarifying", mark{phase: "B1", word: markStarted}); err != nil {
			return nil, err
		}
	}
	return s.edits("ask " + ev.Question)
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
func (s *sheet) setGap(id, word, note string) error {
	keys := []string{"Gap ID", "ID", "Gap"}
	if err := s.setRow(keys, id, word, []string{"Status"}, "Gap Priority Queue"); err != nil {
		return err
	}
	return s.setRow(keys, id, note, []string{"Resolution"}, "Gap Priority Queue")
}

// pending keeps the note of pending clarifications, where there is one.
func (s *sheet) pending(id string, open bool) error {
	if s.ix.pendingNote.line == 0 {
		return nil
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
	return s.put("Pending Clarifications", text)
}

// answer finds the ledger of a question.
func (rec *recorder) answer() ([]reprise.Edit, error) {
	q := rec.question()
	applied := rec.ev.Kind == reprise.AnswerApplied
	switch {
	case q == nil && strings.HasSuffix(rec.answeredNode(), ".json"):
		return nil, nil
	case q == nil:
		return nil, rec.cannot("no question %q is on record", doc.Clip(rec.ev.Question, 60))
	case !applied && q.Answered, applied && q.Applied:
		return nil, nil
	case applied && !q.Answered:
		return nil, rec.cannot("question %q has no answer on record", doc.Clip(q.ID, 60))
	}
	switch base := path.Base(q.Source.File); {
	case strings.HasSuffix(base, ".json"):
		return rec.decide(q)
	case base != "index.md":
		return rec.answerContext(q)
	case applied:
		return rec.applyIndex(q)
	}
	return rec.answerIndex(q)
}

// answeredNode gives the graph in which a question that is not asked any more
// was a decision.
func (rec *recorder) answeredNode() string {
	if s := rec.run.Step(rec.ev.Question); s != nil && s.Role == "user" && s.Status.Closed() {
		return s.Source.File
	}
	return ""
}

// answerIndex writes an answer into its row, or, where the table has no column
// for it, into a section of its own.
func (rec *recorder) answerIndex(q *reprise.Question) ([]reprise.Edit, error) {
	s, err := rec.sheet()
	if err != nil {
		return nil, err
	}
	text := undress(cell(rec.ev.Text, 1000))
	t, _ := s.table(questionKeys, questionTitles...)
	if err := s.setRow(questionKeys, q.ID, "answered", []string{"Status"}, questionTitles...); err != nil {
		return nil, err
	}
	if t.Column("Answer", "User Answer", "Response") >= 0 {
		err = s.setRow(questionKeys, q.ID, text, []string{"Answer", "User Answer", "Response"}, questionTitles...)
	} else if filled(text) {
		err = s.addRow([]string{"ID", "Question ID", "Gap ID"}, []string{"ID", "Answer"},
			map[string]string{"ID/Question ID/Gap ID": q.ID, "Answer/User Answer/Response": text}, "User Answers", "Answers")
	}
	if err != nil {
		return nil, err
	}
	if err := s.keep(q.ID, "B1"); err != nil {
		return nil, err
	}
	return s.edits("keep the answer to " + q.ID)
}

// keep moves the last activity on, and with it the mark that we left, if we
// did. The last answer ends the asking, the last one that is applied ends the
// applying, unless somebody is at work on that.
func (s *sheet) keep(id, phase string) error {
	if err := s.pending(id, false); err != nil {
		return err
	}
	mk := s.ix.mark
	if !mk.ok {
		if !s.ix.specSection {
			return nil
		}
		return s.put("Last Activity", s.stamp)
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
	if loopWord(s.ix.status.text) == "terminated" || loopWord(s.ix.status.text) == "completed" {
		if err := s.put(titleMark, mk.text(s.stamp)); err != nil {
			return err
		}
		return s.put("Last Activity", s.stamp)
	}
	stands, _ := mk.stands(s.ix)
	return s.touch(statusWord(stands), mk)
}

// applyIndex resolves the gaps that an answer closes, each with a row in the
// history. An answer without gaps is used when its own row says so.
func (rec *recorder) applyIndex(q *reprise.Question) ([]reprise.Edit, error) {
	s, err := rec.sheet()
	if err != nil {
		return nil, err
	}
	at := s.ix.questionAt(q.ID)
	if at < 0 {
		return nil, rec.cannot("question %q is not in %s", doc.Clip(q.ID, 60), s.ix.file.Path)
	}
	if err := s.apply(&s.ix.questions[at]); err != nil {
		return nil, err
	}
	if err := s.keep(q.ID, "B2"); err != nil {
		return nil, err
	}
	return s.edits("apply the answer to " + q.ID)
}

// apply resolves the gaps of one answer, in the file and as it was read.
func (s *sheet) apply(q *question) error {
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
		if err := s.setGap(g.id, "resolved", fmt.Sprintf("Applied in iteration %d", iteration)); err != nil {
			return err
		}
		if err := s.history(g, q, iteration); err != nil {
			return err
		}
		g.status = gapResolved
	}
	q.applied = true
	if closed > 0 {
		return nil
	}
	return s.setRow(questionKeys, q.id, "applied", []string{"Status"}, questionTitles...)
}

func (ix *index) questionAt(id string) int {
	return slices.IndexFunc(ix.questions, func(q question) bool { return q.id == id })
}

func (s *sheet) history(g *gap, q *question, iteration int) error {
	return s.addRow([]string{"Gap ID", "ID", "Gap"}, []string{"Gap ID", "Iteration", "Action", "Details", "Timestamp"}, map[string]string{
		"Gap ID/ID/Gap": g.id, "Iteration": strconv.Itoa(iteration), "Action": "resolved", "Timestamp": s.stamp,
		"Details/Resolution": strings.TrimSpace(fmt.Sprintf("Answer to %s: %s", q.id, doc.Clip(q.answer, 200))),
		"Resolved Via":       q.id, "Priority": g.priority,
	}, "Gap Resolution History")
}
