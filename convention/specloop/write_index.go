package specloop

import (
	"strings"

	"reprise/internal/doc"
	"reprise/internal/ledger"
	"reprise/internal/splice"
)

// indexEdit is index.md while it is edited.
type indexEdit struct {
	rec   *recorder
	ix    *index // as it was read
	f     *ledger.File
	stamp string // the event's time as the loop spells its last activity
}

// index opens index.md; nil if it cannot be written.
func (rec *recorder) index() *indexEdit {
	ix := rec.l.readIndex()
	if ix == nil {
		rec.cannot("%s is not there", rec.l.in(indexName))
		return nil
	}
	s := &indexEdit{rec: rec, ix: ix, f: rec.changes.Markdown(ix.file.Path)}
	if s.f == nil {
		return nil
	}
	s.stamp = like(field(s.loop(), "Last Activity").text, rec.ev.At)
	return s
}

// loop is the section that counts, see readLoop.
func (s *indexEdit) loop() doc.Section {
	md := s.f.Doc()
	found := md.All()
	for _, sec := range md.Sections() {
		if doc.Fold(sec.Title) == doc.Fold(titleLoop) {
			found = sec
		}
	}
	return found
}

// set changes a field that is there, its decoration kept. It reports whether it
// is.
func (s *indexEdit) set(sec doc.Section, value string, keys ...string) bool {
	l, ok := label(sec, keys...)
	old := undress(l.Value)
	if !ok || old == value {
		return ok
	}
	s.f.Do(func(m *splice.Markdown) error {
		at := splice.Where{Line: l.Line}
		if filled(old) && m.SetWord(at, l.Key, old, value) == nil {
			if now, _ := label(again(m.Doc(), sec), keys...); undress(now.Value) == value {
				return nil
			}
		}
		return m.SetLabel(at, l.Key, value)
	})
	return true
}

// again gives a section as it reads now.
func again(md *doc.Markdown, sec doc.Section) doc.Section {
	for _, now := range md.Sections() {
		if now.Line == sec.Line && now.Title == sec.Title {
			return now
		}
	}
	return md.All()
}

// put sets a field of the loop, or adds a row for it behind the others.
func (s *indexEdit) put(key, value string) {
	sec := s.loop()
	if s.set(sec, value, key) {
		return
	}
	status, ok := label(sec, "Loop Status", "Current Iteration", "Last Activity")
	if !ok {
		s.rec.cannot("%s has no table of the loop's state", s.ix.file.Path)
		return
	}
	for _, t := range sec.Tables() {
		for _, row := range t.Rows {
			if row[0].Line != status.Line || len(t.Header) < 2 || t.Header[0].Text == t.Header[1].Text || !s.piped(t) {
				continue
			}
			name := key
			if strings.HasPrefix(row[0].Text, "**") {
				name = "**" + key + "**"
			}
			s.f.Do(func(m *splice.Markdown) error {
				return m.AppendRow(splice.Where{Line: t.Line}, map[string]string{t.Header[0].Text: name, t.Header[1].Text: value})
			})
			return
		}
	}
	if sec.Level == 0 {
		s.rec.cannot("%s has no section %q", s.ix.file.Path, titleLoop)
		return
	}
	s.f.Do(func(m *splice.Markdown) error {
		return m.AppendLines(splice.Where{Section: sec.Title}, "**"+key+"**: "+value)
	})
}

// piped reports whether the last row of a table is written as one. A legend
// below a table without a blank line between is a row, too, by the letter.
func (s *indexEdit) piped(t doc.Table) bool {
	last := t.Rows[len(t.Rows)-1][0].Line
	lines := s.f.Doc().Lines
	return len(lines) > 0 && strings.HasPrefix(strings.TrimSpace(lines[last-lines[0].No].Text), "|")
}

// tableKind is one of the tables of index.md: the titles it may stand under, the
// columns its rows may be named by, and the columns it is made with.
type tableKind struct{ titles, keys, columns []string }

var (
	gapTable = tableKind{
		[]string{"Gap Priority Queue"}, []string{"Gap ID", "ID", "Gap"}, []string{"Priority", "Gap ID", "Question", "Status", "Resolution"},
	}
	questionTable = tableKind{
		[]string{"Pending Questions", "Unified Pending Questions"}, []string{"ID", "Question ID"},
		[]string{"ID", "Question Summary", "Gaps", "Options", "Status", "Answer"},
	}
	answerTable  = tableKind{[]string{"User Answers", "Answers"}, []string{"ID", "Question ID", "Gap ID"}, []string{"ID", "Answer"}}
	historyTable = tableKind{
		[]string{"Gap Resolution History"}, []string{"Gap ID", "ID", "Gap"}, []string{"Gap ID", "Iteration", "Action", "Details", "Timestamp"},
	}
	workflowTable = tableKind{[]string{"Workflow Status Table", "Workflow Status"}, []string{"Workflow"}, nil}
)

