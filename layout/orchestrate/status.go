package orchestrate

import (
	"strings"
	"unicode"

	"reprise"
	"reprise/internal/doc"
)

// class is what a status word of a story means. Its order is how far the
// story is.
type class uint8

const (
	noClass    class = iota // no word at all
	unknown                 // a word without a meaning here
	draft                   // written, not yet validated
	ready                   // validated, not begun
	inProgress              // being implemented
	blocked                 // cannot go on
	inReview                // made, not yet accepted
	done                    // accepted
	dropped                 // given up on purpose
)

// status is the class in the words of the domain.
func (c class) status() reprise.Status {
	switch c {
	case draft, ready:
		return reprise.Pending
	case inProgress:
		return reprise.InProgress
	case inReview:
		return reprise.InReview
	case done:
		return reprise.Done
	case blocked:
		return reprise.Blocked
	case dropped:
		return reprise.Skipped
	}
	return reprise.Unknown
}

// String is the canonical word.
func (c class) String() string {
	return [...]string{"none", "unknown", "Draft", "Ready", "InProgress", "Blocked", "InReview", "Done", "dropped"}[c]
}

// phrase is a spelling of a class: words in folded form. "a|b" is one of
// several words, "a*" any word with this beginning, "_" any word, "[_]" any
// word or none.
type phrase struct {
	class class
	words string
}

// phrases is the vocabulary met in stories of several hundred projects, in
// English, Portuguese and Chinese. The phrase at the earliest place of a value
// wins, of several there the longest: "Ready for Review" is never Ready.
var phrases = []phrase{
	{inReview, "ready for [_] review|rereview|revisao"},
	{inReview, "ready for re review"},
	{inReview, "ready for qa|testing|test|tests|validation|merge|done|approval"},
	{inReview, "ready review"},
	{inReview, "pending|awaiting|waiting [for] qa|review|approval|validation"},
	{inReview, "in|under|on review"},
	{inReview, "inreview"},
	{inReview, "qa|code|peer|po review"},
	{inReview, "review|reviewing"},
	{inReview, "em revisao|auditoria|review|qa|validacao|teste|testes"},
	{inReview, "aguardando _"},
	{inReview, "implementado|implementada|implemented"},
	{inReview, "dev|development|code|implementation complete|completed|done"},
	{inReview, "pronto|pronta para revisao|review|qa|validacao"},
	{inReview, "in qa|testing"},
	{inReview, "qa"},
	{inReview, "done|complete|completed|concluido|concluida [_] pending|awaiting|pendente _"},

	{done, "ready for deploy*|release|production"},
	{done, "pronto|pronta para deploy*|producao|release"},
	{done, "done|complete|completed|finished|closed|published|accepted|released|deployed|merged|shipped"},
	{done, "concluido|concluida|concluded|finalizado|finalizada|entregue|publicado|publicada|aceito|aceita"},
	{done, "superseded"},
	{done, "qa [gate] pass|passed|approved|aprovado|aprovada"},
	{done, "approved|aprovado|aprovada by|por qa"},

	{dropped, "cancelled|canceled|cancelado|cancelada|abandoned|rejected|deprecated|obsolete|archived|descartado|descartada|arquivado|arquivada"},
	{dropped, "wont do|fix"},

	{blocked, "blocked|bloqueado|bloqueada"},
	{blocked, "deployment failed"},
	{blocked, "failed"},
	{blocked, "on hold"},
	{blocked, "paused|pausado|pausada|deferred|postponed|adiado|adiada|suspended"},

	{draft, "ready to draft"},
	{draft, "draft*"},
	{draft, "rascunho|backlog|todo|futuro|future|planned|planejado|planejada|pending|pendente|proposed|new|idea|open"},
	{draft, "to do|be"},
	{draft, "not|nao started|iniciado|iniciada|ready|begun"},

	{ready, "ready"},
	{ready, "ready for dev*|implementation|sprint"},
	{ready, "ready to start|develop|implement"},
	{ready, "approved|aprovado|aprovada|validated|validado|validada|go|pronto|pronta"},

	{inProgress, "in progress|development|implementation"},
	{inProgress, "inprogress|doing|active|ativo|ativa|developing|started|wip|implementing|ongoing"},
	{inProgress, "em andamento|execucao|progresso|desenvolvimento|implementacao"},
	{inProgress, "partial*"},
	{inProgress, "parcial*"},
	{inProgress, "not|nao done|complete|completed|finished|concluido|concluida"},
	{inProgress, "almost|nearly|mostly|quase _"},
	{inProgress, "qa fail|failed"},
}

// han are the Chinese spellings, matched as text because they are written
// without spaces. Longer ones stand first.
var han = []struct {
	class class
	text  string
}{
	{inReview, "待审查"}, {inReview, "待评审"}, {inReview, "审查中"}, {inReview, "评审中"},
	{draft, "未完成"}, {draft, "未开始"}, {draft, "规划中"}, {draft, "草稿"}, {draft, "草案"}, {draft, "待办"},
	{dropped, "已废弃"}, {dropped, "已取消"}, {done, "已完成"}, {done, "完成"},
	{blocked, "阻塞"}, {blocked, "暂停"},
	{ready, "已批准"}, {ready, "批准"}, {ready, "就绪"}, {ready, "待开发"},
	{inProgress, "进行中"}, {inProgress, "开发中"}, {inProgress, "实施中"},
}

