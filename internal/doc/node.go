package doc

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"reprise"
)

// NodeKind is the shape of a Node.
type NodeKind uint8

// The shapes. The zero value is that of an absent node.
const (
	Absent NodeKind = iota
	Null
	Bool
	Number
	String
	List
	Map
)

var kindNames = [...]string{"nothing", "null", "a boolean", "a number", "text", "a list", "a map"}

// Node is a value of a JSON or YAML document with its place. All methods work
// on a nil Node, which stands for "absent".
type Node struct {
	Kind  NodeKind
	Text  string // scalars: the value as written, without quotes; 1.10 stays 1.10
	Line  int
	Items []*Node // List
	Keys  []Field // Map, in file order

	// Start and End delimit the value in the file, quotes included. They are
	// exact for JSON, and for YAML scalars and flow collections. A YAML block
	// starts at its first key or dash and ends with the last value that has a
	// place; a value that is not written stands, empty, behind its colon or
	// dash. Both are zero where the value is not written in this place: behind
	// an alias, or where the parser's columns do not lead to it.
	Start, End int

	file *File
}

// Field is one entry of a map.
type Field struct {
	Name  string
	Line  int
	Value *Node
}

// Source gives the place of the node.
func (n *Node) Source() reprise.Source {
	if n == nil || n.file == nil {
		return reprise.Source{}
	}
	return n.file.At(n.Line)
}

// IsNull reports whether the node is absent or null.
func (n *Node) IsNull() bool { return n == nil || n.Kind == Absent || n.Kind == Null }

// Is reports whether the node is there and has this shape.
func (n *Node) Is(kind NodeKind) bool { return n != nil && n.Kind == kind }

// Plain gives the text of a scalar, trimmed of nothing, and "" for everything
// else, without reporting that a list or map stands there.
func (n *Node) Plain() string {
	if n.Is(String) || n.Is(Number) || n.Is(Bool) {
		return n.Text
	}
	return ""
}

// Holds reports whether the node is a map or a list that is not empty.
func (n *Node) Holds() bool { return n != nil && (len(n.Keys) > 0 || len(n.Items) > 0) }

// Get returns the value of the first of the given keys that the map has, or
// nil. Asking anything but a map is a finding.
func (n *Node) Get(keys ...string) *Node {
	if n.IsNull() {
		return nil
	}
	if n.Kind != Map {
		n.wrong(aMap)
		return nil
	}
	for _, key := range keys {
		for i := len(n.Keys) - 1; i >= 0; i-- {
			if n.Keys[i].Name == key {
				n.once(n.Keys[i])
				return n.Keys[i].Value
			}
		}
	}
	return nil
}

// once is the rule for a key of which something is read and that stands more than once in
// its map: one place was meant, and which is unknown, unless all say the same.
func (n *Node) once(f Field) {
	for i := range n.Keys {
		o := &n.Keys[i]
		if o.Name == f.Name && o.Value != f.Value && n.file != nil && f.differs(o.Value) {
			n.file.unread(reprise.CodeDuplicateKey, f.Line, twice(f.Name), "keep one of them; git may hold an earlier version of the file")
			return
		}
	}
}

// differs reports whether a field and a value of the same name do not say the same.
func (f Field) differs(o *Node) bool {
	return !(o.plain() && f.Value.plain() && o.Text == f.Value.Text)
}

// plain reports whether a value is nothing but a text.
func (n *Node) plain() bool { return n != nil && n.Kind != List && n.Kind != Map }

// twice says what is wrong with a key that stands more than once.
func twice(key string) string {
	return fmt.Sprintf("key %q occurs twice in one map, so which value was meant is unknown", Clip(key, 40))
}

// Object gives the map that a whole document is. Anything else, and a map that has
// none of the known keys, is another document in its place: what stood there
// is lost, and the result is nil.
func (n *Node) Object(known ...string) *Node {
	if n == nil {
		return nil
	}
	if n.Kind != Map {
		n.wrong(aMap)
		return nil
	}
	if len(known) > 0 && !slices.ContainsFunc(known, n.Has) {
		n.file.Lost(reprise.CodeUnreadable, n.Line, "holds nothing that such a file says: none of "+strings.Join(known, ", "), "look at the file by hand; git may hold an earlier version of it")
		return nil
	}
	return n
}

