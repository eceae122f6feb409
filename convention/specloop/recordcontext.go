package specloop

import (
	"fmt"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/splice"
)

// letter is a context file while it is edited.
type letter struct {
	rec *recorder
	c   *context
	m   *splice.Markdown
}

// letter opens the context file that a step or question was read from.
func (rec *recorder) letter(name string) (*letter, error) {
	f := rec.l.r.Open(name)
	if !f.OK() {
		return nil, rec.unread(name)
	}
	at := slices.IndexFunc(contextFiles, func(cf struct{ file, workflow string }) bool { return rec.l.in(cf.file) == name })
	m, err := splice.NewMarkdown(f.Data)
	if err != nil || at < 0 {
		return nil, rec.wrong("%s is no context file: %v", name, err)
	}
	c := &context{workflow: contextFiles[at].workflow, file: f, md: f.Markdown()}
	if c.front = c.md.Front; c.front == nil || c.front.Kind != doc.Map {
		return nil, rec.cannot("%s has no front matter", name)
	}
	c.phase = doc.Fold(c.get("phase").Str())
	c.iteration, _ = c.get("iteration").Int()
	c.word = strings.TrimSpace(c.get("status").Str())
	c.readLog()
	return &letter{rec, c, m}, nil
}

func (t *letter) edits(why string) ([]reprise.Edit, error) {
	if e, ok := t.m.Edit(t.c.file.Path, why); ok {
		return []reprise.Edit{e}, nil
	}
	return nil, nil
}

// front sets fields of the front matter and when it was updated.
func (t *letter) front(fields ...splice.Member) error {
	if t.c.front.Has("updated") {
		fields = append(fields, splice.Member{Key: "updated", Value: like(t.c.get("updated").Str(), t.rec.ev.At)})
	}
	for _, f := range fields {
		if err := t.m.SetFront(splice.Path{f.Key}, f.Value); err != nil {
			return t.rec.wrong("%s: %v", t.c.file.Path, err)
		}
	}
	return nil
}

// turn records a turn of the specification, or a phase of a later workflow.
func (rec *recorder) turn(s *reprise.Step) ([]reprise.Edit, error) {
	told := false
	switch rec.ev.Kind {
	case reprise.StepStarted:
		told = s.Status == reprise.InProgress
	case reprise.StepFinished:
		// The turn of a person ends with the analyst's next one: a turn that
		// is not at work is over.
		told = s.Status.Closed() || s.Status == reprise.Pending && strings.HasSuffix(s.ID, ".user") && !rec.awaitsUser(s)
	default:
		return nil, rec.cannot("the status of a context file has no word for it")
	}
	if told {
		return nil, nil
	}
	t, err := rec.letter(s.Source.File)
	if err != nil {
		return nil, err
	}
	fields := t.step(s)
	if err := t.front(fields...); err != nil {
		return nil, err
	}
	return t.edits(fmt.Sprintf("%s %s", s.ID, strings.TrimPrefix(string(rec.ev.Kind), "step_")))
}

// awaitsUser reports whether the context file still says that it is a person's
// turn: their answers may be in the log while nobody has ended the turn.
func (rec *recorder) awaitsUser(s *reprise.Step) bool {
	t, err := rec.letter(s.Source.File)
	return err == nil && doc.Fold(t.c.word) == "awaiting user"
}

