package redact

import (
	"encoding/json"
	"math/bits"
	"slices"
	"strings"
	"sync"
)

// mostChunk is how much of a text is looked at together if its lines are longer: what a
// form costs is bounded by it.
const mostChunk = 4 << 10

// Text takes out of a text what looks like a secret, by the forms that Shown tells of, and
// leaves the rest as it is: hashes, digests, ids and names of files. It takes time in
// proportion to the text. It has to see the text before that is cut, wrapped or escaped:
// half of a secret has no form.
func Text(text string) string {
	if strings.Contains(text, "PRIVATE KEY") {
		text = hideKeys(text)
	}
	var out strings.Builder
	for done := 0; done < len(text); {
		size := chunk(text[done:])
		part := text[done : done+size]
		if shown := hide(part); out.Len() > 0 || shown != part {
			if out.Len() == 0 {
				out.Grow(len(text))
				out.WriteString(text[:done])
			}
			out.WriteString(shown)
		}
		done += size
	}
	if out.Len() == 0 {
		return text
	}
	return out.String()
}

// JSON takes what looks like a secret out of the values of a JSON document, which stays
// valid. Names of fields are left alone.
func JSON(doc string) string {
	var out strings.Builder
	done := 0
	for at := 0; at < len(doc); {
		open := strings.IndexByte(doc[at:], '"')
		if open < 0 {
			break
		}
		from := at + open + 1
		to := from
		plain := true
		for to < len(doc) && doc[to] != '"' {
			if doc[to] == '\\' {
				plain = false
				to++
			}
			to++
		}
		if to >= len(doc) {
			break
		}
		at = to + 1
		if rest := strings.TrimLeft(doc[at:min(at+8, len(doc))], " \t\r\n"); strings.HasPrefix(rest, ":") {
			continue
		}
		value := doc[from:to]
		if !plain && json.Unmarshal([]byte(doc[from-1:to+1]), &value) != nil {
			continue
		}
		shown := Text(value)
		if shown == value {
			continue
		}
		out.WriteString(doc[done:from])
		out.WriteString(escaped(shown, false))
		done = to
	}
	if done == 0 {
		return doc
	}
	out.WriteString(doc[done:])
	return out.String()
}

