package orchestrate

import (
	"slices"
	"strings"
	"unicode"

	"reprise/internal/doc"
)

// besideDone are the phrases that may stand beside a word for done because they cannot
// limit or negate it: how it was accepted, where it went, who said so, and words that mean
// nothing by themselves. A phrase that is not here makes a value unknown, so whatever
// is added must hold in every value: "of" would let "Done 3 of 7" pass.
var besideDone = []phrase{
	{done, "approved|validated|verified|confirmed|reviewed|tested|implemented|already|fixed|committed|pushed|retroactive|final|current|marked"},
	{done, "aprovado|aprovada|validado|validada|verificado|verificada|confirmado|confirmada|revisado|revisada|testado|testada|implementado|implementada|atual"},
	{done, "and|at|in|into|on|the|to|via|with|a|com|e|em|na|no|o|via|en|el|le|am|und|et|y"},
	{done, "pr|mr|commit|branch|main|master|develop|release|version|rc|x|story|epic|utc|live"},
	{done, "all [acceptance] criteria|acs met|implemented|validated|verified|passed"},
	{done, "all tests passed|passing|green|pass"},
	{done, "# tests pass|passed|passing"},
	{done, "todos os acs|criterios atendidos|validados|implementados"},
	{done, "qa|po|pm|dev|architect approved|validated|verified|confirmed"},
	{done, "qa approved|passed|pass [with] #/#"},
	{done, "[quality] score #/#"},
	{done, "quality score"},
	{done, "ready for pr|merge|push"},
	{done, "pronto|pronta para push|merge|pr"},
	{done, "ready for story #"},
	{done, "by|por|pelo|pela qa|po|pm|sm|dev|devops|architect|user|usuario|team"},
	{done, "was blocked by #"},
	{done, "see notes"},
	{done, "# jan|january|janeiro|feb|february|fev|fevereiro|mar|march|marco|apr|april|abr|abril|may|mai|maio|jun|june|junho"},
	{done, "# jul|july|julho|aug|august|ago|agosto|sep|september|set|setembro|oct|october|out|outubro|nov|november|novembro|dec|december|dez|dezembro"},
	{done, "jan|january|feb|february|mar|march|apr|april|may|jun|june|jul|july|aug|august|sep|september|oct|october|nov|november|dec|december #"},
}

// besideDoneSigns are the signs that may stand beside a word for done: punctuation that
// asks and negates nothing, and pictures of success.
const besideDoneSigns = "*_`\"'.,;:|/\\()[]{}-+#@&%>–—·•→“”‘’«»（），。：；、【】…" +
	"✅☑✔✓✨🎉🎊🟢🟣🔵🚀🏁💯👍🏆⭐🌟📋📝📦🔒🎯\ufe0f"

// nothingElse reports whether all that a value says is that it is done: it consists of
// words for done, numbers, names of people and files, and what besideDone lists. Any
// other word may limit or negate it ("Non terminé", "Done - reverted in abc1234"), and
// no list of such words is ever complete, so it counts as one that does.
func nothingElse(value string) bool {
	value = nameForm().ReplaceAllString(value, " ")
	last := ' '
	for _, r := range value {
		switch {
		case r == '!' && (unicode.IsLetter(last) || last == '!'):
		case !letter(r) && !unicode.IsSpace(r) && !unicode.Is(unicode.Mn, r) && !strings.ContainsRune(besideDoneSigns, r):
			return false
		}
		last = r
	}
	words := strings.Fields(doc.Fold(splitCamel(value)))
	for len(words) > 0 {
		c, n := longest(words, besideDone, phrases, otherLanguages)
		switch {
		case n == 0 && (isNumber(words[0]) || isHash(words[0]) || isHanDone(words[0])):
			n = 1
		case n == 0 || c != done:
			return false
		}
		words = words[n:]
	}
	return !strings.Contains(value, "[ ]")
}

// nameForm is what names a person or a file: @name, the target of a link, and paths in
// code spans.
var nameForm = doc.Pattern("@[\\w-]+|\\]\\([^)]*\\)|`[^` ]*/[^` ]*`")

// struck is what is ~~struck through~~: it no longer holds.
var struck = doc.Pattern(`(?s)~~.*?~~`)

// isNumber reports whether a word is a number, a version, a date in digits or all of a
// whole (7/7).
func isNumber(word string) bool {
	return strings.Trim(strings.TrimPrefix(word, "v"), "0123456789./") == "" && strings.Trim(word, "v./") != "" && !isPart(word)
}

// isPart reports whether a word is a part of a whole, such as 3/7.
func isPart(word string) bool {
	part, whole, ok := strings.Cut(word, "/")
	return ok && part != whole && strings.Trim(part+whole, "0123456789.") == ""
}

// isHash reports whether a word is the name of a commit.
func isHash(word string) bool {
	return len(word) >= 7 && strings.Trim(word, "0123456789abcdef") == "" && strings.ContainsAny(word, "0123456789")
}

func isHanDone(word string) bool {
	return slices.ContainsFunc(han, func(h phrase) bool { return h.class == done && h.words == word })
}
