package longrun

import (
	"fmt"
	"path"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/splice"
)

// question records what is asked of a person in clarifications.md. An answer
// that stands there is in the hands of the executor, which reads the file: the
// convention has no word for applying it beyond that.
func (w *runRecorder) question() error {
	id := line(w.ev.Question, 100)
	if id == "" || id != w.ev.Question {
		return cannot("%q is no id of a question", doc.Clip(w.ev.Question, 60))
	}
	name := path.Join(w.l.dir, "clarifications.md")
	m, err := w.openMarkdown(name, "question "+id)
	if err != nil {
		return err
	}
	var at *clarification
	for i := range w.l.asked {
		if w.l.asked[i].id == id {
			at = &w.l.asked[i]
		}
	}
	switch {
	case w.ev.Kind == reprise.QuestionAsked && at != nil:
		return nil
	case w.ev.Kind == reprise.QuestionAsked:
		return inFile(name, w.ask(m, name, id))
	case at == nil:
		return cannot("there is no question %s", id)
	}
	answered := false
	for _, q := range w.l.run.Questions {
		answered = answered || q.ID == id && q.Answered && q.Applied
	}
	switch {
	case answered:
		return nil
	case w.ev.Kind == reprise.QuestionSkipped:
		return inFile(name, setStatus(m, at, "skipped"))
	case w.ev.Kind == reprise.AnswerApplied && placeholder(at.response.Value):
		return cannot("question %s has no answer", id)
	}
	return inFile(name, w.answer(m, at))
}

// ask adds an entry behind the others. The id is the only line the convention
// does not have; its readers pass it over.
func (w *runRecorder) ask(m *splice.Markdown, name, id string) error {
	text := line(w.ev.Text, 2000)
	if text == "" {
		return cannot("the question has no text")
	}
	if len(w.ev.Options) > 0 {
		var options []string
		for _, o := range w.ev.Options {
			options = append(options, line(o, 120))
		}
		text += " (" + strings.Join(options, " / ") + ")"
	}
	title := "Task Group: " + line(w.ev.Phase, 80)
	if p, _, err := w.planOf(w.ev.Step); err == nil {
		title = strings.TrimSpace(fmt.Sprintf("Task Group %d: %s", p.num, line(p.title, 80)))
	} else if line(w.ev.Phase, 80) == "" {
		title = "Task Group: all"
	}
	lines := []string{"**ID:** " + id}
	if !w.ev.At.IsZero() {
		lines = append(lines, "**Asked:** "+timeLike("", w.ev.At))
	}
	lines = append(lines, "**Question:** "+text, "**Status:** pending", "**Response:**")
	if m == nil {
		w.create(name, "# Clarifications Log\n\n## Active Clarifications\n\n### "+title+"\n"+strings.Join(lines, "\n")+"\n", "question "+id)
		return nil
	}
	level, where := 2, splice.Where{}
	if len(w.l.asked) > 0 {
		level = w.l.asked[0].level
	}
	if s, ok := m.Doc().Section("Active Clarifications"); ok && s.Level < 6 {
		where, level = splice.Where{Section: s.Title, Line: s.Line}, s.Level+1
	}
	return m.AppendSection(where, level, title, lines...)
}

func (w *runRecorder) answer(m *splice.Markdown, at *clarification) error {
	// What a person wrote there before stays.
	if text := line(w.ev.Text, 2000); text != "" && w.ev.Kind == reprise.QuestionAnswered && placeholder(at.response.Value) {
		var err error
		if at.response.Line > 0 {
			err = setAt(m, at.response, text)
		} else {
			err = m.AppendLines(splice.Where{Section: at.title, Line: at.line}, "**Response:** "+text)
		}
		if err != nil {
			return err
		}
	}
	return setStatus(m, at, "answered")
}

func setStatus(m *splice.Markdown, at *clarification, word string) error {
	if at.status.Line > 0 {
		return setAt(m, at.status, word)
	}
	return m.AppendLines(splice.Where{Section: at.title, Line: at.line}, "**Status:** "+word)
}