// chunk says how much of a text is looked at together: a line with those that continue it,
// of a very long one a part that ends between words.
func chunk(text string) int {
	for at := 0; ; {
		end := strings.IndexByte(text[at:min(len(text), mostChunk)], '\n')
		if end < 0 {
			break
		}
		line := strings.TrimSpace(text[at : at+end])
		at += end + 1
		if !strings.HasSuffix(line, `\`) && !strings.HasPrefix(line, "machine ") && !strings.HasPrefix(line, "login ") {
			return at
		}
	}
	if len(text) <= mostChunk {
		return len(text)
	}
	for _, breaks := range []string{"\n", " \t,;{}&", `"'()<>|`} {
		if at := strings.LastIndexAny(text[mostChunk/2:mostChunk], breaks); at >= 0 {
			return mostChunk/2 + at + 1
		}
	}
	return mostChunk
}

// hide takes what looks like a secret out of a chunk.
func hide(text string) string {
	found := lookFor(text)
	for i, t := range tokens() {
		if found.tokens&(1<<i) != 0 {
			text = replace(text, t.form, func(string, string) string { return mark(t.kind) })
			if t.cut != nil && strings.Contains(text, "…") {
				text = replace(text, t.cut, func(value, _ string) string {
					if !mixed(value) {
						return value
					}
					return mark(t.kind)
				})
			}
		}
	}
	if found.url {
		text = hideURLs(text)
	}
	if strings.Contains(text, "--password-stdin") || strings.Contains(text, "--with-token") || strings.Contains(text, "--token-stdin") {
		text = hidePiped(text)
	}
	for i, p := range places() {
		if found.places&(1<<i) != 0 {
			text = replaceValues(text, p)
		}
	}
	if found.named {
		text = hideNamed(text)
	}
	return text
}

// How a name that calls its value secret stands before it.
const (
	bySign   = 1 // with = or : between them
	byOption = 2 // as an option, which ends with a space
)

// hideNamed replaces the values that a name before them calls secret.
func hideNamed(text string) string {
	var out strings.Builder
	done := 0
	for i := 0; i < len(text); i++ {
		by, name, end := namedAt(text, i)
		if by == 0 || by == bySign && kindOf(text[name:end]) == "" {
			continue
		}
		from, to := max(done, name-8), i+1
		for to < len(text) && to < i+32 && strings.IndexByte("= \t\r\n", text[to]) >= 0 {
			to++
		}
		for _, p := range places() {
			if p.by != by {
				continue
			}
			from := from
			m := p.form().FindStringSubmatchIndex(text[from:to])
			for m != nil && from+m[1] <= i { // of the name before
				from += max(m[1], 1)
				m = p.form().FindStringSubmatchIndex(text[from:to])
			}
			if m == nil {
				continue
			}
			for at := range m {
				if m[at] >= 0 {
					m[at] += from
				}
			}
			if begin, after, kind := p.secret(text, m); kind != "" {
				out.WriteString(text[done:begin] + mark(kind))
				done, i = after, after-1
				break
			}
		}
	}
	if done == 0 {
		return text
	}
	out.WriteString(text[done:])
	return out.String()
}

// namedAt reports whether what stands before this byte is a name that may call what
// follows secret, how, and where the name begins and ends.
func namedAt(text string, i int) (by, name, end int) {
	end = i
	switch text[i] {
	case '=', ':', '-':
		for end > 0 && end > i-16 && strings.IndexByte(" \t\"'\\]:?", text[end-1]) >= 0 {
			end--
		}
		by = bySign
	case ' ', '\t', '\n', '\r':
		for end > 0 && end > i-2 && strings.IndexByte(`"'`, text[end-1]) >= 0 {
			end--
		}
		by = byOption
	default:
		return 0, 0, 0
	}
	if !secretEnd(text[:end], by == bySign) {
		return 0, 0, 0
	}
	for name = end; name > 0 && name > end-80; name-- {
		if c := text[name-1]; c != '_' && c != '-' && c != '.' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			break
		}
	}
	if by == byOption && text[name] != '-' || text[i] == '-' && !strings.HasSuffix(text[:name], "${") {
		return 0, 0, 0
	}
	return by, name, end
}

// hinted is what a text may hold, told without an expression.
type hinted struct {
	tokens, places uint64 // by where they stand in their tables
	named, url     bool
}

// pairs are what has a hint with this byte first, and second: a text is compared with the
// hints only where both are there.
type pairs [2][256]uint64

func (p *pairs) add(i int, hint string) {
	p[0][hint[0]] |= 1 << i
	p[1][hint[1]] |= 1 << i
}

func (p *pairs) at(a, b byte) uint64 { return p[0][a] & p[1][b] }

// hints are those of the tokens, and of the places in small letters.
var hints = sync.OnceValue(func() *struct{ tokens, places pairs } {
	of := new(struct{ tokens, places pairs })
	for i, t := range tokens() {
		for _, hint := range t.hints {
			of.tokens.add(i, hint)
		}
	}
	for i, p := range places() {
		for _, hint := range p.hints {
			of.places.add(i, hint)
		}
	}
	return of
})

// small is a letter as a small one.
func small(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c | 0x20
	}
	return c
}

// lookFor goes through a text once.
func lookFor(text string) (h hinted) {
	of, list := hints(), places()
	slashes := false
	for i := 0; i+1 < len(text); i++ {
		c, next := text[i], text[i+1]
		for set := of.tokens.at(c, next) &^ h.tokens; set != 0; set &= set - 1 {
			t := bits.TrailingZeros64(set)
			if slices.ContainsFunc(tokens()[t].hints, func(hint string) bool { return strings.HasPrefix(text[i:], hint) }) {
				h.tokens |= 1 << t
			}
		}
		for set := of.places.at(small(c), small(next)) &^ h.places; set != 0; set &= set - 1 {
			p := bits.TrailingZeros64(set)
			if slices.ContainsFunc(list[p].hints, func(hint string) bool {
				return len(text)-i >= len(hint) && strings.EqualFold(text[i:i+len(hint)], hint)
			}) {
				h.places |= 1 << p
			}
		}
		switch c {
		case '=', ':', ' ', '\t', '\n', '\r', '-':
			if !h.named {
				by, _, _ := namedAt(text, i)
				h.named = by != 0
			}
			slashes = slashes || strings.HasPrefix(text[i:], "://")
		case '@':
			h.url = h.url || slashes
		}
	}
	return h
}

