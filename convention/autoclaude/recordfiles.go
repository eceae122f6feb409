package autoclaude

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/splice"
)

// writer collects the changes for one event.
type writer struct {
	l     *loader
	ev    reprise.Event
	files []*target // in the order in which they were opened
}

// target is one file while it is changed.
type target struct {
	path, why string
	base      []byte // nil for a file that is made
	json      *splice.JSON
	text      []byte // the new content of a file that is not JSON
}

// open gives a JSON file of the spec for editing; it must be there.
func (w *writer) open(name, why string) (*target, error) {
	for _, t := range w.files {
		if t.path == name {
			return t, nil
		}
	}
	rd := doc.NewReader(w.l.fsys)
	f := rd.Open(name)
	if !f.OK() {
		return nil, unreadable(name, rd)
	}
	j, err := splice.NewJSON(f.Data)
	if err != nil {
		return nil, fmt.Errorf("record in %s: %w", name, err)
	}
	if j.Root().Kind != doc.Map {
		return nil, fmt.Errorf("record in %s: the file holds no object", name)
	}
	t := &target{path: name, why: why, base: f.Data, json: j}
	w.files = append(w.files, t)
	return t, nil
}

// create begins a JSON file that is not there.
func (w *writer) create(name, why, content string) (*target, error) {
	j, err := splice.NewJSON([]byte(content))
	if err != nil {
		return nil, fmt.Errorf("record in %s: %w", name, err)
	}
	t := &target{path: name, why: why, json: j}
	w.files = append(w.files, t)
	return t, nil
}

// write sets the whole content of a file that is not JSON.
func (w *writer) write(name, why string, base, text []byte) {
	w.files = append(w.files, &target{path: name, why: why, base: base, text: text})
}

func unreadable(name string, rd *doc.Reader) error {
	for _, f := range rd.Findings() {
		if f.Source.File == name {
			return fmt.Errorf("record in %s: %s", name, f.Message)
		}
	}
	return fmt.Errorf("record in %s: the file cannot be read", name)
}

// edits gives the changes, none for files that stay as they are.
func (w *writer) edits() []reprise.Edit {
	var out []reprise.Edit
	for _, t := range w.files {
		switch now := t.now(); {
		case t.base == nil:
			out = append(out, splice.Create(t.path, now, t.why))
		case !bytes.Equal(t.base, now):
			out = append(out, splice.Edit(t.path, t.base, now, t.why))
		}
	}
	return out
}

func (t *target) now() []byte {
	if t.json != nil {
		return t.json.Bytes()
	}
	return t.text
}

// at gives the value at a place, nil if there is none.
func (t *target) at(place []any, more ...any) *doc.Node {
	return splice.Path(slices.Concat(place, more)).In(t.json.Root())
}

// put sets the value at a place, or adds it.
func (t *target) put(value any, place []any, more ...any) error {
	if err := t.json.Put(slices.Concat(place, more), value); err != nil {
		return fmt.Errorf("record in %s: %w", t.path, err)
	}
	return nil
}

// add puts an item at the end of a list.
func (t *target) add(value any, place ...any) error {
	if err := t.json.Append(place, value); err != nil {
		return fmt.Errorf("record in %s: %w", t.path, err)
	}
	return nil
}

// touch moves a time forward to that of the event, spelled as it was, or as the
// sample where there was none. A time is never moved back: the later one says
// when the file was last right.
func (w *writer) touch(t *target, sample string, place []any, more ...any) error {
	n := t.at(place, more...)
	if w.ev.At.IsZero() || n != nil && n.Kind != doc.String && n.Kind != doc.Null {
		return nil
	}
	if n != nil && n.Kind == doc.String && n.Text != "" {
		sample = n.Text
	}
	now := respell(sample, w.ev.At)
	if n != nil && n.Kind == doc.String {
		was, known := doc.ParseTime(n.Text)
		is, _ := doc.ParseTime(now)
		if known && !is.After(was) {
			return nil
		}
	}
	return t.put(now, place, more...)
}

// respell writes a time as another one is written: as long, with as many
// digits, and in its zone. A time without a zone is written in UTC, as such
// times are read.
func respell(sample string, at time.Time) string {
	const usual = "2006-01-02T15:04:05.000Z07:00"
	at = at.UTC()
	s := strings.TrimSpace(sample)
	if _, err := time.Parse(time.DateOnly, s); err == nil {
		return at.Format(time.DateOnly)
	}
	if _, ok := doc.ParseTime(s); !ok || len(s) < 16 || s[10] != 'T' && s[10] != ' ' {
		return at.Format(usual)
	}
	layout, rest := "2006-01-02"+s[10:11]+"15:04", s[16:]
	if strings.HasPrefix(rest, ":") && len(rest) >= 3 {
		layout, rest = layout+":05", rest[3:]
	}
	if strings.HasPrefix(rest, ".") {
		zone := strings.TrimLeft(rest[1:], "0123456789")
		digits := len(rest) - 1 - len(zone)
		layout, rest = layout+"."+strings.Repeat("0", min(digits, 9)), zone
	}
	switch {
	case rest == "":
		return at.Format(layout)
	case rest == "Z":
		return at.Format(layout + "Z07:00")
	}
	for _, zone := range []string{"-07:00", "-0700", "-07"} {
		if t, err := time.Parse(zone, rest); err == nil {
			_, offset := t.Zone()
			return at.In(time.FixedZone("", offset)).Format(layout + zone)
		}
	}
	return at.Format(usual)
}

// tidy makes a text of a person or an agent fit to be stored: valid, without
// control characters but line ends, and not endless.
func tidy(s string, most int) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n")
	s = strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
	if runes := []rune(s); len(runes) > most {
		s = string(runes[:most]) + " […]"
	}
	return strings.TrimSpace(s)
}
