package longrun

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
	"reprise/internal/splice"
)

// tick ticks the boxes of a plan in ROADMAP.md and, if it was not counted yet,
// moves the count of its phase in the progress table. A damaged file may hold a box
// that could not be read: then the event is refused.
func (w *planningRecorder) tick(p *plan, count bool) {
	if !w.g.road.exists {
		return
	}
	var lines []int
	if p.box != nil {
		lines = p.box.lines
	}
	w.tickLines("plan "+p.id+" is complete", lines, true)
	ph := w.g.road.phases[p.phase]
	if !count || ph == nil {
		return
	}
	before := len(within(w.g.done, p.phase))
	if w.behind {
		before--
	}
	for _, c := range ph.row {
		if s, rest, ok := readShare(c.Value); ok && s.done == before && s.done < s.total {
			w.SetText(c.Text, fmt.Sprintf("%d/%d%s", s.done+1, s.total, rest))
			return
		}
	}
}

// untick takes back what ROADMAP.md says of a plan and of its phase.
func (w *planningRecorder) untick(p *plan) {
	if p.ticked() {
		w.tickLines("plan "+p.id+" is done again", p.box.lines, false)
	}
	ph := w.g.road.phases[p.phase]
	if ph == nil {
		return
	}
	if ph.done {
		w.tickLines("plan "+p.id+" is done again", ph.boxes, false)
	}
	before := w.shares()[1].done
	for _, c := range ph.row {
		s, rest, ok := readShare(c.Value)
		switch {
		case ok && s.done == before:
			w.SetText(c.Text, fmt.Sprintf("%d/%d%s", s.done-1, s.total, rest))
		case ph.done && doc.Fold(c.column) == "status" && holdsDone(c.Value):
			w.SetText(c.Text, gsdBody[gsdExecuting])
		case ph.done && slices.Contains(dateColumns, doc.Fold(c.column)) && !placeholder(c.Value):
			w.SetText(c.Text, "-")
		}
	}
}

// dateColumns are the columns of the progress table that say when a phase was completed.
var dateColumns = []string{"completed", "completed on", "date"}

// tickLines ticks boxes of ROADMAP.md, or takes their ticks back. One with a mark of its
// own making is left alone.
func (w *planningRecorder) tickLines(why string, lines []int, ticked bool) {
	f := w.Markdown(w.g.road.file)
	f.Because("%s", why)
	for _, no := range lines {
		f.Do(func(m *splice.Markdown) error {
			err := m.SetCheck(splice.Where{Line: no}, "", ticked)
			if errors.Is(err, splice.ErrNotFound) {
				return nil
			}
			return err
		})
	}
}

// readShare reads "2/3" and "2/3 plans".
func readShare(text string) (s share, rest string, ok bool) {
	m := shareForm().FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return share{}, "", false
	}
	s.done, _ = strconv.Atoi(m[1])
	s.total, _ = strconv.Atoi(m[2])
	return s, m[3], true
}

var shareForm = doc.Pattern(`(?s)^(\d{1,6})/(\d{1,6})(\D.*)?$`)

// phaseEnded: all plans of a phase are done. Its box is ticked and its row in
// the progress table says so.
func (w *planningRecorder) phaseEnded() {
	p, ok := phaseIn(w.ev.Phase, true)
	ph, open := w.g.road.phases[p], within(w.g.live, p)
	switch {
	case !ok:
		w.Fail(ledger.Cannot("%q names no phase", doc.Clip(w.ev.Phase, 40)))
		return
	case len(open) > 0:
		w.Fail(ledger.Cannot("%s is not complete: plan %s is open", w.g.phaseName(p), open[0].id))
		return
	case ph == nil:
		w.Fail(ledger.Cannot("ROADMAP.md does not list phase %s", p))
		return
	case len(ph.boxes) == 0 && len(ph.row) == 0:
		w.Fail(ledger.Cannot("ROADMAP.md has no box and no row for phase %s", p))
		return
	}
	w.tickLines("phase "+p.String()+" is complete", ph.boxes, true)
	for _, c := range ph.row {
		switch column := doc.Fold(c.column); {
		case column == "status":
			if !holdsDone(c.Value) {
				w.SetText(c.Text, w.doneWord())
			}
		case slices.Contains(dateColumns, column):
			if (placeholder(c.Value) || strings.Trim(c.Value, "-–— ") == "") && !w.ev.At.IsZero() {
				w.SetText(c.Text, w.ev.At.UTC().Format(time.DateOnly))
			}
		}
	}
	if w.g.state.phase == p {
		w.state(planChange{word: gsdDone, what: "Completed phase " + p.String()})
	}
}

