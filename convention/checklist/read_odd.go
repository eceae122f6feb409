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
	numbered bool             // tasks have an id of the family
	labels   map[string]*kind // of the tasks and of what was found, by their shape
	other    map[int]bool     // indentations where other things than tasks are numbered
	terms    map[int]bool     // lines that explain words for a status, or count by them

	byLine           lined
	tasks, openTasks lines           // where tasks are
	others, open     lines           // where what is loose is
	endings          map[string]bool // what is behind a dot in the id of a task
}

// lines are numbers of lines, in order. They are added nearly so.
type lines []int

func (l *lines) add(line int) {
	at := len(*l)
	if at > 0 && (*l)[at-1] > line {
		at, _ = slices.BinarySearch(*l, line)
	}
	*l = slices.Insert(*l, at, line)
}

// in reports whether one of them is in a section, or is its heading.
func (l lines) in(s doc.Section) bool {
	at, _ := slices.BinarySearch(l, s.Line)
	return at < len(l) && l[at] <= s.Line+s.Length()
}

// kind is what is known of the labels of one shape.
type kind struct {
	count   int
	indent  int                        // the most
	numbers map[string]map[string]bool // by number, the numbers of the headings below which it is
	wholes  map[string]bool            // what is before a dot in a number
}

func (o *odd) label(shape string, l label) {
	k := o.labels[shape]
	if k == nil {
		k = &kind{numbers: map[string]map[string]bool{}, wholes: map[string]bool{}}
		o.labels[shape] = k
	}
	k.count, k.indent = k.count+1, max(k.indent, l.indent)
	if k.numbers[l.number] == nil {
		k.numbers[l.number] = map[string]bool{}
	}
	k.numbers[l.number][l.within] = true
	for at := range wholes(l.number) {
		k.wholes[l.number[:at]] = true
	}
}

// newOdd returns one that has read nothing yet.
func newOdd(l *list, md *doc.Markdown, sections []doc.Section) *odd {
	o := &odd{
		list: l, sections: sections, labels: map[string]*kind{}, other: map[int]bool{}, terms: termsIn(md),
		byLine: l.byLine(), endings: map[string]bool{},
	}
	for i := range l.items {
		it := &l.items[i]
		for _, p := range it.places {
			if o.tasks.add(p.source.Line); !p.status.Closed() {
				o.openTasks.add(p.source.Line)
			}
		}
		for at := range wholes(it.id) {
			o.endings[it.id[at+1:]] = true
		}
	}
	for _, b := range l.loose {
		o.noted(b)
	}
	return o
}

// found adds what was meant as a task.
func (o *odd) found(b loose) {
	o.loose = append(o.loose, b)
	o.noted(b)
}

func (o *odd) noted(b loose) {
	if o.others.add(b.place.source.Line); !b.place.status.Closed() {
		o.open.add(b.place.source.Line)
	}
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
	o := newOdd(l, md, sections)
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
			o.label(shape, label{number, c.Indent, within})
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
		if !meant && len(cells) == 1 && len(o.items) > 0 && !o.terms[line.No] && o.saysOpen(at) {
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
			o.found(loose{text: cmp.Or(text, strings.TrimSpace(line.Text)), place: place{source: o.file.At(line.No)}, within: within})
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
	rest := c.Text
	for n := 0; rest != "" && n < maxBefore; n++ {
		first := rest
		if end := strings.IndexAny(rest, " \t\n\r\f\v"); end > 0 {
			first = rest[:end]
		}
		if c.Text == rest || !bare {
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
		m := lead().FindStringSubmatch(rest[:min(len(rest), maxID)])
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
func (o *odd) fresh(id, number string) bool {
	below := len(o.phases) > 0 && (number == "" && o.endings[id] || number != "" && o.find(number+"."+id) != nil)
	return o.find(id) == nil && !below
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
		k := o.labels[shape]
		return k != nil && (at.within == "" && k.numbers[number] != nil || k.numbers[number][at.within])
	}
	last := strings.LastIndexByte(number, '.')
	n, err := strconv.Atoi(number)
	switch {
	case at.cell || shape == "0" || tasks == nil || at.indent > tasks.indent:
		return false
	case strings.HasPrefix(at.item.Bullet, "#") && o.tasksIn(above(o.sections, at.line+1), false):
		return false
	case !o.numbered && 2*tasks.count < len(o.items):
		return false
	case number == "":
		return true
	case has(shape, number):
		return false
	case shape[0] != '0': // a word and a number
	case last > 0:
		_, heading := shapeOf(above(o.sections, at.line).Title)
		if !tasks.wholes[number[:last]] && !has("0.", number[:last]) && heading != number[:last] {
			return false
		}
	case err != nil || o.other[at.indent] || n > 1 && !has(shape, strconv.Itoa(n-1)):
		return false
	}
	o.label(shape, label{number, at.indent, at.within})
	return true
}

// partOf returns the id of the task that an item is below.
func (o *odd) partOf(at spot) string {
	section := above(o.sections, at.line).Line
	n, _ := slices.BinarySearch(o.byLine.lines, at.line)
	for _, i := range slices.Backward(o.byLine.at[max(0, n-maxBack):n]) {
		if it := &o.items[i]; it.indent < at.indent && at.line < it.until && it.section == section {
			return it.id
		}
	}
	return ""
}

// maxBack is how many tasks before an item are asked whether it is part of them.
const maxBack = 1000

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
	type numbered struct {
		kind
		number string
	}
	count, numbers := map[kind]int{}, map[numbered]bool{} // of those with tasks
	var around []doc.Section
	for i, s := range o.sections {
		_, title := says(s.Title)
		shape, number := shapeOf(title)
		kinds[i], own[i] = kind{shape, s.Level, 0}, number
		for len(around) > 0 && s.Line > around[len(around)-1].Line+around[len(around)-1].Length() {
			around = around[:len(around)-1]
		}
		if len(around) > 0 {
			kinds[i].parent = around[len(around)-1].Line
		}
		around = append(around, s)
		if all[kinds[i]]++; number != "" && o.tasksIn(s, false) {
			first[kinds[i]] = cmp.Or(first[kinds[i]], s.Line)
			count[kinds[i]]++
			numbers[numbered{kinds[i], number}] = true
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
		siblings := count[kinds[i]]
		work := works().MatchString(title) || 2*siblings >= all[kinds[i]] && s.Line > first[kinds[i]]
		if without := work && siblings > 0 && !o.tasksIn(s, false) && !numbers[numbered{kinds[i], own[i]}]; (without || open) && !status.Closed() {
			o.found(loose{text: s.Title, place: place{source: o.file.At(s.Line)}})
		}
	}
}

// tasksIn reports whether a section has tasks, or what was meant as one, that are open if that
// is asked for.
func (o *odd) tasksIn(s doc.Section, open bool) bool {
	if open {
		return o.openTasks.in(s) || o.open.in(s)
	}
	return o.tasks.in(s) || o.others.in(s)
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
