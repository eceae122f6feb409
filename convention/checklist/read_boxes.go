package checklist

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"path"
	"regexp"
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
	if at := merged.FindIndex(l.file.Data); at != nil {
		l.lost(1+bytes.Count(l.file.Data[:at[0]], []byte("\n")), "lines end in a carriage return alone, so the tasks on them cannot be told apart")
	}
	sections := unboxed(md.Sections())
	l.readPhases(sections)
	boxes := md.All().Boxes()
	named := !l.family.Unnumbered || slices.ContainsFunc(boxes, func(c doc.Check) bool { _, ok := l.family.match(c.Text); return ok })
	var around []outer
	l.readLegend(md)
	for _, c := range boxes {
		at := place{word: c.Mark, status: l.family.means(c.Mark), source: l.file.At(c.Line), box: ledger.Check(l.file, c)}
		if means, ok := l.legend[c.Mark]; ok {
			at.status = means
		}
		c.Text = at.settled(c.Text)
		around = slices.DeleteFunc(around, func(a outer) bool { return a.indent >= c.Indent || a.end > 0 && a.end < c.Line })
		it, ok := l.family.match(c.Text)
		heading, number := l.within(c.Line)
		end := endOf(sections, c.Line)
		if !ok && slices.ContainsFunc(boxes, func(o doc.Check) bool { return c.Line < o.Line && o.Line <= end }) {
			continue // the heading of tasks, which say more
		}
		if !ok && !named && c.Indent <= 0 && (l.family.Item == nil || l.family.Within == nil || number != "") {
			it, ok = item{id: idOf(c.Text), text: c.Text}, idOf(c.Text) != ""
		}
		if _, legend := l.legend[c.Mark]; !ok && ("["+c.Mark+"]" == l.family.Parallel || legend && explained.MatchString("["+c.Mark+"] "+c.Text)) {
			continue // the legend of a mark
		}
		if !ok {
			box := loose{text: c.Text, place: at}
			if len(around) > 0 {
				box.within = around[len(around)-1].id
			}
			l.loose = append(l.loose, box)
			continue
		}
		it.phase, it.person = l.family.phaseAt(sections, c.Line), l.family.Person != nil && l.family.Person.MatchString(c.Text)
		it.section = above(sections, c.Line).Line
		if s := above(sections, c.Line); number == "" && len(l.phases) > 0 && named && s.Level > 1 {
			number, heading = idOf(s.Title), s.Title // other headings number their tasks
		}
		if number != "" {
			it.id, it.phase = number+"."+it.id, heading
		}
		it.needs = l.family.needed(it.text)
		it.text = struckOn(md, c.Line, it.text)
		tags, text := cutTags(it.text)
		if why := putOffIn(text, tags); why != "" && at.status == reprise.Pending && at.last == "" {
			at.status, it.held, it.putOff = reprise.Blocked, why, true
		}
		it.text, it.parallel = unset(unstarred(text)), slices.Contains(tags, l.family.Parallel)
		it.places, it.indent = l.family.told(at, append(tags, text)), c.Indent
		it.until, it.heads, it.own = l.family.extent(md, c, boxes)
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
	l.group()
}

// extent returns the line up to which boxes are below another one: those with more
// indentation or, if the box is the heading of those after it, those with its number. Such
// a heading has a number without letters and dots, and the next box is its first part. own
// says that there is text of its own between the two.
func (f *Family) extent(md *doc.Markdown, c doc.Check, boxes []doc.Check) (until int, heads, own bool) {
	it, _ := f.match(c.Text)
	boxes = boxes[1+slices.IndexFunc(boxes, func(o doc.Check) bool { return o.Line == c.Line }):]
	if len(boxes) > 0 && boxes[0].Indent <= c.Indent && it.id != "" && strings.Trim(it.id, "0123456789") == "" {
		part, _ := f.match(boxes[0].Text)
		heads = part.id == it.id+".1"
	}
	own = heads && slices.ContainsFunc(md.Lines, func(line doc.Line) bool {
		return c.Line < line.No && line.No < boxes[0].Line && strings.TrimSpace(line.Text) != ""
	})
	for _, o := range boxes {
		part, ok := f.match(o.Text)
		if ok && o.Indent <= c.Indent && !(heads && strings.HasPrefix(part.id, it.id+".")) {
			return o.Line, heads, own
		}
	}
	return math.MaxInt, heads, own
}

