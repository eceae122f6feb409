package splice

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"reprise/internal/doc"
)

// JSON is a JSON file while it is edited. What is new is laid out as the file is.
type JSON struct{ tree }

// NewJSON reads a JSON file. It returns an *Error with ErrUnreadable if it is
// not one whole JSON document.
func NewJSON(data []byte) (*JSON, error) {
	j := &JSON{}
	j.tree = tree{form: j, read: readJSON}
	return j, j.open(data, "JSON")
}

// Put is Set where there is such a value.
func (j *JSON) Put(path Path, value any) error {
	if find(j.root, path) != nil {
		return j.Set(path, value)
	}
	return j.tree.Put(path, value)
}

// plan implements layout.
func (j *JSON) plan(op string, path Path, n, v *doc.Node, key *string) ([]patch, error) {
	switch {
	case op == "append to" && n.Kind != doc.List, key != nil && n.Kind != doc.Map:
		return nil, &Error{op, path.String(), ErrNotFound, ""}
	case key != nil && !utf8.ValidString(*key):
		return nil, &Error{op, path.String(), ErrUnfit, "key is not valid UTF-8"}
	case key != nil:
		return []patch{j.insert(path[:len(path)-1], n, key, v)}, nil
	case op == "append to":
		return []patch{j.insert(path, n, nil, v)}, nil
	}
	s := j.style(n.Start)
	return []patch{{n.Start, n.End, s.render(v, leading(j.now, n.Start), s.multi && !j.inline(path))}}, nil
}

// insert makes a new entry, with a key in a map and without in a list, behind
// the last one of a collection.
func (j *JSON) insert(path Path, n *doc.Node, key *string, v *doc.Node) patch {
	starts := entries(j.now, n)
	s := j.style(n.Start)
	if len(starts) == 0 {
		indent, open, shut := leading(j.now, n.Start), "[", "]"
		if key != nil {
			open, shut = "{", "}"
		}
		if s.multi && !j.inline(path) || n == j.root {
			inner := indent + s.unit
			return patch{n.Start, n.End, open + s.nl + inner + s.entry(key, v, inner, true) + s.nl + indent + shut}
		}
		return patch{n.Start, n.End, open + s.entry(key, v, indent, false) + shut}
	}
	last, at := lastOf(n), starts[len(starts)-1]
	s.nl = lineEnd(j.now, at.key)
	gap := string(j.now[at.from:at.key]) // the blanks before the last entry
	i := strings.LastIndexByte(gap, '\n')
	if i < 0 {
		if len(starts) == 1 {
			gap = s.comma[1:]
		}
		return patch{last.End, last.End, "," + gap + s.entry(key, v, "", false)}
	}
	indent := gap[i+1:]
	multi := !composite(last) || last.Kind != v.Kind || !last.Holds() || bytes.IndexByte(j.now[last.Start:last.End], '\n') >= 0
	return patch{last.End, last.End, "," + s.nl + indent + s.entry(key, v, indent, multi)}
}

// inline reports whether the collection around a value stands on one line.
func (j *JSON) inline(path Path) bool {
	if len(path) == 0 {
		return false
	}
	n := find(j.root, path[:len(path)-1])
	return n != nil && bytes.IndexByte(j.now[n.Start:n.End], '\n') < 0
}

func lastOf(n *doc.Node) *doc.Node {
	if n.Kind == doc.Map {
		return n.Keys[len(n.Keys)-1].Value
	}
	return n.Items[len(n.Items)-1]
}

// entryAt is where an entry begins: its key, or its value in a list; from is
// where the blanks before it begin.
type entryAt struct{ from, key int }

// entries finds where the entries of a collection begin.
func entries(data []byte, n *doc.Node) []entryAt {
	var out []entryAt
	from := n.Start + 1
	take := func(v *doc.Node) {
		if len(out) > 0 {
			from = skipJSON(data, from) + 1 // the comma
		}
		out = append(out, entryAt{from, skipJSON(data, from)})
		from = v.End
	}
	for _, k := range n.Keys {
		take(k.Value)
	}
	for _, item := range n.Items {
		take(item)
	}
	return out
}

func skipJSON(data []byte, at int) int {
	for at < len(data) && strings.IndexByte(" \t\r\n", data[at]) >= 0 {
		at++
	}
	return at
}

// jsonStyle is how a file is laid out.
type jsonStyle struct {
	nl, unit     string // line end and one step of indentation
	colon, comma string // with the blanks around them
	multi        bool   // collections stand over several lines
	ascii        bool   // other characters are written as escapes
}