// Has reports whether the map has the key, whatever its value.
func (n *Node) Has(key string) bool {
	if n == nil || n.Kind != Map {
		return false
	}
	for i := range n.Keys {
		if n.Keys[i].Name == key {
			return true
		}
	}
	return false
}

// Fields returns the entries of a map in file order. Anything else but an
// absent or null node is a finding and has none.
func (n *Node) Fields() []Field {
	if n.IsNull() {
		return nil
	}
	if n.Kind != Map {
		n.wrong(aMap)
		return nil
	}
	first := make(map[string]*Node, len(n.Keys))
	for _, f := range n.Keys {
		if was, twice := first[f.Name]; !twice {
			first[f.Name] = f.Value
		} else if f.differs(was) {
			n.once(f)
		}
	}
	return n.Keys
}

// List returns the items of a list. Anything else but an absent or null node is
// a finding and has none.
func (n *Node) List() []*Node {
	if n.IsNull() {
		return nil
	}
	if n.Kind != List {
		n.wrong(aList)
		return nil
	}
	return n.Items
}

// Str returns a scalar as text. Numbers and booleans are given as written:
// ids are numbers in some files and words in others. A list or map is a finding.
func (n *Node) Str() string {
	if n.IsNull() {
		return ""
	}
	if n.Kind == List || n.Kind == Map {
		n.wrong("text")
		return ""
	}
	return n.Text
}

// Int returns a whole number, also one written as text. ok is false for an
// absent node; anything else that is no whole number is a finding too.
func (n *Node) Int() (value int, ok bool) {
	if n.IsNull() {
		return 0, false
	}
	if n.Kind == Number || n.Kind == String {
		text := strings.TrimSpace(n.Text)
		if v, err := strconv.Atoi(text); err == nil {
			return v, true
		}
		if v, err := strconv.ParseFloat(text, 64); err == nil && v == float64(int(v)) {
			return int(v), true
		}
	}
	n.wrong("a whole number")
	return 0, false
}

// Bool returns a boolean, also one written as text. ok is false for an absent
// node; anything else is a finding too.
func (n *Node) Bool() (value, ok bool) {
	if n.IsNull() {
		return false, false
	}
	if n.Kind == Bool || n.Kind == String {
		switch strings.ToLower(strings.TrimSpace(n.Text)) {
		case "true", "yes":
			return true, true
		case "false", "no":
			return false, true
		}
	}
	n.wrong("true or false")
	return false, false
}

// Time returns a point in time, or the zero time. Text that is no time is a
// finding; prose is not a reason to stop.
func (n *Node) Time() time.Time {
	if n.IsNull() {
		return time.Time{}
	}
	if n.Kind == String || n.Kind == Number {
		if strings.TrimSpace(n.Text) == "" {
			return time.Time{}
		}
		if t, ok := ParseTime(n.Text); ok {
			return t
		}
	}
	n.wrong("a time")
	return time.Time{}
}

// Strs returns the scalars of a list, or the one scalar that stands where a
// list is expected.
func (n *Node) Strs() []string {
	if n.IsNull() {
		return nil
	}
	if n.Kind != List && n.Kind != Map {
		if s := strings.TrimSpace(n.Text); s != "" {
			return []string{s}
		}
		return nil
	}
	var out []string
	for _, item := range n.List() {
		if s := item.Str(); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// What stands in the place of a map or list is all that it would have held.
const (
	aMap  = "a map"
	aList = "a list"
)

// said names what the node is, with its text.
func (n *Node) said() string {
	got := kindNames[n.Kind]
	if n.Kind == String || n.Kind == Number || n.Kind == Bool {
		got += " " + strconv.Quote(Clip(n.Text, 40))
	}
	return got
}

func (n *Node) wrong(want string) {
	if n.file == nil {
		return
	}
	message := fmt.Sprintf("%s stands where %s belongs; it is left out", n.said(), want)
	if want == aList || want == aMap {
		n.file.Lost(reprise.CodeWrongType, n.Line, message, "")
		return
	}
	n.file.Report(reprise.Warning, reprise.CodeWrongType, n.Line, message, "")
}
