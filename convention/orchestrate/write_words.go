package orchestrate

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"reprise/internal/doc"
)

// families are vocabularies: what each class is called in them.
var families = map[string]map[class]string{
	"camel":      {draft: "Draft", ready: "Ready", inProgress: "InProgress", inReview: "InReview", done: "Done", blocked: "Blocked", dropped: "Cancelled"},
	"spaced":     {draft: "Draft", ready: "Ready", inProgress: "In Progress", inReview: "In Review", done: "Done", blocked: "Blocked", dropped: "Cancelled"},
	"handed":     {draft: "Draft", ready: "Ready", inProgress: "InProgress", inReview: "Ready for Review", done: "Done", blocked: "Blocked", dropped: "Cancelled"},
	"template":   {draft: "Draft", ready: "Approved", inProgress: "InProgress", inReview: "Review", done: "Done", blocked: "Blocked", dropped: "Cancelled"},
	"lower":      {draft: "draft", ready: "ready", inProgress: "in_progress", inReview: "in_review", done: "done", blocked: "blocked", dropped: "cancelled"},
	"upper":      {draft: "DRAFT", ready: "READY", inProgress: "IN PROGRESS", inReview: "IN REVIEW", done: "DONE", blocked: "BLOCKED", dropped: "CANCELLED"},
	"portuguese": {draft: "Rascunho", ready: "Aprovada", inProgress: "Em andamento", inReview: "Em revisão", done: "Concluída", blocked: "Bloqueada", dropped: "Cancelada"},
	"chinese":    {draft: "草稿", ready: "已批准", inProgress: "进行中", inReview: "待审查", done: "已完成", blocked: "阻塞", dropped: "已取消"},
}

// portuguese are the words that show that a value is in Portuguese.
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
	if words := strings.Fields(fold); slices.ContainsFunc(otherLanguages, func(p phrase) bool { return p.match(words) > 0 }) {
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
	byTone := map[tone]string{inChinese: "chinese", inPortuguese: "portuguese", upperCase: "upper", lowerCase: "lower"}
	name := byTone[toneOf(value)]
	switch word := core(value); {
	case name != "":
	case word == "Approved" || word == "Review":
		name = "template"
	case strings.HasPrefix(word, "Ready for"):
		name = "handed"
	case strings.Contains(word, " "):
		name = "spaced"
	default:
		name = "camel"
	}
	return families[name]
}

// core is the first run of words of a value, without what decorates it.
func core(value string) string { return coreForm().FindString(value) }

var coreForm = doc.Pattern(`\p{L}[\p{L}\p{Nd}]*(?:[ _-][\p{L}\p{Nd}]+)*`)

func letter(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// usable reports whether a value's core is a plain spelling of a class that can
// be taken over.
func usable(value string, want class) (string, bool) {
	word := core(value)
	if len(strings.Fields(word)) > 3 || len(word) > 30 || strings.ContainsAny(word, "0123456789") || classify(word) != want {
		return "", false
	}
	return word, true
}

// spelling gives the word for a class in a story, in place of old: one the story
// itself uses or used in its language and case, else that of the family its old
// word belongs to. A story without a status takes the family of the first story
// in its folder.
func (c *recorder) spelling(s *storyDoc, old string, want class) string {
	speaks := func(value string) (string, bool) {
		w, ok := usable(value, want)
		return w, ok && (old == "" || toneOf(w) == toneOf(old))
	}
	for _, f := range s.fields {
		if w, ok := speaks(f.word); ok && f.head {
			return w
		}
	}
	own := ""
	for _, m := range s.moves() {
		if w, ok := speaks(m.Word); ok {
			own = w // the latest that the story itself was called
		}
	}
	if own != "" {
		return own
	}
	dir := path.Dir(s.path)
	for _, e := range c.r.Dir(dir) {
		if _, ok := storyName(path.Join(dir, e.Name())); old == "" && ok && !e.IsDir() {
			old = readStory(c.r, path.Join(dir, e.Name())).word()
		}
	}
	return familyOf(old)[want]
}
