package doc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"

	"reprise"
)

// maxDepth bounds the nesting of JSON and YAML. Real files stay below 20.
const maxDepth = 200

var bom = []byte("\xef\xbb\xbf")

// JSON parses the file as one JSON document. It returns nil and reports why if
// the file is missing parts, is not JSON, or goes on after its end; nil without
// a report only if the file does not exist or was reported when it was opened.
func (f *File) JSON() *Node {
	if !f.ok {
		return nil
	}
	n, offset, err := parseJSON(f)
	if err != nil {
		f.Report(reprise.Warning, reprise.CodeUnreadable, lineAt(f.Data, offset), "not valid JSON: "+err.Error(),
			"the write may have been cut off; look for a second copy or a backup")
		return nil
	}
	return n
}

func parseJSON(f *File) (n *Node, offset int, err error) {
	data := f.Data
	skip := 0
	if bytes.HasPrefix(data, bom) {
		skip = len(bom)
	}
	if len(bytes.TrimSpace(data[skip:])) == 0 {
		return nil, len(data), errors.New("the file is empty")
	}
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return nil, i, errors.New("NUL bytes in the file, as a power cut leaves them")
	}
	p := &jsonParser{file: f, base: skip, dec: json.NewDecoder(bytes.NewReader(data[skip:])), lines: newLines(data)}
	p.dec.UseNumber()
	n, err = p.value(0)
	if err == nil {
		if _, more := p.dec.Token(); more == nil {
			err = errors.New("more text after the end of the document")
		} else if !errors.Is(more, io.EOF) {
			err = more
		}
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return nil, len(data), errors.New("the document ends too early")
	}
	if err != nil {
		return nil, skip + int(p.dec.InputOffset()), err
	}
	return n, 0, nil
}

type jsonParser struct {
	file  *File
	base  int // bytes before the decoder's input
	dec   *json.Decoder
	lines lines
}

func (p *jsonParser) value(depth int) (*Node, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("nested deeper than %d levels", maxDepth)
	}
	tok, err := p.dec.Token()
	if err != nil {
		return nil, err
	}
	end := p.base + int(p.dec.InputOffset())
	n := &Node{file: p.file, End: end}
	switch v := tok.(type) {
	case nil:
		n.Kind, n.Text, n.Start = Null, "null", end-4
	case bool:
		n.Kind, n.Text = Bool, "false"
		if v {
			n.Text = "true"
		}
		n.Start = end - len(n.Text)
	case json.Number:
		n.Kind, n.Text, n.Start = Number, v.String(), end-len(v)
	case string:
		n.Kind, n.Text, n.Start = String, v, p.stringStart(end)
	case json.Delim:
		n.Start = end - 1
		n.Line = p.lines.at(n.Start)
		if v == '[' {
			n.Kind = List
			err = p.list(n, depth)
		} else {
			n.Kind = Map
			err = p.object(n, depth)
		}
		n.End = p.base + int(p.dec.InputOffset())
		return n, err
	}
	n.Line = p.lines.at(n.Start)
	return n, nil
}

func (p *jsonParser) list(n *Node, depth int) error {
	for p.dec.More() {
		item, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		n.Items = append(n.Items, item)
	}
	_, err := p.dec.Token()
	return err
}

func (p *jsonParser) object(n *Node, depth int) error {
	var names map[string]bool
	for p.dec.More() {
		key, err := p.dec.Token()
		if err != nil {
			return err
		}
		name, ok := key.(string)
		if !ok {
			return fmt.Errorf("a key is not text")
		}
		line := p.lines.at(p.base + int(p.dec.InputOffset()) - 1)
		value, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		if names == nil {
			names = map[string]bool{}
		}
		if names[name] {
			p.file.Report(reprise.Warning, reprise.CodeDuplicateKey, line,
				fmt.Sprintf("key %q stands twice in one object; the last one counts", Clip(name, 40)), "")
		}
		names[name] = true
		n.Keys = append(n.Keys, Field{Name: name, Line: line, Value: value})
	}
	_, err := p.dec.Token()
	return err
}

// stringStart finds the opening quote of the string literal that ends at end.
// Quotes inside are escaped, so the first unescaped one to the left is it.
func (p *jsonParser) stringStart(end int) int {
	data := p.file.Data
	for i := end - 2; i >= p.base; i-- {
		if data[i] != '"' {
			continue
		}
		slashes := 0
		for j := i - 1; j >= p.base && data[j] == '\\'; j-- {
			slashes++
		}
		if slashes%2 == 0 {
			return i
		}
	}
	return p.base
}

// lines maps byte offsets to line numbers.
type lines []int // offsets of the newlines

func newLines(data []byte) lines {
	var ls lines
	for i, b := range data {
		if b == '\n' {
			ls = append(ls, i)
		}
	}
	return ls
}

func (ls lines) at(offset int) int { return sort.SearchInts(ls, offset) + 1 }

func lineAt(data []byte, offset int) int {
	return bytes.Count(data[:min(max(offset, 0), len(data))], []byte{'\n'}) + 1
}