// longestValue is how many words of a value are looked at: what follows is
// prose about the status, not the status.
const longestValue = 14

// classify gives the meaning of a status value with whatever decorates it.
// unknown is a value with words of which none has a meaning.
func classify(value string) class {
	for _, arrow := range []string{"→", "->", "=>"} {
		// "Draft → Ready (after approval)" announces a change; it is still Draft.
		if before, _, ok := strings.Cut(value, arrow); ok && strings.TrimSpace(before) != "" {
			value = before
		}
	}
	if c := percent(value); c != noClass {
		return c
	}
	words := strings.Fields(doc.Fold(splitCamel(value)))
	if len(words) > longestValue {
		words = words[:longestValue]
	}
	if len(words) == 0 {
		return emojiClass(value)
	}
	if c := awaitsReview(words); c != noClass {
		return c
	}
	for at := range words {
		best, length := noClass, 0
		for _, p := range phrases {
			if n := p.match(words[at:]); n > length {
				best, length = p.class, n
			}
		}
		if best != noClass {
			return best
		}
		for _, h := range han {
			if strings.Contains(words[at], h.text) {
				return h.class
			}
		}
	}
	return unknown
}

// awaitsReview finds that a review is still awaited anywhere in the value:
// "Completed - Ready for Review" is not complete.
func awaitsReview(words []string) class {
	for i := range words {
		for _, p := range []string{"ready for [_] review|qa", "awaiting|pending|aguardando [_] review|qa|revisao"} {
			if (phrase{inReview, p}).match(words[i:]) > 0 {
				return inReview
			}
		}
	}
	return noClass
}

// percent reads "80% complete": less than all is in progress, whatever word
// follows.
func percent(value string) class {
	i := strings.IndexByte(value, '%')
	if i <= 0 {
		return noClass
	}
	j := i
	for j > 0 && isDigit(value[j-1]) {
		j--
	}
	v, n := number(value[j:i])
	switch {
	case n == 0 || v >= 100:
		return noClass
	case v == 0:
		return draft
	}
	return inProgress
}

// emojiClass reads a value without any word.
func emojiClass(value string) class {
	for _, e := range []struct {
		class class
		signs string
	}{
		{done, "✅☑✔"}, {inProgress, "🚧🟡🔄⏳🚀"}, {draft, "📝📋🔮⬜"}, {blocked, "🔴🚫⛔❌⚠"},
	} {
		if strings.ContainsAny(value, e.signs) {
			return e.class
		}
	}
	if strings.TrimSpace(strings.Trim(value, "*_`~-–—|")) == "" {
		return noClass
	}
	return unknown
}

// match returns how many words the phrase takes at the beginning, 0 if it does
// not stand there.
func (p phrase) match(words []string) int {
	n := 0
	rest := p.words
	for rest != "" {
		var want string
		want, rest, _ = strings.Cut(rest, " ")
		if opt, ok := strings.CutPrefix(want, "["); ok {
			opt = strings.TrimSuffix(opt, "]")
			next, _, _ := strings.Cut(rest, " ")
			// An optional word is taken only if the rest needs it gone.
			if n+1 < len(words) && (opt == "_" || oneOf(words[n], opt)) && !oneOf(words[n], next) && oneOf(words[n+1], next) {
				n++
			}
			continue
		}
		if n >= len(words) || !oneOf(words[n], want) {
			return 0
		}
		n++
	}
	return n
}

func oneOf(word, alternatives string) bool {
	for alternatives != "" {
		var one string
		one, alternatives, _ = strings.Cut(alternatives, "|")
		if head, ok := strings.CutSuffix(one, "*"); one == "_" || one == word || (ok && strings.HasPrefix(word, head)) {
			return true
		}
	}
	return false
}

// splitCamel parts InReview and ReadyForReview.
func splitCamel(s string) string {
	var b strings.Builder
	var last rune
	for _, r := range s {
		if unicode.IsUpper(r) && unicode.IsLower(last) {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
		last = r
	}
	return b.String()
}

// boxClass is the class of the last ticked box of a list of statuses. There
// "Em revisão" is the check by the product owner, which makes a story ready;
// the review of the work has a box of its own.
func boxClass(text string) class {
	words := strings.Fields(doc.Fold(text))
	if (phrase{ready, "em revisao"}).match(words) > 0 {
		return ready
	}
	return classify(text)
}

// stateWord reads a status of a state file, where a fixed vocabulary was
// meant. Spelling with dash, underscore or space does not matter.
func stateWord(word string) reprise.Status {
	switch doc.Fold(splitCamel(word)) {
	case "pending", "planned", "not started", "todo", "ready", "draft", "queued", "waiting":
		return reprise.Pending
	case "in progress", "inprogress", "active", "running", "started", "doing", "gate review":
		return reprise.InProgress
	case "in review", "review", "ready for review":
		return reprise.InReview
	case "completed", "complete", "done", "approved", "resolved", "passed", "pass":
		return reprise.Done
	case "failed", "error", "rejected", "fail":
		return reprise.Failed
	case "blocked", "paused", "on hold":
		return reprise.Blocked
	case "skipped", "cancelled", "canceled", "n/a", "not needed", "aborted":
		return reprise.Skipped
	}
	return reprise.Unknown
}
