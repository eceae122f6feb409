package doc

import (
	"strings"
	"unicode/utf8"
)

// Table is a Markdown table. Rows are cut or filled to the width of the header,
// as GitHub shows them.
type Table struct {
	Header []Cell
	Rows   [][]Cell
	Line   int // of the header
}

// Cell is one cell with the place of its text in the file.
type Cell struct {
	Text       string
	Line       int
	Start, End int // byte offsets of the trimmed text; equal for an empty cell
}

// Tables returns the tables of a section, in file order.
func (s Section) Tables() []Table {
	var out []Table
	for i := 0; i+1 < len(s.lines); i++ {
		head, rule := s.lines[i], s.lines[i+1]
		if head.Hidden || rule.Hidden || strings.TrimSpace(head.Text) == "" || endsTable(head) || ruleWidth(head.Text) > 0 {
			continue
		}
		width := ruleWidth(rule.Text)
		cells := splitRow(head)
		if width == 0 || len(cells) > width {
			continue
		}
		t := Table{Header: fill(cells, width, head), Line: head.No}
		i += 2
		for ; i < len(s.lines); i++ {
			l := s.lines[i]
			if l.Hidden || strings.TrimSpace(l.Text) == "" || endsTable(l) {
				break
			}
			t.Rows = append(t.Rows, fill(splitRow(l), width, l))
		}
		i--
		out = append(out, t)
	}
	return out
}

// fill cuts or fills a row to the width of its table.
func fill(row []Cell, width int, l Line) []Cell {
	for len(row) < width {
		end := l.Start + len(l.Text)
		row = append(row, Cell{Line: l.No, Start: end, End: end})
	}
	return row[:width]
}

// endsTable reports whether a line begins another block, which ends a table
// even without a blank line between.
func endsTable(l Line) bool {
	if level, _ := l.Heading(); level > 0 {
		return true
	}
	text := strings.TrimLeft(l.Text, " ")
	if strings.HasPrefix(text, ">") || thematicBreak(text) {
		return true
	}
	_, list := bullet(text)
	return list
}

func thematicBreak(text string) bool {
	text = strings.TrimSpace(text)
	if text == "" || strings.IndexByte("-*_", text[0]) < 0 {
		return false
	}
	count := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case text[0]:
			count++
		case ' ', '\t':
		default:
			return false
		}
	}
	return count >= 3
}

// ruleWidth returns the number of columns of a delimiter row, 0 if it is none.
func ruleWidth(text string) int {
	text = strings.TrimSpace(text)
	// Dashes alone underline a heading or draw a line.
	if !strings.Contains(text, "-") || !strings.ContainsAny(text, "|:") {
		return 0
	}
	text = strings.TrimPrefix(text, "|")
	text = strings.TrimSuffix(text, "|")
	parts := strings.Split(text, "|")
	for _, p := range parts {
		p = strings.TrimSpace(p)
		p = strings.TrimPrefix(p, ":")
		p = strings.TrimSuffix(p, ":")
		if p == "" || strings.Trim(p, "-") != "" {
			return 0
		}
	}
	return len(parts)
}

// splitRow cuts a row at its pipes; an escaped pipe does not cut.
func splitRow(l Line) []Cell {
	text := l.Text
	from := len(text) - len(strings.TrimLeft(text, " \t"))
	to := max(from, len(strings.TrimRight(text, " \t")))
	if from < to && text[from] == '|' {
		from++
	}
	if to > from && text[to-1] == '|' && (to < 2 || text[to-2] != '\\') {
		to--
	}
	var out []Cell
	start := from
	for i := from; i <= to; i++ {
		if i < to && (text[i] != '|' || (i > 0 && text[i-1] == '\\')) {
			continue
		}
		cell := strings.TrimLeft(text[start:i], " \t")
		s := i - len(cell)
		cell = strings.TrimRight(cell, " \t")
		out = append(out, Cell{Text: strings.ReplaceAll(cell, `\|`, "|"), Line: l.No, Start: l.Start + s, End: l.Start + s + len(cell)})
		start = i + 1
	}
	return out
}

