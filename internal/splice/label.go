package splice

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"reprise/internal/doc"
)

// Form is the syntax of a field.
type Form uint8

// The syntaxes.
const (
	// Labelled is `**Key:** value`, `Key: value`, a row `| Key | value |`, one
	// of several labels on a line: all that doc.Section.Labels knows.
	Labelled Form = iota + 1
	// Titled is a heading `## Key: value`.
	Titled
	// Under is the first line of text below a heading `## Key`.
	Under
)

// Field is a named value in the body of a Markdown file.
type Field struct {
	Key, Value string
	Line       int // of the value
	Form       Form

	fold   string // the key as it is compared
	index  int    // Labelled: which label of the line
	table  bool   // Labelled: a row
	header int    // Under: the line of the heading
}

// Fields returns the fields of that name within w in file order, whatever their
// syntax; all fields for an empty key. Keys are compared by doc.Fold.
func (m *Markdown) Fields(w Where, key string) []Field {
	s, err := m.scope("find", w)
	if err != nil {
		return nil
	}
	if m.fields == nil {
		m.fields = m.allFields()
	}
	from, to := 0, math.MaxInt
	if s.Level > 0 {
		from, to = s.Line, s.Line
		if lines := s.Lines(); len(lines) > 0 {
			to = lines[len(lines)-1].No
		}
	}
	fold := doc.Fold(key)
	var out []Field
	for _, f := range m.fields {
		if (key == "" || f.fold == fold) && f.Line >= from && f.Line <= to && (w.Line == 0 || f.Line == w.Line || f.header == w.Line) {
			out = append(out, f)
		}
	}
	return out
}

// allFields looks for the fields of the whole body.
func (m *Markdown) allFields() []Field {
	out := []Field{}
	lines := map[int]int{}
	for _, l := range m.md.All().Labels() {
		out = append(out, Field{Key: l.Key, Value: l.Value, Line: l.Line, Form: Labelled, index: lines[l.Line], table: l.Form == doc.TableLabel})
		lines[l.Line]++
	}
	for _, s := range m.md.Sections() {
		if i := strings.Index(s.Title, ":"); i > 0 && lines[s.Line] == 0 && strings.TrimSpace(s.Title[i+1:]) != "" {
			out = append(out, Field{Key: plainText(s.Title[:i]), Value: strings.TrimSpace(s.Title[i+1:]), Line: s.Line, Form: Titled})
		}
		if line, value, ok := firstText(s); ok {
			out = append(out, Field{Key: strings.TrimSuffix(plainText(s.Title), ":"), Value: value, Line: line, Form: Under, header: s.Line})
		}
	}
	for i := range out {
		out[i].fold = doc.Fold(out[i].Key)
	}
	slices.SortStableFunc(out, func(a, b Field) int { return a.Line - b.Line })
	return out
}

// firstText returns the first line below a heading if it is text: no table, no
// check box, no labels of its own.
func firstText(s doc.Section) (line int, value string, ok bool) {
	for _, l := range s.Head().Lines() {
		text := strings.TrimSpace(l.Text)
		if text == "" {
			continue
		}
		isCheck := slices.ContainsFunc(s.Head().Checks(), func(c doc.Check) bool { return c.Line == l.No })
		if strings.HasPrefix(text, "|") || strings.HasPrefix(text, "---") || isCheck {
			return 0, "", false
		}
		for _, label := range l.Labels() {
			if label.Form != doc.PlainLabel || doc.Fold(label.Key) == doc.Fold(s.Title) {
				return 0, "", false
			}
		}
		return l.No, valueOf(text), true
	}
	return 0, "", false
}

// valueOf strips the marker of a list or quotation.
func valueOf(text string) string {
	for _, mark := range []string{"- ", "* ", "+ ", "> "} {
		if rest, ok := strings.CutPrefix(text, mark); ok {
			return strings.TrimSpace(rest)
		}
	}
	return text
}

// SetLabel replaces the whole value of a field, whatever its syntax. It returns
// an *Error with ErrNotFound if there is no field of that name within w, with
// ErrAmbiguous if there are several, and with ErrUnfit for text of several
// lines or such that would read as something else.
func (m *Markdown) SetLabel(w Where, key, value string) error {
	f, err := m.field("set", w, key)
	if err != nil {
		return err
	}
	return m.setField("set", f, value)
}

// SetWord replaces only the word of a field's value and keeps its decoration:
// emoji, emphasis, what follows it. The word is old, or, if old is empty, the
// first run of words: "✅ **In Progress** — since Monday" has "In Progress". It
// returns an *Error with ErrNotFound if old does not stand in the value.
func (m *Markdown) SetWord(w Where, key, old, word string) error {
	f, err := m.field("set word", w, key)
	if err != nil {
		return err
	}
	start, end := wordSpan(f.Value, old)
	if start < 0 {
		return &Error{"set word", key + w.String(), ErrNotFound, "the value is " + doc.Clip(f.Value, 60)}
	}
	return m.setField("set word", f, f.Value[:start]+word+f.Value[end:])
}

