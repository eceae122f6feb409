package splice

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"reprise/internal/doc"
)

// tokens returns the ways to write a scalar, best first. old is what stands in
// the place, with its quotes; siblings tell how the file writes times.
func (b block) tokens(v *doc.Node, old string, siblings []*doc.Node, flow bool) []string {
	switch v.Kind {
	case doc.String:
	case doc.Null:
		if old == "~" {
			return []string{"~", "null"}
		}
		return []string{"null"}
	default:
		return []string{v.Text}
	}
	double, single := doubleQuoted(v.Text), singleQuoted(v.Text)
	style := byte(0)
	if old != "" {
		style = old[0]
	}
	var out []string
	switch {
	case style == '"':
	case style == '\'':
		out = append(out, single)
	default:
		if plainFits(v.Text, flow) && (!typed(v.Text) || old != "" && shape(old) == shape(v.Text) || stamp(v.Text) && b.plainStamps(old, siblings)) {
			out = append(out, v.Text)
		}
		if bytes.IndexByte(b.data, '"') < 0 && bytes.IndexByte(b.data, '\'') >= 0 {
			out = append(out, single)
		}
	}
	out = append(out, double)
	if single != "" {
		out = append(out, single)
	}
	kept := out[:0]
	for _, token := range out {
		if token != "" {
			kept = append(kept, token)
		}
	}
	return kept
}

// plainStamps reports whether times stand without quotes here.
func (b block) plainStamps(old string, siblings []*doc.Node) bool {
	if stamp(old) {
		return true
	}
	for _, n := range siblings {
		if n.Kind == doc.String && placed(n) && n.End <= len(b.data) && stamp(string(b.data[n.Start:n.End])) {
			return true
		}
	}
	return false
}

// plainFits reports whether text can stand without quotes as far as the grammar
// goes. It is stricter than YAML.
func plainFits(s string, flow bool) bool {
	if s == "" || strings.TrimSpace(s) != s || strings.IndexByte("-?:,[]{}#&*!|>'\"%@`=<~", s[0]) >= 0 {
		return false
	}
	if strings.Contains(s, ": ") || strings.Contains(s, " #") || strings.HasSuffix(s, ":") || strings.HasPrefix(s, "...") {
		return false
	}
	if flow && strings.ContainsAny(s, ",[]{}:") {
		return false
	}
	for _, r := range s {
		if r != ' ' && !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// typed reports whether some reader of YAML takes plain text for something
// else: a boolean, nothing, a number or a time.
func typed(s string) bool {
	switch strings.ToLower(s) {
	case "null", "true", "false", "yes", "no", "on", "off", "y", "n", ".nan", ".inf":
		return true
	}
	t := strings.TrimLeft(s, "+-.")
	if t == "" || t[0] < '0' || t[0] > '9' {
		return false
	}
	return strings.Trim(t, "0123456789abcdefABCDEFxXoO_.:+-TZtz ") == ""
}

// stamp reports whether text is a date or a time as YAML knows them.
func stamp(s string) bool {
	if len(s) < 10 {
		return false
	}
	_, ok := doc.ParseTime(s)
	return ok && shape(s[:10]) == "0000-00-00"
}

// shape makes all digits the same.
func shape(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return '0'
		}
		return r
	}, s)
}

