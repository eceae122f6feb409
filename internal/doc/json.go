package doc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"reprise"
)

// maxDepth bounds the nesting of JSON and YAML. Real files stay below 20.
const maxDepth = 200

var bom = []byte("\xef\xbb\xbf")

// JSON parses the file as one JSON document. It returns nil and reports why if
// the file is missing parts, is not JSON, or goes on after its end; nil without
// a report only if the file does not exist or was reported when it was opened.
//
// The standard decoder gives no positions and hides keys that stand twice, so
// the document is parsed here; a fuzz test holds it against encoding/json.
func (f *File) JSON() *Node {
	if !f.ok {
		return nil
	}
	p := &jsonParser{file: f, data: f.Data, line: 1}
	n, err := p.document()
	if err != nil {
		f.Report(reprise.Warning, reprise.CodeUnreadable, lineAt(f.Data, p.pos), "not valid JSON: "+err.Error(),
			"the write may have been cut off; look for a second copy or a backup")
		return nil
	}
	return n
}

var errEnd = errors.New("the document ends too early")

// jsonParser walks the bytes once. pos is the next byte, line its line; lineTo
// is how far lines have been counted.
type jsonParser struct {
	file   *File
	data   []byte
	pos    int
	line   int
	lineTo int
}

func (p *jsonParser) document() (*Node, error) {
	if bytes.HasPrefix(p.data, bom) {
		p.pos = len(bom)
	}
	if len(bytes.TrimSpace(p.data[p.pos:])) == 0 {
		p.pos = len(p.data)
		return nil, errors.New("the file is empty")
	}
	if i := bytes.IndexByte(p.data, 0); i >= 0 {
		p.pos = i
		return nil, errors.New("NUL bytes in the file, as a power cut leaves them")
	}
	n, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if p.space(); p.pos < len(p.data) {
		return nil, errors.New("more text after the end of the document")
	}
	return n, nil
}