// step gives the fields that say a step was started or is over.
func (t *letter) step(s *reprise.Step) []splice.Member {
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

// wholeContext ends, stops or takes up the workflow of a context file.
func (rec *recorder) wholeContext(s *reprise.Step) ([]reprise.Edit, error) {
	t, err := rec.letter(s.Source.File)
	if err != nil {
		return nil, err
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
	if err := t.front(splice.Member{Key: "status", Value: word}); err != nil {
		return nil, err
	}
	return t.edits(t.c.workflow + " " + word)
}

const titleLog = "Clarification Log"

// roundTitle is the heading of the current round in the log.
func (t *letter) roundTitle() string {
	title := fmt.Sprintf("Iteration %d", max(t.c.iteration, 1))
	if t.c.workflow != "specify" && t.c.phase != "" {
		title = "Phase: " + strings.ToUpper(t.c.phase[:1]) + t.c.phase[1:] + " - " + title
	}
	return title
}

// table gives the table of the current round that has all the columns, and
// makes it under a heading of its own if there is none.
func (t *letter) table(title string, columns ...string) (doc.Table, error) {
	if found, ok := t.find(columns); ok {
		return found, nil
	}
	if _, ok := t.m.Doc().Section(titleLog); !ok {
		if err := t.m.AppendSection(splice.Where{}, 2, titleLog); err != nil {
			return doc.Table{}, err
		}
	}
	round := t.roundTitle()
	if e := t.c.round(); e != nil {
		round = e.title
	} else if _, ok := t.m.Doc().Section(round); !ok {
		if err := t.m.AppendSection(splice.Where{Section: titleLog}, 3, round); err != nil {
			return doc.Table{}, err
		}
	}
	head := "| " + strings.Join(columns, " | ") + " |"
	if err := t.m.AppendSection(splice.Where{Section: round}, 4, title, head, "|"+strings.Repeat("---|", len(columns))); err != nil {
		return doc.Table{}, err
	}
	found, ok := t.find(columns)
	if !ok {
		return found, t.rec.cannot("%s takes no table of %q", t.c.file.Path, title)
	}
	return found, nil
}

func (t *letter) find(columns []string) (doc.Table, bool) {
	round := t.roundTitle()
	if e := t.c.round(); e != nil {
		round = e.title
	}
	for _, s := range t.m.Doc().Sections() {
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
		return []string{"User Answer", "Answer", "Response"}
	case "Severity":
		return []string{"Severity", "Priority"}
	case "Description":
		return []string{"Description", "Question"}
	}
	return []string{name}
}

// addRow adds a row to the log of the current round.
func (t *letter) addRow(title string, columns, values []string) error {
	table, err := t.table(title, columns...)
	if err != nil {
		return err
	}
	cells := map[string]string{}
	for i, name := range columns {
		cells[column(table, columnNames(name)...)] = values[i]
	}
	return t.m.AppendRow(splice.Where{Line: table.Line}, cells)
}

// askContext lists a question among the gaps of the round, which then waits for
// a person.
func (rec *recorder) askContext(s *reprise.Step) ([]reprise.Edit, error) {
	t, err := rec.letter(s.Source.File)
	if err != nil {
		return nil, err
	}
	// A gap that is only minor is not asked for.
	err = t.addRow("Gaps Identified", []string{"Gap ID", "Severity", "Description"}, []string{rec.ev.Question, "Important", cell(rec.ev.Text, 500)})
	if err != nil {
		return nil, err
	}
	if err := t.front(splice.Member{Key: "status", Value: "awaiting-user"}); err != nil {
		return nil, err
	}
	return t.edits("ask " + rec.ev.Question)
}

// answerContext keeps an answer in the log. That it was used shows in the turns
// that follow.
func (rec *recorder) answerContext(q *reprise.Question) ([]reprise.Edit, error) {
	if rec.ev.Kind == reprise.AnswerApplied {
		return nil, rec.cannot("the turn of the writer tells that it was applied")
	}
	text := undress(cell(rec.ev.Text, 1000))
	if !filled(text) {
		return nil, rec.cannot("an empty answer cannot be told from none")
	}
	t, err := rec.letter(q.Source.File)
	if err != nil {
		return nil, err
	}
	if err := t.addRow("User Answers", []string{"Gap ID", "Question", "Answer"}, []string{q.ID, cell(q.Text, 500), text}); err != nil {
		return nil, err
	}
	if err := t.front(); err != nil {
		return nil, err
	}
	return t.edits("keep the answer to " + q.ID)
}