// doneWord is the word that another row of the progress table has for done.
func (w *planningRecorder) doneWord() string {
	for _, p := range w.g.road.sorted() {
		for _, c := range w.g.road.phases[p].row {
			if doc.Fold(c.column) == "status" && holdsDone(c.Value) {
				return c.Value
			}
		}
	}
	return "Complete"
}

// question records what is asked of a person in HANDOFF.json, where one is
// there and counts. Other files of this convention have no place for it.
func (w *planningRecorder) question() {
	h := w.g.hand
	if h == nil || h.root.Node == nil {
		w.Fail(ledger.Cannot("there is no HANDOFF.json that counts"))
		return
	}
	id := agentID(w.ev.Question)
	if id == "" || id != w.ev.Question {
		w.Fail(ledger.Cannot("%q is not the id of a question", doc.Clip(w.ev.Question, 60)))
		return
	}
	w.Structured(h.file).Because("question %s", id)
	i := slices.IndexFunc(h.asks, func(q reprise.Question) bool { return q.ID == id })
	switch {
	case w.ev.Kind == reprise.QuestionAsked && i < 0:
		w.ask(h, id)
	case w.ev.Kind == reprise.QuestionAsked:
	case i < 0:
		w.Fail(ledger.Cannot("there is no question %s", id))
	case w.ev.Kind == reprise.AnswerApplied && !h.asks[i].Answered:
		w.Fail(ledger.Cannot("question %s has no answer", id))
	case w.ev.Kind == reprise.AnswerApplied, w.ev.Kind == reprise.QuestionSkipped:
		w.setAsk(h, i, "applied", true)
	case !h.asks[i].Applied: // until something used it, the last word counts
		w.answer(h, i)
	}
}

// answer writes what a person said of a question: the answer, or a note where it is not
// settled by it. A note is added to, never replaced: it may be the only place of what it says.
func (w *planningRecorder) answer(h *handoff, i int) {
	text := cmp.Or(ledger.MarkdownLine(w.ev.Text, 2000), "yes")
	q, at := &h.asks[i], h.places[i]
	if !q.Postpones(text) {
		w.setAsk(h, i, "answer", text)
		return
	}
	option, note := q.Option(text), at.In("note")
	switch {
	case note.Is(doc.Map) || note.Is(doc.List): // it is not ours
		w.setAsk(h, i, "answer", text)
		return
	case q.Note == "":
		w.setAsk(h, i, "note", text)
	case strings.EqualFold(text, option) || strings.HasSuffix(q.Note, text): // no more than the note says
	default:
		w.setAsk(h, i, "note", q.Note+"; "+text)
	}
	if at.In("answer").Node != nil { // it is taken back
		w.setAsk(h, i, "answer", option)
	}
}

// setAsk sets a value of a question. A bare text becomes a map with the text in it.
func (w *planningRecorder) setAsk(h *handoff, i int, key string, value any) {
	if h.places[i].Is(doc.Map) {
		w.Set(h.places[i].In(key), value)
		return
	}
	w.Set(h.places[i], splice.Object{{Key: h.keys[i], Value: h.asks[i].Text}, {Key: key, Value: value}})
}

// ask adds a question to the list the file keeps for it.
func (w *planningRecorder) ask(h *handoff, id string) {
	text := ledger.MarkdownLine(w.ev.Text, 2000)
	if placeholder(text) {
		w.Fail(ledger.Cannot("%s: the question has no text", h.file))
		return
	}
	list, key := h.root.In("questions"), "question"
	for _, other := range []string{"questions", "open_questions"} {
		if n := h.root.In(other); n.Is(doc.List) {
			list = n
			break
		}
	}
	item := splice.Object{{Key: "id", Value: id}, {Key: key, Value: text}}
	if len(w.ev.Options) > 0 {
		item = append(item, splice.Member{Key: "options", Value: w.ev.Options})
	}
	if list.Is(doc.List) {
		w.Add(list, item)
	} else {
		w.Set(list, []any{item})
	}
}
