package checklist

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"reprise"
	"reprise/internal/doc"
)

// labels matches what a task begins with that sets it apart from a note: a number, possibly
// with a word before it, or a word and a colon.
var labels = regexp.MustCompile("^[*_`\\[(~]*(?:(\\pL*)[ -]?(\\d+(?:[a-z]?\\.\\d+)*)[a-z]?\\b[*_`\\])]*([.):：]?)|(\\pL+)[*_]*[:：])")

// shapeOf returns the form of the label that a text begins with, the same for every number,
// and the number.
func shapeOf(text string) (shape, number string) {
	m := labels.FindStringSubmatch(text)
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

// signs are what people put before or behind a task in place of a box.
var signs = map[reprise.Status]string{reprise.Pending: "☐⬜🔲🔳", reprise.InProgress: "⏳⌛🔄🚧", reprise.Failed: "❌✗✘", reprise.Done: "✅☑✓✔"}

// opens are the words for open work that say nothing else: an item may well be about what is
// new or ready.
var opens = []string{"pending", "todo", "to do", "not started", "in progress", "wip"}

var markBefore, markAfter = func() (before, after *regexp.Regexp) {
	const sign = `([☐⬜🔲🔳⏳⌛🔄🚧❌✗✘✅☑✓✔])\x{fe0f}?`
	const word = `[(\[（［【]([^()\[\]（）［］【】]{1,24})[)\]）］】]`
	return regexp.MustCompile(`^[*_~]*(?:` + sign + `|` + word + `:?|(\pL[\pL _-]{1,23})[*_]*[:：])[*_]*\s*`),
		regexp.MustCompile(`[\s*_]*(?:` + sign + `|` + word + `|(?:[—–]|\s-|[☐⬜🔲🔳⏳⌛🔄🚧❌✗✘✅☑✓✔]\x{fe0f}?)\s*(\p{Lu}[\p{Lu} _-]+))[\s*_.]*$`)
}()

// spoken are the words that say how far a task is, and nothing else, folded.
var spoken = sync.OnceValue(func() map[string]reprise.Status {
	out := map[string]reprise.Status{}
	for status, words := range usual {
		for _, word := range words {
			if status.Closed() || status == reprise.Blocked || status == reprise.Failed || slices.Contains(opens, word) {
				out[doc.Fold(word)] = status
			}
		}
	}
	return out
})

// says returns what the marks before or behind a text say about it, and the text without
// them: a sign, a word for a status in brackets, before a colon, or in capitals behind a
// dash.
func (f *Family) says(text string) (status reprise.Status, rest string) {
	if status, rest = f.marked(markBefore, text); status != reprise.Unknown {
		return status, rest
	}
	return f.closes(text)
}

// closes is like says, of what is behind a text.
func (f *Family) closes(text string) (status reprise.Status, rest string) {
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(text, " *_.\ufe0f"))
	if unicode.IsLower(last) || unicode.IsDigit(last) { // most texts: no mark ends so
		return reprise.Unknown, text
	}
	return f.marked(markAfter, text)
}

// explained matches a mark with all that a legend says of it.
var explained = regexp.MustCompile("^(?:[^\\[\\]]*[:：])?[\\s>*_`+-]*\\[([^\\[\\]])\\][\\s*_`]*(?:=|:|：|—|–|-|→|means\\b)[\\s*_`]*(\\pL[\\pL _-]*?)[\\s*_`.)]*$")

