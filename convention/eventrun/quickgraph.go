package eventrun

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"reprise"
)

// quickGraph reads a task graph in the form in which large ones are written: a
// title and tasks with id, title, phase, files and dependencies, in JSON. It reports
// false, and has changed nothing, for anything else or in doubt, which the
// reading with positions and findings decides about.
func quickGraph(g *graph, data []byte) bool {
	if !utf8.Valid(data) {
		return false
	}
	q := &quick{b: data, file: g.file, line: 1, owned: g.origin.File != "", nodes: make([]node, 0, bytes.Count(data, []byte(`"id"`)))}
	var title string
	var seen uint8
	ok := q.object(func(key []byte) bool {
		switch string(key) {
		case "title":
			return once(&seen, 1) && q.any(&title)
		case "tasks":
			return once(&seen, 2) && q.list(q.task)
		case "workflow":
			return once(&seen, 4) && q.origin()
		}
		return false
	})
	if q.space(); !ok || q.i != len(data) || len(q.nodes) == 0 {
		return false
	}
	g.title = strings.TrimSpace(title)
	g.nodes = make([]*node, len(q.nodes))
	for i := range q.nodes {
		g.nodes[i] = &q.nodes[i]
	}
	return true
}

// quick is a place in the JSON of a graph.
type quick struct {
	b     []byte
	i     int
	line  int
	file  string
	nodes []node
	owned bool // it was made from a workflow file of a person's own
}

// once marks a key as seen; one that stands twice is not for here.
func once(seen *uint8, bit uint8) bool {
	twice := *seen&bit != 0
	*seen |= bit
	return !twice
}

func (q *quick) space() {
	for q.i < len(q.b) {
		switch q.b[q.i] {
		case '\n':
			q.line++
		case ' ', '\t', '\r':
		default:
			return
		}
		q.i++
	}
}

// next passes blanks and one character.
func (q *quick) next(c byte) bool {
	q.space()
	if q.i >= len(q.b) || q.b[q.i] != c {
		return false
	}
	q.i++
	return true
}

// text reads a string without escapes.
func (q *quick) text() ([]byte, bool) {
	if !q.next('"') {
		return nil, false
	}
	end, escaped := skipString(q.b, q.i)
	if end < 0 || escaped {
		return nil, false
	}
	out := q.b[q.i : end-1]
	q.i = end
	return out, true
}

// any reads a string of any sort.
func (q *quick) any(into *string) bool {
	if !q.next('"') {
		return false
	}
	end, escaped := skipString(q.b, q.i)
	if end < 0 {
		return false
	}
	raw := q.b[q.i-1 : end]
	q.i = end
	if !escaped {
		*into = string(raw[1 : len(raw)-1])
		return true
	}
	return json.Unmarshal(raw, into) == nil
}

func (q *quick) object(field func(key []byte) bool) bool {
	if !q.next('{') {
		return false
	}
	for {
		key, ok := q.text()
		if !ok || !q.next(':') || !field(key) {
			return false
		}
		if q.next('}') {
			return true
		}
		if !q.next(',') {
			return false
		}
	}
}

func (q *quick) list(item func() bool) bool {
	if !q.next('[') {
		return false
	}
	if q.next(']') {
		return true
	}
	for {
		if !item() {
			return false
		}
		if q.next(']') {
			return true
		}
		if !q.next(',') {
			return false
		}
	}
}

// task reads one task. It is written out, since a graph may hold many.
func (q *quick) task() bool {
	q.space()
	q.nodes = append(q.nodes, node{source: reprise.Source{File: q.file, Line: q.line}})
	n := &q.nodes[len(q.nodes)-1]
	if !q.next('{') {
		return false
	}
	var seen uint8
	for {
		key, ok := q.text()
		if !ok || !q.next(':') || !q.field(n, key, &seen) {
			return false
		}
		if q.next('}') {
			return n.id != ""
		}
		if !q.next(',') {
			return false
		}
	}
}

func (q *quick) field(n *node, key []byte, seen *uint8) bool {
	switch string(key) {
	case "id":
		id, ok := q.text()
		n.id = strings.TrimSpace(string(id))
		return ok && once(seen, 1)
	case "title":
		ok := q.any(&n.title)
		n.title = oneLine(n.title)
		return ok && once(seen, 2)
	case "phase":
		return once(seen, 4) && q.any(&n.phase)
	case "dependencies":
		return once(seen, 8) && q.list(func() bool { return q.need(n) })
	case "files":
		return once(seen, 16) && q.list(func() bool { return q.touches(n) })
	case "max_attempts":
		return once(seen, 32) && q.count(&n.attempts)
	}
	return false
}

func (q *quick) need(n *node) bool {
	id, ok := q.text()
	if !ok {
		return false
	}
	need := strings.TrimSpace(string(id))
	for _, have := range n.needs {
		if have == need {
			return true
		}
	}
	if need != "" {
		n.needs = append(n.needs, need)
	}
	return true
}

func (q *quick) touches(n *node) bool {
	var name string
	if !q.any(&name) {
		return false
	}
	if name = strings.TrimSpace(name); name != "" && len(n.files) < maxFiles {
		n.files = append(n.files, name)
	}
	return true
}

// count reads how often a task may fail.
func (q *quick) count(into *int) bool {
	q.space()
	from := q.i
	for q.i < len(q.b) && q.b[q.i] >= '0' && q.b[q.i] <= '9' {
		q.i++
	}
	n, err := strconv.Atoi(string(q.b[from:q.i]))
	*into = n
	return err == nil && q.b[from] != '0' && n <= mostAttempts && q.owned
}

// origin passes what a graph says of the workflow file it was made from.
func (q *quick) origin() bool {
	var seen uint8
	return q.object(func(key []byte) bool {
		var text string
		switch string(key) {
		case "file":
			return once(&seen, 1) && q.any(&text)
		case "sha256":
			return once(&seen, 2) && q.any(&text)
		}
		return false
	})
}
