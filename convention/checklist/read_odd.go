package checklist

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"reprise"
	"reprise/internal/doc"
)

// readOdd finds lines that were meant as tasks and that the list does not have: without a
// box, or with one written differently. Whether they are done is unknown.
func (l *list) readOdd(md *doc.Markdown, boxes []doc.Check) {
	for _, line := range md.Lines { // a line that begins with a comment is all comment
		if _, after, _ := strings.Cut(line.Text, "-->"); line.Hidden && isBox(after) {
			l.loose = append(l.loose, loose{text: strings.TrimSpace(after), place: place{source: l.file.At(line.No)}})
		}
	}
	for _, line := range md.All().Lines() {
		// Odd content inside a box leaves the task known, and is asked about.
		if strings.ContainsAny(line.Text, "[]") && !utf8.ValidString(inBox.ReplaceAllLiteralString(line.Text, "")) {
			l.lost(line.No, "it contains bytes that are not text, so which task it is and whether it is done is unknown")
		}
		if slices.ContainsFunc(boxes, func(c doc.Check) bool { return c.Line == line.No && "["+c.Mark+"]" != l.family.Parallel }) {
			continue
		}
		cells := []string{line.Text}
		if strings.HasPrefix(strings.TrimLeft(line.Text, " \t>"), "|") {
			cells = strings.Split(strings.Trim(line.Text, " \t>|"), "|")
		}
		_, number := l.within(line.No)
		for i, cell := range cells {
			it := doc.ItemOf(cell)
			if !l.meant(it, number, i == 0) {
				continue
			}
			l.loose = append(l.loose, loose{text: cmp.Or(strings.Trim(it.Text, "* "), strings.TrimSpace(line.Text)), place: place{source: l.file.At(line.No)}})
			break
		}
	}
}

// meant reports whether an item below a heading with a number was meant as a task: it
// names one after what could be a box, names one that the list does not have at the start
// of a line or after a sign or a word, or has a mark in a box.
func (l *list) meant(c doc.Item, number string, starts bool) bool {
	it, named := l.family.match(c.Text)
	if whole, ok := l.family.match(c.Bullet + c.Text); ok && c.Box == "" && strings.TrimSpace(c.Bullet) == c.Bullet {
		it, named = whole, true // the start of its number is not that of an item
	}
	fresh := named && l.fresh(it.id, number)
	l.names = l.names || fresh && (c.Box != "" || strings.HasPrefix(c.Bullet, "#"))
	if !named && starts && (c.Bullet != "" || !c.Indented) && l.behind(c, number) {
		return true
	}
	switch {
	case c.Box == "":
		return fresh && starts && (c.Bullet != "" || !c.Indented) && l.tells(it.id)
	case c.Doubtful():
		return fresh
	case c.Box[0] != '(' && c.After != "" && strings.ContainsAny(c.After[:1], "([:"):
		return false
	}
	return c.Boxed() || named && c.Bullet != "" && c.Box[0] != '('
}

// lead matches what people put before the id of a task in place of a box: signs, words in
// brackets, or a word.
var lead = regexp.MustCompile(`^(?:[(\[{<（［【「][^()\[\]{}<>（）［］【】「」]{0,24}[)\]}>）］】」]\s*|[^\pL\pN\s()\[\]{}<>]+\s*|(?P<word>\pL[\pL\pM'_-]*[^\pL\pN\s]*)(?:\s+|$))`)

// behind reports whether an item names a task that the list does not have, or several from
// one up to another, behind something that is not part of its id. A word before a number may
// be what is counted, unless it is the word for a status.
func (l *list) behind(c doc.Item, number string) bool {
	_, bare := l.family.match("7 x")
	word := ""
	for rest := c.Text; rest != ""; {
		if first := strings.Fields(rest)[0]; c.Text == rest || !bare {
			ends := l.family.ends(strings.TrimRight(first, ":.,"))
			if slices.ContainsFunc(ends, func(id string) bool { return l.fresh(id, number) && l.tells(id) }) {
				return true
			}
		}
		if it, ok := l.family.match(rest); ok && c.Text != rest {
			return l.fresh(it.id, number) && l.tells(it.id) && (!bare || word == "" || l.family.means(word) != reprise.Unknown)
		}
		m := lead.FindStringSubmatch(rest)
		if m == nil || bare && strings.TrimRight(m[0], " \t)]}>）］】」") == m[0] || m[1] != "" && (word != "" || c.Bullet == "" || c.Bullet[0] == '#') {
			return false
		}
		if m[1] != "" {
			word = strings.TrimFunc(m[1], func(r rune) bool { return !unicode.IsLetter(r) })
		}
		rest = strings.TrimSpace(rest[len(m[0]):])
	}
	return false
}

// fresh reports whether the list has no task with an id below a heading with a number.
func (l *list) fresh(id, number string) bool {
	return !slices.ContainsFunc(l.items, func(o item) bool {
		return o.id == id || strings.HasSuffix(o.id, "."+id) && (number == "" || o.id == number+"."+id)
	})
}

// tells reports whether an id alone shows that a line is about a task. A number does not,
// unless it continues those that the list has: items and versions begin with one, too.
func (l *list) tells(id string) bool {
	if _, bare := l.family.match("7 x"); !bare {
		return true
	}
	last := strings.LastIndexByte(id, '.')
	return last > 0 && slices.ContainsFunc(l.items, func(o item) bool {
		return strings.HasPrefix(o.id, id[:last+1]) && strings.Count(o.id, ".") == strings.Count(id, ".")
	})
}
