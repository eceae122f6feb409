package specloop

import (
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/splice"
)

// sheet is index.md while it is edited.
type sheet struct {
	rec   *recorder
	ix    *index // as it was read
	m     *splice.Markdown
	stamp string // the event's time as the loop spells its last activity
}

// sheet opens index.md.
func (rec *recorder) sheet() (*sheet, error) {
	ix := rec.l.readIndex()
	if ix == nil {
		return nil, rec.cannot("%s is not there", rec.l.in("index.md"))
	}
	if !ix.file.OK() {
		return nil, rec.unread(ix.file.Path)
	}
	m, err := splice.NewMarkdown(ix.file.Data)
	if err != nil {
		return nil, rec.wrong("%s: %v", ix.file.Path, err)
	}
	s := &sheet{rec: rec, ix: ix, m: m}
	s.stamp = like(field(s.loop(), "Last Activity").text, rec.ev.At)
	return s, nil
}

// edits gives the change, if there is one.
func (s *sheet) edits(why string) ([]reprise.Edit, error) {
	if e, ok := s.m.Edit(s.ix.file.Path, why); ok {
		return []reprise.Edit{e}, nil
	}
	return nil, nil
}

// loop is the section that counts, see readLoop.
func (s *sheet) loop() doc.Section {
	md := s.m.Doc()
	found := md.All()
	for _, sec := range md.Sections() {
		if doc.Fold(sec.Title) == doc.Fold(titleLoop) {
			found = sec
		}
	}
	return found
}

// label finds a row or label as field does.
func label(sec doc.Section, keys ...string) (doc.Label, bool) {
	for _, key := range keys {
		for _, l := range sec.Labels() {
			if doc.Fold(l.Key) == doc.Fold(key) && (l.Form == doc.TableLabel || !strings.Contains(l.Value, "|")) {
				return l, true
			}
		}
	}
	return doc.Label{}, false
}

// set changes a field that is there, its decoration kept; ok is false if it is
// not there.
func (s *sheet) set(sec doc.Section, value string, keys ...string) (ok bool, err error) {
	l, ok := label(sec, keys...)
	if !ok {
		return false, nil
	}
	old := undress(l.Value)
	if old == value {
		return true, nil
	}
	at := splice.Where{Line: l.Line}
	if filled(old) {
		if s.m.SetWord(at, l.Key, old, value) == nil {
			if now, _ := label(s.again(sec), keys...); undress(now.Value) == value {
				return true, nil
			}
		}
	}
	return true, s.m.SetLabel(at, l.Key, value)
}

// again gives a section as it reads now.
func (s *sheet) again(sec doc.Section) doc.Section {
	for _, now := range s.m.Doc().Sections() {
		if now.Line == sec.Line && now.Title == sec.Title {
			return now
		}
	}
	return s.m.Doc().All()
}

// put sets a field of the loop, or adds a row for it behind the others.
func (s *sheet) put(key, value string) error {
	if ok, err := s.set(s.loop(), value, key); ok || err != nil {
		return err
	}
	sec := s.loop()
	status, ok := label(sec, "Loop Status", "Current Iteration", "Last Activity")
	if !ok {
		return s.rec.cannot("%s has no table of the loop's state", s.ix.file.Path)
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
			return s.m.AppendRow(splice.Where{Line: t.Line}, map[string]string{t.Header[0].Text: name, t.Header[1].Text: value})
		}
	}
	if sec.Level == 0 {
		return s.rec.cannot("%s has no section %q", s.ix.file.Path, titleLoop)
	}
	return s.m.AppendLines(splice.Where{Section: sec.Title}, "**"+key+"**: "+value)
}

// piped reports whether the last row of a table is written as one. A legend
// below a table without a blank line between is a row, too, by the letter.
func (s *sheet) piped(t doc.Table) bool {
	last := t.Rows[len(t.Rows)-1][0].Line
	lines := s.m.Doc().Lines
	return len(lines) > 0 && strings.HasPrefix(strings.TrimSpace(lines[last-lines[0].No].Text), "|")
}

