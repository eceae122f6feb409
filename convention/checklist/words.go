package checklist

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"reprise"
	"reprise/internal/doc"
)

// Some words say more in one place than in another. Beside a task, the vague ones are as likely
// what it is about, and the loud ones say how far it is only in capitals. What an agent adds to
// its own task with one of the wary ones is not the word of someone who is done.
var (
	vague = []string{"open", "new", "planned", "queued", "ready", "backlog", "spec ready", "started", "doing", "working", "running", "/", "in review", "review", "ready for review", "ok", "yes", "no", "hold", "waiting", "skip"}
	loud  = []string{"moved", "removed"}
	// doubts are those that say of what is there that nobody looked at it yet.
	doubts = []string{"untested", "not tested", "not tested yet", "not yet tested", "not yet verified", "needs testing", "needs verification"}
	wary   = []string{"still", "not", "missing", "failing", "waiting", "moved", "removed", "remaining", "outstanding", "only half"}
	// undone are those that say of what is there that it is not the work.
	undone = []string{
		"reverted", "stub only", "stubbed", "to be completed", "to be implemented", "to be finished", "broken", "tests failing", "tests fail", "failing tests", "needs rework", "needs fixing",
		"not working", "not working yet", "does not work", "does not work yet", "doesn't work", "doesn't work yet",
	}
	// waits are those for what somebody else has to do first.
	waits = []string{"waiting for", "waiting on", "awaiting"}
	// later are those that put a task off, as those for Skipped do: a box that is ticked beside
	// one of them says that nothing is left to do here, not that it was done.
	later = []string{"deferred", "postponed", "延期"}
)

// spoken are the words that say beside a task how far it is, folded, and the signs.
var spoken = sync.OnceValue(func() map[string]reprise.Status {
	out := maps.Clone(doc.Words())
	for _, word := range vague {
		delete(out, word)
	}
	for _, word := range loud {
		out[word] = reprise.Skipped
	}
	for _, word := range doubts {
		out[word] = reprise.InReview
	}
	for _, word := range undone {
		out[doc.Fold(word)] = reprise.InProgress
	}
	for _, word := range waits {
		out[word] = reprise.Pending
	}
	return out
})

