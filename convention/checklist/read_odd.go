package checklist

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"reprise"
	"reprise/internal/doc"
)

// odd looks for what was meant as a task and is not read as one: the list has more to do
// than its tasks. Such a line has the label of a task, a box written differently, or a mark
// that says that it is open.
type odd struct {
	*list
	sections []doc.Section
	numbered bool               // tasks have an id of the family
	labels   map[string][]label // of the tasks and of what was found, by their shape
	other    map[int]bool       // indentations where other things than tasks are numbered
	terms    map[int]bool       // lines that explain words for a status, or count by them
}

// label is what a task begins with.
type label struct {
	number string
	indent int
	within string // the number of the heading below which it is
}

// readOdd finds lines and sections that were meant as tasks and that the list does not have.
// Whether they are done is unknown, unless they say so.
func (l *list) readOdd(md *doc.Markdown, sections []doc.Section, boxes []doc.Check) {
	for _, line := range md.Lines { // a line that begins with a comment is all comment
		if _, after, _ := strings.Cut(line.Text, "-->"); line.Hidden && isBox(after) {
			l.loose = append(l.loose, loose{text: strings.TrimSpace(after), place: place{source: l.file.At(line.No)}})
		}
	}
	o := odd{list: l, sections: sections, labels: map[string][]label{}, other: map[int]bool{}, terms: termsIn(md)}
	tasks, placed := map[int]bool{}, map[int]bool{} // by line
	for i := range l.items {
		for _, p := range l.items[i].places {
			placed[p.source.Line] = true
		}
	}
	for _, c := range boxes {
		tasks[c.Line] = tasks[c.Line] || "["+c.Mark+"]" != l.family.Parallel
		o.numbered = o.numbered || l.boxes[c.Line].id != ""
		if shape, number := shapeOf(c.Text); placed[c.Line] && shape != "" {
			_, within := l.within(c.Line)
			o.labels[shape] = append(o.labels[shape], label{number, c.Indent, within})
		}
	}
	for _, line := range md.All().Lines() {
		// Odd content inside a box leaves the task known, and is asked about.
		if strings.ContainsAny(line.Text, "[]") && !utf8.ValidString(inBox().ReplaceAllLiteralString(line.Text, "")) {
			l.lost(line.No, "it contains bytes that are not text, so which task it is and whether it is done is unknown")
		}
		if tasks[line.No] {
			delete(o.other, indent(line.Text))
		} else if !l.explained[line.No] {
			o.read(line)
		}
	}
	o.readSections()
	o.readRemaining(md)
}

// read reads a line that is not a task.
func (o *odd) read(line doc.Line) {
	cells := cellsOf(line.Text)
	for i, cell := range cells {
		it := doc.ItemOf(cell)
		if o.family.idAlone(it.Mark) != "" {
			it.Box, it.Text = "", strings.TrimSpace(it.Box+it.After) // its id, and no box
		}
		if strings.HasPrefix(it.Bullet, "#") {
			clear(o.other)
		}
		at := spot{line: line.No, indent: indent(line.Text), starts: i == 0 && (it.Bullet != "" || !it.Indented), cell: len(cells) > 1, item: it}
		_, at.within = o.within(line.No)
		meant, within := o.meant(at), ""
		if !meant && len(cells) == 1 && len(o.items) > 0 && !o.terms[line.No] && o.open(at) {
			meant, within = true, o.partOf(at)
		}
		if !meant {
			continue
		}
		if it.Boxed() || !slices.ContainsFunc(cells, closed) {
			text := unstarred(it.Text)
			if it.Bullet != "" && doc.Digits(it.Bullet[:1]) {
				text = it.Bullet + text
			}
			o.loose = append(o.loose, loose{text: cmp.Or(text, strings.TrimSpace(line.Text)), place: place{source: o.file.At(line.No)}, within: within})
		}
		return
	}
}

// spot is an item where it is in the list.
type spot struct {
	item         doc.Item
	line, indent int
	starts, cell bool   // the line, in a table
	within       string // the number of the heading below which it is
}

