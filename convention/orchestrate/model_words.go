package orchestrate

import (
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// class is what a status word of a story means. Its order is how far the
// story is.
type class uint8

const (
	noClass    class = iota // no word at all
	doubtful                // a word for done, beside others that may limit or negate it
	unknown                 // a word without a meaning here
	draft                   // written, not yet validated
	ready                   // validated, not begun
	inProgress              // being implemented
	blocked                 // cannot continue
	inReview                // made, not yet accepted
	done                    // accepted
	dropped                 // given up on purpose
)

// status is the class in the words of the domain.
func (c class) status() reprise.Status {
	return [...]reprise.Status{
		noClass: reprise.Unknown, doubtful: reprise.Unknown, unknown: reprise.Unknown, draft: reprise.Pending, ready: reprise.Pending,
		inProgress: reprise.InProgress, blocked: reprise.Blocked, inReview: reprise.InReview, done: reprise.Done, dropped: reprise.Skipped,
	}[c]
}

// String is the canonical word.
func (c class) String() string {
	return [...]string{"none", "doubtful", "unknown", "Draft", "Ready", "InProgress", "Blocked", "InReview", "Done", "dropped"}[c]
}

// phrase is a spelling of a class: words in folded form. "a|b" is one of
// several words, "a*" any word with this beginning, "_" any word, "[_]" any
// word or none, "#" a number, "#/#" a part of a whole.
type phrase struct {
	class class
	words string
}

// phrases is the vocabulary met in stories of several hundred projects, in
// English and Portuguese. The phrase at the earliest place of a value wins, of
// several there the longest: "Ready for Review" is never Ready.
var phrases = []phrase{
	{inReview, "ready for|to [_] review|rereview|retest|revisao"},
	{inReview, "ready for re review|test"},
	{inReview, "ready for|to qa|testing|test|tests|validation|validate|merge|done|approval|uat"},
	{inReview, "ready review"},
	{inReview, "pending|awaiting|waiting [for] qa|review|approval|validation|merge"},
	{inReview, "in|under|on review"},
	{inReview, "inreview"},
	{inReview, "qa|code|peer|po review"},
	{inReview, "review|reviewing"},
	{inReview, "em revisao|auditoria|review|qa|validacao|teste|testes|pr"},
	{inReview, "aguardando _"},
	{inReview, "implementado|implementada|implemented"},
	{inReview, "dev|development|code|implementation complete|completed|done"},
	{inReview, "pronto|pronta para revisao|review|qa|validacao|teste|testes|merge"},
	{inReview, "in qa|testing|pr|uat"},
	{inReview, "pr open|opened|created|aberto|aberta|criado"},
	{inReview, "open pr"},
	{inReview, "qa|testing|uat"},
	{inReview, "done|complete|completed|concluido|concluida [_] pending|awaiting|pendente _"},

	{done, "ready for|to deploy*|release|production|ship"},
	{done, "ready for production deploy*"},
	{done, "production|release ready"},
	{done, "pronto|pronta para deploy*|producao|release"},
	{done, "done|complete|completed|finished|closed|published|accepted|released|deployed|merged|shipped"},
	{done, "concluido|concluida|concluded|finalizado|finalizada|entregue|publicado|publicada|aceito|aceita|feito|feita"},
	{done, "in|em production|producao"},
	{done, "superseded"},
	{done, "superseded by [story|epic|adr] #"},
	{done, "qa [gate] pass|passed|approved|aprovado|aprovada"},
	{done, "approved|aprovado|aprovada by|por|pelo|pela qa"},

	{dropped, "cancelled|canceled|cancelado|cancelada|abandoned|rejected|deprecated|descoped|obsolete|archived|descartado|descartada|arquivado|arquivada"},
	{dropped, "wont do|fix"},
	{dropped, "won t do|fix"},
	{dropped, "skipped|duplicate|duplicado|duplicada"},
	{dropped, "not applicable"},
	{dropped, "n/a not applicable"},

	{blocked, "blocked|bloqueado|bloqueada"},
	{blocked, "deployment failed"},
	{blocked, "failed"},
	{blocked, "on hold"},
	{blocked, "em espera"},
	{blocked, "paused|pausado|pausada|deferred|postponed|adiado|adiada|suspended|parked"},

	{draft, "ready to draft"},
	{draft, "draft*"},
	{draft, "rascunho|backlog|todo|futuro|future|planned|planejado|planejada|planejamento|pending|pendente|proposed|new|idea|open"},
	{draft, "em planejamento|elaboracao"},
	{draft, "to do|be"},
	{draft, "a fazer"},
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
	// Sent back: it is the implementer's turn again.
	{inProgress, "qa|review fail|failed|rejected|reprovado|reprovada"},
	{inProgress, "failed|rejected qa|review"},
	{inProgress, "changes requested|required|needed"},
	{inProgress, "needs|requires changes|revision|rework|fix|fixes|work"},
	{inProgress, "rework|reopened|reaberto|reaberta|retrabalho"},
}

// otherLanguages are the phrases of languages other than English and Portuguese.
var otherLanguages = []phrase{
	// Spanish
	{inReview, "listo|lista para revision|revisar|pruebas|qa"},
	{inReview, "en revision|pruebas"},
	{done, "completado|completada|terminado|terminada|hecho|hecha|aceptado|aceptada"},
	{draft, "borrador|pendiente|planificado|planificada"},
	{draft, "por hacer"},
	{draft, "no iniciado|iniciada|empezado|empezada"},
	{ready, "listo|lista|aprobado|aprobada"},
	{inProgress, "en progreso|curso|proceso|desarrollo"},
	// French
	{inReview, "en revue|relecture"},
	{done, "termine|terminee|acheve|achevee|livre|livree|fini|finie"},
	{draft, "brouillon"},
	{draft, "a faire"},
	{draft, "non commence|commencee|demarre|demarree"},
	{ready, "pret|prete|valide|validee|approuve|approuvee"},
	{inProgress, "en cours|developpement"},
	{blocked, "bloque|bloquee"},
	// German
	{inReview, "in prufung"},
	{done, "fertig|abgeschlossen|erledigt|umgesetzt"},
	{draft, "entwurf|offen|geplant"},
	{draft, "nicht begonnen|gestartet"},
	{ready, "bereit|freigegeben"},
	{inProgress, "in bearbeitung|arbeit|umsetzung"},
	{blocked, "blockiert"},
	// Italian
	{inReview, "in revisione"},
	{done, "completato|completata|terminata|concluso|conclusa"},
	{draft, "bozza"},
	{draft, "da fare"},
	{ready, "pronto|pronta|approvato|approvata"},
	{inProgress, "in corso"},
	// Russian
	{inReview, "на проверке|ревью"},
	{done, "готово|завершено|завершен|завершена|выполнено|выполнена|сделано"},
	{draft, "черновик|запланировано"},
	{draft, "не начато|начата"},
	{inProgress, "в работе|процессе|разработке"},
	{blocked, "заблокировано|заблокирована"},
	// Vietnamese
	{done, "hoan thanh"},
	{inProgress, "đang thực hiện"},
	// Korean, where it is parted
	{inReview, "검토|리뷰 중|대기"},
	{draft, "시작 전"},
	{inProgress, "진행 중"},
}

// han are the spellings of Chinese, Japanese and Korean, matched as text because
// they are written without spaces. Longer ones stand first.
var han = []phrase{
	{inReview, "待审查"}, {inReview, "待评审"}, {inReview, "审查中"}, {inReview, "评审中"},
	{draft, "未完成"}, {draft, "未开始"}, {draft, "规划中"}, {draft, "草稿"}, {draft, "草案"}, {draft, "待办"},
	{dropped, "已废弃"}, {dropped, "已取消"}, {done, "已完成"}, {done, "完成"}, {done, "完成了"},
	{blocked, "阻塞"}, {blocked, "暂停"},
	{ready, "已批准"}, {ready, "批准"}, {ready, "就绪"}, {ready, "待开发"},
	{inProgress, "进行中"}, {inProgress, "开发中"}, {inProgress, "实施中"},

	{inReview, "レビュー待ち"}, {inReview, "レビュー中"}, {draft, "未完了"}, {draft, "未着手"}, {draft, "未開始"}, {draft, "下書き"},
	{done, "完了"}, {done, "完了済み"}, {done, "完了済"}, {inProgress, "進行中"}, {inProgress, "作業中"}, {inProgress, "実装中"}, {ready, "承認済"},

	{inReview, "검토중"}, {inReview, "리뷰중"}, {draft, "미완료"}, {draft, "미시작"}, {draft, "초안"},
	{done, "완료"}, {done, "완료됨"}, {inProgress, "진행중"}, {ready, "승인"},
}

// longestValue is how many words of a value are looked at: what follows is
// prose about the status, not the status.
const longestValue = 14

// classify gives the meaning of a status value with whatever decorates it.
// unknown is a value with words of which none has a meaning. A value is done only if
// it says nothing else.
func classify(value string) class {
	if text, ok := tickedOption(value); ok {
		if text == "" {
			return draft // a list of which nothing is ticked yet
		}
		value = text
	}
	value = struck().ReplaceAllString(value, " ")
	for _, arrow := range []string{"→", "->", "=>"} {
		// "Draft → Ready (after approval)" announces a change; it is still Draft. What
		// "Done → X" means depends on X.
		if before, _, ok := strings.Cut(value, arrow); ok && strings.TrimSpace(before) != "" && classify(before) != done {
			value = before
		}
	}
	if c := percent(value); c != noClass {
		return c
	}
	all := strings.Fields(doc.Fold(splitCamel(value)))
	if len(all) == 0 {
		return emojiClass(value)
	}
	words := all[:min(len(all), longestValue)]
	// "Completed - Ready for Review" is not complete.
	if anywhere(words, "ready for|to [_] review|qa", "awaiting|pending|aguardando [_] review|qa|revisao") {
		return inReview
	}
	c, at := earliest(words)
	switch {
	case c == done && ofAPart(words):
		return inProgress
	case c == done && anywhere(words, "review|qa|revisao pending|pendente", "needs|missing|falta qa|review|revisao"):
		return inReview
	case c == done && !nothingElse(value):
		return doubtful
	case c == dropped && at > 0:
		return unknown
	case c > unknown && c < inReview && anywhere(words, "blocked|bloqueado|bloqueada by|por"):
		return blocked
	}
	return c
}

// earliest gives the class of the phrase that stands first, of several there
// the longest, and the index of its first word.
func earliest(words []string) (c class, at int) {
	for at := range words {
		if c, n := longest(words[at:], phrases, otherLanguages); n > 0 {
			return c, at
		}
		for _, h := range han {
			if strings.Contains(words[at], h.words) {
				return h.class, at
			}
		}
	}
	return unknown, 0
}

// longest gives the longest phrase with which the words begin, and how many of them
// it takes. Of several the first counts.
func longest(words []string, lists ...[]phrase) (c class, length int) {
	for _, list := range lists {
		for _, p := range list {
			if n := p.match(words); n > length {
				c, length = p.class, n
			}
		}
	}
	return c, length
}

// ofAPart reports whether what is called done is a part of the work, with
// another part left: "Phase 1 complete, phase 2 pending".
func ofAPart(words []string) bool {
	const part, ended = "phase|phases|fase|fases|part|parte|etapa|wave|onda|stage|task|tasks", "done|complete|completed|concluido|concluida"
	return anywhere(words, part+" _ "+ended, part+" _ _ "+ended) &&
		anywhere(words, "pending|pendente|pendentes|remaining|remain|remains|left|restante|restantes|next|todo", "in progress", "em andamento", "not started")
}

// anywhere reports whether one of the phrases stands in the words.
func anywhere(words []string, list ...string) bool {
	for i := range words {
		for _, p := range list {
			if (phrase{words: p}).match(words[i:]) > 0 {
				return true
			}
		}
	}
	return false
}

// tickedOption reads a value that lists the statuses with a box before each,
// "[ ] Draft [x] In Progress [ ] Done": the last ticked one holds. It is empty
// where none is.
func tickedOption(value string) (text string, ok bool) {
	for _, option := range optionForm().FindAllStringSubmatch(optionsForm().FindString(value), -1) {
		if ok = true; option[1] != " " {
			text = option[2]
		}
	}
	return strings.TrimSpace(text), ok
}

var (
	optionsForm = doc.Pattern(`^[^\[\p{L}]*(?:\[[ xX]\][^\[]*)+`)
	optionForm  = doc.Pattern(`\[([ xX])\]([^\[]*)`)
	percentForm = doc.Pattern(`^(?:[^%]*[^%\d])?(\d{1,9}) *%`)
)

// percent reads "80% complete": less than all is in progress, whatever word
// follows.
func percent(value string) class {
	m := percentForm().FindStringSubmatch(value)
	if m == nil {
		return noClass
	}
	switch v, _ := number(m[1]); {
	case v >= 100:
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
		head, open := strings.CutSuffix(one, "*")
		if one == "_" || one == word || open && strings.HasPrefix(word, head) || one == "#" && isNumber(word) || one == "#/#" && isPart(word) {
			return true
		}
	}
	return false
}

// splitCamel parts InReview and ReadyForReview.
func splitCamel(s string) string { return camelForm().ReplaceAllString(s, "$1 $2") }

var camelForm = doc.Pattern(`(\p{Ll})(\p{Lu})`)

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
	return stateWords.of(doc.Fold(splitCamel(word)), reprise.Unknown)
}

var stateWords = vocabulary[reprise.Status]{
	{reprise.Pending, "pending|planned|not started|todo|ready|draft|queued|waiting"},
	{reprise.InProgress, "in progress|inprogress|active|running|started|doing|gate review"},
	{reprise.InReview, "in review|review|ready for review"},
	{reprise.Done, "completed|complete|done|approved|resolved|passed|pass"},
	{reprise.Failed, "failed|error|rejected|fail"},
	{reprise.Blocked, "blocked|paused|on hold"},
	{reprise.Skipped, "skipped|cancelled|canceled|n/a|not needed|aborted"},
}

// vocabulary is what folded words mean: "a|b" is one of several.
type vocabulary[T any] []struct {
	meaning T
	words   string
}

// of is the meaning of a word, none where it has none.
func (v vocabulary[T]) of(word string, none T) T {
	for _, m := range v {
		if oneOf(word, m.words) {
			return m.meaning
		}
	}
	return none
}
