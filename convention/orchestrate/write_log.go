package orchestrate

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"reprise/internal/doc"
	"reprise/internal/ledger"
	"reprise/internal/splice"
)

// logMove adds a row to the change log for a new status. A log that cannot take
// it, or would make the story read otherwise, goes without.
func (c *recorder) logMove(f *ledger.File, s *storyDoc, word, note string, want class) {
	move := ledger.Line(strings.Trim(cmp.Or(s.word(), "no status"), "*_` "), 60) + " → " + word
	reads := func() bool { return verifyStory(f, s, false, want) == nil }
	if text := plainNote(note); text == "" || !c.logRow(f, move+" — "+text, reads) {
		c.logRow(f, move, reads)
	}
}

// plainNote takes from a note what could be read as a field or a mark-up.
func plainNote(note string) string {
	note = strings.NewReplacer("*", "", "`", "", "|", "/", "→", "to", "->", "to", "=>", "to").Replace(note)
	return ledger.Line(note, 160)
}

// logRow adds a row to the table of the change log, if there is one whose
// columns are understood. A row that does not read back as it should is taken back.
// It reports whether the log tells it now.
func (c *recorder) logRow(f *ledger.File, text string, reads func() bool) bool {
	if f.Doc() == nil {
		return false
	}
	for _, sec := range f.Doc().Sections() {
		if !isChangeLog(sec.Title) {
			continue
		}
		for _, t := range sec.Tables() {
			cells, ok := c.logCells(t, text)
			if !ok {
				continue
			}
			kept, added := f.Bytes(), false
			f.Do(func(m *splice.Markdown) error {
				added = m.AppendRow(splice.Where{Line: t.Line}, cells) == nil
				return nil
			})
			if !added || !reads() {
				f.Replace(kept)
				return false
			}
			return true
		}
	}
	return false
}

// logColumn tells what a column of a change log holds, "" if that is not known.
func logColumn(title string) string {
	return vocabulary[string]{
		{"version", "version|versao|v|版本"}, {"date", "date|data|日期"}, {"author", "author|autor|agent|agente|by|who|por|作者"},
		{"what", "description|descricao|change|changes|mudanca|alteracao|notes|what|描述|变更"},
	}.of(doc.Fold(title), "")
}

// logCells fills the columns of a change log; ok is false where it has none for
// what happened.
func (c *recorder) logCells(t doc.Table, text string) (cells map[string]string, ok bool) {
	cells = map[string]string{}
	for i, h := range t.Header {
		last := ""
		if n := len(t.Rows); n > 0 && i < len(t.Rows[n-1]) {
			last = strings.Trim(t.Rows[n-1][i].Text, "*_` ")
		}
		switch logColumn(h.Text) {
		case "version":
			cells[h.Text] = nextVersion(last)
		case "date":
			cells[h.Text] = fmt.Sprint(ledger.SpellTime(c.ev.At, last, time.DateOnly))
		case "author":
			cells[h.Text] = agent(c.actor(), last)
		case "what":
			if !ok {
				cells[h.Text], ok = text, true
			}
		}
	}
	return cells, ok
}

// nextVersion counts the last part of a version up.
func nextVersion(last string) string {
	head := strings.TrimRight(last, "0123456789")
	n, err := strconv.Atoi(last[len(head):])
	if err != nil || len(last) > 20 {
		return ""
	}
	return head + strconv.Itoa(n+1)
}
