// Package redact takes secrets out of text: those whose values are known, in
// the forms in which programs print them, and what only looks like a secret.
// What it takes out is replaced by a mark; the rest stays as it is.
package redact

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"reprise"
)

// mask stands where a secret was.
const mask = "[redacted]"

// Shortest values that are looked for. Below the first a value would be found
// everywhere; the second holds for pieces that are not the whole value.
const (
	shortestSecret = 4
	shortestPiece  = 8
	shortestLine   = 16
)

// Redactor takes secrets out of text by their value: as they are, in base64 at
// any alignment, in hexadecimal, and as URLs and JSON write them; of a secret
// with several lines, each line of some length too. Values shorter than four
// bytes are left alone. What a program enciphers, compresses or prints letter
// by letter is not found.
type Redactor struct {
	forms map[uint32][]string // by their first four bytes, longest first
	sieve [1 << 10]uint64     // which of 65,536 classes the first four bytes are in
}

// New makes one for these values.
func New(secrets []string) *Redactor {
	r := &Redactor{forms: map[uint32][]string{}}
	for _, secret := range secrets {
		r.learn(secret)
		r.learn(strings.TrimSpace(secret))
		if title := strings.Join(strings.FieldsFunc(secret, breaksMarkdown), " "); len(title) >= shortestPiece {
			r.learn(title) // as it stands in a title
		}
		if lines := strings.Split(secret, "\n"); len(lines) > 1 {
			for _, line := range lines {
				if line = strings.TrimSpace(line); len(line) >= shortestLine {
					r.learn(line)
				}
			}
		}
	}
	for _, forms := range r.forms {
		slices.SortStableFunc(forms, func(a, b string) int { return len(b) - len(a) })
	}
	return r
}

func (r *Redactor) learn(secret string) {
	if len(secret) < shortestSecret {
		return
	}
	r.add(secret)
	r.add(hex.EncodeToString([]byte(secret)))
	r.add(strings.ToUpper(hex.EncodeToString([]byte(secret))))
	for _, form := range []string{url.QueryEscape(secret), url.PathEscape(secret)} {
		r.add(form)
		r.add(lowerHex(form))
	}
	for _, html := range []bool{false, true} {
		once := escaped(secret, html)
		r.add(once)
		r.add(escaped(once, html)) // an event that quotes what a tool printed as JSON
	}
	for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for shift := range 3 {
			r.add(inner(alphabet, secret, shift))
		}
	}
}

// breaksMarkdown reports what is left out of a text that stands in a line of Markdown.
func breaksMarkdown(r rune) bool {
	return unicode.IsControl(r) || unicode.IsSpace(r) || strings.ContainsRune("`<>[]|", r)
}

// escaped is how JSON writes a text between its quotes.
func escaped(text string, html bool) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	if enc.Encode(text) != nil {
		return ""
	}
	quoted := strings.TrimSuffix(b.String(), "\n")
	return quoted[1 : len(quoted)-1]
}

// inner is the part of a base64 text that is the secret's alone when shift bytes
// stand before it and anything behind it.
func inner(alphabet *base64.Encoding, secret string, shift int) string {
	text := alphabet.EncodeToString(append(make([]byte, shift), secret...))
	first := (shift*8 + 5) / 6
	whole := (shift + len(secret)) * 8 / 6
	if whole-first < shortestPiece {
		// Too short to tell from other text, except as a text of its own.
		if shift == 0 && len(text) >= shortestPiece-2 {
			return text
		}
		return ""
	}
	return text[first:whole]
}

// lowerHex writes the escapes of a URL in small letters.
func lowerHex(text string) string {
	b := []byte(text)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], strings.ToLower(string(b[i+1:i+3])))
			i += 2
		}
	}
	return string(b)
}

func (r *Redactor) add(form string) {
	if len(form) < shortestSecret {
		return
	}
	head := binary.LittleEndian.Uint32([]byte(form[:4]))
	if slices.Contains(r.forms[head], form) {
		return
	}
	r.forms[head] = append(r.forms[head], form)
	class := classOf(head)
	r.sieve[class>>6] |= 1 << (class & 63)
}