// heads reports whether a document has the heading of the family's lists.
func (f *Family) heads(md *doc.Markdown) bool {
	return f.Title != "" && md != nil && strings.HasPrefix(md.Title(), f.Title)
}

// ruined reports whether the file is blank, has nothing but its heading, is an empty or
// bare value, in Markdown any JSON, or is no longer text: it may have been a list.
func (l *list) ruined() bool {
	content := strings.TrimSpace(string(l.file.Data))
	if json.Valid([]byte(content)) {
		_, f := doc.Memory(l.file.Path, []byte(content))
		return l.family.Form == Boxes || !f.JSONValue().Holds()
	}
	return content == "" || content == "# "+strings.TrimSuffix(l.family.Title, ":") || strings.Contains(content, "\x00") || reprise.Garbled(l.file.Data)
}

// idAt returns the id of the task with a place on a line.
func (l *list) idAt(line int) string {
	for _, it := range l.items {
		if slices.ContainsFunc(it.places, func(p place) bool { return p.source.Line == line }) {
			return it.id
		}
	}
	return ""
}

// inBox matches the first box of a line.
var inBox = regexp.MustCompile(`^\s*[-*+]\s+\[[^\[\]]{1,4}\]`)

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
	for i := range l.items {
		it := &l.items[i]
		if it.status().Closed() {
			continue
		}
		for k := range l.items {
			o := &l.items[k]
			if o.number != it.number || o.status() != reprise.Done {
				continue
			}
			a, b := under(o), under(it)
			copied := slices.ContainsFunc(l.items[:k], func(first item) bool { return same(&first, o) })
			if !same(o, it) && (copied || a >= 0 && b >= 0 && a != b) {
				continue
			}
			it.held, it.twice = fmt.Sprintf("%s is ticked in line %d", o.number, o.places[0].source.Line), true
			for n := range it.places {
				if p := &it.places[n]; !p.status.Closed() {
					p.status = reprise.Blocked
				}
			}
		}
	}
}

// merged finds a line that other programs read as several, because only a carriage return
// separates them.
var merged = regexp.MustCompile(`\r[ \t]*(?:[-*+]|\d+[.)])\s+\[`)

// putOff matches what in a text says that its task is deferred or given up: a word at the
// start or the end that is set off, or a text that is struck through. Elsewhere such a
// word is what the task is about, and a single word that is struck through was replaced by
// those after it.
var putOff = func() *regexp.Regexp {
	const word = `(?:DEFERRED|BLOCKED|SKIPPED|CANCELL?ED|OBSOLETE|SUPERSEDED|DROPPED|MOVED)\b`
	const ends = `(?:\s*(?:[:.(—–]|-\s|$)|\s+(?i:to|until|by)\b)`
	return regexp.MustCompile(`^(?:\*\*|__)` + word + `|^` + word + ends + `|` +
		`(?:\*\*|__|[\[(])` + word + `[^()\[\]*]*(?:\*\*|__|[\])])[.\s]*$|` +
		`(?:[—–.;:]|\s-)\s+` + word + ends + `|(?:^|[—–.;:(\[*]\s*|\s-\s+)Deferred (?:to|until)\b|` +
		`[\[(](?i:deferred|blocked|skipped|cancell?ed|obsolete|superseded|dropped|removed)[\])][.\s]*$|` +
		`⚠️?\s*[Bb]lock(?:ed|ing)\b|^~~[^~]*[^\w~-][^~]*~~|^~~[^~]+~~\s*(?:\S*$|[^\s\pL\pN\x60,/&+]|(?i:REMOVED\b|` + word + `))`)
}()

