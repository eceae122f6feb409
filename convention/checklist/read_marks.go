package checklist

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// labels matches what a task begins with that sets it apart from a note: a number, possibly
// with a word before it, or a word and a colon.
var labels = doc.Pattern("^[*_`\\[(~]*(?:(\\pL*)[ -]?(\\d+(?:[a-z]?\\.\\d+)*)[a-z]?\\b[*_`\\])]*([.):：]?)|(\\pL+)[*_]*[:：])")

// shapeOf returns the form of the label that a text begins with, the same for every number,
// and the number.
func shapeOf(text string) (shape, number string) {
	m := labels().FindStringSubmatch(text[:min(len(text), maxID)])
	switch {
	case m == nil:
		return "", ""
	case m[4] != "":
		return doc.Fold(m[4]) + ":", ""
	case m[1] == "" && m[3] != "" && doc.Digits(m[2]):
		return "0.", m[2]
	}
	return doc.Fold(m[1]) + "0" + strings.Repeat(".0", strings.Count(m[2], ".")), m[2]
}

// explained matches a mark with all that a legend says of it.
var explained = doc.Pattern("^(?:[^\\[\\]]*[:：])?[\\s>*_`+-]*(?:\\[([^\\[\\]])\\]|([xX~/!]))[\\s*_`]*(=|:|：|—|–|-|→|means\\b|)[\\s*_`]*(\\pL[\\pL _-]*?)[\\s*_`.)]*$")

// explains reads a piece of a legend: a mark and the word for what it means. A mark alone has no
// brackets only before an equals sign. A box that has only a word beside it explains its mark if
// that is certain because of where it stands, if the word means the same, or if the mark is not
// known and not called done.
func (f *Family) explains(piece string, certain bool) (mark, word string, ok bool) {
	m := explained().FindStringSubmatch(piece)
	if m == nil || m[1] == "" && m[3] != "=" && m[3] != "means" {
		return "", "", false
	}
	mark, word = cmp.Or(m[1], m[2]), m[4]
	status, known := spoken()[doc.Fold(word)]
	means := f.means(mark)
	if m[3] == "" && !certain && (!known || means != status && (means != reprise.Unknown || status.Closed())) {
		return "", "", false
	}
	return mark, word, f.meaning(nil, word) != reprise.Unknown
}

// readLegend reads what the list itself says of its marks, in a line, a row of a table, or below a
// heading for that. One that it explains twice, or in words that are not those of a status, stays
// unknown; one that the family knows and that means something else here has to be told apart by a
// person.
func (l *list) readLegend(md *doc.Markdown) {
	l.legend, l.denied, l.explained = map[string]reprise.Status{}, map[string]string{}, map[int]bool{}
	below := false
	for _, line := range md.All().Lines() {
		if _, title, _ := headOf(line); title != "" {
			below = legends().MatchString(title)
		}
		if !below && !strings.ContainsAny(line.Text, "[=") && !strings.Contains(line.Text, "means") {
			continue
		}
		pieces := strings.FieldsFunc(line.Text, func(r rune) bool { return strings.ContainsRune(",;|·", r) })
		if cells := cellsOf(line.Text); len(cells) > 1 {
			pieces = []string{cells[0] + " = " + cells[1], cells[1] + " = " + cells[0]}
		}
		for _, piece := range pieces {
			mark, word, ok := l.family.explains(piece, below)
			if !ok {
				continue
			}
			l.explained[line.No] = true
			status, known := l.family.meaning(nil, word), l.family.means(mark)
			switch was, twice := l.legend[mark]; {
			case known != reprise.Unknown && known != status:
				l.denied[mark] = "[" + mark + "] = " + word
			case twice && was != status:
				l.legend[mark] = reprise.Unknown
			default:
				l.legend[mark] = status
			}
		}
	}
}

// legends matches the title of what explains marks.
var legends = doc.Pattern(`^(?i:[^\pL]*(?:(?:status|task|checkbox|symbol|mark(?:er)?)s? )?(?:legend|key|symbols|markers|notation)\b|图例|凡例)`)

// legendMark returns the mark that the legend has for a status where the usual one will not do, else "".
func (l *list) legendMark(status reprise.Status) string {
	means := func(mark string) bool { return l.legend[mark] == status && l.denied[mark] == "" }
	if usual := map[reprise.Status]string{reprise.Done: "x", reprise.Pending: " "}[status]; usual != "" && means(usual) {
		return ""
	}
	marks := slices.Sorted(maps.Keys(l.legend))
	if i := slices.IndexFunc(marks, means); i >= 0 {
		return marks[i]
	}
	return ""
}

// leftOut is what is written behind the text of a task that is left out, where a box has no mark
// for that.
const leftOut = "(skipped)"

