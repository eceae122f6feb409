package doc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"reprise"
)

// maxYAML bounds what is given to the YAML parser, whose cost grows faster than
// its input.
const maxYAML = 4 << 20

// YAML reads a state file of YAML, whose top is a map or a list that holds something; any
// other is reported, and nil.
func (f *File) YAML() *Node { return f.Top(f.YAMLValue()) }

// YAMLValue parses the file as YAML, whatever its top is. Several documents in one file are joined: the
// maps' entries follow each other. A file that is not well-formed is read line
// by line instead, as far as its indentation makes sense, and reported; nil
// without a report only if the file does not exist or was reported before.
func (f *File) YAMLValue() *Node {
	if !f.ok {
		return nil
	}
	return f.yamlAt(f.Data, 0)
}

// yamlAt parses a part of the file that begins after the given number of lines.
func (f *File) yamlAt(data []byte, before int) *Node {
	base := lineStart(f.Data, before)
	if bytes.HasPrefix(data, bom) {
		data, base = data[len(bom):], base+len(bom)
	}
	if len(bytes.TrimSpace(data)) == 0 {
		if before == 0 {
			f.Lost(reprise.CodeUnreadable, 1, "no content where YAML was expected", "")
		} else {
			f.Report(reprise.Warning, reprise.CodeUnreadable, before+1, "no content where YAML was expected", "")
		}
		return nil
	}
	if i := bytes.IndexByte(data, 0); i >= 0 {
		f.Lost(reprise.CodeUnreadable, before+lineAt(data, i), nulBytes, "look for another copy or a backup")
		return nil
	}
	if len(data) > maxYAML {
		f.tooLarge(before, fmt.Sprintf("more than %d MiB of YAML", maxYAML>>20))
		return nil
	}
	n, err := f.parseYAML(data, before, base)
	if err == nil {
		return n
	}
	salvaged := f.salvage(data, before, base)
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	if salvaged == nil {
		f.Lost(reprise.CodeUnreadable, before, "not valid YAML: "+message, "the write may have been cut off; look for another copy or a backup")
		return nil
	}
	f.Report(reprise.Warning, reprise.CodeSalvaged, before, "not valid YAML, read line by line: "+message, "values that need quotes (\"Title: with colon\") are the usual cause")
	return salvaged
}

func (f *File) parseYAML(data []byte, before, base int) (*Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	c := yamlConverter{file: f, before: before, data: data, base: base, lines: yamlLines(data)}
	var root *Node
	for {
		var y yaml.Node
		if err := dec.Decode(&y); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		n, err := c.node(&y, 0)
		if err != nil {
			return nil, err
		}
		switch {
		case root.IsNull():
			root = n
		case root.Kind == Map && n != nil && n.Kind == Map:
			root.Keys = append(root.Keys, n.Keys...)
		}
	}
	if root.IsNull() {
		return nil, errors.New("no content")
	}
	return root, nil
}

type yamlConverter struct {
	file   *File
	before int
	count  int

	data    []byte // what is parsed
	base    int    // its offset in the file
	lines   []int  // where its lines begin, as YAML counts them
	aliased bool   // inside of what an alias stands for

	// The place looked up last: a line, a column and its offset.
	line, column, at int
}

func (c *yamlConverter) node(y *yaml.Node, depth int) (*Node, error) {
	if c.count++; depth > maxDepth || c.count > maxNodes {
		return nil, fmt.Errorf("line %d: nested deeper or larger than we read", y.Line)
	}
	n := &Node{file: c.file, Line: c.before + y.Line}
	at, placed := 0, false
	if !c.aliased && y.Kind != yaml.DocumentNode && y.Kind != yaml.AliasNode { // before its children: they are looked up in the order of the file
		at, placed = c.offset(y.Line, y.Column)
	}
	switch y.Kind {
	case yaml.DocumentNode:
		if len(y.Content) == 0 {
			return nil, nil
		}
		return c.node(y.Content[0], depth)
	case yaml.AliasNode:
		was := c.aliased
		c.aliased = true
		n, err := c.node(y.Alias, depth+1)
		c.aliased = was
		return n, err
	case yaml.ScalarNode:
		n.Text = y.Value
		switch y.ShortTag() {
		case "!!null":
			n.Kind = Null
		case "!!bool":
			n.Kind = Bool
		case "!!int", "!!float":
			n.Kind = Number
		default: // timestamps too: their spelling is kept and read when asked for
			n.Kind = String
		}
	case yaml.SequenceNode:
		n.Kind = List
		for _, item := range y.Content {
			v, err := c.node(item, depth+1)
			if err != nil {
				return nil, err
			}
			n.Items = append(n.Items, v)
		}
	case yaml.MappingNode:
		n.Kind = Map
		seen := map[string]bool{}
		for i := 0; i+1 < len(y.Content); i += 2 {
			key := y.Content[i]
			if seen[key.Value] {
				c.file.Report(reprise.Warning, reprise.CodeDuplicateKey, c.before+key.Line, twice(key.Value), "")
			}
			seen[key.Value] = true
			v, err := c.node(y.Content[i+1], depth+1)
			if err != nil {
				return nil, err
			}
			n.Keys = append(n.Keys, Field{Name: key.Value, Line: c.before + key.Line, Value: v})
		}
	}
	if placed {
		c.place(y, n, at)
	}
	return n, nil
}

