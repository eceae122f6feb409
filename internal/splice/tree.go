package splice

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"reprise"
	"reprise/internal/doc"
)

// tree is a file of values while it is edited.
type tree struct {
	text
	root   *doc.Node
	broken bool // it is not well-formed
	form   layout
	read   func(data []byte) (root *doc.Node, broken bool, why string)
}

// layout is how the edits of a format are written. plan gives the ways to do it, best
// first: v gives way to n, or becomes an entry of n, under a key where one is given.
type layout interface {
	plan(op string, path Path, n, v *doc.Node, key *string) ([]patch, error)
}

func (t *tree) open(data []byte, format string) error {
	var why string
	t.text = text{data, data}
	if t.root, t.broken, why = t.read(data); t.root == nil {
		return &Error{"read", format, ErrUnreadable, why}
	}
	return nil
}

// Root returns the document as it reads now.
func (t *tree) Root() *doc.Node { return t.root }

// Set replaces the value at a path, which must exist. Anything that encoding/json can
// write may be set. A list or map that holds entries is not replaced: nothing is ever
// removed.
func (t *tree) Set(path Path, value any) error { return t.edit("set", path, value) }

// Put sets the value at a path or, if the last key of the path does not exist
// in its map, adds it behind the others.
func (t *tree) Put(path Path, value any) error { return t.edit("put", path, value) }

// Append adds an item at the end of the list at a path.
func (t *tree) Append(path Path, value any) error { return t.edit("append to", path, value) }

func (t *tree) edit(op string, path Path, value any) error {
	patches, want, err := planned(t.form, t.root, op, path, value)
	if err != nil || patches == nil {
		return err
	}
	return t.firstFit(op, path.String(), patches, func(next []byte) bool {
		root, broken, _ := t.read(next)
		if broken != t.broken || !same(root, want) {
			return false
		}
		t.root = root
		return true
	})
}

// planned gives the ways in which an edit can be written, and the tree that must come of
// it. Without a change there is no way and no error.
func planned(l layout, root *doc.Node, op string, path Path, value any) ([]patch, *doc.Node, error) {
	n, in := find(root, path), path[:max(0, len(path)-1)]
	var key *string
	if n == nil && op == "put" {
		if name, ok := path[len(path)-1].(string); ok {
			n, key = find(root, in), &name
		}
	}
	if n == nil {
		return nil, nil, &Error{op, path.String(), ErrNotFound, ""}
	}
	v, err := node(value)
	if err != nil {
		return nil, nil, &Error{op, path.String(), ErrUnfit, err.Error()}
	}
	var want *doc.Node
	switch {
	case key != nil:
		want = withKey(root, in, *key, v)
	case op == "append to":
		want = withItem(root, path, v)
	case equal(n, v):
		return nil, nil, nil
	case n.Holds():
		return nil, nil, &Error{op, path.String(), ErrUnfit, "it holds entries that would be lost"}
	default:
		want = withValue(root, path, v)
	}
	patches, err := l.plan(op, path, n, v, key)
	return patches, want, err
}

// Object is a map with its keys in order, for values whose order matters.
type Object []Member

// Member is one entry of an Object.
type Member struct {
	Key   string
	Value any
}

