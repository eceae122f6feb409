package doc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"reprise"
)

// maxDepth bounds the nesting of JSON and YAML. Real files stay below 20.
const maxDepth = 200

var bom = []byte("\xef\xbb\xbf")

// JSON reads a state file of JSON: one document, whose top is a map or a list that holds
// something. It returns nil and reports why if the file is missing parts, is not JSON,
// continues after its end, or has another top; nil without a report only if the file does
// not exist or was reported when it was opened.
func (f *File) JSON() *Node { return f.Top(f.JSONValue()) }

// Top is the rule for the top of a state file. A bare value, null, and a map or a list
// with nothing in it say nothing of what such a file says: what it held is unknown, which
// is reported, and the result is nil. Where a tool writes an empty document, its reader
// asks for the value alone.
func (f *File) Top(n *Node) *Node {
	if n == nil || n.Holds() {
		return n
	}
	what := n.said()
	if n.Kind == Map || n.Kind == List {
		what = "brackets with nothing between them"
	}
	f.Lost(reprise.CodeUnreadable, n.Line, "the file holds only "+what, "look for another copy or a backup; git may hold an earlier version of it")
	return nil
}

// JSONValue parses the file as one JSON document, whatever its top is.
func (f *File) JSONValue() *Node {
	if !f.ok || f.tooMany(jsonValues(f.Data), "values") {
		return nil
	}
	n, at, err := parseJSON(f, len(f.Data)-len(bytes.TrimPrefix(f.Data, bom)), len(f.Data), 1)
	if err != nil {
		f.Lost(reprise.CodeUnreadable, lineAt(f.Data, at), "not valid JSON: "+err.Error(),
			"the write may have been cut off; look for another copy or a backup")
		return nil
	}
	if !utf8.Valid(f.Data) { // a key may be among them, and what stands below it is then not found
		f.unread(reprise.CodeUnreadable, 0, "bytes stand in it that are no UTF-8", "look for another copy or a backup, or save it as UTF-8")
	}
	return n
}

// JSONLines parses the file as JSON lines: a list with one item for each line that is
// not blank. A line that is no JSON, or only null, is reported, and null stands for it:
// what it held is unknown. It returns nil if the file was not read.
func (f *File) JSONLines() *Node {
	if !f.ok || f.tooMany(jsonValues(f.Data)+bytes.Count(f.Data, []byte{'\n'}), "values") {
		return nil
	}
	list := &Node{Kind: List, Line: 1, End: len(f.Data), file: f}
	at := len(f.Data) - len(bytes.TrimPrefix(f.Data, bom))
	for line := 1; at < len(f.Data); line++ {
		end := len(f.Data)
		if i := bytes.IndexByte(f.Data[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		if len(bytes.TrimSpace(f.Data[at:end])) > 0 {
			n, _, err := parseJSON(f, at, end, line)
			why := "a line holds only null"
			if err != nil {
				why = "a line is not valid JSON: " + err.Error()
			}
			if err != nil || n.Kind == Null {
				f.Lost(reprise.CodeDamagedLine, line, why, "look at the line by hand; git may hold an earlier version of the file")
				n = &Node{Kind: Null, Line: line, Start: at, End: end, file: f}
			}
			list.Items = append(list.Items, n)
		}
		at = end
	}
	return list
}

// jsonValues counts the keys and values of a text of JSON, at least. It costs a look at
// each byte and no memory, and so comes before any parser.
func jsonValues(data []byte) (n int) {
	quoted := false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '\n': // stands in no text of JSON: the next line is one of its own
			quoted = false
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case !quoted && (c == ',' || c == ':' || c == '[' || c == '{'):
			n++
		}
	}
	return n
}