// table finds the last table of the sections with one of the titles that has
// one of the key columns.
func (s *sheet) table(keys []string, titles ...string) (doc.Table, bool) {
	var found doc.Table
	ok := false
	for _, t := range s.tables(titles) {
		if t.Column(keys...) >= 0 {
			found, ok = t, true
		}
	}
	return found, ok
}

// tables lists the tables of the sections with one of the titles.
func (s *sheet) tables(titles []string) (out []doc.Table) {
	for _, sec := range s.m.Doc().Sections() {
		for _, title := range titles {
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
func (s *sheet) setRow(keys []string, id, value string, columns []string, titles ...string) error {
	for _, t := range s.tables(titles) {
		key, col := t.Column(keys...), t.Column(columns...)
		if key < 0 || col < 0 {
			continue
		}
		for _, row := range t.Rows {
			if doc.Fold(undress(row[key].Text)) != doc.Fold(id) || undress(row[col].Text) == value {
				continue
			}
			if err := s.m.SetCell(splice.Where{Line: row[0].Line}, splice.Row{}, t.Header[col].Text, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// addRow adds a row to the table of a section, which is made with the given
// columns if it is not there. Values are given by the names a column may have,
// parted by "/"; what the table has no column for is left out.
func (s *sheet) addRow(keys, columns []string, values map[string]string, titles ...string) error {
	t, ok := s.table(keys, titles...)
	if !ok {
		if s.ix.damaged {
			return s.rec.wrong("%s: a table under %q cannot be read", s.ix.file.Path, titles[0])
		}
		head := "| " + strings.Join(columns, " | ") + " |"
		rule := "|" + strings.Repeat("---|", len(columns))
		if err := s.m.AppendSection(splice.Where{}, 2, titles[0], head, rule); err != nil {
			return err
		}
		if t, ok = s.table(keys, titles...); !ok {
			return s.rec.cannot("%s takes no section %q", s.ix.file.Path, titles[0])
		}
	}
	cells := map[string]string{}
	for names, value := range values {
		if name := column(t, strings.Split(names, "/")...); name != "" && value != "" {
			cells[name] = value
		}
	}
	return s.m.AppendRow(splice.Where{Line: t.Line}, cells)
}

// touch writes where the loop stands and when, and what else of index.md tells
// the same: the row of the workflow, the current phase.
func (s *sheet) touch(word string, mk mark) error {
	for _, field := range []struct{ key, value string }{{"Loop Status", word}, {"Last Activity", s.stamp}, {titleMark, mk.text(s.stamp)}} {
		if err := s.put(field.key, field.value); err != nil {
			return err
		}
	}
	row := "in_progress"
	switch word {
	case "completed":
		row = word
	case "not_started":
		row = word
	}
	if word != "terminated" {
		if err := s.setWorkflow("specify", row); err != nil {
			return err
		}
	}
	if sec, ok := s.m.Doc().Section("Workflow Status"); ok {
		if cur := field(sec, "Current Phase"); cur.given() && loopWord(cur.text) != "" {
			if _, err := s.set(sec, word, "Current Phase"); err != nil {
				return err
			}
		}
	}
	return nil
}

// setWorkflow sets the row of a workflow, and when it last ran. A word that
// means the same stays.
func (s *sheet) setWorkflow(name, word string) error {
	if old := s.ix.rowWord(name); old.given() && rowStatus(old.text) != rowStatus(word) || old.line > 0 && !old.given() {
		if err := s.setRow([]string{"Workflow"}, name, word, []string{"Status"}, "Workflow Status Table", "Workflow Status"); err != nil {
			return err
		}
	}
	for _, w := range s.ix.workflows {
		if w.name == name {
			return s.setRow([]string{"Workflow"}, name, s.stamp, []string{"Last Run"}, "Workflow Status Table", "Workflow Status")
		}
	}
	return nil
}
