package checklist

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// readBoxes reads a list with check boxes.
func (l *list) readBoxes() {
	md := l.file.Markdown()
	if md == nil {
		l.ours = true
		return
	}
	l.title = unset(strings.Trim(strings.TrimPrefix(md.Title(), l.family.Title), ": "))
	l.ours = l.family.heads(md) || !l.family.Shared || l.ruined()
	if at := merged().FindIndex(l.file.Data); at != nil {
		l.lost(1+bytes.Count(l.file.Data[:at[0]], []byte("\n")), "lines end in a carriage return alone, so the tasks on them cannot be told apart")
	}
	sections := unboxed(md.Sections())
	l.readPhases(sections)
	boxes := md.All().Boxes()
	l.readLegend(md)
	l.boxes = make(map[int]item, len(boxes))
	for _, c := range boxes {
		l.boxes[c.Line] = item{}
	}
	named := !l.family.Unnumbered
	for i, c := range boxes {
		at := place{word: c.Mark, status: l.family.means(c.Mark), source: l.file.At(c.Line), box: ledger.Check(l.file, c)}
		if means, ok := l.legend[c.Mark]; ok {
			at.status = means
		}
		boxes[i].Text = at.settled(c.Text)
		it, ok := l.family.boxed(boxes[i].Text)
		at.more = l.saidBelow(md, boxes[i])
		it.places = told(at, it.said)
		l.boxes[c.Line] = it
		named = named || ok
	}
	var around []outer
	beside := l.nextBeside(boxes)
	chapters, ends := l.family.chapters(sections), map[int]int{} // by the line of a heading, its last one
	for _, s := range sections {
		ends[s.Line] = s.Line + s.Length()
	}
	for i, c := range boxes {
		around = slices.DeleteFunc(around, func(a outer) bool { return a.indent >= c.Indent || a.end > 0 && a.end < c.Line })
		it := l.boxes[c.Line]
		ok := it.id != ""
		heading, number := l.within(c.Line)
		end := ends[c.Line]
		if !ok && i+1 < len(boxes) && boxes[i+1].Line <= end {
			continue // the heading of tasks, which say more
		}
		if !ok && (l.explained[c.Line] || "["+c.Mark+"]" == l.family.Parallel) {
			continue // the legend of a mark
		}
		if !ok && !named && c.Indent <= 0 && (l.family.Item == nil || l.family.Within == nil || number != "" || len(l.phases) == 0 && l.atHome()) {
			it.id, ok = idOf(c.Text), idOf(c.Text) != ""
		}
		if !ok {
			box := loose{text: c.Text, place: it.deciding()}
			if len(around) > 0 {
				box.within = around[len(around)-1].id
			}
			l.loose = append(l.loose, box)
			continue
		}
		it.phase, it.person = phaseAt(chapters, c.Line), l.family.Person != nil && l.family.Person.MatchString(c.Text)
		it.section = above(sections, c.Line).Line
		if s := above(sections, c.Line); number == "" && len(l.phases) > 0 && named && s.Level > 1 {
			number, heading = idOf(s.Title), s.Title // other headings number their tasks
		}
		if number != "" {
			it.id, it.phase = number+"."+it.id, heading
		}
		it.needs = l.family.needed(c.Text)
		it.indent, it.held, it.putOff = c.Indent, it.places[0].held, it.places[0].held != ""
		it.text = unset(unstarred(it.said[len(it.said)-1]))
		it.until, it.heads, it.own = l.extent(md, boxes[i:], beside[i])
		l.add(it, named)
		around = append(around, outer{l.idAt(c.Line), c.Indent, end})
	}
	l.readStuck(md)
	l.readHeld(sections)
	boxes = append(boxes, l.readWorded(md, sections)...)
	l.readStages(sections)
	l.readPosition(sections)
	l.readOdd(md, sections, boxes)
	l.readHidden()
	// A file whose name says that it is a list, and that names tasks, is one; so is every one
	// that the tool finds by its name alone.
	l.ours = l.ours || l.names && !strings.Contains(path.Base(l.family.Lists[0]), "*") || slices.Contains(l.family.Lists, path.Base(l.file.Path))
	l.readTwice(sections)
	l.readMade(sections)
	l.group()
}

// readMade reads the files that tasks make: they are there once the last box of the task is
// ticked.
func (l *list) readMade(sections []doc.Section) {
	if l.family.Made == "" {
		return
	}
	byLine := l.byLine()
	for _, s := range sections {
		if l.family.within(s.Title) == "" {
			continue
		}
		in := byLine.within(s)
		if len(in) == 0 {
			continue
		}
		at := slices.Max(in)
		lines := slices.DeleteFunc(slices.Clone(s.Lines()), func(line doc.Line) bool {
			label, _, ok := strings.Cut(doc.ItemOf(line.Text).Text, ":")
			return !ok || doc.Fold(label) != l.family.Made
		})
		l.items[at].made = ledger.NamedFiles(lines, l.project())
	}
}

