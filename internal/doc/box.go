package doc

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"reprise"
)

// Item is a line, or a cell of a table, as the beginning of a task. People and models write
// boxes in more ways than Markdown knows; a task with such a box is not done unless it
// says so.
type Item struct {
	Indented bool
	Bullet   string // the list marker or the heading's, with the blanks behind it; "" if there is none
	Box      string // what stands in the place of a box, "" if nothing does
	Mark     string // what a box in brackets holds
	After    string // all that follows it
	Text     string // the same without the blanks before it
}

var item = Pattern(`^[\s>]*((?:[-*+–—•·◦▪]|\d+[.)]|[A-Za-z][.)])\s*|#{1,6}\s+)?(\\?\[([^\[\]]{0,16})\]|[*_\x60]+\[[ xX]?\][*_\x60]*|\([ xX]\)|[⬜☐⬛☑✅✓✔🔲❌✗✘☒]\x{fe0f}?|\[[ xX]?\s|[ xX]?\]\s)?(\s*(.*))$`)

// ItemOf reads the beginning of a line.
func ItemOf(line string) Item {
	m := item().FindStringSubmatch(strings.TrimRight(line, " \t\r"))
	if m == nil {
		return Item{}
	}
	if ascii := m[1] != "" && m[1][0] < utf8.RuneSelf; ascii && m[2] == "" && strings.TrimRight(m[1], " \t") == m[1] {
		m[1], m[4], m[5] = "", m[1]+m[4], m[1]+m[5] // the first star of bold text, or the beginning of a number
	}
	return Item{Indented: strings.TrimLeftFunc(line, unicode.IsSpace) != line, Bullet: m[1], Box: m[2], Mark: strings.TrimSpace(strings.TrimSuffix(m[3], "\\")), After: m[4], Text: m[5]}
}

// Boxed reports whether brackets were meant as a box. Links, footnotes and tags are not
// boxes.
func (i Item) Boxed() bool {
	switch {
	case i.Box == "" || i.Doubtful():
		return false
	case i.Box[0] == '(':
		return i.Bullet != ""
	case i.After != "" && strings.ContainsAny(i.After[:1], "([:"):
		return false
	}
	mark := []rune(strings.TrimSuffix(i.Mark, "\ufe0f"))
	return len(mark) == 0 || len(mark) == 1 && (i.Mark == "x" || i.Mark == "X" || !unicode.In(mark[0], unicode.L, unicode.N)) ||
		i.Bullet != "" && i.Bullet[0] != '#' && Means(i.Mark) != reprise.Unknown && !strings.EqualFold(i.Mark, "new") // which is said of files
}

// Doubtful reports whether it has half of a box, one within marks of emphasis, or a sign for one.
// Text may begin so, too: where it stands has to tell.
func (i Item) Doubtful() bool {
	return i.Box != "" && i.Box[0] != '(' && (strings.Contains(i.Box, "[") != strings.Contains(i.Box, "]") || i.Box[0] != '[' && i.Box[0] != '\\')
}

// Ticked reports whether the box says that the task is done.
func (i Item) Ticked() bool {
	mark := strings.Trim(i.Box, "\\[]()*_` ")
	return (strings.EqualFold(mark, "x") || Means(mark) == reprise.Done) && strings.Contains(i.Box, "[") == strings.Contains(i.Box, "]")
}

// Marked returns the text with a sign that is in the place of a box.
func (i Item) Marked() string {
	if i.Box == "" || strings.ContainsAny(i.Box, "[]()") {
		return i.Text
	}
	return i.Box + i.After
}

// TaskOf reads a line of a list of tasks: one with a box, whatever it holds, or with what
// was meant as one.
func TaskOf(l Line) (c Check, ok bool) {
	if c, ok = brackets(l, isBox); ok {
		c.Ticked = c.Ticked || ItemOf(l.Text).Ticked()
		return c, true
	}
	i := ItemOf(l.Text)
	if i.Bullet == "" || i.Bullet[0] == '#' || i.Text == "" || !i.Boxed() && !i.Doubtful() {
		return Check{}, false
	}
	return Check{Mark: i.Box, Ticked: i.Ticked(), Text: i.Text, Line: l.No, Indent: len(l.Text) - len(strings.TrimLeft(l.Text, " \t"))}, true
}

// Tasks returns the tasks that a section lists, in file order.
func (s Section) Tasks() []Check {
	var out []Check
	for _, l := range s.Lines() {
		if c, ok := TaskOf(l); ok {
			out = append(out, c)
		}
	}
	return out
}