// Column returns the index of the first column with one of the names, compared
// by Fold, or -1.
func (t Table) Column(names ...string) int {
	for _, name := range names {
		name = Fold(name)
		for i, h := range t.Header {
			if Fold(h.Text) == name {
				return i
			}
		}
	}
	return -1
}

// Label is a named value in running Markdown: `**Status:** X`, `Status: X`,
// `- **Status**: X`, a row `| Status | X |` of a two-column table, or one of
// several on a line parted by `·` or `|`.
type Label struct {
	Key, Value string
	Line       int
	Form       LabelForm
}

// LabelForm is the spelling of a label.
type LabelForm uint8

// The spellings.
const (
	BoldLabel  LabelForm = iota + 1 // **Key:** value or **Key**: value
	PlainLabel                      // Key: value at the beginning of a line or item
	TableLabel                      // | Key | value |
	InlineBold                      // **Key:** value in the middle of a line
)

// Labels returns the labels of a section in file order. Values are trimmed and
// otherwise as written, decoration included.
func (s Section) Labels() []Label {
	var out []Label
	for _, l := range s.Lines() {
		out = append(out, l.Labels()...)
	}
	return out
}

// Label returns the first label with one of the keys, compared by Fold.
func (s Section) Label(keys ...string) (Label, bool) {
	labels := s.Labels()
	for _, key := range keys {
		key = Fold(key)
		for _, l := range labels {
			if Fold(l.Key) == key {
				return l, true
			}
		}
	}
	return Label{}, false
}

// Labels returns the labels of a line.
func (l Line) Labels() []Label {
	text := strings.TrimLeft(strings.TrimSpace(l.Text), "> ")
	if strings.HasPrefix(text, "|") {
		if ruleWidth(text) > 0 {
			return nil
		}
		cells := splitRow(l)
		if len(cells) < 2 || cells[0].Text == "" {
			return nil
		}
		return []Label{{Key: unbold(cells[0].Text), Value: cells[1].Text, Line: l.No, Form: TableLabel}}
	}
	if rest, ok := bullet(text); ok {
		text = rest
	}
	if bold := boldLabels(text, l.No); len(bold) > 0 {
		return bold
	}
	if level, _ := l.Heading(); level > 0 {
		return nil
	}
	i := strings.Index(text, ":")
	if i <= 0 || i > 60 || (i+1 < len(text) && text[i+1] != ' ' && text[i+1] != '\t') {
		return nil
	}
	return []Label{{Key: unbold(text[:i]), Value: strings.TrimSpace(text[i+1:]), Line: l.No, Form: PlainLabel}}
}

// boldLabels finds `**Key:** value` and `**Key**: value`, several on one line
// included. A value ends before the next label's separator.
func boldLabels(text string, no int) []Label {
	var out []Label
	var ends []int
	for i := 0; i < len(text); {
		open := strings.Index(text[i:], "**")
		if open < 0 {
			break
		}
		open += i
		shut := strings.Index(text[open+2:], "**")
		if shut < 0 {
			break
		}
		shut += open + 2
		key, after := strings.TrimSpace(text[open+2:shut]), shut+2
		colon, _ := utf8.DecodeRuneInString(text[after:])
		switch last, size := utf8.DecodeLastRuneInString(key); {
		case isColon(last):
			key = key[:len(key)-size]
		case isColon(colon):
			after += utf8.RuneLen(colon)
		default:
			i = after
			continue
		}
		if n := len(out); n > 0 {
			v := text[ends[n-1]:open]
			out[n-1].Value = strings.TrimRight(strings.TrimSpace(v), " \t·|•;,—–")
		}
		form := BoldLabel
		if open > 0 {
			form = InlineBold
		}
		out = append(out, Label{Key: unbold(key), Value: strings.TrimSpace(text[after:]), Line: no, Form: form})
		ends = append(ends, after)
		i = after
	}
	return out
}

// isColon reports whether a rune is a colon, of Chinese text too.
func isColon(r rune) bool { return r == ':' || r == '：' }

func unbold(s string) string { return strings.Trim(strings.TrimSpace(s), "*_` ") }
