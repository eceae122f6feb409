package splice

import (
	"strings"

	"reprise/internal/doc"
)

// Markdown is a Markdown file while it is edited. What stands in code fences
// and HTML comments is never touched.
type Markdown struct {
	text
	md     *doc.Markdown
	broken bool
	fields []Field // found in md; nil if not looked for yet
}

// Where narrows down where in a file something is looked for. The zero value is
// the whole body.
type Where struct {
	// Section is the title of a section, compared by doc.Fold. Of several
	// sections of that title the one that begins at or next before Line is
	// meant; without a line they are ambiguous.
	Section string
	// Line is the line on which the thing stands, as its reader reported it: a
	// label, a check box, the row of a table, the header of a table that gets a
	// row. 0 is any.
	Line int
}

func (w Where) String() string {
	if w.Section == "" {
		return ""
	}
	return " in " + w.Section
}

// NewMarkdown reads a Markdown file. Every text is one; it returns an *Error
// with ErrUnreadable only if it is too large.
func NewMarkdown(data []byte) (*Markdown, error) {
	md, broken, why := readMarkdown(data)
	if md == nil {
		return nil, &Error{"read", "Markdown", ErrUnreadable, why}
	}
	return &Markdown{text: text{data, data}, md: md, broken: broken}, nil
}

// Doc returns the file as it reads now.
func (m *Markdown) Doc() *doc.Markdown { return m.md }

// scope returns the section meant.
func (m *Markdown) scope(op string, w Where) (doc.Section, error) {
	if w.Section == "" {
		return m.md.All(), nil
	}
	var found []doc.Section
	for _, s := range m.md.Sections() {
		if doc.Fold(s.Title) == doc.Fold(w.Section) {
			found = append(found, s)
		}
	}
	switch {
	case len(found) == 0:
		return doc.Section{}, &Error{op, "section " + w.Section, ErrNotFound, ""}
	case len(found) == 1:
		return found[0], nil
	case w.Line > 0:
		for i := len(found) - 1; i >= 0; i-- {
			if found[i].Line <= w.Line {
				return found[i], nil
			}
		}
	}
	return doc.Section{}, &Error{op, "section " + w.Section, ErrAmbiguous, ""}
}

// line returns the index of a line of the body, -1 if it is not there.
func (m *Markdown) line(no int) int {
	if len(m.md.Lines) == 0 {
		return -1
	}
	i := no - m.md.Lines[0].No
	if i < 0 || i >= len(m.md.Lines) {
		return -1
	}
	return i
}

// after returns where the line behind a line of the body begins.
func (m *Markdown) after(i int) int {
	if i+1 < len(m.md.Lines) {
		return m.md.Lines[i+1].Start
	}
	return len(m.now)
}

// change is what an edit may do to the lines of the body: those from at on, as
// many as removed, give way to as many as added.
type change struct{ at, removed, added int }

// commit applies the first of the patches after which everything outside of the
// change reads as before and ok holds.
func (m *Markdown) commit(op, what string, c change, patches []patch, ok func(next *doc.Markdown) bool) error {
	return m.firstFit(op, what, patches, func(next []byte) bool {
		md, broken, _ := readMarkdown(next)
		if md == nil || broken != m.broken || !sameFront(m.md, md) || !sameLines(m.md.Lines, md.Lines, c) || !sameTables(m.md, md, c) || !ok(md) {
			return false
		}
		m.md, m.fields = md, nil
		return true
	})
}

func sameFront(a, b *doc.Markdown) bool {
	if !same(a.Front, b.Front) || len(a.MoreFront) != len(b.MoreFront) {
		return false
	}
	for i := range a.MoreFront {
		if !same(a.MoreFront[i], b.MoreFront[i]) {
			return false
		}
	}
	return true
}

// sameLines compares the lines outside of a change; what is a heading, a label
// or a check box follows from the line alone.
func sameLines(a, b []doc.Line, c change) bool {
	if len(a)-c.removed+c.added != len(b) || c.at > len(a) {
		return false
	}
	for i := range b {
		switch {
		case i < c.at:
			if a[i].Text != b[i].Text || a[i].Hidden != b[i].Hidden {
				return false
			}
		case i < c.at+c.added:
			if b[i].Hidden {
				return false
			}
		default:
			if k := i - c.added + c.removed; a[k].Text != b[i].Text || a[k].Hidden != b[i].Hidden {
				return false
			}
		}
	}
	return true
}

// sameTables compares the tables outside of a change. They are not a matter of
// one line: a line more or less can begin or end one.
func sameTables(a, b *doc.Markdown, c change) bool {
	return rowsOutside(a, c.at, c.removed) == rowsOutside(b, c.at, c.added)
}

// rowsOutside writes down all rows but those on some lines of the body.
func rowsOutside(md *doc.Markdown, at, count int) string {
	if len(md.Lines) == 0 {
		return ""
	}
	from := md.Lines[0].No + at
	var out strings.Builder
	row := func(kind string, cells []doc.Cell) {
		if len(cells) > 0 && cells[0].Line >= from && cells[0].Line < from+count {
			return
		}
		out.WriteString(kind)
		for _, c := range cells {
			out.WriteString(c.Text)
			out.WriteByte(0)
		}
	}
	for _, t := range md.All().Tables() {
		row("\x00table", t.Header)
		for _, r := range t.Rows {
			row("\x00row", r)
		}
	}
	return out.String()
}

