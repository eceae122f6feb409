package splice

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"reprise/internal/doc"
)

// YAML is a YAML file while it is edited. A scalar keeps its quotes, and gets some
// where it would be taken for something else without. Files that are not well-formed
// are edited by the same rules by which the reader makes sense of them. What stands
// behind an alias is refused with ErrUnfit.
type YAML struct{ tree }

// NewYAML reads a YAML file. It returns an *Error with ErrUnreadable if nothing
// can be read. The maps of several documents are one.
func NewYAML(data []byte) (*YAML, error) {
	y := &YAML{}
	y.tree = tree{form: y, read: readYAML}
	return y, y.open(data, "YAML")
}

// plan implements layout.
func (y *YAML) plan(op string, path Path, n, v *doc.Node, key *string) ([]patch, error) {
	return block{data: y.now, root: y.root, hi: len(y.now)}.plan(op, path, n, v, key)
}

// block is a YAML text: a file, or the front matter of one, that ends at hi.
type block struct {
	data []byte
	root *doc.Node
	hi   int
}

// plan implements layout. An empty value counts as an empty list or map.
func (b block) plan(op string, path Path, n, v *doc.Node, key *string) ([]patch, error) {
	refuse := func(cause error, detail string) ([]patch, error) {
		return nil, &Error{op, path.String(), cause, detail}
	}
	switch {
	case op == "append to" && !vacant(n) && n.Kind != doc.List:
		return refuse(ErrNotFound, "there is no list")
	case key != nil && !vacant(n) && n.Kind != doc.Map:
		return refuse(ErrNotFound, "")
	case key != nil && !oneLine(*key):
		return refuse(ErrUnfit, "the key is no line of text")
	case !placed(n) && key == nil && op != "append to":
		return refuse(ErrUnfit, "it stands behind an alias, or is not written here")
	case !placed(n) && n != b.root:
		return refuse(ErrUnfit, "it stands behind an alias")
	case key != nil:
		return b.addKey(path[:len(path)-1], n, *key, v), nil
	case op == "append to":
		return b.appendItem(path, n, v), nil
	}
	return b.set(path, n, v), nil
}

// placed reports whether a node has a place in the file.
func placed(n *doc.Node) bool { return n.Start != 0 || n.End != 0 }

// vacant reports whether there is nothing, so that a first entry can be put.
func vacant(n *doc.Node) bool {
	return n.Kind == doc.Null || (composite(n) && !n.Holds())
}

// isFlow reports whether a collection is written with brackets.
func (b block) isFlow(n *doc.Node) bool {
	return composite(n) && n.End > n.Start && n.End <= len(b.data) &&
		(b.data[n.Start] == '{' && b.data[n.End-1] == '}' || b.data[n.Start] == '[' && b.data[n.End-1] == ']')
}

// inFlow reports whether a path leads into brackets.
func (b block) inFlow(path Path) bool {
	for i := range path {
		if n := find(b.root, path[:i]); n != nil && b.isFlow(n) {
			return true
		}
	}
	return false
}

// set replaces a scalar or something empty.
func (b block) set(path Path, n, v *doc.Node) []patch {
	flow := b.inFlow(path)
	var out []patch
	if composite(v) {
		if v.Holds() && !flow {
			if p, ok := b.fill(path, n, v); ok {
				out = append(out, p)
			}
		}
		return append(out, b.replace(n, flowText(v)))
	}
	old := string(b.data[n.Start:n.End])
	for _, token := range b.tokens(v, old, b.siblings(path), flow) {
		out = append(out, b.replace(n, token))
	}
	return out
}

// replace puts a token in the place of a value, with a blank before it where
// nothing stood.
func (b block) replace(n *doc.Node, token string) patch {
	p := patch{n.Start, n.End, token}
	if n.Start == n.End {
		if n.Start > 0 && strings.IndexByte(" \t\n", b.data[n.Start-1]) < 0 {
			p.text = " " + p.text
		}
		if n.End < len(b.data) && b.data[n.End] == '#' {
			p.text += " "
		}
	}
	return p
}

// fill writes a collection on the lines below its key, which must be the last
// thing on its line.
func (b block) fill(path Path, n, v *doc.Node) (patch, bool) {
	if len(path) == 0 {
		return patch{}, false
	}
	parent := find(b.root, path[:len(path)-1])
	rest := b.data[n.End:min(lineNext(b.data, n.End), b.hi)]
	if parent.Kind != doc.Map || len(bytes.TrimSpace(rest)) > 0 {
		return patch{}, false
	}
	start := n.Start
	for start > 0 && (b.data[start-1] == ' ' || b.data[start-1] == '\t') {
		start--
	}
	s := b.style()
	indent := strings.Repeat(" ", b.column(parent.Start)+s.unit)
	if v.Kind == doc.List {
		indent = strings.Repeat(" ", b.column(parent.Start)+s.list)
	}
	nl := lineEnd(b.data, start)
	return patch{start, n.End, nl + strings.Join(b.lines(v, indent, s), nl)}, true
}

