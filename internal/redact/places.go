package redact

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// place is where a value stands that its surroundings call secret. The form ends
// where the value begins; its group "name", if it has one, is what it is called.
type place struct {
	kind string // "" stands for what the name says
	// hints are words, in small letters: a text with none of them has no such place. by
	// says that it has none without a name before it that calls it secret.
	hints []string
	by    int
	form  form
	// header tells that the value goes to the end of what is quoted, or of the
	// line; quoted that it has quotes of its own; alone that nothing follows it on
	// its line.
	header, quoted, alone bool
	// keeps, if set, says that a value is not a secret.
	keeps func(name, value string) bool
}

// Parts of forms: the remainder of a simple command before an option of it, what
// stands before a name, and a name.
const (
	rest   = `(?:[^|;&\n]*?\s)?`
	before = `(?:^|[^A-Za-z0-9_.\\-]|\\[nt])`
	named  = `(?P<name>[A-Za-z_][A-Za-z0-9_.-]*)`
)

var places = sync.OnceValue(func() []place {
	return []place{
		// Headers: the scheme stays.
		{kind: "authorization", hints: []string{"authorization"}, form: lazily(`(?i)\b(?:proxy-)?authorization\\?["']?\s*:\s*\\?["']?\s*(?:(?:bearer|basic|token|apikey|digest|negotiate)\s+)?`), header: true, keeps: isScheme},
		{kind: "token", hints: []string{"bearer"}, form: lazily(`(?i)\bbearer\s+`), keeps: func(_, value string) bool { return len(value) < 16 || !mixed(value) }},
		{kind: "secret header", by: bySign, form: lazily(`(?i)\b(?:x-[a-z-]*(?:key|token|secret)|private-token|job-token|deploy-token|api-key|circle-token)\s*:\s*`), header: true, keeps: isProse},
		{kind: "cookie", hints: []string{"cookie"}, form: lazily(`(?i)\b(?:set-)?cookie:\s*`), header: true, keeps: isProse},
		{kind: "signature", hints: []string{"sig"}, form: lazily(`[?&](?:sig|Signature|X-Amz-Signature|X-Goog-Signature)=`), keeps: func(_, value string) bool { return len(value) < 10 }},

		// Options by what they are called, and those of well-known programs.
		{by: byOption, form: lazily(`(?i)(?:^|[\s"'])--?(?P<name>(?:[a-z0-9]+[-_])*(?:password|passwd|passphrase|(?:store|key|src|dest|deststore|srcstore)?pass|token|api-?key|secret|secret-?key|access-?key|auth-?key|(?:access|auth|bearer|client|refresh|session)-?(?:token|secret)))["']?\s+`), keeps: isNext},
		{kind: "password", hints: []string{"curl", "http", "xh", "wget"}, form: lazily(`\b(?:curl|http|https|xh|wget)\s` + rest + `(?:-[A-Za-z]*[uU]|--user|--proxy-user|-a|--auth)[\s=]*["']?(?P<name>[^\s:"'$]+):`)},
		{kind: "password", hints: []string{"login"}, form: lazily(`\b(?:docker|podman|buildah|skopeo|helm|oras|az|heroku|crane)\s` + rest + `login\s` + rest + `-p[\s=]*`), keeps: isNext},
		{kind: "password", hints: []string{"mysql", "mariadb"}, form: lazily(`\b(?:mysql|mysqldump|mysqladmin|mysqlimport|mariadb|mariadb-dump)\s` + rest + `-p`)},
		{kind: "password", hints: []string{"sshpass"}, form: lazily(`\bsshpass\s+-p\s*`)},
		{kind: "password", hints: []string{"redis-cli"}, form: lazily(`\bredis-cli\s` + rest + `-a\s+`)},
		{kind: "password", hints: []string{"-pass"}, form: lazily(`\s-pass(?:in|out)\s+["']?(?P<name>pass):`)},
		{kind: "password", hints: []string{"<<<"}, form: lazily(`\s--(?:password-stdin|with-token|token-stdin)\b[^|;&\n]*?<<<\s*`)},
		{kind: "password", hints: []string{"machine"}, form: lazily(`\bmachine\s+\S+\s+login\s+\S+\s+password\s+`)},
		{kind: "secret", hints: []string{"secret"}, form: lazily(`\bgh\s+secret\s+set\s` + rest + `(?:--body|-b)[\s=]+`)},
		{kind: "secret", hints: []string{"from-literal"}, form: lazily(`\bcreate\s+secret\s` + rest + `--from-literal[\s=]+["']?(?P<name>[^\s="']+)=`)},
		{kind: "secret", hints: []string{"secret"}, form: lazily(`\bsecrets?\s+set\s` + rest + `["']?` + named + `=`)},
		{hints: []string{"set -", "setenv", "configure"}, form: lazily(`\b(?:set\s+-[a-zA-Z]+|setenv|aws\s+configure\s+set)\s+` + named + `\s+`), keeps: notSecret},
		{kind: "token", hints: []string{":_auth", ":_password"}, form: lazily(`(?i):_(?:authToken|auth|password)["']?[\s=]+`), keeps: isNext},

		// Variables and fields by what they are called.
		{by: bySign, form: lazily(before + `-{0,2}\\?["']?` + named + `\\?["']?=`), keeps: notSecret},
		{by: bySign, form: lazily(before + named + ` ?:?= ?`), quoted: true, keeps: notSecret},
		{by: bySign, form: lazily(`(?m)^[ \t]*` + named + `[ \t]*=[ \t]+`), alone: true, keeps: notDrawn},
		{by: bySign, form: lazily(`\[\\?["']` + named + `\\?["']\]\s*=\s*`), quoted: true, keeps: notSecret},
		{by: bySign, form: lazily(`\\?["']` + named + `\\?["']\s*:\s*`), keeps: notSecretField},
		{by: bySign, form: lazily(`(?m)^[ \t]*(?:- )?` + named + `:[ \t]+`), alone: true, keeps: notSecretField},
		{by: bySign, form: lazily(`\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*):?[-=]`), keeps: notSecret},
	}
})