// secretEnd reports whether a text ends with one of the words of secretName.
func secretEnd(text string, apart bool) bool {
	if text == "" {
		return false
	}
	ends := func(word string) bool {
		at := len(text) - len(word)
		return at >= 0 && strings.EqualFold(text[at:], word)
	}
	joined := func(word string) bool {
		at := len(text) - len(word)
		return ends(word) && (!apart || at > 0 && (text[at-1] == '_' || text[at-1] == '-'))
	}
	switch text[len(text)-1] | 0x20 {
	case 'd':
		return ends("password") || ends("passwd") || joined("pwd")
	case 'e':
		return ends("passphrase")
	case 't':
		return ends("secret") || ends("passwort") || joined("pat")
	case 'l':
		return ends("credential")
	case 's':
		return ends("credentials") || joined("pass")
	case 'n':
		return ends("token")
	case 'y':
		return ends("key")
	case 'h':
		return ends("_auth")
	}
	return false
}

// keyHead is the beginning of a private key in the armour of PEM or PGP, with the first
// of what it holds: a header with nothing behind it is what a person searches for. keyBody
// is what there is of one that has no end, keyRest of one that has no beginning; between
// its lines may stand what quotes or numbers them.
var (
	keyHead = lazily(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----` + keyGap + `(?:[A-Za-z0-9+/=]{16}|Proc-Type:|Version:|Comment:)`)
	keyEnd  = lazily(`-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----`)
	keyBody = lazily(`^-----BEGIN [A-Z0-9 ]*-----(?:` + keyGap + `(?:Proc-Type|DEK-Info|Version|Comment):[^\n\\]*)*(?:` + keyGap + `[A-Za-z0-9+/=]{16,})*`)
	keyRest = lazily(`(?:[A-Za-z0-9+/=]{16,}` + keyGap + `)+(?:[A-Za-z0-9+/=]{1,15}` + keyGap + `)?$`)
)

const (
	keyGap  = `(?:\s|\\+[nrt]|["',+>|]|[0-9]{1,5}[→:|])*`
	longKey = 32 << 10
)

// hideKeys takes private keys out of a text, whole or cut off at either end.
func hideKeys(text string) string {
	heads, ends := keyHead().FindAllStringIndex(text, -1), keyEnd().FindAllStringIndex(text, -1)
	var out strings.Builder
	done, seen := 0, 0
	cut := func(from, to int) {
		out.WriteString(text[done:from] + mark("private key"))
		done = to
	}
	for len(heads)+len(ends) > 0 {
		switch {
		case len(heads) > 0 && heads[0][0] < done:
			heads = heads[1:]
		case len(ends) > 0 && ends[0][0] < done:
			ends = ends[1:]
		case len(ends) > 0 && (len(heads) == 0 || ends[0][0] < heads[0][0]):
			from := max(done, seen, ends[0][0]-longKey)
			if rest := keyRest().FindStringIndex(text[from:ends[0][0]]); rest != nil {
				cut(from+rest[0], ends[0][1])
			}
			seen, ends = ends[0][1], ends[1:]
		case len(ends) > 0 && ends[0][1]-heads[0][0] <= longKey && (len(heads) == 1 || ends[0][0] < heads[1][0]):
			cut(heads[0][0], ends[0][1])
		default:
			until := len(text)
			if len(heads) > 1 {
				until = heads[1][0]
			}
			cut(heads[0][0], heads[0][0]+keyBody().FindStringIndex(text[heads[0][0]:min(until, heads[0][0]+longKey)])[1])
		}
	}
	out.WriteString(text[done:])
	return out.String()
}