// answerColumns are the names under which an answer is read.
var answerColumns = []string{"Answer", "User Answer", "Response"}

// find gives the last table of its kind.
func (k tableKind) find(md *doc.Markdown) (found doc.Table, ok bool) {
	for _, t := range k.all(md) {
		if t.Column(k.keys...) >= 0 {
			found, ok = t, true
		}
	}
	return found, ok
}

// all lists the tables of the sections with one of the titles.
func (k tableKind) all(md *doc.Markdown) (out []doc.Table) {
	for _, sec := range md.Sections() {
		for _, title := range k.titles {
			if doc.Fold(sec.Title) == doc.Fold(title) {
				out = append(out, sec.Tables()...)
			}
		}
	}
	return out
}

// column names the first of the columns that a table has, "" if it has none.
func column(t doc.Table, names ...string) string {
	if i := t.Column(names...); i >= 0 {
		return t.Header[i].Text
	}
	return ""
}

// setRow sets a cell of the row with an id; a column or row that is not there
// is passed over.
func (s *indexEdit) setRow(k tableKind, id, value string, columns ...string) {
	for _, t := range k.all(s.f.Doc()) {
		key, col := t.Column(k.keys...), t.Column(columns...)
		if key < 0 || col < 0 {
			continue
		}
		for _, row := range t.Rows {
			if doc.Fold(undress(row[key].Text)) == doc.Fold(id) && undress(row[col].Text) != value {
				s.setCell(row[0].Line, t.Header[col].Text, value)
			}
		}
	}
}

func (s *indexEdit) setCell(line int, column, value string) {
	s.f.Do(func(m *splice.Markdown) error {
		return m.SetCell(splice.Where{Line: line}, splice.Row{}, column, value)
	})
}

// addRow adds a row to a table, which is made if it is not there. Values are
// given by the names a column may have, parted by "/"; what the table has no
// column for is left out.
func (s *indexEdit) addRow(k tableKind, values map[string]string) {
	t, ok := k.find(s.f.Doc())
	if !ok {
		if s.ix.damaged {
			s.rec.wrong("%s: a table under %q cannot be read", s.ix.file.Path, k.titles[0])
			return
		}
		s.f.Do(func(m *splice.Markdown) error {
			return m.AppendSection(splice.Where{}, 2, k.titles[0], tableHead(k.columns)...)
		})
		if t, ok = k.find(s.f.Doc()); !ok {
			s.rec.cannot("%s takes no section %q", s.ix.file.Path, k.titles[0])
			return
		}
	}
	cells := map[string]string{}
	for names, value := range values {
		if name := column(t, strings.Split(names, "/")...); name != "" && value != "" {
			cells[name] = value
		}
	}
	s.f.Do(func(m *splice.Markdown) error { return m.AppendRow(splice.Where{Line: t.Line}, cells) })
}

// tableHead gives the first lines of a table.
func tableHead(columns []string) []string {
	return []string{"| " + strings.Join(columns, " | ") + " |", "|" + strings.Repeat("---|", len(columns))}
}

// touch writes where the loop stands and when, and what else of index.md tells
// the same: the row of the workflow, the current phase.
func (s *indexEdit) touch(word string, mk mark) {
	s.put("Loop Status", word)
	s.put("Last Activity", s.stamp)
	s.put(titleMark, mk.text(s.stamp))
	switch word {
	case "terminated":
	case "completed", "not_started":
		s.setWorkflow("specify", word)
	default:
		s.setWorkflow("specify", "in_progress")
	}
	if sec, ok := s.f.Doc().Section("Workflow Status"); ok {
		if cur := field(sec, "Current Phase"); cur.given() && loopWord(cur.text) != "" {
			s.set(sec, word, "Current Phase")
		}
	}
}

// setWorkflow sets the row of a workflow, and when it last ran. A word that
// means the same stays.
func (s *indexEdit) setWorkflow(name, word string) {
	old := s.ix.rowWord(name)
	if old.line == 0 {
		return
	}
	if !old.given() || rowStatus(old.text) != rowStatus(word) {
		s.setRow(workflowTable, name, word, "Status")
	}
	s.setRow(workflowTable, name, s.stamp, "Last Run")
}