// secretName finds the word in a name that makes its value secret. One in the
// middle of a name says something about a secret and not what it is.
var secretName = lazily(`(?i)(?:(password|passwd|passphrase|passwort)|(secret|credentials?)|(token)|(api[_-]?key|access[_-]?key(?:[_-]?id)?|secret[_-]?key|private[_-]?key|signing[_-]?key|encryption[_-]?key|master[_-]?key|account[_-]?key|[_-]key)|([_-]pwd|[_-]pass|(?:gh|git|github|gitlab|azure|ado|devops)[_-]pat))$`)

// openKeys are names of keys that open nothing.
var openKeys = lazily(`(?i)(?:^|[_-])(?:public|primary|foreign|sort|partition|cache|lookup|group|index|row|hash|range|map|dict|object|route|translation|i18n|unique|natural|composite|hot|shortcut|registry|storage|idempotency)[_-]key$`)

// kindOf says what a name calls its value, "" if nothing secret.
func kindOf(name string) string {
	if !secretEnd(name, false) {
		return ""
	}
	m := secretName().FindStringSubmatch(name)
	switch {
	case m == nil || openKeys().MatchString(name):
		return ""
	case m[1] != "" || m[5] != "":
		return "password"
	case m[3] != "":
		return "token"
	case m[4] != "":
		return "key"
	}
	return "secret"
}

// words are values that are no secrets, whatever their name.
var words = []string{
	"true", "false", "yes", "no", "on", "off", "null", "none", "nil", "undefined", "required", "optional", "string", "str", "int", "bool", "number", "any", "unset", "disabled", "enabled", "auto", "default", "prompt", "stdin", "file", "env", "inherit", "include", "omit", "same-origin",
}

// stands reports whether a value only stands for another, or for none.
func stands(value string) bool {
	bare := strings.Trim(value, `"'\`)
	switch {
	case bare == "", bare == "$", strings.HasPrefix(bare, "[redacted"), reference().MatchString(bare), slices.Contains(words, strings.ToLower(strings.TrimRight(bare, ",;)]}!?"))):
		return true
	case strings.HasPrefix(bare, "<"), strings.HasPrefix(bare, "{{"), strings.HasPrefix(bare, "%("), strings.Trim(bare, "*") == "", strings.Trim(bare, "xX") == "", strings.Trim(bare, ".…") == "":
		return true // a placeholder
	}
	return false
}

// reference is a value that is taken from somewhere else, perhaps with a path
// behind it.
var reference = lazily("^(?:\\$(?:[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?!$]|\\{[A-Za-z0-9_.]*\\}|\\(.*|\\{\\{.*)(?:/[A-Za-z0-9_./-]*)?|`.*|%[A-Za-z_]+%|@[A-Za-z0-9_./~-]*|(?:env|file|fd|stdin):.*)[:.,;)\\]}]*$")