// field returns the one field meant.
func (m *Markdown) field(op string, w Where, key string) (Field, error) {
	if _, err := m.scope(op, w); err != nil {
		return Field{}, err
	}
	found := m.Fields(w, key)
	switch {
	case len(found) == 0 || doc.Fold(key) == "":
		return Field{}, &Error{op, key + w.String(), ErrNotFound, ""}
	case len(found) > 1:
		return Field{}, &Error{op, key + w.String(), ErrAmbiguous, ""}
	}
	return found[0], nil
}

// wordSpan finds a word in a value: old, not as part of a longer word, or the
// first run of words. It returns -1 if there is none.
func wordSpan(value, old string) (start, end int) {
	if old != "" {
		for from := 0; from <= len(value); {
			i := strings.Index(value[from:], old)
			if i < 0 {
				return -1, -1
			}
			start, end = from+i, from+i+len(old)
			before, _ := utf8.DecodeLastRuneInString(value[:start])
			after, _ := utf8.DecodeRuneInString(value[end:])
			if (start == 0 || !inWord(before)) && (end == len(value) || !inWord(after)) {
				return start, end
			}
			from = start + 1
		}
		return -1, -1
	}
	if at := wordsForm().FindStringIndex(value); at != nil {
		return at[0], at[1]
	}
	return -1, -1
}

// wordsForm is a run of words.
var wordsForm = doc.Pattern(`[\p{L}\p{Nd}]+(?:[ _\-/'’.][\p{L}\p{Nd}]+)*`)

func inWord(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }

// setField replaces the value of a field.
func (m *Markdown) setField(op string, f Field, value string) error {
	value = strings.TrimSpace(value)
	if f.Value == value {
		return nil
	}
	if !oneLine(value) {
		return &Error{op, f.Key, ErrUnfit, "a value is one line"}
	}
	if f.table {
		if at, ok := m.labelCell(f); ok {
			return m.setCell(op, f.Key, at, value)
		}
	}
	i := m.line(f.Line)
	if i < 0 {
		return &Error{op, f.Key, ErrNotFound, ""}
	}
	l := m.md.Lines[i]
	var patches []patch
	for _, span := range spans(l.Text, f.Value, f.table) {
		next := l.Text[:span[0]] + pad(l.Text, span, value) + l.Text[span[1]:]
		if f.reads(l.Text, next, value) {
			patches = append(patches, patch{l.Start + span[0], l.Start + span[1], pad(l.Text, span, value)})
			break
		}
	}
	return m.commit(op, f.Key, change{i, 1, 1}, patches, func(next *doc.Markdown) bool {
		n := &Markdown{md: next}
		for _, g := range n.Fields(Where{Line: f.Line}, f.Key) {
			if g.Form == f.Form && g.index == f.index && g.Value == value {
				return true
			}
		}
		return false
	})
}

// labelCell finds the cell that holds the value of a row read as a label.
func (m *Markdown) labelCell(f Field) (cellAt, bool) {
	for t, table := range m.md.All().Tables() {
		if table.Line == f.Line && len(table.Header) > 1 && table.Header[1].Text == f.Value {
			return cellAt{t, -1, 1, table.Header[1]}, true
		}
		for r, cells := range table.Rows {
			if cells[0].Line == f.Line && len(cells) > 1 && cells[1].Text == f.Value {
				return cellAt{t, r, 1, cells[1]}, true
			}
		}
	}
	return cellAt{}, false
}

// reads reports whether in a changed line only this field has changed.
func (f Field) reads(old, next, value string) bool {
	if f.Form == Under {
		// A value that becomes a label, a heading or a check box is none.
		return valueOf(strings.TrimSpace(next)) == value && strings.TrimSpace(next) != ""
	}
	if f.Form == Titled {
		return true
	}
	was, is := doc.Line{Text: old}.Labels(), doc.Line{Text: next}.Labels()
	if len(was) != len(is) {
		return false
	}
	for i := range is {
		want := was[i].Value
		if i == f.index {
			want = value
		}
		if is[i].Key != was[i].Key || is[i].Form != was[i].Form || is[i].Value != want {
			return false
		}
	}
	return true
}

// spans returns where in a line a value may stand, the last place first: keys
// come before values. An empty value may stand behind any colon or emphasis.
func spans(line, value string, escaped bool) [][2]int {
	const most = 64
	var out [][2]int
	if escaped {
		value = strings.ReplaceAll(value, "|", `\|`)
	}
	for to := len(line); to >= 0 && len(out) < most; {
		if value != "" {
			i := strings.LastIndex(line[:to], value)
			if i < 0 {
				break
			}
			out = append(out, [2]int{i, i + len(value)})
			to = i + len(value) - 1
			continue
		}
		i := strings.LastIndexAny(line[:to], ":*|")
		if i < 0 {
			break
		}
		out = append(out, [2]int{i + 1, i + 1})
		to = i
	}
	return out
}

// pad puts a blank before a value that stands right behind its label.
func pad(line string, span [2]int, value string) string {
	if span[0] == span[1] && span[0] > 0 && line[span[0]-1] != ' ' {
		return " " + value
	}
	return value
}
