package longrun

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
	"reprise/internal/splice"
)

// question records what is asked of a person in clarifications.md. An answer
// that stands there is in the hands of the executor, which reads the file: the
// convention has no word for applying it beyond that.
func (w *longRunRecorder) question() {
	id := ledger.MarkdownLine(w.ev.Question, 100)
	if id == "" || id != w.ev.Question {
		w.Fail(ledger.Cannot("%q is not the id of a question", doc.Clip(w.ev.Question, 60)))
		return
	}
	name := path.Join(w.dir, "clarifications.md")
	if w.l.r.Exists(name) { // a damaged one may hold the question
		w.Markdown(name).Because("question %s", id)
	}
	i := slices.IndexFunc(w.l.asked, func(c clarification) bool { return c.id == id })
	if w.ev.Kind == reprise.QuestionAsked {
		if i < 0 {
			w.ask(name, id)
		}
		return
	}
	if i < 0 {
		w.Fail(ledger.Cannot("there is no question %s", id))
		return
	}
	at, q := &w.l.asked[i], &w.l.run.Questions[i]
	open := placeholder(at.response.Value)
	text := ledger.MarkdownLine(w.ev.Text, 2000)
	// The convention marks an answer applied as soon as it is written: the journal tells
	// whether something used it.
	changes := w.ev.Kind == reprise.QuestionAnswered && text != "" && !open && text != q.Answer
	switch {
	case q.Answered && q.Applied && !changes:
		return
	case w.ev.Kind == reprise.QuestionSkipped:
		w.entry(at, at.status, "Status", "skipped")
		return
	case w.ev.Kind == reprise.AnswerApplied && open:
		w.Fail(ledger.Cannot("question %s has no answer", id))
		return
	}
	if changes || open && text != "" && w.ev.Kind == reprise.QuestionAnswered {
		w.entry(at, at.response, "Response", text)
	}
	w.entry(at, at.status, "Status", "answered")
}

// entry writes a label of an entry, which is added where the entry lacks it.
func (w *longRunRecorder) entry(at *clarification, t ledger.Text, key, value string) {
	if t.There() {
		w.SetText(t, value)
		return
	}
	w.Markdown(path.Join(w.dir, "clarifications.md")).Do(func(m *splice.Markdown) error {
		return m.AppendLines(splice.Where{Section: at.title, Line: at.line}, "**"+key+":** "+value)
	})
}

// ask adds an entry behind the others. The id is the only line the convention
// does not have; its readers pass it over.
func (w *longRunRecorder) ask(name, id string) {
	text := ledger.MarkdownLine(w.ev.Text, 2000)
	if text == "" {
		w.Fail(ledger.Cannot("%s: the question has no text", name))
		return
	}
	if len(w.ev.Options) > 0 {
		var options []string
		for _, o := range w.ev.Options {
			options = append(options, ledger.MarkdownLine(o, 120))
		}
		text += " (" + strings.Join(options, " / ") + ")"
	}
	title := "Task Group: " + ledger.MarkdownLine(w.ev.Phase, 80)
	if p, _, err := w.planOf(w.ev.Step); err == nil {
		title = strings.TrimSpace(fmt.Sprintf("Task Group %d: %s", p.num, ledger.MarkdownLine(p.title, 80)))
	} else if title == "Task Group: " {
		title += "all"
	}
	lines := []string{"**ID:** " + id}
	if !w.ev.At.IsZero() {
		lines = append(lines, "**Asked:** "+w.spell(""))
	}
	lines = append(lines, "**Question:** "+text, "**Status:** pending", "**Response:**")
	if !w.l.r.Exists(name) {
		w.Create(name, []byte("# Clarifications Log\n\n## Active Clarifications\n\n### "+title+"\n"+strings.Join(lines, "\n")+"\n"), "question "+id)
		return
	}
	w.Markdown(name).Do(func(m *splice.Markdown) error {
		level, where := 2, splice.Where{}
		if len(w.l.asked) > 0 {
			level = w.l.asked[0].level
		}
		if s, ok := m.Doc().Section("Active Clarifications"); ok && s.Level < 6 {
			where, level = splice.Where{Section: s.Title, Line: s.Line}, s.Level+1
		}
		return m.AppendSection(where, level, title, lines...)
	})
}