// style looks at how the file around a place is laid out.
func (j *JSON) style(at int) jsonStyle {
	s := jsonStyle{nl: lineEnd(j.now, at), unit: "  ", colon: ": ", ascii: asciiOnly(j.now)}
	colon, unit := false, false
	var walk func(n *doc.Node)
	walk = func(n *doc.Node) {
		if !composite(n) || (colon && unit) {
			return
		}
		starts := entries(j.now, n)
		if len(starts) > 0 {
			gap := string(j.now[starts[0].from:starts[0].key])
			if i := strings.LastIndexByte(gap, '\n'); i >= 0 && !unit {
				s.multi = true
				if u, ok := strings.CutPrefix(gap[i+1:], leading(j.now, n.Start)); ok && u != "" {
					s.unit, unit = u, true
				}
			}
		}
		for i, k := range n.Keys {
			if !colon {
				s.colon, colon = colonBetween(j.now, starts[i].key, k.Value.Start)
			}
			walk(k.Value)
		}
		for _, item := range n.Items {
			walk(item)
		}
	}
	walk(j.root)
	s.comma = ","
	if strings.HasSuffix(s.colon, " ") {
		s.comma = ", "
	}
	return s
}

// colonBetween returns the colon between a key and its value with its blanks.
func colonBetween(data []byte, key, value int) (string, bool) {
	from := value
	for from > key && data[from-1] != '"' {
		from--
	}
	colon := string(data[from:value])
	if strings.Count(colon, ":") != 1 || strings.ContainsAny(colon, "\r\n") {
		return ": ", false
	}
	return colon, true
}

// asciiOnly reports whether the writer of a file escapes other characters.
func asciiOnly(data []byte) bool {
	escaped := false
	for i, c := range bytes.TrimPrefix(data, bom) {
		if c >= utf8.RuneSelf {
			return false
		}
		if c == '\\' && !escaped {
			rest := bytes.TrimPrefix(data, bom)[i:]
			escaped = len(rest) > 5 && rest[1] == 'u' && !bytes.HasPrefix(rest, []byte(`\u00`)) ||
				len(rest) > 5 && bytes.HasPrefix(rest, []byte(`\u00`)) && rest[4] >= '8'
		}
	}
	return escaped
}

func (s jsonStyle) entry(key *string, v *doc.Node, indent string, multi bool) string {
	value := s.render(v, indent, multi)
	if key == nil {
		return value
	}
	return s.quote(*key) + s.colon + value
}

// render writes a value whose line is indented as given.
func (s jsonStyle) render(n *doc.Node, indent string, multi bool) string {
	var b strings.Builder
	s.write(&b, n, indent, multi)
	return b.String()
}

func (s jsonStyle) write(b *strings.Builder, n *doc.Node, indent string, multi bool) {
	open, shut := "[", "]"
	switch n.Kind {
	case doc.Map:
		open, shut = "{", "}"
	case doc.List:
	case doc.String:
		b.WriteString(s.quote(n.Text))
		return
	default:
		b.WriteString(n.Text)
		return
	}
	b.WriteString(open)
	inner := indent + s.unit
	count := len(n.Keys) + len(n.Items)
	for i := range count {
		switch {
		case multi && i > 0:
			b.WriteString("," + s.nl + inner)
		case multi:
			b.WriteString(s.nl + inner)
		case i > 0:
			b.WriteString(s.comma)
		}
		if n.Kind == doc.Map {
			b.WriteString(s.quote(n.Keys[i].Name) + s.colon)
			s.write(b, n.Keys[i].Value, inner, multi)
		} else {
			s.write(b, n.Items[i], inner, multi)
		}
	}
	if multi && count > 0 {
		b.WriteString(s.nl + indent)
	}
	b.WriteString(shut)
}

func (s jsonStyle) quote(text string) string {
	raw, err := encode(text)
	if err != nil { // text always encodes
		return `""`
	}
	if !s.ascii {
		return string(raw)
	}
	var b strings.Builder
	for _, r := range string(raw) {
		switch {
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// AppendRecord adds a record to a file of JSON lines: one line, with a line end
// before it if the last line lacks one. No byte that is there changes, whatever
// it is: a line cut off by a crash stays a line of its own.
func AppendRecord(data []byte, value any) ([]byte, error) {
	v, err := node(value)
	if err != nil {
		return nil, &Error{"append", "record", ErrUnfit, err.Error()}
	}
	nl := lineEnd(data, len(data))
	s := recordStyle(data)
	line := s.render(v, "", false)
	next := append([]byte(nil), data...)
	if len(data) > 0 && data[len(data)-1] != '\n' && !bytes.Equal(data, bom) {
		next = append(next, nl...)
	}
	next = append(append(next, line...), nl...)
	if n, _, _ := readJSON([]byte(line)); !json.Valid([]byte(line)) || !same(n, v) || strings.ContainsAny(line, "\r\n") {
		return nil, &Error{"append", "record", ErrUnfit, "it would not read back"}
	}
	return next, nil
}

// recordStyle is that of the last line that can be read.
func recordStyle(data []byte) jsonStyle {
	const look = 64 << 10 // a window: logs are long
	tail := data[max(0, len(data)-look):]
	lines := bytes.Split(tail, []byte("\n"))
	for i := len(lines) - 1; i >= 0 && i >= len(lines)-4; i-- {
		if j, err := NewJSON(lines[i]); err == nil && j.root.Holds() {
			s := j.style(0)
			s.ascii = asciiOnly(tail)
			return s
		}
	}
	return jsonStyle{colon: ":", comma: ","}
}