// MarshalJSON writes the members in their order.
func (o Object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := encode(m.Key)
		if err != nil {
			return nil, err
		}
		value, err := encode(m.Value)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func encode(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// node brings a Go value to the form in which files are read, by way of its
// JSON. It refuses what JSON cannot hold and text that is not valid UTF-8.
func node(value any) (*doc.Node, error) {
	raw, err := encode(value)
	if err != nil {
		return nil, err
	}
	if invalidEscape(raw) {
		return nil, fmt.Errorf("text is not valid UTF-8")
	}
	n, _, _ := readJSON(raw)
	if n == nil {
		return nil, fmt.Errorf("nested too deep")
	}
	return n, nil
}

// invalidEscape looks for the escape by which the encoder replaces broken
// characters; a real U+FFFD it writes as it is.
func invalidEscape(raw []byte) bool {
	for i := 0; i+1 < len(raw); i++ {
		if raw[i] == '\\' {
			if bytes.HasPrefix(raw[i:], []byte(`\ufffd`)) {
				return true
			}
			i++
		}
	}
	return false
}

// find returns the node at a path, nil if there is none.
func find(n *doc.Node, path Path) *doc.Node {
	for _, step := range path {
		if n == nil {
			return nil
		}
		i := child(n, step)
		if i < 0 {
			return nil
		}
		if n.Kind == doc.Map {
			n = n.Keys[i].Value
		} else {
			n = n.Items[i]
		}
	}
	return n
}

// child returns the index of the entry a step leads to, -1 if there is none.
func child(n *doc.Node, step any) int {
	switch s := step.(type) {
	case string:
		if n.Kind == doc.Map {
			for i := len(n.Keys) - 1; i >= 0; i-- {
				if n.Keys[i].Name == s {
					return i
				}
			}
		}
	case int:
		if n.Kind == doc.List && s >= 0 && s < len(n.Items) {
			return s
		}
	}
	return -1
}

// with returns a copy of the tree in which the node at the path, which must
// exist, is changed by fn.
func with(n *doc.Node, path Path, fn func(*doc.Node) *doc.Node) *doc.Node {
	if len(path) == 0 {
		return fn(n)
	}
	c := *n
	i := child(n, path[0])
	if n.Kind == doc.Map {
		c.Keys = append([]doc.Field(nil), n.Keys...)
		c.Keys[i].Value = with(n.Keys[i].Value, path[1:], fn)
	} else {
		c.Items = append([]*doc.Node(nil), n.Items...)
		c.Items[i] = with(n.Items[i], path[1:], fn)
	}
	return &c
}

// withValue, withKey and withItem are the trees expected after an edit.
func withValue(root *doc.Node, path Path, v *doc.Node) *doc.Node {
	return with(root, path, func(*doc.Node) *doc.Node { return v })
}

func withKey(root *doc.Node, path Path, key string, v *doc.Node) *doc.Node {
	return with(root, path, func(n *doc.Node) *doc.Node {
		keys := append([]doc.Field(nil), n.Keys...)
		return &doc.Node{Kind: doc.Map, Keys: append(keys, doc.Field{Name: key, Value: v})}
	})
}

func withItem(root *doc.Node, path Path, v *doc.Node) *doc.Node {
	return with(root, path, func(n *doc.Node) *doc.Node {
		items := append([]*doc.Node(nil), n.Items...)
		return &doc.Node{Kind: doc.List, Items: append(items, v)}
	})
}

// same reports whether two trees read the same, keys in the same order.
func same(a, b *doc.Node) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.Kind != b.Kind || len(a.Keys) != len(b.Keys) || len(a.Items) != len(b.Items) {
		return false
	}
	switch a.Kind {
	case doc.Null: // spelled null, ~ or not at all
		return true
	case doc.Bool:
		return strings.EqualFold(a.Text, b.Text)
	case doc.Map:
		for i := range a.Keys {
			if a.Keys[i].Name != b.Keys[i].Name || !same(a.Keys[i].Value, b.Keys[i].Value) {
				return false
			}
		}
		return true
	case doc.List:
		for i := range a.Items {
			if !same(a.Items[i], b.Items[i]) {
				return false
			}
		}
		return true
	}
	return a.Text == b.Text
}

// equal is same without regard to the order of keys.
func equal(a, b *doc.Node) bool {
	if a == nil || b == nil || a.Kind != b.Kind || len(a.Keys) != len(b.Keys) || len(a.Items) != len(b.Items) {
		return false
	}
	for i := range a.Items {
		if !equal(a.Items[i], b.Items[i]) {
			return false
		}
	}
	for _, k := range a.Keys {
		i := child(b, k.Name)
		if i < 0 || !equal(k.Value, b.Keys[i].Value) {
			return false
		}
	}
	return a.Kind == doc.Map || a.Kind == doc.List || same(a, b)
}

func composite(n *doc.Node) bool { return n.Kind == doc.Map || n.Kind == doc.List }

// readJSON and readYAML read a content with the readers of layouts. The node is
// nil, with the reason, if it cannot be read.
func readJSON(data []byte) (n *doc.Node, broken bool, why string) {
	r, f := doc.Memory("f", data)
	n = f.JSONValue()
	return n, false, reason(r)
}

func readYAML(data []byte) (n *doc.Node, broken bool, why string) {
	r, f := doc.Memory("f", data)
	n = f.YAMLValue()
	return n, has(r, reprise.CodeSalvaged), reason(r)
}

func readMarkdown(data []byte) (m *doc.Markdown, broken bool, why string) {
	r, f := doc.Memory("f", data)
	m = f.Markdown()
	return m, has(r, reprise.CodeSalvaged), reason(r)
}

func has(r *doc.Reader, code string) bool {
	for _, f := range r.Findings() {
		if f.Code == code {
			return true
		}
	}
	return false
}

func reason(r *doc.Reader) string {
	for _, f := range r.Findings() {
		if f.Code != reprise.CodeDuplicateKey {
			return f.Message
		}
	}
	return ""
}

// oneLine reports whether text can stand on a line of any format.
func oneLine(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsAny(s, "\n\r\x00")
}