// salvage reads `key: value` and `- item` lines by their indentation. It is for
// files that models wrote by hand and that break a rule of YAML in one place.
// It returns nil if not a single such line is there.
func (f *File) salvage(data []byte, before, base int) *Node {
	root := &Node{Kind: Map, Line: before + 1, file: f}
	type level struct {
		indent int
		node   *Node // Map or List under construction
	}
	stack := []level{{-1, root}}
	found := false
	next := base
	for i, raw := range strings.Split(string(data), "\n") {
		line := strings.TrimRight(raw, " \t\r")
		text := strings.TrimLeft(line, " ")
		indent := len(line) - len(text)
		at := next + indent
		next += len(raw) + 1
		if text == "" || text[0] == '#' || strings.HasPrefix(text, "---") {
			continue
		}
		for len(stack) > 1 && stack[len(stack)-1].indent >= indent {
			stack = stack[:len(stack)-1]
		}
		parent := stack[len(stack)-1].node
		no := before + i + 1
		if rest, ok := strings.CutPrefix(text, "- "); ok || text == "-" {
			if parent.Kind == Map && len(parent.Keys) == 0 && parent != root {
				parent.Kind = List
			}
			if parent.Kind != List {
				continue
			}
			found = true
			parent.begin(at)
			at += len(text) - len(strings.TrimLeft(strings.TrimPrefix(text, "-"), " \t"))
			rest = strings.TrimSpace(rest)
			if key, value, ok := splitKey(rest); ok {
				item := &Node{Kind: Map, Line: no, file: f}
				parent.Items = append(parent.Items, item)
				// Keys that follow stand under the dash, two columns further in.
				stack = append(stack, level{indent, item})
				addSalvaged(f, item, key, value, no, at, rest)
				continue
			}
			parent.Items = append(parent.Items, scalar(f, rest, no, at))
			continue
		}
		key, value, ok := splitKey(text)
		if !ok || parent.Kind != Map {
			continue
		}
		found = true
		if child := addSalvaged(f, parent, key, value, no, at, text); child != nil && len(stack) < maxDepth {
			stack = append(stack, level{indent, child})
		}
	}
	if !found {
		return nil
	}
	return root
}

// begin notes where the first entry of a collection stands.
func (n *Node) begin(at int) {
	if len(n.Keys) == 0 && len(n.Items) == 0 {
		n.Start, n.End = at, at
	}
}

// addSalvaged adds the entry that text, which stands at an offset, holds; it
// returns the new map if the value stands below.
func addSalvaged(f *File, parent *Node, key, value string, no, at int, text string) *Node {
	parent.begin(at)
	at += strings.Index(text, ":") + 1
	if value != "" {
		rest := text[strings.Index(text, ":")+1:]
		at += len(rest) - len(strings.TrimLeftFunc(rest, unicode.IsSpace))
	}
	v := scalar(f, value, no, at)
	if value == "" {
		v = &Node{Kind: Map, Line: no, Start: at, End: at, file: f}
	}
	parent.Keys = append(parent.Keys, Field{Name: key, Line: no, Value: v})
	if value == "" {
		return v
	}
	return nil
}

func splitKey(text string) (key, value string, ok bool) {
	i := strings.Index(text, ":")
	if i <= 0 || (i+1 < len(text) && text[i+1] != ' ') {
		return "", "", false
	}
	key = strings.Trim(text[:i], "\"' ")
	if key == "" || len(key) > 100 || strings.ContainsAny(key, "{}[]#") {
		return "", "", false
	}
	value = strings.TrimSpace(text[i+1:])
	if j := strings.Index(value, " #"); j >= 0 {
		value = strings.TrimSpace(value[:j])
	}
	return key, value, true
}

// scalar reads a value that stands at an offset.
func scalar(f *File, text string, no, at int) *Node {
	n := &Node{Kind: String, Text: text, Line: no, Start: at, End: at + len(text), file: f}
	switch {
	case len(text) >= 2 && (text[0] == '"' || text[0] == '\'') && text[len(text)-1] == text[0]:
		n.Text = text[1 : len(text)-1]
	case text == "" || text == "null" || text == "~":
		n.Kind = Null
	case text == "true" || text == "false":
		n.Kind = Bool
	case strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]"):
		n.Kind = List
		at++
		for _, raw := range strings.Split(text[1:len(text)-1], ",") {
			if part := strings.TrimSpace(raw); part != "" {
				n.Items = append(n.Items, scalar(f, part, no, at+strings.Index(raw, part)))
			}
			at += len(raw) + 1
		}
	}
	return n
}
