package specloop

import (
	"fmt"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
	"reprise/internal/splice"
)

// contextEdit is a context file while it is edited.
type contextEdit struct {
	rec *recorder
	c   *context
	f   *ledger.File
}

// context opens the context file that a step or question was read from; nil if it
// cannot be written.
func (rec *recorder) context(name string) *contextEdit {
	at := slices.IndexFunc(contextFiles, func(cf contextFile) bool { return rec.l.in(cf.file) == name })
	if at < 0 {
		rec.wrong("%s is not a context file", name)
		return nil
	}
	t := &contextEdit{rec: rec, f: rec.changes.Markdown(name)}
	if t.f == nil {
		return nil
	}
	if t.c = rec.l.openContext(contextFiles[at]); t.c.front == nil {
		rec.cannot("%s has no front matter", name)
		return nil
	}
	return t
}

// front sets fields of the front matter and when it was updated.
func (t *contextEdit) front(fields ...splice.Member) {
	if t.c.front.Has("updated") {
		fields = append(fields, splice.Member{Key: "updated", Value: like(t.c.get("updated").Str(), t.rec.ev.At)})
	}
	for _, f := range fields {
		t.f.Do(func(m *splice.Markdown) error { return m.SetFront(splice.Path{f.Key}, f.Value) })
	}
}

// turn records a turn of the specification, or a phase of a later workflow.
func (rec *recorder) turn(s *reprise.Step) {
	switch {
	case rec.ev.Kind != reprise.StepStarted && rec.ev.Kind != reprise.StepFinished:
		rec.cannot("the status of a context file has no word for it")
		return
	case rec.ev.Kind == reprise.StepStarted && s.Status == reprise.InProgress,
		rec.ev.Kind == reprise.StepFinished && s.Status.Closed():
		return
	}
	t := rec.context(s.Source.File)
	if t == nil {
		return
	}
	// The turn of a person ends with the analyst's next one: a turn that is not
	// at work is over, unless their answers are in the log and it was not ended.
	if rec.ev.Kind == reprise.StepFinished && s.Status == reprise.Pending && strings.HasSuffix(s.ID, ".user") && !t.c.awaitsUser() {
		return
	}
	t.front(t.step(s)...)
	t.f.Because("%s %s", s.ID, strings.TrimPrefix(string(rec.ev.Kind), "step_"))
}

// step gives the fields that say a step was started or is over.
func (t *contextEdit) step(s *reprise.Step) []splice.Member {
	_, name, _ := strings.Cut(s.ID, ".")
	role := firstRole(t.c.workflow)
	if slices.Contains(turns, doc.Fold(t.rec.ev.Actor)) {
		role = doc.Fold(t.rec.ev.Actor)
	}
	set := func(key string, value any) splice.Member { return splice.Member{Key: key, Value: value} }
	started := t.rec.ev.Kind == reprise.StepStarted
	if t.c.workflow == "specify" {
		switch {
		case started:
			return []splice.Member{set("status", "awaiting-"+name)}
		case name == "analyst":
			return []splice.Member{set("status", "awaiting-advocate")}
		case name == "advocate" && t.rec.ev.Outcome == "approved":
			return []splice.Member{set("status", "completed")}
		case name == "advocate":
			return []splice.Member{set("status", "awaiting-user")}
		}
		return []splice.Member{set("status", "awaiting-analyst"), set("iteration", max(t.c.iteration, 1)+1)}
	}
	var out []splice.Member
	phaseStatus := func(phase, word string) {
		if key := phase + "_status"; t.c.front.Has(key) {
			out = append(out, set(key, word))
		}
	}
	if started {
		phaseStatus(name, "in_progress")
		return append(out, set("phase", name), set("status", "awaiting-"+role))
	}
	phaseStatus(name, "completed")
	phases := t.c.phases()
	at := slices.IndexFunc(phases, func(p phase) bool { return p.id == name })
	if at == len(phases)-1 {
		return append(out, set("status", "completed"), set("phase", "completed"))
	}
	phaseStatus(phases[at+1].id, "in_progress")
	return append(out, set("phase", phases[at+1].id), set("status", "awaiting-"+role))
}

// wholeContext ends, stops or resumes the workflow of a context file.
func (rec *recorder) wholeContext(s *reprise.Step) {
	t := rec.context(s.Source.File)
	if t == nil {
		return
	}
	word := "terminated"
	if rec.ev.Kind == reprise.RunResumed {
		_, name, _ := strings.Cut(s.ID, ".")
		if t.c.workflow != "specify" {
			name = firstRole(t.c.workflow)
		}
		word = "awaiting-" + name
	} else if _, done := rec.reasonWord(); done {
		word = "completed"
	}
	t.setStatus(word)
}