// expression is a value in a program that is computed.
var expression = lazily(`^(?:os|process|env|settings|config|cfg|conf|self|this|args|opts|options|flags|ctx|req|request|response|resp|res|data|params|props|event|user|account|secrets|vars|inputs|github|matrix|steps|state|store|session|credentials|result|body|payload)(?:\.[A-Za-z_][A-Za-z0-9_]*|\[[^\]]*\]?)+[,;]?$|^[A-Za-z_][A-Za-z0-9_]*\[[^\]]*\]?$|^await$`)

// file is a value that is the path of one.
var file = lazily(`^(?:~|\.{1,2})?/?(?:[A-Za-z0-9_.@-]+/)*[A-Za-z0-9_@-][A-Za-z0-9_.@-]*\.(?:pem|key|crt|cer|pub|p12|pfx|asc|gpg|json|ya?ml|txt|env|toml|ini|conf|cfg|md|go|py|ts|tsx|js|jsx|rs|rb|java|kt|sh|sql|html|css)$|^(?:~|\.{1,2})/[A-Za-z0-9_./@-]+$|^(?:/[a-z0-9_.@-]+)+/?$`)

// isFile reports whether a value is the path of a file, with no part that looks as
// if it were drawn.
func isFile(value string) bool {
	return file().MatchString(value) && !slices.ContainsFunc(strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune("/._-@~", r) }), func(part string) bool {
		return len(part) >= 10 && (mixed(part) || part != strings.ToLower(part) && part != strings.ToUpper(part))
	})
}

// notSecret keeps what a name does not call secret, and what cannot be one.
func notSecret(name, value string) bool {
	kind := kindOf(name)
	switch {
	case kind == "", expression().MatchString(value), isFile(value), strings.EqualFold(strings.TrimRight(value, ",;"), name):
		return true
	case kind != "password" && strings.Trim(value, "0123456789") == "":
		return true // a count, or an index
	case kind == "key" && len(value) < 6:
		return true
	case strings.HasPrefix(value, "id=") || strings.HasPrefix(value, "type="):
		return true // of a build that is given a secret by its name
	}
	return false
}

// notSecretField is notSecret for a field: one that is set to a variable of a program
// holds no secret.
func notSecretField(name, value string) bool {
	return notSecret(name, value) || variable().MatchString(value)
}

// notDrawn is notSecret for a line that may be one of a program: only what looks as
// if it were drawn is taken for a secret.
func notDrawn(name, value string) bool {
	return notSecret(name, value) || len(value) < 16 || !mixed(value) || strings.Contains(value, ".")
}

var variable = lazily(`^[&*]?[A-Za-z_][A-Za-z0-9_.]*,$`)

// isNext keeps what follows an option that has no value, or a number of a pass.
func isNext(_, value string) bool {
	return strings.HasPrefix(value, "-") || len(value) < 3 && strings.Trim(value, "0123456789") == "" || isFile(value) || strings.HasPrefix(value, "id=") || strings.HasPrefix(value, "type=")
}

// isScheme keeps a header that is only searched for.
func isScheme(_, value string) bool {
	switch strings.ToLower(strings.TrimSpace(value[:min(len(value), 40)])) {
	case "bearer", "basic", "token", "digest", "apikey", "negotiate":
		return true
	}
	return strings.ContainsAny(value[:1], "$`{<*.\\") || isProse("", value)
}

// isProse keeps what is said about a header, in the subject of a commit as a rule:
// several words, none of which is set to something or looks as if it were drawn.
func isProse(_, value string) bool {
	words := strings.Fields(value[:min(len(value), 400)])
	return len(words) > 2 && !slices.ContainsFunc(words, func(w string) bool {
		return strings.Contains(w, "=") || len(w) >= 8 && mixed(w) || len(w) >= 20
	})
}

// replaceValues replaces the values that stand in a place.
func replaceValues(text string, p place) string {
	var out strings.Builder
	at := 0
	for at < len(text) {
		m := p.form().FindStringSubmatchIndex(text[at:])
		if m == nil {
			break
		}
		for i := range m {
			if m[i] >= 0 {
				m[i] += at
			}
		}
		from, to, kind := p.secret(text, m)
		if kind == "" {
			// What is kept may hold another place.
			next := max(m[1], at+1)
			out.WriteString(text[at:next])
			at = next
			continue
		}
		out.WriteString(text[at:from] + mark(kind))
		at = to
	}
	out.WriteString(text[min(at, len(text)):])
	return out.String()
}

