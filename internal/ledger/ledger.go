// Package ledger is what the conventions share: values that know their place in
// their file, one set of changes for an event, one way to spell times and words
// after their neighbours, and one loop that mends.
//
// A convention reads its files once, into a model of Values and Texts. Recording
// an event sets values of that model; Changes opens the file behind each value,
// edits only its bytes, and returns the edits with the first error it met. So
// who reads and who writes cannot disagree about where something stands.
//
// Nothing here touches the disk: files come from an fs.FS, and edits are data.
package ledger

import (
	"slices"
	"strconv"
	"strings"

	"reprise/internal/doc"
	"reprise/internal/splice"
)

// Value is a value of a JSON or YAML file with its place. An absent value has a
// nil Node, which answers every question with "absent", and still knows where it
// would be written.
type Value struct {
	*doc.Node
	File string
	Path splice.Path
}

// Root is the whole document of a file, JSON or YAML. Its Node is nil where the
// file does not hold one.
func Root(f *doc.File, n *doc.Node) Value { return Value{Node: n, File: f.Path} }

// In gives the value of the first key that the map has. Where it has none of
// them, the result is absent and its place is that of the first key.
func (v Value) In(keys ...string) Value {
	key := keys[0]
	if v.Is(doc.Map) {
		for _, k := range keys {
			if v.Has(k) {
				key = k
				break
			}
		}
		return Value{v.Get(key), v.File, v.below(key)}
	}
	return Value{nil, v.File, v.below(key)}
}

// Item gives an item of a list by its index.
func (v Value) Item(i int) Value {
	if !v.Is(doc.List) || i < 0 || i >= len(v.Items) {
		return Value{nil, v.File, v.below(i)}
	}
	return Value{v.Items[i], v.File, v.below(i)}
}

// below makes a path under this one without sharing its memory.
func (v Value) below(step any) splice.Path { return append(slices.Clip(v.Path), step) }

// Entry is one entry of a map, or one item of a list under its number.
type Entry struct {
	Name string
	Value
}

// Entries gives the entries of a map in file order or the items of a list, which
// are named from the number given. Anything else has none.
func (v Value) Entries(from int) []Entry {
	if v.Node == nil {
		return nil
	}
	var out []Entry
	for i := range v.Items {
		out = append(out, Entry{strconv.Itoa(i + from), v.Item(i)})
	}
	if v.Kind != doc.Map {
		return out
	}
	for _, f := range v.Fields() {
		out = append(out, Entry{f.Name, Value{f.Value, v.File, v.below(f.Name)}})
	}
	return out
}

// Text is a piece of a Markdown file with its place: the value of a label, the
// cell of a table, a check box, or a value of the front matter. The zero Text
// stands for one that is not there.
type Text struct {
	Value  string
	Ticked bool // of a check box
	File   string
	Line   int

	form textForm
	name string // the label's key, the column of the cell, or the keys in the front matter with dots between
}

type textForm uint8

const (
	labelText textForm = iota + 1
	cellText
	checkText
	frontText
)

// Label is the value of a label. The zero label is not there.
func Label(f *doc.File, l doc.Label) Text {
	if l.Line == 0 {
		return Text{}
	}
	return Text{Value: l.Value, File: f.Path, Line: l.Line, form: labelText, name: l.Key}
}

// Cell is a cell of a table in the column of this name.
func Cell(f *doc.File, column string, c doc.Cell) Text {
	return Text{Value: c.Text, File: f.Path, Line: c.Line, form: cellText, name: column}
}

// Check is an item of a task list.
func Check(f *doc.File, c doc.Check) Text {
	return Text{Value: c.Text, Ticked: c.Ticked, File: f.Path, Line: c.Line, form: checkText}
}

// Front is a scalar of the front matter, by its keys from the outermost. Where the
// front matter lacks it, the text is not there, and its place is still known:
// SetText adds it. A list or map is not there.
func Front(f *doc.File, m *doc.Markdown, keys ...string) Text {
	if m == nil || m.Front == nil {
		return Text{}
	}
	v := Root(f, m.Front)
	for _, key := range keys {
		v = v.In(key)
	}
	t := Text{File: f.Path, name: strings.Join(keys, ".")}
	if v.Node != nil && v.Kind != doc.List && v.Kind != doc.Map {
		t.Value, t.Line, t.form = v.Plain(), v.Line, frontText
	}
	return t
}

// There reports whether the text stands in a file.
func (t Text) There() bool { return t.form != 0 }