// lined are the places in items, and their lines, in the order of the lines.
type lined struct{ lines, at []int }

func (l *list) byLine() lined {
	out := lined{at: make([]int, len(l.items))}
	for i := range out.at {
		out.at[i] = i
	}
	line := func(i int) int { return l.items[i].places[0].source.Line }
	slices.SortStableFunc(out.at, func(a, b int) int { return cmp.Compare(line(a), line(b)) })
	for _, i := range out.at {
		out.lines = append(out.lines, line(i))
	}
	return out
}

// within returns the places in items of those in a section.
func (b lined) within(s doc.Section) []int {
	from, _ := slices.BinarySearch(b.lines, s.Line+1)
	to, _ := slices.BinarySearch(b.lines, s.Line+s.Length()+1)
	return b.at[from:to]
}

// project is the folder that the files named in the list lie below.
func (l *list) project() string {
	for _, mark := range l.family.Marks {
		if root, _, ok := strings.Cut("/"+l.file.Path, "/"+mark+"/"); ok {
			return path.Clean("./" + root)
		}
	}
	return "."
}

// atHome reports whether the list is in a folder that has the name of its tool: there a list of
// boxes is one, whatever its headings are called.
func (l *list) atHome() bool { return strings.Contains(l.file.Path, "/"+l.family.Name+"/") }

// extent returns the line up to which boxes are below the first one: those with more
// indentation or, if the box is the heading of those after it, those with its number. Such
// a heading has a number without letters and dots, and the next box is its first part. own
// says that there is text of its own between the two. next is that of nextBeside.
func (l *list) extent(md *doc.Markdown, boxes []doc.Check, next int) (until int, heads, own bool) {
	c, boxes := boxes[0], boxes[1:]
	it := l.boxes[c.Line]
	if len(boxes) > 0 && boxes[0].Indent <= c.Indent && it.id != "" && strings.Trim(it.id, "0123456789") == "" {
		heads = l.boxes[boxes[0].Line].id == it.id+".1"
	}
	if heads {
		for _, line := range md.After(c.Line) {
			if line.No >= boxes[0].Line || own {
				break
			}
			own = strings.TrimSpace(line.Text) != ""
		}
	}
	for _, o := range boxes[min(len(boxes), next):] {
		part := l.boxes[o.Line]
		if part.id != "" && o.Indent <= c.Indent && !(heads && strings.HasPrefix(part.id, it.id+".")) {
			return o.Line, heads, own
		}
	}
	return math.MaxInt, heads, own
}

// nextBeside returns for each box how many are between it and the next one with an id and no more
// indentation.
func (l *list) nextBeside(boxes []doc.Check) []int {
	out := make([]int, len(boxes))
	var open []int // what can be next for the boxes before, the nearest last
	for i, c := range slices.Backward(boxes) {
		for len(open) > 0 && boxes[open[len(open)-1]].Indent > c.Indent {
			open = open[:len(open)-1]
		}
		if out[i] = len(boxes); len(open) > 0 {
			out[i] = open[len(open)-1] - i - 1
		}
		if l.boxes[c.Line].id != "" {
			open = append(open, i)
		}
	}
	return out
}

// heads reports whether a document has the heading of the family's lists.
func (f *Family) heads(md *doc.Markdown) bool {
	return f.Title != "" && md != nil && strings.HasPrefix(md.Title(), f.Title)
}

// ruined reports whether the file is blank, has nothing but its heading, is an empty or
// bare value, in Markdown any JSON, or is no longer text: it may have been a list.
func (l *list) ruined() bool {
	content := strings.TrimSpace(strings.TrimPrefix(string(l.file.Data), "\ufeff"))
	if json.Valid([]byte(content)) {
		_, f := doc.Memory(l.file.Path, []byte(content))
		return l.family.Form == Boxes || !f.JSONValue().Holds()
	}
	return content == "" || content == "# "+strings.TrimSuffix(l.family.Title, ":") || strings.Contains(content, "\x00") || reprise.Garbled(l.file.Data)
}

// idAt returns the id of the task that was added last with a place on a line.
func (l *list) idAt(line int) string {
	return l.ids[line]
}

// inBox matches the first box of a line.
var inBox = doc.Pattern(`^\s*[-*+]\s+\[[^\[\]]{1,4}\]`)