// parseJSON reads a document that is a part of a file, which begins on a line. The
// standard library decides what is JSON; hujson, which would take more, gives the places.
func parseJSON(f *File, from, to, line int) (n *Node, at int, err error) {
	data := f.Data[from:to]
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, to, errors.New("the file is empty")
	}
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return nil, from + i, errors.New(nulBytes)
	}
	if !json.Valid(data) {
		var whole json.RawMessage
		err := json.Unmarshal(data, &whole)
		var wrong *json.SyntaxError
		if errors.As(err, &wrong) {
			at = int(wrong.Offset)
		}
		if at >= len(data) {
			return nil, to, errors.New("the document ends too early")
		}
		return nil, from + at, err
	}
	root, err := hujson.Parse(data)
	if err != nil {
		return nil, 0, err
	}
	t := &jsonTree{file: f, skipped: from, line: line, lineTo: from}
	if n = t.node(&root, 0); t.deep {
		return nil, 0, fmt.Errorf("nested deeper than %d levels", maxDepth)
	}
	return n, 0, nil
}

// jsonTree turns a parsed document into nodes, in file order: lines are counted
// as it goes.
type jsonTree struct {
	file    *File
	skipped int // bytes before the document
	line    int
	lineTo  int // how far lines have been counted
	deep    bool
}

func (t *jsonTree) lineOf(offset int) int {
	t.line += bytes.Count(t.file.Data[t.lineTo:offset], []byte{'\n'})
	t.lineTo = offset
	return t.line
}

func (t *jsonTree) node(v *hujson.Value, depth int) *Node {
	if depth > maxDepth {
		t.deep = true
		return nil
	}
	n := &Node{Start: t.skipped + v.StartOffset, End: t.skipped + v.EndOffset, file: t.file}
	n.Line = t.lineOf(n.Start)
	switch v := v.Value.(type) {
	case *hujson.Object:
		n.Kind = Map
		for i := range v.Members {
			m := &v.Members[i]
			line := t.lineOf(t.skipped + m.Name.StartOffset)
			name := textOf(m.Name.Value.(hujson.Literal))
			n.Keys = append(n.Keys, Field{Name: name, Line: line, Value: t.node(&m.Value, depth+1)})
		}
		t.doubled(n)
	case *hujson.Array:
		n.Kind = List
		for i := range v.Elements {
			n.Items = append(n.Items, t.node(&v.Elements[i], depth+1))
		}
	case hujson.Literal:
		n.Text = string(v)
		switch v.Kind() {
		case '"':
			n.Kind, n.Text = String, textOf(v)
		case 'n':
			n.Kind = Null
		case 't', 'f':
			n.Kind = Bool
		default:
			n.Kind = Number
		}
	}
	return n
}

// textOf is the text that a quoted literal stands for. Nearly all of them stand for
// themselves.
func textOf(v hujson.Literal) string {
	if bytes.IndexByte(v, '\\') < 0 && utf8.Valid(v) {
		return string(v[1 : len(v)-1])
	}
	return v.String()
}

// doubled reports keys that stand twice.
func (t *jsonTree) doubled(n *Node) {
	seen := make(map[string]bool, len(n.Keys))
	for _, k := range n.Keys {
		if seen[k.Name] {
			t.file.Report(reprise.Warning, reprise.CodeDuplicateKey, k.Line, twice(k.Name), "")
		}
		seen[k.Name] = true
	}
}

func lineAt(data []byte, offset int) int {
	return bytes.Count(data[:min(max(offset, 0), len(data))], []byte{'\n'}) + 1
}

// StandardJSON gives JSON with comments and trailing commas, as settings files of
// programs have them, as plain JSON of the same length: each value keeps its place. A
// text that is neither is returned as it is.
func StandardJSON(data []byte) []byte {
	body := bytes.TrimPrefix(data, bom)
	// A comment ends with its line, and the last line may have no end.
	plain, err := hujson.Standardize(append(bytes.Clone(body), '\n'))
	if err != nil || len(plain) != len(body)+1 {
		return data
	}
	return append(bytes.Clone(data[:len(data)-len(body)]), plain[:len(body)]...)
}
