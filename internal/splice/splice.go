// Package splice makes byte-exact edits: of the bytes of a file only those of
// the value asked for are replaced, and everything else — line ends, a byte
// order mark, comments, the order of keys, fields no one knows, keys that stand
// twice, broken characters, a missing last line end — stays as it was.
//
// An edit that returns nil has been read back with the same reader that layouts
// use: the value reads as asked, and the rest reads as before. An edit that
// returns an error has changed nothing. Setting what is already there is no
// change. No input makes a function panic.
//
// JSON, YAML and Markdown hold one file each while it is edited. They are not
// safe for concurrent use.
package splice

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// The causes of every refusal.
var (
	// ErrNotFound says that the place asked for does not exist.
	ErrNotFound = errors.New("not found")
	// ErrAmbiguous says that more than one place fits. Name a section or a line.
	ErrAmbiguous = errors.New("more than one place fits")
	// ErrUnfit says that the value cannot be written in that place so that it
	// reads back as asked and the rest reads as before.
	ErrUnfit = errors.New("cannot be written there")
	// ErrUnreadable says that the file is not what it should be.
	ErrUnreadable = errors.New("not readable")
)

// Error tells what was refused and why. Err is one of the causes above.
type Error struct {
	Op     string // "set", "append", …
	What   string // the place: a path, a label, a section
	Err    error
	Detail string // what a person needs to know beyond the cause; may be empty
}

// Error implements error.
func (e *Error) Error() string {
	s := e.Op
	if e.What != "" {
		s += " " + e.What
	}
	s += ": " + e.Err.Error()
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Hint says what a person can do.
func (e *Error) Hint() string {
	switch e.Err {
	case ErrUnreadable:
		return "the write may have been cut off; look at the file by hand"
	case ErrUnfit:
		return "edit the file by hand; nothing was changed"
	}
	return ""
}

// Path leads to a value of JSON or YAML: a string is a key, an int an index
// from 0. The empty path is the whole document. Of a key that stands twice the
// last one counts, as in the reader.
type Path []any

// String joins the steps with dots, for messages.
func (p Path) String() string {
	steps := make([]string, len(p))
	for i, s := range p {
		steps[i] = fmt.Sprint(s)
	}
	return strings.Join(steps, ".")
}

// text is a file while it is edited.
type text struct{ base, now []byte }

// Bytes returns the content with the edits so far. Without a change it is the
// slice that was given. It must not be written to.
func (t *text) Bytes() []byte { return t.now }

// Changed reports whether any edit changed a byte.
func (t *text) Changed() bool { return !bytes.Equal(t.base, t.now) }

// firstFit makes the first of several changes after which the content reads as it
// should.
func (t *text) firstFit(op, what string, patches []patch, reads func(next []byte) bool) error {
	for _, p := range patches {
		if next, ok := p.apply(t.now); ok && reads(next) {
			t.now = next
			return nil
		}
	}
	return &Error{op, what, ErrUnfit, "it would not read back"}
}

// Edit returns the change from what was read to what stands here now; ok is
// false if there is none.
func (t *text) Edit(path, why string) (e reprise.Edit, ok bool) {
	return Edit(path, t.base, t.now, why), t.Changed()
}

// Edit returns the change of an existing file from base, which was read, to
// next. It is refused by the store if the file is no longer base.
func Edit(path string, base, next []byte, why string) reprise.Edit {
	return reprise.Edit{Path: path, Base: reprise.HashOf(base), Content: next, Why: why}
}

// Create returns the creation of a file. It is refused by the store if there is
// one by then.
func Create(path string, content []byte, why string) reprise.Edit {
	return reprise.Edit{Path: path, Content: content, Why: why}
}

// Tail returns the same change as Edit in the form of an addition at the end,
// for logs. It returns an *Error with ErrUnfit if next does not begin with base.
func Tail(path string, base, next []byte, why string) (reprise.Edit, error) {
	if !bytes.HasPrefix(next, base) {
		return reprise.Edit{}, &Error{"append", path, ErrUnfit, "what was there before would change"}
	}
	return reprise.Edit{Path: path, Base: reprise.HashOf(base), Content: next[len(base):], Append: true, Why: why}, nil
}

// patch is one replacement.
type patch struct {
	start, end int
	text       string
}

// apply returns a new content; ok is false for a place that does not exist.
func (p patch) apply(data []byte) (next []byte, ok bool) {
	if p.start < 0 || p.end < p.start || p.end > len(data) {
		return nil, false
	}
	next = make([]byte, 0, len(data)+len(p.text)-(p.end-p.start))
	next = append(next, data[:p.start]...)
	next = append(next, p.text...)
	return append(next, data[p.end:]...), true
}

// lineEnd returns the line end in use before a place, or else behind it.
func lineEnd(data []byte, at int) string {
	at = min(max(at, 0), len(data))
	i := bytes.LastIndexByte(data[:at], '\n')
	if i < 0 {
		if i = bytes.IndexByte(data[at:], '\n'); i < 0 {
			return "\n"
		}
		i += at
	}
	if i > 0 && data[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// lineBegin returns where the line of a place begins.
func lineBegin(data []byte, at int) int {
	at = min(max(at, 0), len(data))
	if i := bytes.LastIndexByte(data[:at], '\n'); i >= 0 {
		return i + 1
	}
	if bytes.HasPrefix(data, bom) {
		return min(len(bom), at)
	}
	return 0
}

// lineNext returns where the line after the one of a place begins.
func lineNext(data []byte, at int) int {
	if i := bytes.IndexByte(data[min(at, len(data)):], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(data)
}

// insertLines puts whole lines at a place where a line begins, or at the end of
// a file, whose last line then stays without a line end if it was so.
func insertLines(data []byte, at int, lines []string) patch {
	nl := lineEnd(data, at)
	body := strings.Join(lines, nl)
	if at >= len(data) && len(data) > 0 && data[len(data)-1] != '\n' {
		return patch{at, at, nl + body}
	}
	return patch{at, at, body + nl}
}

var bom = []byte("\xef\xbb\xbf")

// leading returns the blanks at the beginning of the line of a place.
func leading(data []byte, at int) string {
	from := lineBegin(data, at)
	to := from
	for to < len(data) && (data[to] == ' ' || data[to] == '\t') {
		to++
	}
	return string(data[from:to])
}

// In returns what stands at the path below root, nil if there is nothing.
func (p Path) In(root *doc.Node) *doc.Node { return find(root, p) }