// space skips blanks.
func (p *jsonParser) space() {
	for p.pos < len(p.data) {
		switch p.data[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

// node begins a value at the present position.
func (p *jsonParser) node(kind NodeKind) *Node {
	p.line += bytes.Count(p.data[p.lineTo:p.pos], []byte{'\n'})
	p.lineTo = p.pos
	return &Node{Kind: kind, Line: p.line, Start: p.pos, file: p.file}
}

func (p *jsonParser) value(depth int) (n *Node, err error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("nested deeper than %d levels", maxDepth)
	}
	p.space()
	if p.pos >= len(p.data) {
		return nil, errEnd
	}
	switch c := p.data[p.pos]; {
	case c == '{':
		n = p.node(Map)
		err = p.object(n, depth)
	case c == '[':
		n = p.node(List)
		err = p.list(n, depth)
	case c == '"':
		n = p.node(String)
		n.Text, err = p.text()
	case c == '-' || c >= '0' && c <= '9':
		n = p.node(Number)
		err = p.number()
		n.Text = string(p.data[n.Start:p.pos])
	case c == 't':
		n, err = p.literal(Bool, "true")
	case c == 'f':
		n, err = p.literal(Bool, "false")
	case c == 'n':
		n, err = p.literal(Null, "null")
	default:
		return nil, fmt.Errorf("invalid character %q where a value belongs", rune(c))
	}
	if err != nil {
		return nil, err
	}
	n.End = p.pos
	return n, nil
}

func (p *jsonParser) literal(kind NodeKind, word string) (*Node, error) {
	rest := p.data[p.pos:]
	if len(rest) < len(word) && bytes.HasPrefix([]byte(word), rest) {
		p.pos = len(p.data)
		return nil, errEnd
	}
	if !bytes.HasPrefix(rest, []byte(word)) {
		return nil, fmt.Errorf("invalid character in the word %s", word)
	}
	n := p.node(kind)
	n.Text = word
	p.pos += len(word)
	return n, nil
}

// after skips blanks and takes one byte; a comma means that more follows.
func (p *jsonParser) after(end byte) (more bool, err error) {
	p.space()
	if p.pos >= len(p.data) {
		return false, errEnd
	}
	switch c := p.data[p.pos]; c {
	case ',':
		p.pos++
		return true, nil
	case end:
		p.pos++
		return false, nil
	default:
		return false, fmt.Errorf("invalid character %q where %q or a comma belongs", rune(c), rune(end))
	}
}

// empty takes the end of an empty list or object.
func (p *jsonParser) empty(end byte) bool {
	p.pos++
	p.space()
	if p.pos < len(p.data) && p.data[p.pos] == end {
		p.pos++
		return true
	}
	return false
}

func (p *jsonParser) list(n *Node, depth int) error {
	if p.empty(']') {
		return nil
	}
	for {
		item, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		n.Items = append(n.Items, item)
		if more, err := p.after(']'); !more {
			return err
		}
	}
}

func (p *jsonParser) object(n *Node, depth int) error {
	if p.empty('}') {
		return nil
	}
	for {
		p.space()
		if p.pos >= len(p.data) {
			return errEnd
		}
		if p.data[p.pos] != '"' {
			return fmt.Errorf("invalid character %q where a key belongs", rune(p.data[p.pos]))
		}
		key := p.node(String)
		name, err := p.text()
		if err != nil {
			return err
		}
		if p.space(); p.pos >= len(p.data) {
			return errEnd
		}
		if p.data[p.pos] != ':' {
			return fmt.Errorf("invalid character %q after a key", rune(p.data[p.pos]))
		}
		p.pos++
		value, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		n.Keys = append(n.Keys, Field{Name: name, Line: key.Line, Value: value})
		if more, err := p.after('}'); !more {
			if err == nil {
				p.doubled(n)
			}
			return err
		}
	}
}

// doubled reports keys that stand twice.
func (p *jsonParser) doubled(n *Node) {
	if len(n.Keys) < 2 {
		return
	}
	seen := make(map[string]bool, len(n.Keys))
	for _, k := range n.Keys {
		if seen[k.Name] {
			p.file.Report(reprise.Warning, reprise.CodeDuplicateKey, k.Line,
				fmt.Sprintf("key %q stands twice in one object; the last one counts", Clip(k.Name, 40)), "")
		}
		seen[k.Name] = true
	}
}

// text takes a string. Plain ones are copied as they stand; what holds escapes
// or broken UTF-8 is left to encoding/json.
func (p *jsonParser) text() (string, error) {
	start := p.pos
	plain := true
	for i := start + 1; i < len(p.data); i++ {
		switch c := p.data[i]; {
		case c == '"':
			p.pos = i + 1
			raw := p.data[start+1 : i]
			if plain || utf8.Valid(raw) && bytes.IndexByte(raw, '\\') < 0 {
				return string(raw), nil
			}
			var s string
			if err := json.Unmarshal(p.data[start:i+1], &s); err != nil {
				p.pos = start
				return "", errors.New("a string holds an invalid escape")
			}
			return s, nil
		case c == '\\':
			plain = false
			i++
		case c < ' ':
			p.pos = i
			return "", fmt.Errorf("invalid character %q in a string", rune(c))
		case c >= utf8.RuneSelf:
			plain = false
		}
	}
	p.pos = len(p.data)
	return "", errEnd
}

// number takes a number by the grammar of JSON.
func (p *jsonParser) number() error {
	start := p.pos
	if p.data[p.pos] == '-' {
		p.pos++
	}
	if p.pos < len(p.data) && p.data[p.pos] == '0' {
		p.pos++
	} else if err := p.digits(start); err != nil {
		return err
	}
	if p.pos < len(p.data) && p.data[p.pos] == '.' {
		p.pos++
		if err := p.digits(start); err != nil {
			return err
		}
	}
	if p.pos < len(p.data) && (p.data[p.pos] == 'e' || p.data[p.pos] == 'E') {
		p.pos++
		if p.pos < len(p.data) && (p.data[p.pos] == '+' || p.data[p.pos] == '-') {
			p.pos++
		}
		return p.digits(start)
	}
	return nil
}

func (p *jsonParser) digits(start int) error {
	from := p.pos
	for p.pos < len(p.data) && p.data[p.pos] >= '0' && p.data[p.pos] <= '9' {
		p.pos++
	}
	if p.pos > from {
		return nil
	}
	if p.pos >= len(p.data) {
		return errEnd
	}
	return fmt.Errorf("invalid number %q", Clip(string(p.data[start:p.pos+1]), 20))
}

func lineAt(data []byte, offset int) int {
	return bytes.Count(data[:min(max(offset, 0), len(data))], []byte{'\n'}) + 1
}