// meant reports whether an item was meant as a task: it names one after what could be a
// box, names one that the list does not have at the start of a line or after a sign or a
// word, or has a mark in a box.
func (o *odd) meant(at spot) bool {
	c := at.item
	text := c.Text
	it, named := o.family.match(text)
	if whole, ok := o.family.match(c.Bullet + c.Text); ok && c.Box == "" && !named {
		it, named, text = whole, true, c.Bullet+c.Text // its number is not that of an item
	}
	fresh := named && o.fresh(it.id, at.within)
	o.names = o.names || fresh && (c.Box != "" || strings.HasPrefix(c.Bullet, "#") || at.starts && at.cell && !o.family.bare())
	if named && !fresh && doc.Digits(it.id) {
		o.other[at.indent] = true
	}
	if at.starts && !named && o.behind(at) {
		return true
	}
	if at.starts && !o.numbered && c.Bullet != "" {
		if _, text := says(c.Marked()); o.tells(text, at) {
			return true
		}
	}
	switch {
	case c.Box == "":
		return fresh && at.starts && o.shows(text, at)
	case c.Doubtful():
		return fresh
	case c.Box[0] != '(' && c.After != "" && strings.ContainsAny(c.After[:1], "([:"):
		return false
	}
	return c.Boxed() || named && c.Bullet != "" && c.Box[0] != '('
}

// lead matches what people put before the id of a task in place of a box: signs, words in
// brackets, or a word.
var lead = doc.Pattern(`^(?:[(\[{<（［【「][^()\[\]{}<>（）［］【】「」]{0,24}[)\]}>）］】」]\s*|[^\pL\pN\s()\[\]{}<>]+\s*|(?P<word>\pL[\pL\pM'_-]*[^\pL\pN\s]*)(?:\s+|$))`)

// behind reports whether an item names a task that the list does not have, or several from
// one up to another, behind something that is not part of its id. A word before a number may
// be what is counted, unless it is the word for a status.
func (o *odd) behind(at spot) bool {
	c := at.item
	bare := o.family.bare()
	word := ""
	for rest := c.Text; rest != ""; {
		if first := strings.Fields(rest)[0]; c.Text == rest || !bare {
			ends := o.family.ends(strings.TrimRight(first, ":.,"))
			if slices.ContainsFunc(ends, func(id string) bool { return o.fresh(id, at.within) && o.shows(first, at) }) {
				return true
			}
		}
		if it, ok := o.family.match(rest); ok && c.Text != rest {
			return o.fresh(it.id, at.within) && (!bare || word == "" || o.family.means(word) != reprise.Unknown) && o.shows(rest, at)
		}
		if said := sayings(rest, false); len(said) > 0 && said[0].from == 0 && !said[0].struck {
			rest = strings.TrimSpace(rest[said[0].to:])
			continue
		}
		m := lead().FindStringSubmatch(rest)
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
		return o.id == id || len(l.phases) > 0 && strings.HasSuffix(o.id, "."+id) && (number == "" || o.id == number+"."+id)
	})
}

// bare reports whether the id of a task may be a number alone. Other things have such a
// number, too.
func (f *Family) bare() bool {
	_, bare := f.match("7 x")
	return bare
}

// shows reports whether an id at the start of a text shows that it is about a task.
func (o *odd) shows(text string, at spot) bool { return !o.family.bare() || o.tells(text, at) }

// tells reports whether the label at the start of a text shows that it is about a task. A
// number alone does so if it is written as those of tasks and continues them: the next of
// them where nothing else is numbered, or one below the number of a task or a heading. A
// word alone does so if most tasks begin with it.
func (o *odd) tells(text string, at spot) bool {
	shape, number := shapeOf(text)
	tasks := o.labels[shape]
	has := func(shape, number string) bool {
		return slices.ContainsFunc(o.labels[shape], func(t label) bool { return t.number == number && (t.within == at.within || at.within == "") })
	}
	last := strings.LastIndexByte(number, '.')
	n, err := strconv.Atoi(number)
	switch {
	case at.cell || shape == "0" || !slices.ContainsFunc(tasks, func(t label) bool { return at.indent <= max(t.indent, 0) }):
		return false
	case strings.HasPrefix(at.item.Bullet, "#") && o.tasksIn(above(o.sections, at.line+1), false):
		return false
	case !o.numbered && 2*len(tasks) < len(o.items):
		return false
	case number == "":
		return true
	case has(shape, number):
		return false
	case shape[0] != '0': // a word and a number
	case last > 0:
		_, heading := shapeOf(above(o.sections, at.line).Title)
		beside := func(t label) bool { return strings.HasPrefix(t.number, number[:last+1]) }
		if !slices.ContainsFunc(tasks, beside) && !has("0.", number[:last]) && heading != number[:last] {
			return false
		}
	case err != nil || o.other[at.indent] || n > 1 && !has(shape, strconv.Itoa(n-1)):
		return false
	}
	o.labels[shape] = append(tasks, label{number, at.indent, at.within})
	return true
}

