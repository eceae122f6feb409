package longrun

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/splice"
)

// tick ticks the boxes of a plan in ROADMAP.md and, if it was not counted yet,
// moves the count of its phase in the progress table.
func (w *planRecorder) tick(k planKey, count bool) error {
	name := path.Join(w.g.dir, "ROADMAP.md")
	m, err := w.openMarkdown(name, "plan "+w.g.id(k)+" is complete")
	if err != nil || m == nil {
		return err
	}
	for _, no := range w.g.road.boxes[k].lines {
		if err := tickLine(m, no); err != nil {
			return inFile(name, err)
		}
	}
	ph := w.g.road.phases[k.phase]
	if !count || ph == nil || ph.row == 0 {
		return nil
	}
	header, cells := rowAt(m, ph.row)
	for i, c := range cells {
		done, total, rest, ok := share(c.Text)
		before := w.g.doneIn(k.phase)
		if w.behind {
			before--
		}
		if ok && done == before && done < total {
			return inFile(name, m.SetCell(splice.Where{Line: ph.row}, splice.Row{}, header[i].Text, fmt.Sprintf("%d/%d%s", done+1, total, rest)))
		}
	}
	return nil
}

// tickLine ticks a box. A box with a mark of its own making is left alone.
func tickLine(m *splice.Markdown, no int) error {
	err := m.SetCheck(splice.Where{Line: no}, "", true)
	if errors.Is(err, splice.ErrNotFound) {
		return nil
	}
	return err
}

// rowAt returns a row of a table by its line, with the header.
func rowAt(m *splice.Markdown, no int) (header, cells []doc.Cell) {
	for _, t := range m.Doc().All().Tables() {
		for _, r := range t.Rows {
			if r[0].Line == no {
				return t.Header, r
			}
		}
	}
	return nil, nil
}

// share reads "2/3" and "2/3 plans".
func share(text string) (done, total int, rest string, ok bool) {
	a, b, ok := strings.Cut(strings.TrimSpace(text), "/")
	if !ok || !doc.Digits(a) || len(a) > 6 {
		return 0, 0, "", false
	}
	end := 0
	for end < len(b) && b[end] >= '0' && b[end] <= '9' {
		end++
	}
	if end == 0 || end > 6 {
		return 0, 0, "", false
	}
	done, _ = strconv.Atoi(a)
	total, _ = strconv.Atoi(b[:end])
	return done, total, b[end:], true
}

// phaseEnded: all plans of a phase are done. Its box is ticked and its row in
// the progress table says so.
func (w *planRecorder) phaseEnded() error {
	p, ok := phaseIn(w.ev.Phase, true)
	if !ok {
		return cannot("%q names no phase", doc.Clip(w.ev.Phase, 40))
	}
	if open := w.g.liveIn(p); len(open) > 0 {
		return cannot("%s is not complete: plan %s is open", w.g.phaseName(p), w.g.id(open[0]))
	}
	ph := w.g.road.phases[p]
	if ph == nil {
		return cannot("ROADMAP.md does not list phase %s", p)
	}
	name := path.Join(w.g.dir, "ROADMAP.md")
	m, err := w.openMarkdown(name, "phase "+p.String()+" is complete")
	if err != nil {
		return err
	}
	if len(ph.boxes) == 0 && ph.row == 0 {
		return cannot("ROADMAP.md has no box and no row for phase %s", p)
	}
	for _, no := range ph.boxes {
		if err := tickLine(m, no); err != nil {
			return inFile(name, err)
		}
	}
	if err := w.phaseRow(m, ph.row); err != nil {
		return inFile(name, err)
	}
	if w.g.state.phase != p {
		return nil
	}
	return w.state(planChange{word: gsdDone, what: "Completed phase " + p.String()})
}

// phaseRow writes Complete and the day into the row of a phase, in the words
// of the rows that are complete.
func (w *planRecorder) phaseRow(m *splice.Markdown, no int) error {
	header, cells := rowAt(m, no)
	for i, c := range cells {
		value := ""
		switch doc.Fold(header[i].Text) {
		case "status":
			if !holdsDone(c.Text) {
				value = w.doneWord(m, header, i)
			}
		case "completed", "completed on", "date":
			if (placeholder(c.Text) || strings.Trim(c.Text, "-–— ") == "") && !w.ev.At.IsZero() {
				value = w.ev.At.UTC().Format(time.DateOnly)
			}
		}
		if value == "" {
			continue
		}
		if err := m.SetCell(splice.Where{Line: no}, splice.Row{}, header[i].Text, value); err != nil {
			return err
		}
	}
	return nil
}

func (w *planRecorder) doneWord(m *splice.Markdown, header []doc.Cell, column int) string {
	for _, t := range m.Doc().All().Tables() {
		if !slices.Equal(t.Header, header) {
			continue
		}
		for _, r := range t.Rows {
			if holdsDone(r[column].Text) {
				return r[column].Text
			}
		}
	}
	return "Complete"
}

// question records what is asked of a person in HANDOFF.json, where one is
// there and counts. Other files of this convention have no place for it.
func (w *planRecorder) question() error {
	h := w.g.hand
	if h == nil || !strings.HasSuffix(h.file, ".json") {
		return cannot("there is no HANDOFF.json that counts")
	}
	id := agentID(w.ev.Question)
	if id == "" || id != w.ev.Question {
		return cannot("%q is no id of a question", doc.Clip(w.ev.Question, 60))
	}
	j, err := w.openJSON(h.file, "question "+id)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(h.places, func(a askedAt) bool { return a.id == id })
	if w.ev.Kind == reprise.QuestionAsked {
		if i >= 0 {
			return nil
		}
		return inFile(h.file, w.ask(j, id))
	}
	if i < 0 {
		return cannot("there is no question %s", id)
	}
	at, q := splice.Path{h.places[i].list, h.places[i].index}, h.asks[i]
	item := j.Root().Get(h.places[i].list).Items[h.places[i].index]
	switch {
	case item.Kind != doc.Map:
		return cannot("%s holds question %s as a bare text", h.file, id)
	case w.ev.Kind == reprise.AnswerApplied && !q.Answered:
		return cannot("question %s has no answer", id)
	case w.ev.Kind == reprise.AnswerApplied:
		return inFile(h.file, j.Put(append(at, "applied"), true))
	case q.Answered:
		return nil
	}
	text := line(w.ev.Text, 2000)
	if text == "" {
		text = "yes"
	}
	return inFile(h.file, j.Put(append(at, "answer"), text))
}

// ask adds a question to the list the file keeps for it.
func (w *planRecorder) ask(j *splice.JSON, id string) error {
	text := line(w.ev.Text, 2000)
	if placeholder(text) {
		return cannot("the question has no text")
	}
	list, key := "human_actions_pending", "action"
	for _, other := range []string{"questions", "open_questions"} {
		if n := j.Root().Get(other); n != nil && n.Kind == doc.List {
			list, key = other, "question"
			break
		}
	}
	item := splice.Object{{Key: "id", Value: id}, {Key: key, Value: text}}
	if len(w.ev.Options) > 0 {
		item = append(item, splice.Member{Key: "options", Value: w.ev.Options})
	}
	if key == "action" {
		item = append(item, splice.Member{Key: "blocking", Value: true})
	}
	if n := j.Root().Get(list); n == nil || n.Kind != doc.List {
		return j.Put(splice.Path{list}, []any{item})
	}
	return j.Append(splice.Path{list}, item)
}