// readHeld holds the tasks below a heading whose status line says that they are put off.
func (l *list) readHeld(sections []doc.Section) {
	for _, s := range sections {
		label, ok := s.Head().Label("Status")
		if !ok || l.family.Label != "" || !held.MatchString(doc.Fold(label.Value)) {
			continue
		}
		for i := range l.items {
			it := &l.items[i]
			if p := &it.places[0]; s.Line < p.source.Line && p.source.Line <= s.Line+s.Length() && p.status == reprise.Pending {
				p.status, it.held, it.putOff = reprise.Blocked, "the status of "+doc.Clip(s.Title, 40)+" is "+doc.Clip(strings.Trim(label.Value, "*` "), 40), true
			}
		}
	}
}

// held matches the words for the status of what is put off.
var held = regexp.MustCompile(`^(?:blocked|on hold|paused|deferred|postponed|skipped|cancell?ed|obsolete|superseded|dropped)\b`)

// putOffParts are substrings one of which occurs in every text that putOff matches.
var putOffParts = []string{"defer", "block", "skip", "cancel", "obsolete", "superseded", "dropped", "moved", "~~"}

// putOffIn returns why a task is deferred, according to its text or the tags before it,
// or "". Few texts need the expression, which takes longer than everything else
// read about a task.
func putOffIn(text string, tags []string) string {
	for _, text := range append(tags, text) {
		lower := strings.ToLower(text)
		if !slices.ContainsFunc(putOffParts, func(part string) bool { return strings.Contains(lower, part) }) {
			continue
		}
		found := putOff.FindString(text)
		if strings.HasPrefix(found, "~~") {
			return "its text is struck through"
		}
		if word := strings.Trim(found, " .;:—–-*_()[]"); word != "" {
			return "its text says " + word
		}
	}
	return ""
}

// struckOn returns the text of the task on a line, up to the end of what is struck through
// if that is on the lines that continue it.
func struckOn(md *doc.Markdown, line int, text string) string {
	if strings.Count(text, "~~")%2 == 0 {
		return text
	}
	long := text
	for _, next := range md.All().Lines() {
		switch {
		case next.No <= line:
			continue
		case strings.TrimSpace(next.Text) == "" || strings.HasPrefix(next.Text, "#") || doc.ItemOf(next.Text).Bullet != "":
			return text
		}
		if long += " " + strings.TrimSpace(next.Text); strings.Contains(next.Text, "~~") {
			return long
		}
	}
	return text
}

// stuck matches the line that agents write below a task they cannot do.
var stuck = regexp.MustCompile(`^\s*(?:[-*>]\s+)?\**⚠️?\s*(?P<why>[Bb]lock(?:ed|ing)\b.*)`)

// readStuck holds the tasks that have such a line below them, and reads what indented lines
// there say of other tasks that come before.
func (l *list) readStuck(md *doc.Markdown) {
	at := -1
	for _, line := range md.All().Lines() {
		if i := slices.IndexFunc(l.items, func(it item) bool { return it.places[0].source.Line == line.No }); i >= 0 {
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
		m := stuck.FindStringSubmatch(line.Text)
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

// endOf returns the last line below the heading on a line, 0 if there is none.
func endOf(sections []doc.Section, line int) int {
	for _, s := range sections {
		if s.Line == line {
			return s.Line + s.Length()
		}
	}
	return 0
}

// unboxed returns sections whose titles do not begin with a box.
func unboxed(sections []doc.Section) []doc.Section {
	for i := range sections {
		s := &sections[i]
		s.Title = strings.TrimSpace(headingBox.ReplaceAllString(s.Title, ""))
	}
	return sections
}

var headingBox = regexp.MustCompile(`^\\?\[.\\?\]\s+`)

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
	for _, mark := range []string{":", "- ", "– ", "— "} {
		text = strings.TrimSpace(strings.TrimPrefix(text, mark))
	}
	return text
}
