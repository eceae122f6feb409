package doc

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// place fills Start and End of a node whose children have theirs. The parser
// gives lines and columns only; what does not stand where they say gets none.
func (c *yamlConverter) place(y *yaml.Node, n *Node, at int) {
	ok := true
	at = skipProperties(c.data, at, y.Kind != yaml.ScalarNode || y.Value != "")
	end := at
	switch {
	case y.Kind == yaml.ScalarNode:
		end, ok = scalarEnd(c.data, at, y)
	case y.Style&yaml.FlowStyle != 0 && at < len(c.data) && (c.data[at] == '[' || c.data[at] == '{'):
		end, ok = c.flowEnd(at, n)
	default:
		end = max(at, n.LastEnd()-c.base)
	}
	if ok {
		n.Start, n.End = c.base+at, c.base+end
	}
}

// offset converts a line and a column, which counts characters.
func (c *yamlConverter) offset(line, column int) (at int, ok bool) {
	if line < 1 || line > len(c.lines) || column < 1 {
		return 0, false
	}
	at, n := c.lines[line-1], 1
	if line == c.line && column >= c.column { // nodes come in the order of the file
		at, n = c.at, c.column
	}
	for ; n < column; n++ {
		if at >= len(c.data) {
			return 0, false
		}
		_, size := utf8.DecodeRune(c.data[at:])
		at += size
	}
	c.line, c.column, c.at = line, column, at
	return at, true
}

// yamlLines returns where lines begin. YAML knows more line ends than others.
func yamlLines(data []byte) []int {
	lines := []int{0}
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '\n',
			c == '\r' && (i+1 == len(data) || data[i+1] != '\n'),
			c == 0x85 && i > 0 && data[i-1] == 0xc2,
			(c == 0xa8 || c == 0xa9) && i > 1 && data[i-1] == 0x80 && data[i-2] == 0xe2:
			lines = append(lines, i+1)
		}
	}
	return lines
}

// skipProperties skips anchors and tags, which the parser counts to the value.
func skipProperties(data []byte, at int, lines bool) int {
	blanks := " \t"
	if lines {
		blanks = " \t\r\n"
	}
	for at < len(data) && (data[at] == '&' || data[at] == '!') {
		for at < len(data) && strings.IndexByte(" \t\r\n,[]{}", data[at]) < 0 {
			at++
		}
		at = skipBlanks(data, at, blanks)
	}
	return at
}

// skipBlanks skips the given bytes and, where lines are among them, comments.
func skipBlanks(data []byte, at int, blanks string) int {
	for at < len(data) {
		switch {
		case strings.IndexByte(blanks, data[at]) >= 0:
			at++
		case data[at] == '#' && strings.Contains(blanks, "\n"):
			for at < len(data) && data[at] != '\n' {
				at++
			}
		default:
			return at
		}
	}
	return at
}

// scalarEnd finds where the scalar ends that begins at an offset.
func scalarEnd(data []byte, at int, y *yaml.Node) (end int, ok bool) {
	switch {
	case y.Style&yaml.DoubleQuotedStyle != 0:
		return quoteEnd(data, at, '"')
	case y.Style&yaml.SingleQuotedStyle != 0:
		return quoteEnd(data, at, '\'')
	case y.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		if at >= len(data) || (data[at] != '|' && data[at] != '>') {
			return 0, false
		}
		head, _ := cutLine(data[at:])
		if bytes.IndexByte(head, '#') >= 0 {
			return 0, false // a comment in the middle of the value
		}
		return wordsEnd(data, at+len(bytes.TrimRight(head, " \t\r")), y.Value)
	case y.Value != "" && (at >= len(data) || unicode.IsSpace(rune(data[at]))):
		return 0, false
	}
	return wordsEnd(data, at, y.Value)
}

func quoteEnd(data []byte, at int, quote byte) (end int, ok bool) {
	if at >= len(data) || data[at] != quote {
		return 0, false
	}
	for i := at + 1; i < len(data); i++ {
		switch {
		case data[i] == '\\' && quote == '"':
			i++
		case data[i] == quote && quote == '\'' && i+1 < len(data) && data[i+1] == quote:
			i++
		case data[i] == quote:
			return i + 1, true
		}
	}
	return 0, false
}

// wordsEnd matches a text whose lines may have been folded word by word.
func wordsEnd(data []byte, at int, text string) (end int, ok bool) {
	for _, word := range strings.Fields(text) {
		for at < len(data) {
			r, size := utf8.DecodeRune(data[at:])
			if !unicode.IsSpace(r) {
				break
			}
			at += size
		}
		if !bytes.HasPrefix(data[at:], []byte(word)) {
			return 0, false
		}
		at += len(word)
	}
	return at, true
}

// flowEnd finds the bracket that ends a flow collection.
func (c *yamlConverter) flowEnd(at int, n *Node) (end int, ok bool) {
	shut := byte(']')
	if c.data[at] == '{' {
		shut = '}'
	}
	pos := at + 1
	if last := lastChild(n); last != nil {
		if last.End == 0 {
			return 0, false
		}
		pos = last.End - c.base
	}
	pos = skipBlanks(c.data, pos, " \t\r\n,")
	if pos >= len(c.data) || c.data[pos] != shut {
		return 0, false
	}
	return pos + 1, true
}

func lastChild(n *Node) *Node {
	if k := len(n.Keys); k > 0 {
		return n.Keys[k-1].Value
	}
	if k := len(n.Items); k > 0 {
		return n.Items[k-1]
	}
	return nil
}

// LastEnd is where the last value inside a map or a list ends, 0 if it has none.
func (n *Node) LastEnd() int {
	end := 0
	for _, k := range n.Keys {
		end = max(end, k.Value.End)
	}
	for _, item := range n.Items {
		end = max(end, item.End)
	}
	return end
}

// lineStart returns where a line begins, given how many stand before it.
func lineStart(data []byte, before int) int {
	at := 0
	for ; before > 0; before-- {
		i := bytes.IndexByte(data[at:], '\n')
		if i < 0 {
			return len(data)
		}
		at += i + 1
	}
	return at
}