// addKey adds an entry to a map.
func (b block) addKey(path Path, n *doc.Node, key string, v *doc.Node) []patch {
	if vacant(n) && n != b.root {
		return b.set(path, n, &doc.Node{Kind: doc.Map, Keys: []doc.Field{{Name: key, Value: v}}})
	}
	if b.isFlow(n) || b.inFlow(path) {
		return b.addFlow(n, flowToken(key)+": "+flowText(v))
	}
	column, at := 0, b.hi
	s := b.style()
	if k := len(n.Keys); k > 0 {
		column = b.column(n.Start)
		at = max(b.lineAt(n.Keys[k-1].Line), lineBegin(b.data, n.LastEnd()))
	} else if n.Line > 0 { // empty front matter: the line below its fence
		at = b.lineAt(n.Line + 1)
		return []patch{insertLines(b.data, at, b.entry(flowToken(key), v, "", s))}
	}
	lines := b.entry(b.keyText(n, key, column), v, strings.Repeat(" ", column), s)
	return b.below(at, column, lines)
}

// appendItem adds an item to a list.
func (b block) appendItem(path Path, n, v *doc.Node) []patch {
	if vacant(n) {
		list := &doc.Node{Kind: doc.List, Items: []*doc.Node{v}}
		if b.isFlow(n) && !composite(v) {
			return b.addFlow(n, flowText(v))
		}
		return b.set(path, n, list)
	}
	if b.isFlow(n) || b.inFlow(path) {
		return b.addFlow(n, flowText(v))
	}
	column := b.column(n.Start)
	lines := b.item(v, strings.Repeat(" ", column), b.style())
	return b.below(lineBegin(b.data, max(n.Start, n.End)), column, lines)
}

// addFlow adds an entry before the bracket that ends a collection.
func (b block) addFlow(n *doc.Node, entry string) []patch {
	var out []patch
	if end := n.LastEnd(); n.Holds() && end > 0 {
		out = append(out, patch{end, end, ", " + entry})
	}
	at := n.End - 1
	for at > n.Start && strings.IndexByte(" \t\r\n", b.data[at-1]) >= 0 {
		at--
	}
	switch b.data[max(at-1, 0)] {
	case ',':
		entry = " " + entry
	case '[', '{':
	default:
		entry = ", " + entry
	}
	return append(out, patch{at, at, entry})
}

// below puts lines under the block whose entries stand in a column and whose
// last one begins at or after an offset: behind its last line or, where what
// looks like a comment belongs to the text, before the line that follows it.
func (b block) below(at, column int, lines []string) []patch {
	at = min(at, b.hi)
	tight := lineNext(b.data, at)
	loose := tight
	for loose < b.hi {
		line := b.data[loose:lineNext(b.data, loose)]
		next := loose + len(line)
		text := strings.TrimRight(string(line), " \t\r\n")
		body := strings.TrimLeft(text, " ")
		indent := len(text) - len(body)
		if body != "" && body[0] != '#' {
			dash := body == "-" || strings.HasPrefix(body, "- ")
			if indent < column || text == "---" || text == "..." || strings.HasPrefix(text, "--- ") ||
				indent == column && !dash {
				break
			}
			tight = next
		}
		loose = next
	}
	tight, loose = min(tight, b.hi), min(loose, b.hi)
	out := []patch{insertLines(b.data, tight, lines)}
	if loose != tight {
		out = append(out, insertLines(b.data, loose, lines))
	}
	return out
}

// column returns how far a place is from the beginning of its line.
func (b block) column(at int) int {
	at = min(at, len(b.data))
	return utf8.RuneCount(b.data[lineBegin(b.data, at):at])
}

// lineAt returns where a line, counted from 1, begins.
func (b block) lineAt(no int) int {
	at := 0
	for ; no > 1 && at < len(b.data); no-- {
		at = lineNext(b.data, at)
	}
	return at
}

// siblings are the values beside the one at a path.
func (b block) siblings(path Path) []*doc.Node {
	if len(path) == 0 {
		return nil
	}
	n := find(b.root, path[:len(path)-1])
	if n == nil {
		return nil
	}
	out := append([]*doc.Node(nil), n.Items...)
	for _, k := range n.Keys {
		out = append(out, k.Value)
	}
	return out
}