// secret finds the value behind a match of a place's form and says what it is, "" if it is
// no secret.
func (p place) secret(text string, m []int) (from, to int, kind string) {
	name, begin, first := "", m[1], m[0]
	if gap := continued().FindStringIndex(text[begin:]); gap != nil {
		begin += gap[1]
	}
	if group := p.form().SubexpIndex("name"); group > 0 && m[2*group] >= 0 {
		first = m[2*group]
		name = text[first:m[2*group+1]]
	}
	from, to = p.valueAt(text, first, len(name), begin)
	value := text[from:to]
	if stands(value) || p.keeps != nil && p.keeps(name, value) || p.quoted && from == begin || p.alone && !lastOnLine(text, to) || isCall(text, to) {
		return from, to, ""
	}
	return from, to, cmp.Or(p.kind, kindOf(name), "password")
}

// isCall reports whether what ends here is the name of a function that is called.
func isCall(text string, at int) bool {
	return at > 0 && at < len(text) && text[at] == '(' && text[at-1] != '$' && text[at-1] != ' '
}

// lastOnLine reports whether nothing of weight follows on the line.
func lastOnLine(text string, at int) bool {
	line, _, _ := strings.Cut(text[at:], "\n")
	line, _, _ = strings.Cut(line, `\n`)
	line = strings.TrimLeft(line, "\"'`,; \t\r")
	return line == "" || line[0] == '#' || line[0] == '}' || line[0] == ']'
}

// valueAt finds the value that begins at a place in a text: a quoted one without
// its quotes, else a word as a shell would take it. name is where what names it
// begins, and how long that is. Where the text ends in the middle of the value, all
// there is counts.
func (p place) valueAt(text string, name, size, at int) (from, to int) {
	quote := within(text, name, size)
	if !p.header && quote != "" && strings.HasPrefix(text[at:], quote) {
		return at, at // it closes what the name stands in
	}
	for _, open := range []string{`\"`, `\'`, `"`, `'`, `$'`, `$"`} {
		if p.header || !strings.HasPrefix(text[at:], open) {
			continue
		}
		begin := at + len(open)
		closing := strings.TrimPrefix(open, "$")
		end := closed(text, begin, closing)
		after := min(end+len(closing), len(text))
		if ends(text, after) {
			return begin, end
		}
		return at, wordEnd(text, after) // more of the same word follows
	}
	switch {
	case quote != "":
		return at, closed(text, at, quote)
	case p.header && text[at-1] != ':':
		end := strings.IndexAny(text[at:], "\"'\r\n`")
		if end < 0 {
			end = len(text) - at
		}
		return at, at + end
	}
	return at, wordEnd(text, at)
}

// script are the words after which a quoted text is a command line and not one
// word.
var script = lazily(`(?:\s-[a-z]*c|\beval|\bssh\s+\S+)\s+$`)

// within gives the quote that a name and its value stand in together, "" if they do
// not.
func within(text string, name, size int) string {
	start := strings.TrimRight(text[:name], "-")
	for _, quote := range []string{`\"`, `\'`, `"`, `'`} {
		head, ok := strings.CutSuffix(start, quote)
		if !ok {
			continue
		}
		if strings.HasPrefix(text[name+size:], quote) || script().MatchString(head[max(0, len(head)-200):]) {
			return ""
		}
		return quote
	}
	return ""
}

// closed finds the end of a quoted text.
func closed(text string, at int, closing string) int {
	for i := at; i < len(text); i++ {
		if strings.HasPrefix(text[i:], closing) {
			return i
		}
		if text[i] == '\\' && closing == `"` {
			i++
		}
	}
	return len(text)
}

// breaks are characters that end a word outside of quotes.
const breaks = " \t\r\n;|&<>()`"

func ends(text string, at int) bool {
	return at >= len(text) || strings.IndexByte(breaks+`,]}"'\:`, text[at]) >= 0
}

// wordEnd finds the end of a word. A quote with something right behind it opens a
// part of the word; another one closes what the word stands in.
func wordEnd(text string, at int) int {
	for i := at; i < len(text); i++ {
		switch c := text[i]; {
		case strings.IndexByte(breaks, c) >= 0:
			return i
		case c == '\\':
			if nextLine().MatchString(text[i:]) {
				return i
			}
			i++
		case c == '"' || c == '\'':
			if i == at || ends(text, i+1) {
				return i
			}
			i = closed(text, i+1, string(c))
		}
	}
	return len(text)
}

// continued is the end of a line that continues in the next one.
var continued = lazily(`^(?:\\\r?\n[ \t]*)+`)

// nextLine is an escaped end of a line, or of what a word is quoted in.
var nextLine = lazily(`^\\(?:\r?\n|[nrt](?:$|["'\s\\}]|[A-Za-z_][A-Za-z0-9_.-]*\s*[=:])|["'])`)