// phrases are the words to look for, and those that are wary, by their first word, the longest
// first. Those of scripts without blanks are by their first character.
var phrases = sync.OnceValue(func() map[string][][]string {
	words := slices.Clone(wary)
	for word := range spoken() {
		words = append(words, word)
	}
	slices.SortFunc(words, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	out := map[string][][]string{}
	for _, word := range words {
		first := word[:asciiWord(word)]
		if first == "" {
			_, size := utf8.DecodeRuneInString(word)
			first = word[:size]
		}
		out[first] = append(out[first], strings.Fields(word))
	}
	return out
})

// longest is the length of the longest of these first words.
var longest = sync.OnceValue(func() (n int) {
	for first := range phrases() {
		n = max(n, len(first))
	}
	return n
})

// asciiWord returns the length of the word of ASCII letters and digits that a text begins with.
func asciiWord(text string) (n int) {
	for n < len(text) && ('a' <= text[n]|0x20 && text[n]|0x20 <= 'z' || '0' <= text[n] && text[n] <= '9') {
		n++
	}
	return n
}

// lookFor calls yield with the places of such words in a text.
func lookFor(text string, yield func(from, to int)) {
	fits := func(from int, phrase []string) (to int) {
		to = from
		for i, word := range phrase {
			if i > 0 {
				to += len(text[to:]) - len(strings.TrimLeft(text[to:], " _'’-"))
			}
			end := to + len(word)
			if end > len(text) || !strings.EqualFold(text[to:end], word) || word[0] < utf8.RuneSelf && asciiWord(text[end:]) > 0 {
				return -1
			}
			to = end
		}
		return to
	}
	var lower [64]byte
	words, most := phrases(), min(longest(), len(lower))
	for from := 0; from < len(text); {
		n := asciiWord(text[from:])
		var found [][]string
		if n > 0 {
			if n <= most {
				for i := range n {
					lower[i] = text[from+i]
					if 'A' <= lower[i] && lower[i] <= 'Z' {
						lower[i] |= 0x20
					}
				}
				found = words[string(lower[:n])]
			}
		} else if text[from] < utf8.RuneSelf {
			from++
			continue
		} else {
			r, size := utf8.DecodeRuneInString(text[from:])
			if n = size; r >= '⌛' {
				found = words[text[from:from+size]]
			}
		}
		for _, phrase := range found {
			if to := fits(from, phrase); to > 0 {
				yield(from, to)
				n = to - from
				break
			}
		}
		from += n
	}
}

// saying is what something beside a task says of it.
type saying struct {
	status   reprise.Status
	mark     string // as written, with what sets it off
	from, to int    // where that is in the text
	label    bool   // it is what a colon follows
	putOff   bool   // not to be done, or not now
	struck   bool   // through, which people also do to what is done
	hint     bool   // enough to doubt a tick, and no more: it may be what the task is about
}

// struck matches a text that is struck through. A single word that is struck through was
// replaced by those after it.
var struck = doc.Pattern(`^[*_]*(?:~~[^~]*[^\w~-][^~]*~~|~~[^~]+~~\s*(?:\S*$|[^\s\pL\pN\x60,/&+]|(?i:removed|moved|deferred|blocked|skipped|cancell?ed|obsolete|superseded|dropped)\b))`)

// sayings returns what a text beside a box, or that of an item or a heading, says about how far
// its task is: words and signs at the beginning and the end, set off from the rest by brackets,
// stars, a colon, a dash or the end of a sentence, words behind "Status:", and that it is struck
// through. In brackets and behind a colon at the end, open ones are hints. Elsewhere, and in
// backticks, they are what the task is about. In what an agent adds to its own task they count
// with whatever follows them.
//
// A list has many texts and a stranger makes them as long as he likes: each word costs a look at what
// is around it, never at the whole text.
func sayings(text string, added bool) (out []saying) {
	if strings.Contains(text, "~~") && !added {
		if at := struck().FindStringIndex(text); at != nil {
			out = append(out, saying{status: reprise.Skipped, mark: text[:at[1]], to: at[1], putOff: true, struck: true})
		}
	}
	in := surroundings{text: text, end: -1}
	ticks, counted := 0, 0 // backticks before the word
	lookFor(text, func(from, to int) {
		ticks, counted = ticks+strings.Count(text[counted:from], "`"), from
		word := text[from:to]
		status, known := spoken()[cmp.Or(doc.Fold(word), word)]
		quoted := ticks%2 == 1
		if status == reprise.Done {
			if of := shareIn(text[max(0, from-maxShare):from]); of != "" {
				from, status = from-len(of), reprise.InProgress
				word = text[from:to]
			}
		}
		s := saying{status: status, from: from, to: to, putOff: status == reprise.Skipped || slices.Contains(later, doc.Fold(word))}
		if !known {
			s.status = reprise.Pending
		}
		quiet := !known || slices.Contains(loud, strings.ToLower(word)) && word != strings.ToUpper(word) && !bracketed(text, from, to)
		if quoted || quiet && !added {
			return
		}
		if set := s; set.setOff(&in, word) {
			s = set
		} else if !(added && s.beside(text)) && !s.hints(&in) {
			return
		}
		s.mark = strings.Trim(text[s.from:s.to], " \t\ufe0f")
		out = append(out, s)
	})
	return out
}

// surroundings is a text with what is asked of it for each word.
type surroundings struct {
	text string
	// signs and stars are how much of it are signs, and emphasis, before anything else; end is
	// where what ends it begins. They are known once end is not below 0.
	signs, stars, end int
}

// led reports whether only signs are before a place.
func (b *surroundings) led(at int) bool {
	b.measure()
	return at <= b.signs
}

func (b *surroundings) measure() {
	if b.end < 0 {
		b.signs = len(b.text) - len(strings.TrimLeftFunc(b.text, isSign))
		b.stars = len(b.text) - len(strings.TrimLeft(b.text, " \t*_~"))
		b.end = len(strings.TrimRight(b.text, " .!*_~"))
	}
}

// What is beside a word is looked for no further from it than this: it is longer than what share
// and the labels match, and than any reason that is behind a word.
const maxShare, maxLabel, maxReason = 32, 32, 64

// share matches the part of a task that is said to be done.
var share = doc.Pattern(`(?i)\b(?:only )?(?:[1-9]?\d ?%|half|partly|partially|mostly|almost|nearly|not fully)[ -]?$`)

// shareIn returns the share that a text ends with.
func shareIn(text string) string {
	last := strings.TrimRight(text, " -")
	if last == "" || strings.IndexByte("%fyt", last[len(last)-1]|0x20) < 0 && last[len(last)-1] != '%' {
		return ""
	}
	return share().FindString(text)
}

// bracketed reports whether brackets hold a piece of a text and nothing else.
func bracketed(text string, from, to int) bool {
	return from > 0 && to < len(text) && strings.IndexByte("([", text[from-1]) >= 0 && strings.IndexByte(")]", text[to]) >= 0
}

// starts returns the part of a text before a word without what surrounds the word, and whether
// something new begins with it.
func starts(before string) (rest string, begins bool) {
	rest = strings.TrimRight(before, " \t*_~\ufe0f")
	if label := labelAt(rest); label >= 0 {
		rest = strings.TrimRight(rest[:label], " \t*_~\ufe0f")
		return rest, true
	}
	last, _ := utf8.DecodeLastRuneInString(rest)
	spaced := rest != before
	switch {
	case rest == "", emphasized(before), strings.ContainsRune("([{（［【—–", last), last >= '⌛' && unicode.Is(unicode.So, last):
		return rest, true
	case last == '-' && spaced:
		return rest, strings.HasSuffix(strings.TrimRight(rest, "-"), " ")
	}
	return rest, spaced && strings.ContainsRune(";.:", last)
}

var (
	statusLabel = doc.Pattern(`(?i)(?:^|[\s(\[*_—–-])(?:status|状态)$`)
	legendLabel = doc.Pattern(`(?:^|[\s(\[*_—–-])\[.\] =$`)
	statusLine  = doc.Pattern(`^(?i:[*_]*(?:status|状态)[*_]*[:：])`)
	// goesOn matches what comes behind a word that is set off, and reason what does behind one in
	// capitals as well.
	moves  = doc.Pattern(`^(?i:to|until|till)\b`)
	goesOn = doc.Pattern(`^(?:[:：;—–(（]|-+\s|(?i:to|until|till|because|per|due to|since)\b|(?i:on |in |by )?(?:\d{4}-\d|[#@]))`)
	reason = doc.Pattern(`^(?:[.,]|(?i:by|on|for|as|yet|in)\b)`)
)

// labelAt returns where the label "Status:" begins that a text ends with, with the character before
// it, or -1.
func labelAt(text string) int {
	rest, label := text, statusLabel
	if strings.HasSuffix(text, "] =") {
		label = legendLabel
	} else {
		rest = strings.TrimRight(text, "*_")
		cut, ok := strings.CutSuffix(rest, ":")
		if !ok {
			cut, ok = strings.CutSuffix(rest, "：")
		}
		if !ok {
			return -1
		}
		rest = strings.TrimRight(cut, "*_")
	}
	from := max(0, len(rest)-maxLabel)
	at := label().FindStringIndex(rest[from:])
	if at == nil {
		return -1
	}
	return from + at[0]
}

// emphasized reports whether a text ends with a blank and the stars or the lines that begin emphasis.
func emphasized(text string) bool {
	rest := strings.TrimRight(text, text[max(0, len(text)-1):])
	n := len(text) - len(rest)
	return (n == 1 || n == 2) && strings.ContainsAny(text[len(rest):], "*_") && rest != "" && strings.IndexByte(" \t\n\f\r", rest[len(rest)-1]) >= 0
}

// setOff reports whether a word is set off from the rest of a text, and extends it to what sets
// it off.
func (s *saying) setOff(in *surroundings, word string) bool {
	const opening, closing = "([{（［【", ")]}）］】"
	text := in.text
	before, begins := starts(text[:s.from])
	after := text[s.to:]
	behind := strings.TrimLeft(after, " \t*_~\ufe0f")
	last, size := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(behind)
	sign, shouts := doc.Fold(word) == "", word == strings.ToUpper(word) && word != strings.ToLower(word)
	labelled := labelAt(strings.TrimRight(text[:s.from], " \t*_~")) >= 0
	starred := strings.HasSuffix(text[:s.from], "**") || strings.HasSuffix(text[:s.from], "__")
	ends := strings.TrimLeft(behind, " \t.!*_~"+opening+closing) == ""
	near := behind[:min(len(behind), maxReason)]
	follows := sign || ends || goesOn().MatchString(near) || starred && (shouts || strings.HasPrefix(after, "**") || strings.HasPrefix(after, "__")) ||
		shouts && (reason().MatchString(near) || s.status == reprise.Pending && word[0] == 'N')
	switch {
	case sign && ends && !begins:
		return true
	case !begins || last == ':' && !labelled && !shouts && !moves().MatchString(near):
		return false
	case strings.ContainsRune(opening, last): // all of them, at the beginning or the end
		end := strings.IndexAny(behind, opening+closing)
		if end < 0 || !follows && !shouts && !strings.ContainsRune(closing, next) {
			return false
		}
		_, width := utf8.DecodeRuneInString(behind[end:])
		s.from, s.to = len(before)-size, len(text)-len(behind)+end+width
		tail := strings.TrimLeft(text[s.to:], " \t.!*_~")
		if in.measure(); s.from <= in.stars {
			return !strings.HasPrefix(text[s.to:], "(") // a link
		}
		return tail == "" || strings.HasPrefix(tail, "(") || strings.HasPrefix(tail, "（")
	case labelled:
		s.from, s.to = len(before), len(text)
		return before == "" || follows
	case in.led(len(before)):
		s.from, s.to = 0, len(text)-len(behind)
		if s.label = next == ':' || next == '：'; s.label {
			s.to += utf8.RuneLen(next)
		}
		return follows
	case strings.ContainsRune("—–-;.:", last):
		s.from = len(strings.TrimRight(before[:len(before)-size], "-"))
	default:
		s.from = len(before)
	}
	s.to = len(text)
	return follows
}

func isSign(r rune) bool { return unicode.Is(unicode.So, r) || r == '\ufe0f' || r == ' ' }

// beside reports whether something new begins with a word, or whether it denies wherever it is,
// and extends the word to the end.
func (s *saying) beside(text string) bool {
	word := doc.Fold(text[s.from:s.to])
	_, begins := starts(text[:s.from])
	before := strings.TrimRight(text[:s.from], " ")
	denies := strings.HasPrefix(word, "not ") && s.status == reprise.Pending
	return begins || denies || strings.HasSuffix(before, ",") || word == ""
}

// hinted matches a word that ends a text behind a colon, ": partial", or as the first or the last
// of a few in brackets: "(pending docs)", "(done, tests pending)", "(built, not tested)", "(partial, the page is missing)". NUL stands
// for the word.
var hinted = doc.Pattern(`(?:(\pL*)[)\]*_]*: \x00| [—–-] \x00[, ].*|[(\[（]\x00(?:(?: \pL[\pL-]*){1,4}|, [^\s,()\[\]（）]+ [^,()\[\]（）]+)[)\]）]|[(\[（](?:[^()\[\]（）]*[^()\[\]（）\pL-])?(?:(?i:done|completed?|finished|implemented|built|created|written|coded), |(\pL[\pL-]*) )\x00[)\]）])$`)

// hints reports whether a word that says that something is open does so at the end of a text, and
// extends it to what it stands in. Behind some words it is part of a clause.
func (s *saying) hints(in *surroundings) bool {
	s.hint = s.status == reprise.Pending || s.status == reprise.InProgress || s.status == reprise.InReview
	if !s.hint {
		return false
	}
	in.measure()
	before, after := in.text[:s.from], in.text[s.to:max(s.to, in.end)]
	next, size := utf8.DecodeRuneInString(after)
	const opening, closing = "([（", ")]）"
	switch bracket := size > 0 && strings.ContainsRune(closing, next); {
	case after == "" && strings.HasSuffix(before, ": "), bracket && size == len(after):
	case next == ' ' || next == ',':
		for _, dash := range []string{" — ", " – ", " - "} {
			if strings.HasSuffix(before, dash) {
				s.from, s.to = len(before)-len(dash), len(in.text)
				return true
			}
		}
		last, _ := utf8.DecodeLastRuneInString(before)
		if end := strings.IndexAny(after, opening+closing); !strings.ContainsRune(opening, last) || end < 0 || end < len(after)-len("）") {
			return false
		}
	default:
		return false
	}
	from := max(0, len(before)-maxHint)
	m := hinted().FindStringSubmatchIndex(before[from:] + "\x00" + after)
	if m == nil {
		return false
	}
	word := ""
	if at := max(m[2], m[4]); at >= 0 {
		word = before[from+at : from+max(m[3], m[5])]
	}
	if slices.Contains(clauses, strings.ToLower(word)) {
		return false
	}
	s.from, s.to = from+max(m[0], m[3]), len(in.text)
	return true
}

// maxHint is how far before a word in brackets the brackets may begin.
const maxHint = 512

var clauses = []string{
	"not", "if", "when", "while", "is", "are", "or", "and", "no", "non", "as", "of", "to", "be", "until", "unless", "from", "state", "states", "default", "value", "field", "label", "option",
}

// says returns what is said before a text, else behind it, and the text without that.
func says(text string) (status reprise.Status, rest string) {
	s := saidFirst(text, 0)
	return s.status, strings.TrimSpace(text[:s.from] + text[s.to:])
}

// saidFirst returns what is said first in a text, from a place on. Hints do not count.
func saidFirst(text string, from int) saying {
	for _, s := range sayings(text, false) {
		if s.from >= from && !s.hint {
			return s
		}
	}
	return saying{}
}
