package splice

import (
	"slices"

	"reprise/internal/doc"
)

// JSONLines is a file of JSON lines while it is edited: a list whose items are the lines
// that are not blank.
type JSONLines struct {
	text
	root *doc.Node
}

// NewJSONLines reads a file of JSON lines. It returns an *Error with ErrUnreadable if one
// of its lines is not one whole JSON document.
func NewJSONLines(data []byte) (*JSONLines, error) {
	root, why := readJSONLines(data)
	if why != "" {
		return nil, &Error{"read", "JSON lines", ErrUnreadable, why}
	}
	return &JSONLines{text{data, data}, root}, nil
}

func readJSONLines(data []byte) (root *doc.Node, why string) {
	r, f := doc.Memory("lines", data)
	root = f.JSONLines()
	for _, found := range r.Findings() {
		if root == nil || slices.ContainsFunc(root.Items, (*doc.Node).IsNull) {
			return nil, found.Message
		}
	}
	return root, ""
}

// Root returns the lines as they read now.
func (l *JSONLines) Root() *doc.Node { return l.root }

// Put sets the value at a path or, if the last key of the path does not exist in its map,
// adds it behind the others. The path begins with the number of the line among those that
// are not blank.
func (l *JSONLines) Put(path Path, value any) error {
	return l.edit(path, func(j *JSON, rest Path) error { return j.Put(rest, value) })
}

// Append adds an item at the end of the list at a path, or a line for the empty path.
func (l *JSONLines) Append(path Path, value any) error {
	if len(path) > 0 {
		return l.edit(path, func(j *JSON, rest Path) error { return j.Append(rest, value) })
	}
	next, err := AppendRecord(l.now, value)
	if err != nil {
		return err
	}
	return l.take("append", path, next)
}

// edit changes one line and leaves the bytes of all others.
func (l *JSONLines) edit(path Path, change func(j *JSON, rest Path) error) error {
	line := Path{}
	if len(path) > 1 {
		line = path[:1]
	}
	n := find(l.root, line)
	if n == nil || n == l.root {
		return &Error{"set", path.String(), ErrNotFound, ""}
	}
	j, err := NewJSON(l.now[n.Start:n.End])
	if err != nil {
		return err
	}
	if err := change(j, path[1:]); err != nil {
		return err
	}
	return l.take("set", path, slices.Concat(l.now[:n.Start], j.Bytes(), l.now[n.End:]))
}

// take reads the new content back before it counts.
func (l *JSONLines) take(op string, path Path, next []byte) error {
	root, why := readJSONLines(next)
	if why != "" {
		return &Error{op, path.String(), ErrUnfit, why}
	}
	l.now, l.root = next, root
	return nil
}