// settling are the words that are written behind a text that says something else than its box,
// once it is known which of the two is right. The text stays as it is.
var settling = map[reprise.Status]string{reprise.Done: "(done)", reprise.Skipped: leftOut, reprise.Pending: "(pending)"}

// settled returns the text of a box without the word that settles its status, if it ends with one
// that the box agrees with. That the task is left out, an open box does not deny.
func (p *place) settled(text string) string {
	for status, word := range settling {
		rest, ok := strings.CutSuffix(text, " "+word)
		if !ok || p.status != status && (status == reprise.Done || p.status.Closed()) {
			continue
		}
		if p.last = word; status == reprise.Skipped {
			p.status = status
		}
		return strings.TrimSpace(rest)
	}
	return text
}

// told returns the places of the status of a box: its mark and, if that contradicts it, what is
// said beside it, in these pieces of its text and elsewhere. A task that is put off is blocked while its box is open
// and left out once it is ticked. That an item is work says nothing of it once that is ticked.
func told(at place, pieces []string) []place {
	if at.last != "" {
		return []place{at}
	}
	for _, text := range slices.Concat(pieces, at.more) {
		for _, s := range sayings(text, false) {
			if at.tell(s) && !at.denies(at.status) {
				at.mark, at.says = s.mark, s.status
			}
		}
	}
	if at.denies(at.status) {
		return []place{at, {word: at.mark, status: at.says, source: at.source, again: true}}
	}
	return []place{at}
}

// tell takes up what is said beside a box, and reports whether that differs from its mark.
func (p *place) tell(s saying) bool {
	switch {
	case s.label && slices.Contains(forWork, doc.Fold(s.mark)), (s.struck || s.label && s.status == reprise.Done) && p.status.Closed(), s.hint && !p.status.Closed():
		return false
	case s.putOff && p.status == reprise.Done:
		p.status = reprise.Skipped
		return false
	case (s.putOff || s.status == reprise.Blocked) && !p.status.Closed() && p.status != reprise.Unknown:
		p.status, p.held = reprise.Blocked, "its text says "+doc.Clip(strings.Trim(s.mark, " .;:—–-*_()[]"), 60)
		if s.struck {
			p.held = "its text is struck through"
		}
		return false
	}
	return true
}

// forWork are the words that say of an item only that it is one.
var forWork = []string{"todo", "to do"}

// denies reports whether the text of a box contradicts a status.
func (p *place) denies(status reprise.Status) bool {
	return p.mark != "" && p.says != status && (p.says.Closed() || status.Closed())
}

// reworded returns the text of a box for a status that its mark cannot say, or that its text
// denies. Nothing is taken out of a text but such a word that settled something else before:
// which of the two is right is written behind it.
func (f *Family) reworded(p *place, status reprise.Status, skips bool) string {
	text := p.box.Value
	if p.last != "" && p.status != status && (p.status.Closed() || status.Closed()) {
		if rest := strings.TrimSpace(strings.TrimSuffix(text, p.last)); p.last == leftOut || !f.clear(rest, p.status, p.more) {
			text = rest
		}
	}
	if skips || !f.clear(text, status, p.more) {
		text += " " + cmp.Or(settling[status], settling[reprise.Pending])
	}
	return text
}

// clear reports whether the text of a box, and what else is said of it, lets the box say a status.
func (f *Family) clear(text string, status reprise.Status, more []string) bool {
	at := place{status: status, more: more}
	text = at.settled(text)
	it, _ := f.boxed(text)
	places := told(at, it.said)
	return len(places) == 1 && places[0].status == status
}

// maxBefore is how many pieces may stand before the id of a task.
const maxBefore = 16

// boxed parses the text of a box as a task. What says how far it is may stand before its id.
func (f *Family) boxed(text string) (it item, ok bool) {
	var before []string
	for rest := text; ; {
		if it, ok = f.match(rest); ok {
			break
		}
		if len(before) > maxBefore {
			return item{text: text, said: []string{text}}, false
		}
		s := saying{}
		if all := sayings(rest, false); len(all) > 0 && all[0].from == 0 {
			s = all[0]
		}
		switch {
		case s.struck:
			before, rest = append(before, rest), strings.Replace(rest, "~~", "", 2)
		case s.to > 0:
			before, rest = append(before, s.mark), strings.TrimSpace(rest[s.to:])
		default:
			tags, after := cutTags(rest)
			if len(tags) == 0 || f.bare() {
				tags, text = cutTags(text)
				return item{text: text, said: append(tags, text)}, false
			}
			before, rest = append(before, tags...), after
		}
	}
	tags, text := cutTags(it.text)
	it.said = slices.Concat(before, tags, []string{text})
	it.parallel = slices.Contains(tags, f.Parallel)
	return it, true
}