func classOf(head uint32) uint32 { return head * 2654435761 >> 16 }

// find looks for the first form in b. With more to come it gives the place from
// which nothing can be said yet, len(b) if there is none; size is then zero.
func (r *Redactor) find(b []byte, more bool) (at, size int) {
	for i := 0; i+4 <= len(b); i++ {
		head := binary.LittleEndian.Uint32(b[i:])
		if class := classOf(head); r.sieve[class>>6]&(1<<(class&63)) == 0 {
			continue
		}
		for _, form := range r.forms[head] {
			switch rest := b[i:]; {
			case len(rest) >= len(form) && string(rest[:len(form)]) == form:
				return i, len(form)
			case len(rest) < len(form) && form[:len(rest)] == string(rest):
				if more {
					return i, 0
				}
				// The output ends within a secret: what there is of it counts.
				if len(rest) >= shortestPiece {
					return i, len(rest)
				}
			}
		}
	}
	if !more {
		return len(b), 0
	}
	for i := max(0, len(b)-3); i < len(b); i++ {
		for _, forms := range r.forms {
			if strings.HasPrefix(forms[0], string(b[i:])) {
				return i, 0
			}
		}
	}
	return len(b), 0
}

// String gives a text without secrets.
func (r *Redactor) String(text string) string {
	if len(r.forms) == 0 {
		return text
	}
	var out strings.Builder
	b := []byte(text)
	for {
		at, size := r.find(b, false)
		out.Write(b[:at])
		if size == 0 {
			return out.String()
		}
		out.WriteString(mask)
		b = b[at+size:]
	}
}

// Writer gives a writer that passes everything on without secrets, also those
// that come in pieces. What may be the beginning of a secret is held back until
// it is told apart; Close passes on the rest and does not close w.
func (r *Redactor) Writer(w io.Writer) io.WriteCloser { return &redacting{r: r, w: w} }

type redacting struct {
	r    *Redactor
	w    io.Writer
	held []byte // may be the beginning of a secret
	out  []byte
}

func (d *redacting) Write(p []byte) (int, error) {
	if len(d.r.forms) == 0 {
		return d.w.Write(p)
	}
	b := p
	if len(d.held) > 0 {
		b = append(d.held, p...)
	}
	return len(p), d.pass(b, true)
}

func (d *redacting) Close() error { return d.pass(d.held, false) }

func (d *redacting) pass(b []byte, more bool) error {
	d.out = d.out[:0]
	for {
		at, size := d.r.find(b, more)
		d.out = append(d.out, b[:at]...)
		b = b[at+size:]
		if size == 0 {
			break
		}
		d.out = append(d.out, mask...)
	}
	if !more {
		b = nil
	}
	d.held = append(d.held[:0:0], b...)
	if len(d.out) == 0 {
		return nil
	}
	_, err := d.w.Write(d.out)
	return err
}

// Reply takes the secrets out of a reply.
func (r *Redactor) Reply(p *reprise.Reply) {
	p.Summary, p.Verdict = r.String(p.Summary), r.String(p.Verdict)
	for i := range p.Questions {
		r.Asked(&p.Questions[i])
	}
	for i := range p.Gaps {
		g := &p.Gaps[i]
		g.ID, g.Priority, g.Question = r.String(g.ID), r.String(g.Priority), r.String(g.Question)
	}
	for i := range p.Issues {
		p.Issues[i] = r.String(p.Issues[i])
	}
}

// Asked takes the secrets out of a question. What its options grant is what they show:
// a grant with a secret in it allows nothing.
func (r *Redactor) Asked(q *reprise.Asked) {
	q.ID, q.Text, q.Subject = r.String(q.ID), r.String(q.Text), r.String(q.Subject)
	lists := [][]string{q.Options}
	if q.Grant != nil {
		lists = append(lists, q.Grant.Once, q.Grant.Run)
	}
	for _, list := range lists {
		for i := range list {
			list[i] = r.String(list[i])
		}
	}
	if q.Grant != nil {
		q.Options = q.Grant.Options()
	}
}