// partOf returns the id of the task that an item is below.
func (o *odd) partOf(at spot) string {
	for _, it := range slices.Backward(o.items) {
		if line := it.places[0].source.Line; line < at.line && it.indent < at.indent && at.line < it.until && it.section == above(o.sections, at.line).Line {
			return it.id
		}
	}
	return ""
}

// works matches the titles of sections that are about work, whatever their number.
var works = doc.Pattern(`^(?i:phase|task|step|stage|milestone|sprint|阶段|任务|步骤)`)

// readSections finds sections without tasks among others that have the same kind of label and
// have some, and those that say they are open although all their tasks are done. Where most
// sections have no tasks, as the chapters of a design, and before the others, a number alone does
// not show that one should.
func (o *odd) readSections() {
	type kind struct {
		shape         string
		level, parent int
	}
	if len(o.items) == 0 {
		return
	}
	kinds, own, all, first := make([]kind, len(o.sections)), make([]string, len(o.sections)), map[kind]int{}, map[kind]int{}
	numbers := map[kind][]string{} // of those with tasks
	for i, s := range o.sections {
		_, title := says(s.Title)
		shape, number := shapeOf(title)
		kinds[i], own[i] = kind{shape, s.Level, 0}, number
		for _, p := range o.sections[:i] {
			if p.Level < s.Level && s.Line <= p.Line+p.Length() {
				kinds[i].parent = p.Line
			}
		}
		if all[kinds[i]]++; number != "" && o.tasksIn(s, false) {
			first[kinds[i]] = cmp.Or(first[kinds[i]], s.Line)
			numbers[kinds[i]] = append(numbers[kinds[i]], number)
		}
	}
	for i, s := range o.sections {
		status, title := says(s.Title)
		if own[i] == "" { // before any other title, a sign may be there for its looks
			status = saidFirst(s.Title, 1).status
		}
		open := i > 0 && (status == reprise.Pending || status == reprise.InProgress) && !o.tasksIn(s, true) && !spare().MatchString(s.Title)
		if label, ok := o.sectionStatus(s); ok {
			status = o.family.meaning(o.family.Stages, strings.Trim(label.Value, "*`_ "))
		}
		siblings := numbers[kinds[i]]
		work := works().MatchString(title) || 2*len(siblings) >= all[kinds[i]] && s.Line > first[kinds[i]]
		if without := work && len(siblings) > 0 && !o.tasksIn(s, false) && !slices.Contains(siblings, own[i]); (without || open) && !status.Closed() {
			o.loose = append(o.loose, loose{text: s.Title, place: place{source: o.file.At(s.Line)}})
		}
	}
}

// tasksIn reports whether a section has tasks, or what was meant as one, that are open if that
// is asked for.
func (o *odd) tasksIn(s doc.Section, open bool) bool {
	in := func(at place) bool {
		return s.Line <= at.source.Line && at.source.Line <= s.Line+s.Length() && !(open && at.status.Closed())
	}
	return slices.ContainsFunc(o.items, func(it item) bool { return slices.ContainsFunc(it.places, in) }) ||
		slices.ContainsFunc(o.loose, func(b loose) bool { return in(b.place) })
}

// readHidden notices a list none of whose tasks can be read because they are in a code block
// or a comment, or not on lines of their own: at its place it is the list all the same.
func (l *list) readHidden() {
	if len(l.items) > 0 {
		return
	}
	for i, line := range strings.Split(string(l.file.Data), "\n") {
		for part := range strings.SplitSeq(line, "\r") {
			at := box().FindStringIndex(part)
			if at == nil {
				continue
			}
			if _, named := l.family.match(strings.TrimSpace(part[at[1]:])); !named {
				continue
			}
			l.names = true
			if l.file.Whole() { // else it is said why
				l.lost(i+1, "the tasks are in a code block or a comment, so whether they are tasks is unknown")
			}
			return
		}
	}
}