// singleQuoted returns "" for what single quotes cannot hold.
func singleQuoted(s string) string {
	for _, r := range s {
		if r != ' ' && !unicode.IsPrint(r) {
			return ""
		}
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

func doubleQuoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == ' ' || unicode.IsPrint(r) && r != utf8.RuneError:
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// token writes a scalar in a new place.
func (b block) token(v *doc.Node, siblings []*doc.Node) string {
	return b.tokens(v, "", siblings, false)[0]
}

// flowToken writes a scalar so that it reads as that text anywhere, also as a key.
func flowToken(s string) string {
	if plainFits(s, true) && !typed(s) {
		return s
	}
	return doubleQuoted(s)
}

// flowText writes a value with brackets, on one line.
func flowText(v *doc.Node) string {
	switch v.Kind {
	case doc.Map:
		parts := make([]string, len(v.Keys))
		for i, k := range v.Keys {
			parts[i] = flowToken(k.Name) + ": " + flowText(k.Value)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case doc.List:
		parts := make([]string, len(v.Items))
		for i, item := range v.Items {
			parts[i] = flowText(item)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case doc.String:
		return flowToken(v.Text)
	case doc.Null:
		return "null"
	}
	return v.Text
}

// yamlStyle is how the blocks of a file are indented: a map in a map, and a
// list in a map.
type yamlStyle struct{ unit, list int }

func (b block) style() yamlStyle {
	s := yamlStyle{-1, -1}
	var walk func(n *doc.Node)
	walk = func(n *doc.Node) {
		if s.unit >= 0 && s.list >= 0 {
			return
		}
		for _, k := range n.Keys {
			v := k.Value
			if composite(v) && v.Holds() && placed(v) && !b.isFlow(v) {
				step := b.column(v.Start) - b.column(n.Start)
				if v.Kind == doc.List && s.list < 0 && step >= 0 && step <= 8 {
					s.list = step
				}
				if v.Kind == doc.Map && s.unit < 0 && step > 0 && step <= 8 {
					s.unit = step
				}
			}
			walk(v)
		}
		for _, item := range n.Items {
			walk(item)
		}
	}
	walk(b.root)
	if s.unit < 0 {
		s.unit = 2
	}
	if s.list < 0 {
		s.list = s.unit
	}
	return s
}

// lines writes a collection as a block.
func (b block) lines(v *doc.Node, indent string, s yamlStyle) []string {
	var out []string
	for _, k := range v.Keys {
		out = append(out, b.entry(flowToken(k.Name), k.Value, indent, s)...)
	}
	for _, item := range v.Items {
		out = append(out, b.item(item, indent, s)...)
	}
	return out
}

// entry writes one entry of a map; the key is written already.
func (b block) entry(key string, v *doc.Node, indent string, s yamlStyle) []string {
	if composite(v) {
		if !v.Holds() {
			return []string{indent + key + ": " + flowText(v)}
		}
		step := s.unit
		if v.Kind == doc.List {
			step = s.list
		}
		return append([]string{indent + key + ":"}, b.lines(v, indent+strings.Repeat(" ", step), s)...)
	}
	return []string{indent + key + ": " + b.token(v, b.values())}
}

// item writes one item of a list, the first line of a collection behind the
// dash.
func (b block) item(v *doc.Node, indent string, s yamlStyle) []string {
	if !composite(v) {
		return []string{indent + "- " + b.token(v, nil)}
	}
	if !v.Holds() {
		return []string{indent + "- " + flowText(v)}
	}
	lines := b.lines(v, indent+"  ", s)
	lines[0] = indent + "- " + lines[0][len(indent)+2:]
	return lines
}

// values are the scalars that tell how the file writes times.
func (b block) values() []*doc.Node {
	var out []*doc.Node
	var walk func(n *doc.Node)
	walk = func(n *doc.Node) {
		if n.Kind == doc.String && len(n.Text) >= 10 && len(out) < 100 {
			out = append(out, n)
		}
		for _, k := range n.Keys {
			walk(k.Value)
		}
		for _, item := range n.Items {
			walk(item)
		}
	}
	walk(b.root)
	return out
}

// keyText writes a key the way the last key of its map is written, as far as
// that reads the same.
func (b block) keyText(n *doc.Node, name string, column int) string {
	last := n.Keys[len(n.Keys)-1]
	at := b.lineAt(last.Line) + column
	if at >= len(b.data) {
		return flowToken(name)
	}
	switch b.data[at] {
	case '"':
		return doubleQuoted(name)
	case '\'':
		if s := singleQuoted(name); s != "" {
			return s
		}
	default:
		if typed(last.Name) && plainFits(name, true) {
			return name
		}
	}
	return flowToken(name)
}
