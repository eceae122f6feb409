package orchestrate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"reprise/internal/doc"
	"reprise/internal/splice"
)

// logMove adds a row to the change log for a new status. A log that cannot take
// it, or would make the story read otherwise, goes without.
func (c *scribe) logMove(m *paper, s *sheet, old, word, note string, want class) {
	if old == "" {
		old = "no status"
	}
	move := oneLine(strings.Trim(old, "*_` "), 60) + " → " + word
	kept := m.md
	for _, text := range []string{move + " — " + plainNote(note), move} {
		if plainNote(note) == "" {
			text = move
		}
		if !c.logRow(m, text, false) {
			return
		}
		if err := verifyStory(m, s, nil, want); err == nil {
			return
		}
		m.md = kept
	}
}

// plainNote takes from a note what could be read as a field or a mark-up.
func plainNote(note string) string {
	note = strings.NewReplacer("*", "", "`", "", "|", "/", "→", "to", "->", "to", "=>", "to").Replace(note)
	return oneLine(note, 160)
}

// logRow adds a row to the table of the change log, if there is one whose
// columns are understood; with once, unless it stands there already.
func (c *scribe) logRow(m *paper, text string, once bool) bool {
	for _, sec := range m.md.Doc().Sections() {
		if !isChangeLog(sec.Title) {
			continue
		}
		for _, t := range sec.Tables() {
			cells, what := c.logCells(t, text)
			if what < 0 {
				continue
			}
			if once && slices.ContainsFunc(t.Rows, func(row []doc.Cell) bool { return sameRow(t, row, cells) }) {
				return true
			}
			// A copy is edited, so that a row can be taken back.
			md, err := splice.NewMarkdown(m.md.Bytes())
			if err != nil || md.AppendRow(splice.Where{Line: t.Line}, cells) != nil {
				return false
			}
			m.md, m.rebased = md, true
			return true
		}
	}
	return false
}

// sameRow reports whether a row holds the cells, its number left out.
func sameRow(t doc.Table, row []doc.Cell, cells map[string]string) bool {
	for i, h := range t.Header {
		if want, ok := cells[h.Text]; ok && !isVersion(h.Text) && (i >= len(row) || row[i].Text != want) {
			return false
		}
	}
	return true
}

func isVersion(column string) bool {
	switch doc.Fold(column) {
	case "version", "versao", "v", "版本":
		return true
	}
	return false
}

// logCells fills the columns of a change log; what is the column of the
// description, -1 if there is none.
func (c *scribe) logCells(t doc.Table, text string) (cells map[string]string, what int) {
	cells, what = map[string]string{}, -1
	for i, h := range t.Header {
		last := ""
		if n := len(t.Rows); n > 0 && i < len(t.Rows[n-1]) {
			last = t.Rows[n-1][i].Text
		}
		if isVersion(h.Text) {
			cells[h.Text] = nextVersion(last)
			continue
		}
		switch doc.Fold(h.Text) {
		case "date", "data", "日期":
			cells[h.Text] = fmt.Sprint(spellTime(c.ev.At, dateModel(last), false))
		case "author", "autor", "agent", "agente", "by", "who", "por", "作者":
			cells[h.Text] = agent(c.actor(), last)
		case "description", "descricao", "change", "changes", "mudanca", "alteracao", "notes", "what", "描述", "变更":
			if what < 0 {
				cells[h.Text], what = text, i
			}
		}
	}
	return cells, what
}

// dateModel is the form of a date in a table: a day, whatever it says else.
func dateModel(last string) string {
	last = strings.Trim(last, "*_` ")
	if _, ok := doc.ParseTime(last); ok {
		return last
	}
	return "2006-01-02"
}

// actor is who did it: as the event says, else whoever does the step.
func (c *scribe) actor() string {
	if c.ev.Actor != "" {
		return c.ev.Actor
	}
	for _, id := range []string{c.ev.Step, c.ev.Phase} {
		if s := c.run.Step(id); s != nil && id != "" {
			return s.Role
		}
	}
	return ""
}

// nextVersion counts the last part of a version up.
func nextVersion(last string) string {
	last = strings.Trim(last, "*_` ")
	i := len(last)
	for i > 0 && isDigit(last[i-1]) {
		i--
	}
	n, err := strconv.Atoi(last[i:])
	if err != nil || len(last) > 20 {
		return ""
	}
	return last[:i] + strconv.Itoa(n+1)
}
