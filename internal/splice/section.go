package splice

import (
	"fmt"
	"strings"

	"reprise/internal/doc"
)

// AppendLines adds lines at the end of a section's own text, before its first
// subordinate heading and before the blank lines that end it. A blank line is
// put before them where they would otherwise belong to a table or a heading.
// Without a section they are added at the end of the text before the first
// heading.
func (m *Markdown) AppendLines(w Where, lines ...string) error {
	const op = "append to"
	what := "section " + w.Section
	s, err := m.scope(op, w)
	if err != nil {
		return err
	}
	if len(lines) == 0 {
		return nil
	}
	if err := fitLines(op, what, lines); err != nil {
		return err
	}
	last, level := m.line(s.Line), s.Level // the heading, -1 for the whole body
	if level == 0 {
		last = -1
	}
	empty := true
	for i := last + 1; i < len(m.md.Lines) && m.headingLevel(i) == 0; i++ {
		if strings.TrimSpace(m.md.Lines[i].Text) != "" {
			last, empty = i, false
		}
	}
	apart := append([]string{""}, lines...)
	if empty {
		if last < 0 {
			return m.insert(op, what, -1, lines)
		}
		return m.insert(op, what, last, apart, lines)
	}
	return m.insert(op, what, last, lines, apart)
}

// AppendSection adds a section at the end of another, subordinate sections
// included, or without one at the end of the file. Blank lines part it from
// what is around it and its heading from its lines.
func (m *Markdown) AppendSection(w Where, level int, title string, lines ...string) error {
	const op = "append section"
	s, err := m.scope(op, w)
	if err != nil {
		return err
	}
	if level < 1 || level > 6 || w.Section != "" && level <= s.Level {
		return &Error{op, title, ErrUnfit, fmt.Sprintf("level %d does not fit", level)}
	}
	if err := fitLines(op, title, append([]string{title}, lines...)); err != nil {
		return err
	}
	end := len(m.md.Lines)
	if w.Section != "" {
		end = m.line(s.Line) + 1
		for end < len(m.md.Lines) {
			if l := m.headingLevel(end); l > 0 && l <= s.Level {
				break
			}
			end++
		}
	}
	last := end - 1
	for last >= 0 && strings.TrimSpace(m.md.Lines[last].Text) == "" {
		last--
	}
	block := []string{strings.Repeat("#", level) + " " + strings.TrimSpace(title)}
	if is, got := (doc.Line{Text: block[0]}).Heading(); is != level || got != strings.TrimSpace(title) {
		return &Error{op, title, ErrUnfit, "it would not read as a heading"}
	}
	if len(lines) > 0 {
		block = append(append(block, ""), lines...)
	}
	if last >= 0 || m.md.Front != nil {
		block = append([]string{""}, block...)
	}
	if last+1 < len(m.md.Lines) && strings.TrimSpace(m.md.Lines[last+1].Text) != "" {
		block = append(block, "")
	}
	return m.insert(op, title, last, block)
}

func fitLines(op, what string, lines []string) error {
	for _, line := range lines {
		if !oneLine(line) {
			return &Error{op, what, ErrUnfit, "a line holds a line end or is not valid UTF-8"}
		}
	}
	return nil
}

// insert puts one of several blocks of lines behind a line of the body, before
// all of it for -1.
func (m *Markdown) insert(op, what string, last int, blocks ...[]string) error {
	at := len(m.now)
	if last >= 0 {
		at = m.after(last)
	} else if len(m.md.Lines) > 0 {
		at = m.md.Lines[0].Start
	}
	var err error
	for _, lines := range blocks {
		p := insertLines(m.now, at, lines)
		err = m.commit(op, what, change{last + 1, 0, len(lines)}, []patch{p}, func(next *doc.Markdown) bool {
			for i, line := range lines {
				if next.Lines[last+1+i].Text != line {
					return false
				}
			}
			return ownTables(next, last+1, len(lines))
		})
		if err == nil {
			return nil
		}
	}
	return err
}

func (m *Markdown) headingLevel(i int) int {
	level, _ := m.md.Lines[i].Heading()
	return level
}

// ownTables reports whether no line of a range has become a row of a table that
// stood before it.
func ownTables(md *doc.Markdown, at, count int) bool {
	from := md.Lines[0].No + at
	for _, t := range md.All().Tables() {
		for _, r := range t.Rows {
			if no := r[0].Line; no >= from && no < from+count && t.Line < from {
				return false
			}
		}
	}
	return true
}