// readTwice holds the open tasks whose number another one has that is done: the list says
// both of one task. Bare numbers begin again in every section, others below headings that
// are numbered themselves. A copy says no more than its original.
func (l *list) readTwice(sections []doc.Section) {
	if _, bare := l.family.match("7 x"); bare || l.family.Item == nil || l.family.Within != nil {
		return
	}
	same := func(a, b *item) bool { return a.number == b.number && doc.Fold(a.text) == doc.Fold(b.text) }
	under := func(it *item) int { // the number of its heading, -1 if that has none
		return slices.Concat(numbersIn(it.phase), numbersIn(above(sections, it.places[0].source.Line).Title), []int{-1})[0]
	}
	numbered := map[string][]int{}
	for i := range l.items {
		numbered[l.items[i].number] = append(numbered[l.items[i].number], i)
	}
	for i := range l.items {
		it := &l.items[i]
		if it.status().Closed() {
			continue
		}
		all := numbered[it.number]
		all = all[:min(len(all), maxSame)]
		for n, k := range all {
			o := &l.items[k]
			if o.status() != reprise.Done {
				continue
			}
			a, b := under(o), under(it)
			copied := slices.ContainsFunc(all[:n], func(first int) bool { return same(&l.items[first], o) })
			if !same(o, it) && (copied || a >= 0 && b >= 0 && a != b) {
				continue
			}
			it.held, it.twice = fmt.Sprintf("%s is ticked in line %d", o.number, o.places[0].source.Line), true
			for p := range it.places {
				if p := &it.places[p]; !p.status.Closed() {
					p.status = reprise.Blocked
				}
			}
		}
	}
}

// maxSame is how many tasks of one number are compared with each other.
const maxSame = 100

// merged finds a line that other programs read as several, because only a carriage return
// separates them.
var merged = doc.Pattern(`\r[ \t]*(?:[-*+]|\d+[.)])\s+\[`)

// readHeld holds the tasks below a heading that says that they are put off, itself or in its status
// line.
func (l *list) readHeld(sections []doc.Section) {
	byLine := l.byLine()
	for _, s := range sections {
		why := ""
		_, title := says(s.Title)
		_, number := shapeOf(title)
		for _, said := range sayings(s.Title, false) { // a sign before a title may be there for its looks
			if looks := said.from == 0 && doc.Fold(said.mark) == "" && number == ""; stops(said.status) && !looks {
				why = "its heading says " + doc.Clip(s.Title, 60)
			}
		}
		if label, ok := l.sectionStatus(s); ok && l.family.Label == "" {
			if status, _ := says(label.Value); stops(status) {
				why = "the status of " + doc.Clip(s.Title, 40) + " is " + doc.Clip(strings.Trim(label.Value, "*` "), 40)
			}
		}
		if why == "" {
			continue
		}
		for _, i := range byLine.within(s) {
			it := &l.items[i]
			if p := &it.places[0]; p.status == reprise.Pending {
				p.status, it.held, it.putOff = reprise.Blocked, why, true
			}
		}
	}
}

// stops reports whether a status says of all that has it that it is not to be done, or not now.
func stops(s reprise.Status) bool { return s == reprise.Blocked || s == reprise.Skipped }

// sectionStatus returns the line of a section that says how far all of it is. One behind a box is
// about that box.
func (l *list) sectionStatus(s doc.Section) (label doc.Label, ok bool) {
	label, ok = s.Head().Label("Status")
	for line := s.Line + 1; ok && line <= label.Line; line++ {
		_, box := l.boxes[line]
		ok = !box
	}
	return label, ok
}

// saidBelow returns what is said of a box outside of its own line: by the legend, in its text with
// the lines that continue it, on one of them that begins with a label, and on one for its status.
func (l *list) saidBelow(md *doc.Markdown, c doc.Check) (out []string) {
	if said := l.denied[c.Mark]; said != "" {
		out = append(out, said)
	}
	var long strings.Builder
	goesOn := true
	for _, line := range md.After(c.Line) {
		if _, is := l.boxes[line.No]; is || strings.HasPrefix(line.Text, "#") {
			break
		}
		item, text := doc.ItemOf(line.Text), strings.TrimSpace(line.Text)
		goesOn = goesOn && text != "" && !line.Hidden && item.Bullet == "" && !strings.HasPrefix(text, "|")
		if isBox(line.Text) || !goesOn && (l.family.Label != "" || text != "" && indent(line.Text) <= c.Indent) {
			break
		}
		switch {
		case line.Hidden:
		case l.family.Label == "" && colon(item.Text) && statusLine().MatchString(item.Text):
			out = append(out, item.Text)
		case l.family.Label == "" && colon(item.Text) && note().MatchString(item.Text):
			out = append(out, ": "+note().FindStringSubmatch(item.Text)[1])
		case goesOn && labelled(text):
			out = append(out, text)
		case goesOn:
			long.WriteString(" " + text)
		}
	}
	if long.Len() == 0 {
		return out
	}
	it, _ := l.family.boxed(c.Text)
	own := it.said[len(it.said)-1]
	if strings.Count(own, "~~")%2 == 1 {
		own = own[strings.Index(own, "~~"):]
	}
	return append(out, own+long.String())
}

