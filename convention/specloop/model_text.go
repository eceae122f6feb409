package specloop

import (
	"strings"

	"reprise/internal/doc"
)

// value is one cell or label as written, with its line; the zero line means
// that the file has no such field.
type value struct {
	text string
	line int
}

// given reports whether the field holds something a workflow wrote.
func (v value) given() bool { return v.line > 0 && filled(v.text) }

// unfilled reports whether the field still holds the template's placeholder.
func (v value) unfilled() bool { return v.line > 0 && placeholder(v.text) }

func placeholder(s string) bool {
	return strings.Contains(s, "{{") || (strings.HasPrefix(s, "{") && strings.HasSuffix(s, "}"))
}

// filled is false for an empty cell, a dash, a "none" and a placeholder.
func filled(s string) bool {
	if placeholder(s) {
		return false
	}
	switch doc.Fold(s) {
	case "", "none", "n/a", "tbd", "null":
		return false
	}
	return true
}

// undress strips the code marks and emphasis around a value.
func undress(s string) string { return strings.Trim(strings.TrimSpace(s), "`*_ ") }

// field returns the first row or label of a section whose key is exactly one of
// the given ones. Below the tables stand legends that list a whole vocabulary,
// "**Loop Status values**: `a` | `b`" or just "**Status**: `a` | `b`": the first
// has another key, the second more than one value.
func field(s doc.Section, keys ...string) value {
	if l, ok := label(s, keys...); ok {
		return value{undress(l.Value), l.Line}
	}
	return value{}
}

// label is field with its place and form.
func label(s doc.Section, keys ...string) (doc.Label, bool) {
	labels := s.Labels()
	for _, key := range keys {
		for _, l := range labels {
			if doc.Fold(l.Key) == doc.Fold(key) && (l.Form == doc.TableLabel || !strings.Contains(l.Value, "|")) {
				return l, true
			}
		}
	}
	return doc.Label{}, false
}

// counter is "n / max" as written in a field.
type counter struct {
	value
	n  int
	ok bool // a number is there
}

// count reads "2 / 10". Only what stands before the slash is the count, so that
// an empty " / 10" is no ten. A sign makes it no count.
func count(v value) counter {
	c := counter{value: v}
	if !v.given() {
		return c
	}
	left, _, _ := strings.Cut(v.text, "/")
	left, _, _ = strings.Cut(left, " of ")
	left = strings.TrimSpace(left)
	nums := doc.Numbers(left)
	if len(nums) == 0 || strings.HasPrefix(left, "-") {
		return c
	}
	c.n, c.ok = nums[0], true
	return c
}

// blank reports whether nothing was counted yet: no field, nothing before the
// slash, or a placeholder.
func (c counter) blank() bool {
	left, _, _ := strings.Cut(c.text, "/")
	return c.line == 0 || !filled(strings.TrimSpace(left))
}

// columns maps a table by header names.
type columns struct {
	row []doc.Cell
	t   doc.Table
}

func (c columns) get(names ...string) string {
	i := c.t.Column(names...)
	if i < 0 || i >= len(c.row) {
		return ""
	}
	return undress(c.row[i].Text)
}

func (c columns) line() int {
	if len(c.row) == 0 {
		return c.t.Line
	}
	return c.row[0].Line
}

// rows returns the rows of every table of a section that has one of the key
// columns, rows without a key left out. ok is false if the section holds lines
// of a table and not one such table.
func rows(s doc.Section, keys ...string) (out []columns, ok bool) {
	found := false
	for _, t := range s.Tables() {
		if t.Column(keys...) < 0 {
			continue
		}
		found = true
		for _, row := range t.Rows {
			if c := (columns{row, t}); filled(c.get(keys...)) {
				out = append(out, c)
			}
		}
	}
	if found {
		return out, true
	}
	for _, l := range s.Lines() {
		if strings.HasPrefix(strings.TrimSpace(l.Text), "|") {
			return nil, false
		}
	}
	return nil, true
}

// ids cuts a cell like "G-001, G-002 and G-003" into ids.
func ids(cell string) []string {
	var out []string
	for _, token := range strings.FieldsFunc(cell, func(r rune) bool { return strings.ContainsRune(",; \t+&/()[]`*", r) }) {
		if token = strings.Trim(token, ".:\"'"); len(doc.Numbers(token)) > 0 {
			out = append(out, token)
		}
	}
	return out
}

// names reports whether a text mentions an id as a whole word.
func names(text, id string) bool {
	id = doc.Fold(id)
	if id == "" {
		return false
	}
	for _, token := range ids(text) {
		if doc.Fold(token) == id {
			return true
		}
	}
	return false
}

// options cuts the options cell of a question.
func options(cell string) []string {
	sep := ","
	for _, s := range []string{"<br>", ";", " \\| ", " / "} {
		if strings.Contains(cell, s) {
			sep = s
			break
		}
	}
	var out []string
	for _, part := range strings.Split(cell, sep) {
		if part = undress(part); filled(part) {
			out = append(out, part)
		}
	}
	return out
}