// readLegend reads what the list itself says of marks that the family does not know. One that
// it explains twice, or in words that are not those of a status, stays unknown.
func (l *list) readLegend(md *doc.Markdown) {
	for _, line := range md.All().Lines() {
		if !strings.Contains(line.Text, "[") {
			continue
		}
		for _, piece := range strings.FieldsFunc(line.Text, func(r rune) bool { return strings.ContainsRune(",;|·", r) }) {
			m := explained.FindStringSubmatch(piece)
			if m == nil || l.family.means(m[1]) != reprise.Unknown || l.family.meaning(nil, m[2]) == reprise.Unknown {
				continue
			}
			if l.legend == nil {
				l.legend = map[string]reprise.Status{}
			}
			status := l.family.meaning(nil, m[2])
			if was, twice := l.legend[m[1]]; twice && was != status {
				status = reprise.Unknown
			}
			l.legend[m[1]] = status
		}
	}
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

// notDone matches the words that say of a ticked task that it is not done.
const notDone = `(?:NOT (?:DONE|COMPLETED?|FINISHED|STARTED)|INCOMPLETE|UNFINISHED)`

// denied matches what at the end of a ticked task says that it is not done, with the reason.
var denied = regexp.MustCompile(`(?:^|[—–.;:(\[*]\s*|\s-\s+)` + notDone + `\b[^()\[\]]*[)\]]?$|` +
	`[(\[](?:PENDING|TODO|WIP|IN PROGRESS|BLOCKED|FAILED)\s*(?:[:—–]|-\s)[^()\[\]]*[)\]]$`)

// told returns the places of the status of a box: its mark and, if that contradicts it, what its
// text says, of which these are the pieces. A label before a colon is what a task is about, and
// what was put off may be ticked off.
func (f *Family) told(at place, pieces []string) []place {
	for _, text := range pieces {
		says, rest := f.marked(markBefore, text)
		mark := strings.TrimSuffix(text, rest)
		if says == reprise.Unknown || strings.HasSuffix(strings.TrimRight(mark, "*_ "), ":") {
			says, rest = f.closes(text)
			mark = strings.TrimPrefix(text, rest)
		}
		if m := denied.FindString(text); m != "" {
			says, mark = reprise.Pending, m
		}
		putOff := says == reprise.Skipped || says == reprise.Blocked && !strings.Contains(doc.Fold(mark), "block")
		if says != reprise.Unknown && !putOff && at.mark == "" {
			at.mark, at.says = strings.TrimSpace(mark), says
		}
	}
	if at.last == "" && at.denies(at.status) {
		return []place{at, {word: at.mark, status: at.says, source: at.source, again: true}}
	}
	return []place{at}
}

// denies reports whether the text of a box contradicts a status.
func (p *place) denies(status reprise.Status) bool {
	return p.mark != "" && p.says != status && (p.says.Closed() || status.Closed())
}

// alone matches a mark that is nothing but a mark: a sign, or words between brackets or stars.
var alone = regexp.MustCompile(`^(?:[☐⬜🔲🔳⏳⌛🔄🚧❌✗✘✅☑✓✔]\x{fe0f}?|\(([\pL _-]+)\)|\[([\pL _-]+)\]|\*\*([\pL _-]+)\*\*|__([\pL ]+)__)$`)

var notDoneOnly = regexp.MustCompile("^" + notDone + "$")

// unmarked returns a text without its mark, if that stands by itself, is complete and is there
// only once. Anything else may be what the task is about.
func (p *place) unmarked(text string) string {
	m := alone.FindStringSubmatch(p.mark)
	if m == nil || strings.Count(text, p.mark) != 1 {
		return text
	}
	word := strings.Join(m[1:], "")
	if _, ok := spoken()[doc.Fold(word)]; word != "" && !ok && !notDoneOnly.MatchString(word) {
		return text
	}
	before, after, _ := strings.Cut(text, p.mark)
	if before != "" && !strings.HasSuffix(before, " ") || after != "" && !strings.HasPrefix(after, " ") {
		return text
	}
	return strings.TrimSpace(strings.TrimSpace(before) + " " + strings.TrimSpace(after))
}

// reworded returns the text of a box for a status that its mark cannot say, or that its text
// denies. Once the two agree, the mark says it alone. What is more than a mark is never taken
// out of a text: which of the two is right is written behind it.
func (f *Family) reworded(p *place, status reprise.Status, skips bool) string {
	text := p.box.Value
	if p.last != "" && p.status != status && (p.status.Closed() || status.Closed()) {
		text = strings.TrimSpace(strings.TrimSuffix(text, p.last))
	}
	if p.denies(status) || p.last == "" && p.denies(p.status) {
		if bare := p.unmarked(text); skips || f.clear(bare, status) {
			text = bare
		}
	}
	if skips || !f.clear(text, status) {
		text += " " + cmp.Or(settling[status], settling[reprise.Pending])
	}
	return text
}

// clear reports whether the text of a box lets the box say a status.
func (f *Family) clear(text string, status reprise.Status) bool {
	at := place{status: status}
	text = at.settled(text)
	if it, ok := f.match(text); ok {
		text = it.text
	}
	tags, text := cutTags(text)
	return at.status == status && len(f.told(at, append(tags, text))) == 1 && (status != reprise.Pending || at.last != "" || putOffIn(text, tags) == "")
}

func (f *Family) marked(mark *regexp.Regexp, text string) (reprise.Status, string) {
	m := mark.FindStringSubmatch(text)
	if m == nil {
		return reprise.Unknown, text
	}
	for status, signs := range signs {
		if m[1] != "" && strings.Contains(signs, m[1]) {
			return status, strings.Replace(text, m[0], "", 1)
		}
	}
	word := doc.Fold(strings.Join(m[2:], ""))
	status, ok := spoken()[word]
	for means, words := range f.Stages {
		if !ok && word != "" && word[0] >= utf8.RuneSelf && slices.Contains(words, word) {
			status, ok = means, true
		}
	}
	if !ok {
		return reprise.Unknown, text
	}
	return status, strings.Replace(text, m[0], "", 1)
}

// open reports whether an item says that it is open, and does not name a task of the list. The
// legend of a mark and a label with a status as its value are not items.
func (o *odd) open(at spot) bool {
	c, f := at.item, o.family
	if strings.HasPrefix(c.Bullet, "#") || c.Bullet == "" && !c.Doubtful() {
		return false
	}
	status, rest := f.says(c.Marked())
	if it, ok := f.match(rest); status != reprise.Pending && status != reprise.InProgress || ok && !o.fresh(it.id, at.within) {
		return false
	}
	rest = strings.Trim(rest, "*_~` ")
	word, _, _ := strings.Cut(strings.NewReplacer("：", ":", "—", ":", "–", ":", " - ", ":", "=", ":", "(", ":").Replace(rest), ":")
	return word != "" && !strings.HasSuffix(rest, ":") && (f.meaning(f.Stages, word) == reprise.Unknown || word == strings.ToUpper(word))
}
