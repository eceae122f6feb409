package ledger

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"reprise/internal/doc"
	"reprise/internal/splice"
)

// Set writes a value in its place, adding its key where the map lacks it. What is
// there already stays as it is spelled.
func (c *Changes) Set(v Value, value any) {
	if f := c.Structured(v.File); f != nil && c.err == nil {
		f.keep(f.tree.Put(v.Path, value))
	}
}

// Add puts an item at the end of the list at a place.
func (c *Changes) Add(v Value, value any) {
	if f := c.Structured(v.File); f != nil && c.err == nil {
		f.keep(f.tree.Append(v.Path, value))
	}
}

// Drop takes the first items off a list of a JSON file. It is for items that the
// same changes put into another list: nothing else is ever removed.
func (c *Changes) Drop(v Value, items int) {
	f := c.Structured(v.File)
	if f == nil || c.err != nil || items == 0 {
		return
	}
	list := c.Now(v)
	if !list.Is(doc.List) || items > len(list.Items) || !IsJSON(f.now()) {
		f.keep(fmt.Errorf("drop %d of %s: %w", items, v.Path, splice.ErrNotFound))
		return
	}
	data := f.now()
	from, to, text := list.Start, list.End, "[]"
	if items < len(list.Items) {
		from, to, text = list.Items[0].Start, list.Items[items].Start, ""
	}
	c.Fail(f.parse(splice.NewJSON(slices.Concat(data[:from], []byte(text), data[to:]))))
}

// Now reads a value again as the changes so far left it.
func (c *Changes) Now(v Value) Value {
	if f := c.opened(v.File); f != nil && f.tree != nil {
		v.Node = v.Path.In(f.tree.Root())
	}
	return v
}

// Touch moves a time on record forward to at, spelled as it was, or as the sample
// where it is empty. A time that is not in the file is not added, and none is
// moved back: the later one says when the file was last right.
func (c *Changes) Touch(v Value, at time.Time, sample string) {
	if c.Now(v).Node != nil {
		c.Stamp(v, at, sample)
	}
}

// Stamp is Touch for a time that is added where it is missing.
func (c *Changes) Stamp(v Value, at time.Time, sample string) {
	v = c.Now(v)
	if at.IsZero() || v.Is(doc.List) || v.Is(doc.Map) || v.Is(doc.Bool) {
		return
	}
	if text := v.Plain(); text != "" {
		sample = text
	}
	next := SpellTime(at, sample, "")
	was, known := doc.ParseTime(v.Plain())
	is, _ := doc.ParseTime(fmt.Sprint(next))
	if !known || is.After(was) {
		c.Set(v, next)
	}
}

// SetText writes a text of a Markdown file in its place. Numbers and null are for
// the front matter alone. A value that is added to the front matter moves the lines
// below it: texts of the body must be set before.
func (c *Changes) SetText(t Text, value any) {
	c.edit(t, func(m *splice.Markdown, at splice.Where) error {
		switch {
		case t.form == labelText:
			return m.SetLabel(at, t.name, fmt.Sprint(value))
		case t.form == checkText:
			return m.SetBox(at, t.Value, fmt.Sprint(value))
		case t.form == cellText:
			return m.SetCell(at, splice.Row{}, t.name, fmt.Sprint(value))
		case t.name == "":
			return fmt.Errorf("set text: %w", splice.ErrNotFound)
		}
		var path splice.Path
		for _, key := range strings.Split(t.name, ".") {
			path = append(path, key)
		}
		return m.SetFront(path, value)
	})
}

// Tick ticks or clears a check box.
func (c *Changes) Tick(t Text, ticked bool) {
	c.edit(t, func(m *splice.Markdown, at splice.Where) error { return m.SetCheck(at, t.Value, ticked) })
}

// Mark puts another mark into a check box.
func (c *Changes) Mark(t Text, mark string) {
	c.edit(t, func(m *splice.Markdown, at splice.Where) error { return m.SetBox(at, t.Value, mark) })
}

// Reword gives the item of a check box another text. It is found by the text that it had, so
// its box is set before.
func (c *Changes) Reword(t Text, text string) {
	c.edit(t, func(m *splice.Markdown, at splice.Where) error { return m.SetItem(at, t.Value, text) })
}

// edit runs an edit of the file that a text stands in, on its line.
func (c *Changes) edit(t Text, edit func(m *splice.Markdown, at splice.Where) error) {
	c.Markdown(t.File).Do(func(m *splice.Markdown) error { return edit(m, splice.Where{Line: t.Line}) })
}
