package orchestrate

import (
	"path"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"reprise"
	"reprise/internal/doc"
)

// How a status is spelled when it is written: in the words this file uses, else
// in those of the stories beside it, else in the family of words that the value
// it replaces belongs to.

// family is one vocabulary: what each class is called in it.
type family struct {
	name  string
	words map[class]string
}

var families = []family{
	{"camel", map[class]string{draft: "Draft", ready: "Ready", inProgress: "InProgress", inReview: "InReview", done: "Done", blocked: "Blocked", dropped: "Cancelled"}},
	{"spaced", map[class]string{draft: "Draft", ready: "Ready", inProgress: "In Progress", inReview: "In Review", done: "Done", blocked: "Blocked", dropped: "Cancelled"}},
	{"handed", map[class]string{draft: "Draft", ready: "Ready", inProgress: "InProgress", inReview: "Ready for Review", done: "Done", blocked: "Blocked", dropped: "Cancelled"}},
	{"template", map[class]string{draft: "Draft", ready: "Approved", inProgress: "InProgress", inReview: "Review", done: "Done", blocked: "Blocked", dropped: "Cancelled"}},
	{"lower", map[class]string{draft: "draft", ready: "ready", inProgress: "in_progress", inReview: "in_review", done: "done", blocked: "blocked", dropped: "cancelled"}},
	{"upper", map[class]string{draft: "DRAFT", ready: "READY", inProgress: "IN PROGRESS", inReview: "IN REVIEW", done: "DONE", blocked: "BLOCKED", dropped: "CANCELLED"}},
	{"portuguese", map[class]string{draft: "Rascunho", ready: "Aprovada", inProgress: "Em andamento", inReview: "Em revisão", done: "Concluída", blocked: "Bloqueada", dropped: "Cancelada"}},
	{"chinese", map[class]string{draft: "草稿", ready: "已批准", inProgress: "进行中", inReview: "待审查", done: "已完成", blocked: "阻塞", dropped: "已取消"}},
}

// portuguese are the words by which a value is told to be in that language.
var portuguese = []string{
	"rascunho", "aprovad", "pronto", "pronta", "em ", "conclu", "finaliz", "bloquead", "cancelad", "pendente", "aguardando", "implementad", "planejad", "pausad", "entregue", "andamento",
}

// tone is the language and case of a value: words of different tones do not
// stand in for each other.
type tone uint8

const (
	mixed tone = iota
	lowerCase
	upperCase
	inPortuguese
	inChinese
	inOther // another language
)

func toneOf(value string) tone {
	word := core(value)
	for _, r := range word {
		if unicode.Is(unicode.Han, r) {
			return inChinese
		}
	}
	fold := doc.Fold(splitCamel(word))
	for _, p := range portuguese {
		if strings.HasPrefix(fold, p) {
			return inPortuguese
		}
	}
	if words := strings.Fields(fold); slices.ContainsFunc(tongues, func(p phrase) bool { return p.match(words) > 0 }) {
		return inOther
	}
	for _, r := range word {
		if r > unicode.MaxLatin1 && !unicode.Is(unicode.Latin, r) {
			return inOther
		}
	}
	switch {
	case word == "":
	case word == strings.ToUpper(word):
		return upperCase
	case word == strings.ToLower(word):
		return lowerCase
	}
	return mixed
}

// familyOf tells the vocabulary of a value.
func familyOf(value string) map[class]string {
	name := "camel"
	switch word := core(value); toneOf(value) {
	case inChinese:
		name = "chinese"
	case inPortuguese:
		name = "portuguese"
	case upperCase:
		name = "upper"
	case lowerCase:
		name = "lower"
	default:
		switch {
		case word == "Approved" || word == "Review":
			name = "template"
		case strings.HasPrefix(word, "Ready for"):
			name = "handed"
		case strings.Contains(word, " "):
			name = "spaced"
		}
	}
	for _, f := range families {
		if f.name == name {
			return f.words
		}
	}
	return nil
}

// core is the first run of words of a value, without what decorates it.
func core(value string) string {
	start := strings.IndexFunc(value, unicode.IsLetter)
	if start < 0 {
		return ""
	}
	end := start
	for at := start; at < len(value); {
		r, size := utf8.DecodeRuneInString(value[at:])
		next, _ := utf8.DecodeRuneInString(value[at+size:])
		switch {
		case letter(r):
			end = at + size
		case strings.ContainsRune(" _-", r) && letter(next):
		default:
			return value[start:end]
		}
		at += size
	}
	return value[start:end]
}

func letter(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }

// usable reports whether a value's core is a plain spelling of a class that can
// be taken over.
func usable(value string, want class) (string, bool) {
	word := core(value)
	if len(strings.Fields(word)) > 3 || len(word) > 30 || strings.ContainsAny(word, "0123456789") || classify(word) != want {
		return "", false
	}
	return word, true
}

// siblingsRead bounds how many stories are looked at for their words.
const siblingsRead = 60

// spelling gives the word for a class in a story.
func (c *scribe) spelling(s *sheet, old string, want class) string {
	speaks := func(value string) (string, bool) {
		w, ok := usable(value, want)
		return w, ok && (old == "" || toneOf(w) == toneOf(old))
	}
	for _, f := range s.fields {
		if w, ok := speaks(f.word); ok && f.head {
			return w
		}
	}
	own := familyOf(old)[want]
	for _, moved := range s.moves() {
		// The latest that the story itself was called.
		if w, ok := speaks(moved.Word); ok {
			own = w
		}
	}
	if own != familyOf(old)[want] {
		return own
	}
	count := map[string]int{}
	read := 0
	for _, e := range c.r.Dir(path.Dir(s.path)) {
		p := path.Join(path.Dir(s.path), e.Name())
		if _, ok := storyName(p); !ok || e.IsDir() || p == s.path {
			continue
		}
		if read++; read > siblingsRead {
			break
		}
		sib := readSheet(c.r, p)
		if sib == nil {
			continue
		}
		if i := sib.winner(); i >= 0 {
			if w, ok := speaks(sib.fields[i].word); ok {
				count[w]++
			}
		}
	}
	if w := mostUsed(count); w != "" && count[w] > count[own] {
		return w
	}
	return own
}

// mostUsed returns the key with the highest count, of several the first by name.
func mostUsed(count map[string]int) string {
	words := make([]string, 0, len(count))
	for w := range count {
		words = append(words, w)
	}
	sort.Slice(words, func(i, j int) bool {
		if count[words[i]] != count[words[j]] {
			return count[words[i]] > count[words[j]]
		}
		return words[i] < words[j]
	})
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

// spellState gives the word for a status of a state file: the one that other
// entries of its kind use, else the format's own in the style of the others.
func spellState(want reprise.Status, own string, others ...string) string {
	count := map[string]int{}
	upper, dash, all := 0, 0, 0
	for _, w := range others {
		w = strings.TrimSpace(w)
		if w == "" || w != oneLine(w, 40) {
			continue
		}
		all++
		if w == strings.ToUpper(w) {
			upper++
		}
		if strings.Contains(w, "-") {
			dash++
		}
		if stateWord(w) == want {
			count[w]++
		}
	}
	if w := mostUsed(count); w != "" {
		return w
	}
	if dash > 0 {
		own = strings.ReplaceAll(own, "_", "-")
	}
	if all > 0 && upper == all {
		own = strings.ToUpper(own)
	}
	return own
}
