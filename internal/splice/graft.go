package splice

import (
	"bytes"
	"slices"

	"reprise/internal/doc"
)

// Graft adds an item to the list that keys lead to in a settings file, JSON that may
// hold comments and trailing commas. nil stands for a file that does not exist.
//
// Bytes are only added. A list or map that is missing on the way is made, with its first
// entry on a line of its own; where one is there and empty, the entry follows its
// bracket directly. A file that holds nothing but blanks and comments gets a first line
// without content. That is how Prune tells what was made.
func Graft(data []byte, keys []string, item any) ([]byte, error) {
	at := pathOf(keys)
	if blank(data) {
		v, err := node(nested(keys, item))
		if err != nil {
			return nil, &Error{"add to", at.String(), ErrUnfit, err.Error()}
		}
		text := jsonStyle{nl: "\n", unit: "  ", colon: ": "}.render(v, "", true)
		if data == nil {
			return []byte(text + "\n"), nil
		}
		return append([]byte("\n"+text), data...), nil
	}
	g, err := readSettings(data)
	if err != nil {
		return nil, err
	}
	have := 0
	for have < len(keys) && child(find(g.root, at[:have]), keys[have]) >= 0 {
		have++
	}
	in := find(g.root, at[:have])
	var key *string
	value, want := item, doc.List
	if have < len(keys) {
		key, value, want = &keys[have], nested(keys[have+1:], item), doc.Map
	}
	if in.Kind != want {
		detail := "something else stands there"
		if in.IsNull() {
			detail = "it is null; take it out of the file, so that it can be made and removed again"
		}
		return nil, &Error{"add to", at[:have].String(), ErrUnfit, detail}
	}
	v, err := node(value)
	if err != nil {
		return nil, &Error{"add to", at.String(), ErrUnfit, err.Error()}
	}
	expect := withItem
	if key != nil {
		expect = func(root *doc.Node, path Path, v *doc.Node) *doc.Node { return withKey(root, path, *key, v) }
	}
	next, ok := g.entry(in, key, v).apply(data)
	if again, err := readSettings(next); !ok || err != nil || !same(again.root, expect(g.root, at[:have], v)) {
		return nil, &Error{"add to", at.String(), ErrUnfit, "it would not read back"}
	}
	return next, nil
}

// Prune takes the items that is accepts out of the list that keys lead to, and with the
// last one what Graft made for it. nil stands for a file that does not exist, and is
// returned for one of which nothing is left. What Graft added is gone without a trace, unless
// someone has laid it out anew since: then a list or map goes, too, that was empty before.
func Prune(data []byte, keys []string, is func(item *doc.Node) bool) ([]byte, error) {
	for !blank(data) {
		g, err := readSettings(data)
		if err != nil {
			return nil, err
		}
		list := find(g.root, pathOf(keys))
		if list == nil || list.Kind != doc.List {
			return data, nil
		}
		i := slices.IndexFunc(list.Items, is)
		if i < 0 {
			return data, nil
		}
		data = g.without(keys, i)
		if _, err := readSettings(data); err != nil && !blank(data) {
			return nil, &Error{"take out of", pathOf(keys).String(), ErrUnfit, "the rest would not read back"}
		}
	}
	return data, nil
}

// blank reports whether a text holds nothing, as JSON counts.
func blank(data []byte) bool { return skipJSON(data, 0) == len(data) }

// pathOf is the path of keys from the root.
func pathOf(keys []string) Path {
	var out Path
	for _, k := range keys {
		out = append(out, k)
	}
	return out
}

// nested is a list with one item, below keys.
func nested(keys []string, item any) any {
	if len(keys) == 0 {
		return []any{item}
	}
	return Object{{keys[0], nested(keys[1:], item)}}
}

// settings is a settings file: its bytes, and the same without comments.
type settings struct {
	data []byte
	JSON
}

func readSettings(data []byte) (*settings, error) {
	plain := doc.StandardJSON(data)
	j, err := NewJSON(plain)
	if err != nil {
		return nil, err
	}
	if j.root.Kind != doc.Map {
		return nil, &Error{"read", "JSON", ErrUnreadable, "it is no map"}
	}
	return &settings{data, *j}, nil
}

// entry is the addition of an entry to a collection.
func (g *settings) entry(in *doc.Node, key *string, v *doc.Node) patch {
	s := g.style(in.Start)
	if starts := entries(g.now, in); len(starts) > 0 {
		last := starts[len(starts)-1].key
		indent := leading(g.now, last)
		end := lastOf(in).End
		return patch{end, end, "," + s.nl + indent + s.entry(key, v, indent, true)}
	}
	return patch{in.Start + 1, in.Start + 1, s.entry(key, v, leading(g.now, in.Start), true)}
}

// without takes an item out, and each collection around it that is empty then and was
// made for it.
func (g *settings) without(keys []string, item int) []byte {
	at := pathOf(keys)
	for depth := len(at); ; depth-- {
		in := find(g.root, at[:depth])
		i := item
		if depth < len(at) {
			i = child(in, at[depth])
		}
		starts, ends := entries(g.now, in), endsOf(in)
		// What Graft adds takes several lines. On one line someone laid it out anew.
		laid := g.data[in.Start+1] <= ' ' || !bytes.ContainsRune(g.data[starts[i].key:ends[i]], '\n')
		made := laid && !g.commented(in.Start, starts[i].key) && !g.commented(ends[i], in.End)
		if len(ends) > 1 || !made {
			return g.cut(in.Start+1, starts, ends, i)
		}
		if depth == 0 {
			if string(g.data[:in.Start]) == "\n" {
				return g.data[in.End:]
			}
			left := append(bytes.Clone(g.data[:in.Start]), g.data[in.End:]...)
			if len(bytes.TrimSpace(left)) == 0 {
				return nil
			}
			return left
		}
	}
}

// commented reports whether a comment, or a trailing comma, stands between two places.
func (g *settings) commented(from, to int) bool { return !bytes.Equal(g.data[from:to], g.now[from:to]) }

// endsOf are the places behind each entry of a collection.
func endsOf(n *doc.Node) (out []int) {
	for _, k := range n.Keys {
		out = append(out, k.Value.End)
	}
	for _, item := range n.Items {
		out = append(out, item.End)
	}
	return out
}

// cut takes one entry out of a collection whose content begins at first, with the comma
// that parts it from the others. Comments around it stay.
func (g *settings) cut(first int, starts []entryAt, ends []int, i int) []byte {
	from, to := first, ends[i]
	switch {
	case i > 0:
		from = ends[i-1]
	case len(ends) > 1:
		from, to = starts[0].key, starts[1].key
	}
	kept := bytes.Clone(g.data[:from])
	for _, gap := range [][2]int{{from, starts[i].key}, {ends[i], to}} {
		if !g.commented(gap[0], gap[1]) {
			continue
		}
		for at := gap[0]; at < gap[1]; at++ {
			if g.now[at] != ',' {
				kept = append(kept, g.data[at])
			}
		}
	}
	return append(kept, g.data[to:]...)
}