// SetCheck ticks or clears a check box. It is found by its text, which is
// compared exactly and else by doc.Fold, by its line, or by both.
func (m *Markdown) SetCheck(w Where, label string, ticked bool) error {
	if !ticked {
		return m.SetBox(w, label, " ")
	}
	marks := map[string]bool{}
	for _, c := range m.md.All().Checks() {
		marks[c.Mark] = true
	}
	if marks["X"] && !marks["x"] {
		return m.SetBox(w, label, "X")
	}
	return m.SetBox(w, label, "x")
}

// SetBox puts a mark of one character into a check box, or a word where one is, which is
// found as by SetCheck. A ticked box is not ticked again in another spelling.
func (m *Markdown) SetBox(w Where, label, mark string) error {
	const op = "set check box"
	c, err := m.box(op, w, label)
	if err != nil || c.Mark == mark || c.Ticked && strings.EqualFold(mark, "x") {
		return err
	}
	i := m.line(c.Line)
	at := m.md.Lines[i].Start + strings.IndexByte(m.md.Lines[i].Text, '[') + 1
	return m.setBox(op, label+w.String(), patch{at, at + len(c.Mark), mark}, doc.Check{Mark: mark, Text: c.Text, Line: c.Line})
}

// SetItem gives the item with a check box, which is found as by SetCheck, another text of one
// line.
func (m *Markdown) SetItem(w Where, label, text string) error {
	const op = "set item"
	c, err := m.box(op, w, label)
	if err != nil || c.Text == text {
		return err
	}
	l := m.md.Lines[m.line(c.Line)]
	at := l.Start + max(0, strings.LastIndex(l.Text, c.Text)) // what does not fit does not read back
	return m.setBox(op, label+w.String(), patch{at, at + len(c.Text), text}, doc.Check{Mark: c.Mark, Text: text, Line: c.Line})
}

// box finds a check box as SetCheck does.
func (m *Markdown) box(op string, w Where, label string) (doc.Check, error) {
	s, err := m.scope(op, w)
	if err != nil {
		return doc.Check{}, err
	}
	var exact, folded []doc.Check
	for _, c := range append(s.Boxes(), s.Worded()...) {
		if w.Line > 0 && c.Line != w.Line {
			continue
		}
		if label == "" && w.Line > 0 || c.Text == strings.TrimSpace(label) {
			exact = append(exact, c)
		} else if label != "" && doc.Fold(c.Text) == doc.Fold(label) {
			folded = append(folded, c)
		}
	}
	if len(exact) == 0 {
		exact = folded
	}
	switch {
	case len(exact) == 0:
		return doc.Check{}, &Error{op, label + w.String(), ErrNotFound, ""}
	case len(exact) > 1:
		return doc.Check{}, &Error{op, label + w.String(), ErrAmbiguous, ""}
	}
	return exact[0], nil
}

// setBox applies a patch of a line after which it reads as the item that is wanted.
func (m *Markdown) setBox(op, what string, p patch, want doc.Check) error {
	return m.commit(op, what, change{m.line(want.Line), 1, 1}, []patch{p}, func(next *doc.Markdown) bool {
		for _, c := range append(next.All().Boxes(), next.All().Worded()...) {
			if c.Line == want.Line {
				return c.Mark == want.Mark && c.Text == want.Text
			}
		}
		return false
	})
}

// SetFront sets a value of the front matter or, if the last key of the path
// does not exist in its map, adds it. Where several blocks stand behind each
// other the first that has the path is edited, or else the first of all. A file
// without front matter is refused with ErrNotFound.
func (m *Markdown) SetFront(path Path, value any) error {
	const op = "put"
	fronts := append([]*doc.Node{m.md.Front}, m.md.MoreFront...)
	if m.md.Front == nil {
		return &Error{op, "front matter " + path.String(), ErrNotFound, "the file has none"}
	}
	which := 0
	for i, n := range fronts {
		if find(n, path) != nil {
			which = i
			break
		}
	}
	hi := len(m.now)
	if len(m.md.Lines) > 0 {
		hi = m.md.Lines[0].Start
	}
	b := block{data: m.now, root: fronts[which], hi: hi}
	patches, want, err := planned(b, fronts[which], op, path, value)
	if err != nil || patches == nil {
		return err
	}
	return m.firstFit(op, "front matter "+path.String(), patches, func(next []byte) bool {
		md, broken, _ := readMarkdown(next)
		if md == nil || md.Front == nil || broken != m.broken || len(md.MoreFront) != len(m.md.MoreFront) || !sameLines(m.md.Lines, md.Lines, change{}) {
			return false
		}
		for i, n := range append([]*doc.Node{md.Front}, md.MoreFront...) {
			expect := fronts[i]
			if i == which {
				expect = want
			}
			if !same(n, expect) {
				return false
			}
		}
		m.md, m.fields = md, nil
		return true
	})
}
