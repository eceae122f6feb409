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

// ItemOf reads the beginning of a line.
func ItemOf(line string) Item {
	text := strings.TrimRight(line, " \t\r")
	rest := strings.TrimLeft(text, " \t\n\f\r>")
	n := markerOf(rest)
	bullet, rest := rest[:n], rest[n:]
	n, mark := boxOf(rest)
	box, after := rest[:n], rest[n:]
	if ascii := bullet != "" && bullet[0] < utf8.RuneSelf; ascii && box == "" && strings.TrimRight(bullet, " \t") == bullet {
		bullet, after = "", bullet+after // the first star of bold text, or the beginning of a number
	}
	return Item{
		Indented: strings.TrimLeftFunc(line, unicode.IsSpace) != line, Bullet: bullet, Box: box, Mark: strings.TrimSpace(strings.TrimSuffix(mark, "\\")),
		After: after, Text: strings.TrimLeft(after, " \t\n\f\r"),
	}
}

// markerOf returns the length of the list marker, or that of a heading, that a text begins with, with
// the blanks behind it.
func markerOf(text string) (n int) {
	first, size := utf8.DecodeRuneInString(text)
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	switch {
	case size == 0:
		return 0
	case strings.ContainsRune("-*+–—•·◦▪", first):
		n = size
	case digits > 0 || 'a' <= first|0x20 && first|0x20 <= 'z':
		n = max(digits, 1)
		if n == len(text) || text[n] != '.' && text[n] != ')' {
			return 0
		}
		n++
	case first == '#':
		n = len(text) - len(strings.TrimLeft(text, "#"))
		if n > 6 || n == len(text) || strings.IndexByte(blanks, text[n]) < 0 {
			return 0
		}
	}
	if n == 0 {
		return 0
	}
	return len(text) - len(strings.TrimLeft(text[n:], blanks))
}

const blanks = " \t\n\f\r"

// maxMark is how many characters a box may hold.
const maxMark = 16

// boxOf returns the length of what stands in the place of a box at the beginning of a text, and
// what brackets there hold.
func boxOf(text string) (n int, mark string) {
	open := strings.TrimPrefix(text, "\\")
	if in, ok := strings.CutPrefix(open, "["); ok {
		at := len(text) - len(in)
		end := strings.IndexAny(in[:min(len(in), 4*maxMark+1)], "[]")
		if end >= 0 && in[end] == ']' && utf8.RuneCountInString(in[:end]) <= maxMark {
			return at + end + 1, in[:end]
		}
	}
	// one behind has the length of a mark in brackets, which may be left out, and what is behind it
	one := func(text, open, close string) int {
		in, ok := strings.CutPrefix(text, open)
		for _, mark := range []string{" ", "x", "X", ""} {
			if rest, is := strings.CutPrefix(in, mark); ok && is && rest != "" && strings.IndexByte(close, rest[0]) >= 0 {
				return len(text) - len(rest) + 1
			}
		}
		return 0
	}
	if bare := strings.TrimLeft(text, "*_`"); len(bare) < len(text) {
		if n = one(bare, "[", "]"); n > 0 {
			rest := strings.TrimLeft(bare[n:], "*_`")
			return len(text) - len(rest), ""
		}
	}
	if n = one(text, "(", ")"); n > len("()") {
		return n, ""
	}
	if first, size := utf8.DecodeRuneInString(text); size > 1 && strings.ContainsRune("⬜☐⬛☑✅✓✔🔲❌✗✘☒", first) {
		return len(text) - len(strings.TrimPrefix(text[size:], "\ufe0f")), ""
	}
	if n = one(text, "[", blanks); n > 0 {
		return n, ""
	}
	n = one(text, "", "]")
	if n > 0 && n < len(text) && strings.IndexByte(blanks, text[n]) >= 0 {
		return n + 1, ""
	}
	return 0, ""
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
