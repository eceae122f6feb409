package splice

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"reprise/internal/doc"
)

// Row names a row of a table: the one in which a column holds a text, compared
// without emphasis and else by doc.Fold.
type Row struct{ Column, Text string }

// SetCell sets the cell of a row in the column of that name. The table is the
// one within w that has both columns and the row; with a line, the row on that
// line, for which the Row may be left empty. Pipes are escaped; text of several
// lines is refused with ErrUnfit.
func (m *Markdown) SetCell(w Where, row Row, column, value string) error {
	const op = "set cell"
	what := strings.TrimSpace(fmt.Sprintf("%s of %s", column, row.Text)) + w.String()
	s, err := m.scope(op, w)
	if err != nil {
		return err
	}
	var exact, folded []cellAt
	for t, table := range m.md.All().Tables() {
		col, key := table.Column(column), table.Column(row.Column)
		if col < 0 || key < 0 && row != (Row{}) || !within(s, table) {
			continue
		}
		for r, cells := range table.Rows {
			at := cellAt{t, r, col, cells[col]}
			switch {
			case w.Line > 0 && cells[0].Line != w.Line:
			case row == (Row{}) && w.Line > 0 || key >= 0 && plainText(cells[key].Text) == plainText(row.Text):
				exact = append(exact, at)
			case key >= 0 && doc.Fold(cells[key].Text) == doc.Fold(row.Text) && doc.Fold(row.Text) != "":
				folded = append(folded, at)
			}
		}
	}
	if len(exact) == 0 {
		exact = folded
	}
	switch len(exact) {
	case 0:
		return &Error{op, what, ErrNotFound, ""}
	case 1:
		return m.setCell(op, what, exact[0], value)
	}
	return &Error{op, what, ErrAmbiguous, ""}
}

// cellAt is a cell and where it stands; a row of -1 is the header.
type cellAt struct {
	table, row, column int
	cell               doc.Cell
}

func plainText(s string) string { return strings.Trim(strings.TrimSpace(s), "*_` ") }

// within reports whether a table of the file stands in a section.
func within(s doc.Section, t doc.Table) bool {
	lines := s.Lines()
	return len(lines) > 0 && t.Line >= lines[0].No && t.Line <= lines[len(lines)-1].No
}

func (m *Markdown) setCell(op, what string, at cellAt, value string) error {
	value = strings.TrimSpace(value)
	if at.cell.Text == value {
		return nil
	}
	if !oneLine(value) {
		return &Error{op, what, ErrUnfit, "a cell is one line"}
	}
	i := m.line(at.cell.Line)
	if i < 0 {
		return &Error{op, what, ErrNotFound, ""}
	}
	old := m.tableRow(m.md, at)
	return m.commit(op, what, change{i, 1, 1}, m.cellPatches(at, m.md.Lines[i], value), func(next *doc.Markdown) bool {
		got := m.tableRow(next, at)
		if len(got) != len(old) {
			return false
		}
		for c := range got {
			if want := old[c].Text; c == at.column && got[c].Text != value || c != at.column && got[c].Text != want {
				return false
			}
		}
		return true
	})
}

func (m *Markdown) tableRow(md *doc.Markdown, at cellAt) []doc.Cell {
	tables := md.All().Tables()
	if at.table >= len(tables) || at.row >= len(tables[at.table].Rows) {
		return nil
	}
	if at.row < 0 {
		return tables[at.table].Header
	}
	return tables[at.table].Rows[at.row]
}

