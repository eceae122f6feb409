package checklist

import (
	"cmp"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// phase is a heading below which tasks are numbered from the start.
type phase struct {
	doc.Section
	id     string
	status *doc.Label // nil if it does not say
	in     int        // where in phases the one is that it is in, or -1
}

// readPhases finds the phases: the headings that the family knows and, in a family that
// keeps a status for each, every other one with a status of its own, whatever it is called.
func (l *list) readPhases(sections []doc.Section) {
	own := map[int]bool{} // the lines with the status of a phase
	for i, s := range sections {
		label := l.statusOf(s, own)
		switch m := l.family.within(s.Title); {
		case m != "":
			l.phases = append(l.phases, phase{s, m, label, l.phaseOf(s.Line)})
		case label == nil || i == 0 && s.Level == 1:
			continue // the status of the whole list is not that of a phase
		default:
			_, around := l.within(s.Line)
			l.phases = append(l.phases, phase{s, strings.TrimPrefix(around+"."+idOf(s.Title), "."), label, l.phaseOf(s.Line)})
		}
		if label != nil {
			own[label.Line] = true
		}
	}
}

// statusOf returns the status line of a section: one before the headings in it, else the
// only one. A table whose columns are called that has none.
func (l *list) statusOf(s doc.Section, taken map[int]bool) *doc.Label {
	if len(l.family.Stages) == 0 || l.family.Label == "" {
		return nil
	}
	keys := strings.Split(l.family.Label, "|")
	labels := func(in doc.Section) []doc.Label {
		return slices.DeleteFunc(in.Labels(), func(o doc.Label) bool {
			row := o.Form == doc.TableLabel && l.family.meaning(l.family.Stages, o.Value) == reprise.Unknown
			return row || taken[o.Line] || !slices.ContainsFunc(keys, func(key string) bool { return doc.Fold(key) == doc.Fold(o.Key) })
		})
	}
	if head := labels(s.Head()); len(head) > 0 {
		return &head[0]
	}
	if l.family.within(s.Title) == "" {
		return nil
	}
	all := labels(s)
	if len(all) != 1 {
		return nil
	}
	return &all[0]
}

// readStages reads what headings say about the tasks below them.
func (l *list) readStages(sections []doc.Section) {
	if len(l.family.Stages) == 0 || l.family.Label == "" {
		return
	}
	at := 0 // phases are sections, in their order
	for _, s := range sections {
		for at < len(l.phases) && l.phases[at].Line < s.Line {
			at++
		}
		if at == len(l.phases) || l.phases[at].Line != s.Line || l.phases[at].status == nil {
			continue
		}
		p := l.phases[at]
		word := strings.Trim(p.status.Value, "*`_ ")
		l.add(item{id: p.id, text: s.Title, phase: s.Title, places: []place{{
			word: word, status: l.family.meaning(l.family.Stages, word), source: l.file.At(p.status.Line), label: ledger.Label(l.file, *p.status),
		}}}, true)
	}
	slices.SortStableFunc(l.items, func(a, b item) int { return cmp.Compare(a.places[0].source.Line, b.places[0].source.Line) })
}

// readWorded reads the items that have one of the words for a phase in brackets, and returns
// them: phases as well, even without a heading.
func (l *list) readWorded(md *doc.Markdown, sections []doc.Section) (out []doc.Check) {
	if len(l.family.Stages) == 0 || l.family.Label == "" {
		return nil
	}
	chapters := l.family.chapters(sections)
	for _, c := range md.All().Worded() {
		status := l.family.meaning(l.family.Stages, c.Mark)
		if status == reprise.Unknown && l.family.within(c.Text) == "" {
			continue
		}
		out = append(out, c)
		at := place{word: c.Mark, status: status, source: l.file.At(c.Line), label: ledger.Check(l.file, c)}
		if c.Indent > 0 { // a part of what is above it
			l.loose = append(l.loose, loose{text: c.Text, place: at, within: l.idAt(lastBefore(out, c))})
			continue
		}
		it := item{id: cmp.Or(l.family.within(c.Text), idOf(c.Text)), text: c.Text, phase: phaseAt(chapters, c.Line), places: []place{at}}
		it.section = above(sections, c.Line).Line
		l.add(it, true)
	}
	return out
}

// lastBefore returns the line of the last item before another one that is not indented.
func lastBefore(items []doc.Check, c doc.Check) (line int) {
	for _, o := range items {
		if o.Indent <= 0 && o.Line < c.Line {
			line = o.Line
		}
	}
	return line
}

// readPosition reads which part of the list is being worked on.
func (l *list) readPosition(sections []doc.Section) {
	if l.family.Position == nil {
		return
	}
	for _, s := range sections {
		for _, line := range s.Lines() {
			if m := l.family.Position.FindStringSubmatch(s.Title + " " + line.Text); m != nil {
				l.current = m[l.family.Position.SubexpIndex("id")]
			}
		}
	}
}

// chapters returns the headings that may be the phase of a task: those below the title or, if tasks
// are numbered below others, all of them.
func (f *Family) chapters(sections []doc.Section) []doc.Section {
	return slices.DeleteFunc(slices.Clone(sections), func(s doc.Section) bool { return s.Level < 2 || s.Level > 2 && f.Within == nil })
}

// phaseAt returns the heading that a line is under.
func phaseAt(chapters []doc.Section, line int) string {
	return above(chapters, line).Title
}

// begunBefore returns how many sections begin before a line.
func begunBefore(sections []doc.Section, line int) int {
	n, _ := slices.BinarySearchFunc(sections, line, func(s doc.Section, line int) int { return cmp.Compare(s.Line, line) })
	return n
}

// above returns the last section that begins before a line.
func above(sections []doc.Section, line int) (last doc.Section) {
	if n := begunBefore(sections, line); n > 0 {
		last = sections[n-1]
	}
	return last
}

// within returns the number in a heading below which tasks are numbered from the start,
// else "".
func (f *Family) within(title string) string {
	if f.Within == nil {
		return ""
	}
	m := f.Within.FindStringSubmatch(title)
	if m == nil {
		return ""
	}
	return m[f.Within.SubexpIndex("id")]
}

// within returns the innermost phase that a line is in, and its id.
func (l *list) within(line int) (heading, number string) {
	if i := l.phaseOf(line); i >= 0 {
		return l.phases[i].Title, l.phases[i].id
	}
	return "", ""
}

// phaseOf returns where in phases the innermost is that a line is in, or -1. One that began before
// another and holds a line behind that holds the other, too.
func (l *list) phaseOf(line int) int {
	n, _ := slices.BinarySearchFunc(l.phases, line, func(p phase, line int) int { return cmp.Compare(p.Line, line) })
	for i := n - 1; i >= 0; i = l.phases[i].in {
		if line <= l.phases[i].Line+l.phases[i].Length() {
			return i
		}
	}
	return -1
}