// labelled reports whether a text begins with a label that says how far something is.
func labelled(text string) bool {
	if !colon(text) {
		return false
	}
	said := sayings(text, false)
	return len(said) > 0 && said[0].label
}

// colon reports whether a text has one. It is asked before what costs more.
func colon(text string) bool { return strings.Contains(text, ":") || strings.Contains(text, "：") }

// note matches a note, up to where its first clause ends: a word for a status counts if it is all
// of that.
var note = doc.Pattern(`^(?i:[*_]*note[*_]*[:：][*_]*\s+(.*?)\s*(?:[,;—–]| -|$))`)

// stuck matches the line that agents write below a task they cannot do.
var stuck = doc.Pattern(`^\s*(?:[-*>]\s+)?\**⚠️?\s*(?P<why>[Bb]lock(?:ed|ing)\b.*)`)

// readStuck holds the tasks that have such a line below them, and reads what indented lines
// there say of other tasks that come before.
func (l *list) readStuck(md *doc.Markdown) {
	at, first := -1, map[int]int{} // the first task on a line
	for i := range slices.Backward(l.items) {
		first[l.items[i].places[0].source.Line] = i
	}
	for _, line := range md.All().Lines() {
		if i, is := first[line.No]; is {
			at = i
		} else if strings.HasPrefix(line.Text, "#") {
			at = -1 // what stands below a heading is no task's
		}
		if at < 0 {
			continue
		}
		it := &l.items[at]
		if it.places[0].source.Line != line.No && indent(line.Text) > 0 && !isBox(line.Text) {
			it.needs = append(it.needs, l.family.needed(line.Text)...)
		}
		m := stuck().FindStringSubmatch(line.Text)
		if m == nil || it.status().Closed() {
			continue
		}
		it.places[0].status, it.held, it.stuck = reprise.Blocked, doc.Clip(strings.Trim(m[1], "* "), 120), true
	}
}

// outer is a task that boxes with more indentation belong to.
type outer struct {
	id     string
	indent int
	end    int // of a heading, its last line
}

// maxTitle is how much is read of a heading: each task below it is compared with that.
const maxTitle = 1000

// unboxed returns sections whose titles do not begin with a box.
func unboxed(sections []doc.Section) []doc.Section {
	for i := range sections {
		s := &sections[i]
		s.Title = doc.Clip(strings.TrimSpace(headingBox().ReplaceAllString(s.Title, "")), maxTitle)
	}
	return sections
}

var headingBox = doc.Pattern(`^\\?\[.\\?\]\s+`)

// idOf makes an id from the first words of a task. A comment and the commit that made it
// are added when it is done, and are not part of the id.
func idOf(text string) string {
	text, _, _ = strings.Cut(text, "<!--")
	if words := strings.Fields(text); len(words) > 1 {
		commit := strings.Trim(words[len(words)-1], "[]()`")
		if len(commit) >= 7 && strings.Trim(commit, "0123456789abcdef") == "" {
			text = strings.Join(words[:len(words)-1], " ")
		}
	}
	id := strings.NewReplacer(" ", "-", "/", "-").Replace(doc.Fold(text))
	return strings.TrimRight(doc.Clip(id, 48), "-…")
}

// cutTags splits an item's text from the bracketed tags it begins with.
func cutTags(text string) (tags []string, rest string) {
	rest = strings.TrimSpace(text)
	for rest != "" {
		end := map[byte]string{'[': "]", '(': ")"}[rest[0]]
		tag, after, ok := strings.Cut(rest, end)
		if end == "" || !ok || strings.TrimSpace(after) == "" || strings.HasPrefix(after, "(") {
			break
		}
		tags, rest = append(tags, tag+end), strings.TrimSpace(after)
	}
	return tags, rest
}

// unstarred returns a text without the stars around all of it, or around it and what was
// cut off before it.
func unstarred(text string) string {
	for _, stars := range []string{"**", "*"} {
		n := strings.Count(text, stars)
		if n == 2 && strings.HasPrefix(text, stars) && strings.HasSuffix(text, stars) && len(text) > 2*len(stars) {
			text = strings.TrimPrefix(text, stars)
			n--
		}
		if n%2 == 1 {
			text = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(text, stars+" "), stars))
		}
	}
	return text
}

// unset returns a text without what sets it off from an id before it.
func unset(text string) string {
	for _, mark := range []string{":", "-- ", "- ", "– ", "— "} {
		text = strings.TrimSpace(strings.TrimPrefix(text, mark))
	}
	return text
}