// cellPatches returns how a cell can be written: in its place, or, if the row
// is shorter than its table, behind it.
func (m *Markdown) cellPatches(at cellAt, l doc.Line, value string) []patch {
	value = strings.ReplaceAll(value, "|", `\|`)
	c := at.cell
	if c.Start < c.End {
		return []patch{{c.Start, c.End, value}, {c.Start, c.End, value + " "}}
	}
	if end := l.Start + len(l.Text); c.Start >= end {
		missing := 0 // cells between the last one that is there and this one
		for _, other := range m.tableRow(m.md, at)[:at.column] {
			if other.Start == other.End && other.Start >= end {
				missing++
			}
		}
		trimmed := strings.TrimRight(l.Text, " \t")
		from := l.Start + len(trimmed)
		piped := strings.Repeat("  |", missing) + " " + value + " |"
		bare := strings.Repeat(" | ", missing) + " | " + value
		if strings.HasSuffix(trimmed, "|") {
			return []patch{{from, from, piped}}
		}
		return []patch{{from, from, bare}, {from, from, bare + " |"}}
	}
	start, end := c.Start, c.End
	for start > l.Start && (m.now[start-1] == ' ' || m.now[start-1] == '\t') {
		start--
	}
	for end < l.Start+len(l.Text) && (m.now[end] == ' ' || m.now[end] == '\t') {
		end++
	}
	return []patch{{start, end, " " + value + " "}}
}

// AppendRow adds a row behind the last one of the table within w that has all
// the columns named; with a line, of the table whose header stands there.
// Columns that are not named stay empty.
func (m *Markdown) AppendRow(w Where, cells map[string]string) error {
	const op = "append row"
	what := strings.Join(slices.Sorted(maps.Keys(cells)), ", ") + w.String()
	s, err := m.scope(op, w)
	if err != nil {
		return err
	}
	var found []int
	var texts []string
	tables := m.md.All().Tables()
	for t, table := range tables {
		if w.Line > 0 && table.Line != w.Line || !within(s, table) {
			continue
		}
		if row, ok := rowOf(table, cells); ok {
			found, texts = append(found, t), row
		}
	}
	switch {
	case len(found) == 0:
		return &Error{op, what, ErrNotFound, ""}
	case len(found) > 1:
		return &Error{op, what, ErrAmbiguous, ""}
	}
	for _, text := range texts {
		if !oneLine(text) {
			return &Error{op, what, ErrUnfit, "a cell is one line"}
		}
	}
	t := tables[found[0]]
	last := m.line(t.Line) + 1 + len(t.Rows) // header, rule, rows
	line := m.rowLine(t, last, texts)
	p := insertLines(m.now, m.after(last), []string{line})
	return m.commit(op, what, change{last + 1, 0, 1}, []patch{p}, func(next *doc.Markdown) bool {
		got := m.tableRow(next, cellAt{table: found[0], row: len(t.Rows)})
		if len(got) != len(texts) {
			return false
		}
		for i := range got {
			if got[i].Text != texts[i] {
				return false
			}
		}
		return true
	})
}

// rowOf orders cells by the columns of a table; ok is false if it lacks one.
func rowOf(t doc.Table, cells map[string]string) (row []string, ok bool) {
	row = make([]string, len(t.Header))
	for name, text := range cells {
		i := t.Column(name)
		if i < 0 {
			return nil, false
		}
		row[i] = strings.TrimSpace(text)
	}
	return row, true
}

// rowLine writes a row in the way of the last line of its table; cells are
// padded if the table is.
func (m *Markdown) rowLine(t doc.Table, last int, texts []string) string {
	model, head := m.md.Lines[last].Text, m.md.Lines[m.line(t.Line)].Text
	trimmed := strings.TrimSpace(model)
	indent := model[:len(model)-len(strings.TrimLeft(model, " \t"))]
	lead, trail := "", ""
	if strings.HasPrefix(trimmed, "|") {
		lead = "| "
	}
	if strings.HasSuffix(trimmed, "|") {
		trail = " |"
	}
	widths := make([]int, len(texts))
	a, b := pipes(model), pipes(head)
	if len(texts) > 0 && lead != "" && slices.Equal(a, b) && len(a) == len(texts)+1 {
		for i := range widths {
			widths[i] = a[i+1] - a[i] - 3
		}
	}
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = strings.ReplaceAll(text, "|", `\|`)
		out[i] += strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(out[i])))
	}
	return indent + lead + strings.Join(out, " | ") + trail
}

// pipes returns the columns in which the cells of a line end.
func pipes(s string) []int {
	var out []int
	n, before := 0, ' '
	for _, r := range s {
		if r == '|' && before != '\\' {
			out = append(out, n)
		}
		before = r
		n++
	}
	return out
}