// setStatus sets the status of the workflow.
func (t *contextEdit) setStatus(word string) {
	t.front(splice.Member{Key: "status", Value: word})
	t.f.Because("%s %s", t.c.workflow, word)
}

const titleLog = "Clarification Log"

// roundTitle is the heading of the current round in the log.
func (t *contextEdit) roundTitle() string {
	if e := t.c.round(); e != nil {
		return e.title
	}
	title := fmt.Sprintf("Iteration %d", max(t.c.iteration, 1))
	if t.c.workflow != "specify" && t.c.phase != "" {
		title = "Phase: " + strings.ToUpper(t.c.phase[:1]) + t.c.phase[1:] + " - " + title
	}
	return title
}

// table gives the table of the current round that has all the columns, and
// makes it under a heading of its own if there is none.
func (t *contextEdit) table(title string, columns []string) (doc.Table, bool) {
	if found, ok := t.find(columns); ok {
		return found, true
	}
	add := func(under string, level int, title string, lines ...string) {
		where := splice.Where{Section: under}
		t.f.Do(func(m *splice.Markdown) error { return m.AppendSection(where, level, title, lines...) })
	}
	if _, ok := t.f.Doc().Section(titleLog); !ok {
		add("", 2, titleLog)
	}
	round := t.roundTitle()
	if _, ok := t.f.Doc().Section(round); !ok {
		add(titleLog, 3, round)
	}
	add(round, 4, title, tableHead(columns)...)
	found, ok := t.find(columns)
	if !ok {
		t.rec.cannot("%s takes no table of %q", t.c.file.Path, title)
	}
	return found, ok
}

func (t *contextEdit) find(columns []string) (doc.Table, bool) {
	round := t.roundTitle()
	for _, s := range t.f.Doc().Sections() {
		if s.Title != round {
			continue
		}
		for _, table := range s.Tables() {
			if !slices.ContainsFunc(columns, func(c string) bool { return table.Column(columnNames(c)...) < 0 }) {
				return table, true
			}
		}
	}
	return doc.Table{}, false
}

// columnNames are the names under which the log's columns are read.
func columnNames(name string) []string {
	switch name {
	case "Gap ID":
		return []string{"Gap ID", "ID", "Question ID"}
	case "Answer":
		return answerColumns
	case "Severity":
		return []string{"Severity", "Priority"}
	case "Description":
		return []string{"Description", "Question"}
	}
	return []string{name}
}

// addRow adds a row to the log of the current round.
func (t *contextEdit) addRow(title string, columns, values []string) {
	table, ok := t.table(title, columns)
	if !ok {
		return
	}
	cells := map[string]string{}
	for i, name := range columns {
		cells[column(table, columnNames(name)...)] = values[i]
	}
	t.f.Do(func(m *splice.Markdown) error { return m.AppendRow(splice.Where{Line: table.Line}, cells) })
}

// askContext lists a question among the gaps of the round, which then waits for
// a person.
func (rec *recorder) askContext(s *reprise.Step) {
	t := rec.context(s.Source.File)
	if t == nil {
		return
	}
	// A gap that is only minor is not asked for.
	t.addRow("Gaps Identified", []string{"Gap ID", "Severity", "Description"}, []string{rec.ev.Question, "Important", cell(rec.ev.Text, 500)})
	t.f.Because("ask %s", rec.ev.Question)
	t.setStatus("awaiting-user")
}

// answerContext records an answer in the log, or why none is needed. The following turns
// show that it was used.
func (rec *recorder) answerContext(q *reprise.Question) {
	text := undress(cell(rec.ev.Text, 1000))
	if rec.ev.Kind == reprise.QuestionSkipped {
		text = "no longer needed"
	}
	switch {
	case rec.ev.Kind == reprise.AnswerApplied:
		rec.cannot("the turn of the writer tells that it was applied")
		return
	case !filled(text):
		rec.cannot("an empty answer looks like none")
		return
	}
	t := rec.context(q.Source.File)
	if t == nil {
		return
	}
	if q.Answered {
		t.setAnswer(q.Source.Line, text)
	} else {
		t.addRow("User Answers", []string{"Gap ID", "Question", "Answer"}, []string{q.ID, cell(q.Text, 500), text})
	}
	t.front()
	t.f.Because("keep the answer to %s", q.ID)
}

// setAnswer replaces the answer in the row at a line, in whichever round that is.
func (t *contextEdit) setAnswer(line int, text string) {
	for _, s := range t.f.Doc().Sections() {
		for _, table := range s.Tables() {
			name := column(table, answerColumns...)
			for _, row := range table.Rows {
				if name != "" && row[0].Line == line {
					t.f.Do(func(m *splice.Markdown) error { return m.SetCell(splice.Where{Line: line}, splice.Row{}, name, text) })
					return
				}
			}
		}
	}
}
